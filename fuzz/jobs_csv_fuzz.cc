// Any text is a table of jobs or is refused; what is read of it never gives an interval that is none.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/result.h"
#include "text/line_reader.h"
#include "verify/reversion.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  idleburn::StringSource source{std::string(reinterpret_cast<const char*>(data), size)};
  const auto jobs = idleburn::ReadJobsCsv(source);
  if (!jobs) return 0;
  for (const auto& job : *jobs) CHECK(std::isfinite(job.first) && std::isfinite(job.second));
  const auto reading = idleburn::ReadReversion(*jobs, 0.95);
  if (!reading) return 0;
  CHECK(reading->chosen > 0 && reading->untouched > 2);
  CHECK(!(reading->low > reading->high));
  return 0;
}
