// Any text is a log of work or is refused; what is read rises in time, is not negative, and loses no row.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "text/line_reader.h"
#include "verify/work_csv.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  idleburn::SniffWorkCsv(text);
  idleburn::StringSource source{std::string(text)};
  const auto table = idleburn::ReadWorkCsv(source);
  if (!table) return 0;
  CHECK(!table->blocks.empty());
  std::optional<idleburn::Instant> last;
  for (const auto& block : table->blocks) {
    double gpu_seconds = 0;
    for (const auto& piece : block.run.pieces) {
      CHECK(!piece.empty());
      for (const auto& row : piece) {
        CHECK(!last || row.end > *last);
        CHECK(row.gpu_seconds >= 0);
        for (const double work : row.work) CHECK(work >= 0);
        last = row.end;
        gpu_seconds += row.gpu_seconds;
      }
    }
    CHECK(gpu_seconds == block.run.run.gpu_seconds);
    CHECK(!block.run.run.start || *block.run.run.start <= *block.run.run.end);
  }
  return 0;
}
