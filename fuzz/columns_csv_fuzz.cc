// The first line is the text of --columns (empty: by usual names), the rest the table.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "import/column_map.h"
#include "import/formats.h"
#include "text/line_reader.h"

namespace {

using idleburn::Sample;

class Checking final : public idleburn::SampleSink {
 public:
  explicit Checking(const idleburn::DeviceTable& devices) : devices_(devices) {}
  void OnSamples(std::span<const Sample> samples) override {
    for (const Sample& s : samples) {
      CHECK(s.device < devices_.size());
      CHECK((s.present & s.unavailable) == 0);
      if (!s.Has(idleburn::Signal::kUtilization)) continue;
      const std::int64_t util = s.Get(idleburn::Signal::kUtilization);
      CHECK(util >= 0 && util <= idleburn::kFull);
    }
  }

 private:
  const idleburn::DeviceTable& devices_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos) return 0;
  auto columns = idleburn::ParseColumns(text.substr(0, end));
  if (!columns) return 0;
  idleburn::ImportOptions options;
  options.columns = std::move(*columns);
  idleburn::DeviceTable devices;
  idleburn::DataQuality quality;
  idleburn::OwnerLedger owners;
  Checking sink(devices);
  idleburn::ImportTarget target{devices, quality, owners, sink};
  idleburn::StringSource table{std::string(text.substr(end + 1))};
  idleburn::SniffColumnsCsv(text.substr(end + 1));
  static_cast<void>(idleburn::ImportColumnsCsv(table, options, target));
  return 0;
}
