#include "profile/trace_time.h"

#include "text/number.h"
#include "text/strings.h"

namespace idleburn {
namespace {

constexpr std::int64_t kFarthestNs = std::int64_t{1} << 61;
constexpr std::size_t kMostDigits = 16;  // of microseconds: more than kFarthestNs has

// Digits, and perhaps a point and up to three more: nearly all that there is.
std::optional<std::int64_t> PlainNs(std::string_view micros) {
  std::int64_t value = 0;
  std::size_t at = 0;
  for (; at < micros.size() && at < kMostDigits && IsDigit(micros[at]); ++at) value = value * 10 + (micros[at] - '0');
  if (at == 0 || value > kFarthestNs / 1000) return std::nullopt;
  int missing = 3;
  if (at < micros.size() && micros[at] == '.') {
    for (++at; at < micros.size() && missing > 0 && IsDigit(micros[at]); ++at, --missing) {
      value = value * 10 + (micros[at] - '0');
    }
  }
  if (at != micros.size()) return std::nullopt;
  for (; missing > 0; --missing) value *= 10;
  return value;
}

bool FinerThanNs(std::string_view micros) {
  if (micros.find_first_of("eE") != std::string_view::npos) return true;
  const std::size_t point = micros.find('.');
  return point != std::string_view::npos && micros.find_first_not_of('0', point + 4) < micros.size();
}

}  // namespace

std::optional<TraceNs> TraceMicrosToNs(std::string_view micros) {
  if (const std::optional<std::int64_t> plain = PlainNs(micros)) {
    return *plain <= kFarthestNs ? std::optional<TraceNs>({*plain, false}) : std::nullopt;
  }
  const ScaledNumber number = ParseScaled(micros, 3);
  if (number.fault != NumberFault::kNone || number.value > kFarthestNs || number.value < -kFarthestNs) {
    return std::nullopt;
  }
  return TraceNs{number.value, FinerThanNs(micros)};
}

}  // namespace idleburn
