// A billing export as text. The first line is --columns (empty: a known export), the rest the table.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "bill/bill_reader.h"
#include "text/line_reader.h"

namespace {

class Checking final : public idleburn::BillSink {
 public:
  idleburn::Result<void> OnItem(std::int64_t id, const idleburn::BillItem& item) override {
    CHECK(id > items_);
    items_ = id;
    CHECK(!item.gpus || *item.gpus > INT64_MIN);
    return {};
  }
  idleburn::Result<void> OnRow(const idleburn::BillRow& row) override {
    CHECK(row.item >= 1 && row.item <= items_);
    CHECK(row.line > line_);
    line_ = row.line;
    return {};
  }
  idleburn::Result<void> OnFinding(std::int64_t line, const idleburn::BillRow*, const idleburn::RowFinding&) override {
    CHECK(line >= 1);
    return {};
  }

 private:
  std::int64_t items_ = 0;
  std::int64_t line_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos || text.substr(0, end).find('/') != std::string_view::npos) return 0;
  idleburn::BillReadOptions options;
  options.columns = std::string(text.substr(0, end));
  idleburn::StringSource in{std::string(text.substr(end + 1))};
  Checking sink;
  static_cast<void>(idleburn::ReadBillText(in, options, sink));
  return 0;
}
