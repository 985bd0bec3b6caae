#pragma once

#include <cstdint>
#include <string>

#include "base/time.h"
#include "text/time_zone.h"

namespace idleburn::testing {

// "2026/03/02 10:00:00.000" and so many seconds later, below a day, as nvidia-smi prints it; and the same as Unix
// seconds.
inline std::string SmiStamp(std::int64_t seconds) {
  std::string text = FormatRfc3339(Instant::FromNanos((seconds + 1'772'445'600) * kNanosPerSecond));
  text[4] = text[7] = '/';
  text[10] = ' ';
  text.back() = '.';
  return text + "000";
}
inline std::int64_t UnixSeconds(std::int64_t seconds) { return seconds + 1'772'445'600; }

}  // namespace idleburn::testing
