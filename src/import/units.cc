#include "import/units.h"

#include <algorithm>
#include <array>

#include "base/int128.h"
#include "telemetry/sample.h"
#include "text/number.h"

namespace idleburn {
namespace {

struct Spelling {
  std::string_view text;
  Unobserved why;
};
constexpr std::array<Spelling, 18> kUnavailable = {{
    {"", Unobserved::kSentinel},
    {"-", Unobserved::kUnsupported},
    {"N/A", Unobserved::kUnsupported},
    {"NA", Unobserved::kUnsupported},
    {"None", Unobserved::kUnsupported},
    {"null", Unobserved::kUnsupported},
    {"Not Supported", Unobserved::kUnsupported},
    {"Unsupported", Unobserved::kUnsupported},
    {"Not Available", Unobserved::kUnsupported},
    {"Function Not Found", Unobserved::kUnsupported},
    {"Requested functionality has been deprecated", Unobserved::kUnsupported},
    {"Insufficient Permissions", Unobserved::kPermission},
    {"Not Permitted", Unobserved::kPermission},
    {"Unknown Error", Unobserved::kSentinel},
    {"Unknown", Unobserved::kSentinel},
    {"ERR!", Unobserved::kSentinel},
    {"GPU requires reset", Unobserved::kSentinel},
    {"GPU is lost", Unobserved::kSentinel},
}};

constexpr std::int64_t kMebi = 1 << 20;
constexpr std::array<UnitScale, 23> kScales = {{
    {"%", Unit::kMicroPercent, kPercent, 1},
    {"W", Unit::kMilliwatt, 1000, 1},
    {"mW", Unit::kMilliwatt, 1, 1},
    {"kW", Unit::kMilliwatt, 1'000'000, 1},
    {"J", Unit::kMillijoule, 1000, 1},
    {"mJ", Unit::kMillijoule, 1, 1},
    {"Hz", Unit::kKilohertz, 1, 1000},
    {"kHz", Unit::kKilohertz, 1, 1},
    {"MHz", Unit::kKilohertz, 1000, 1},
    {"GHz", Unit::kKilohertz, 1'000'000, 1},
    {"B", Unit::kByte, 1, 1},
    {"KiB", Unit::kByte, 1024, 1},
    {"MiB", Unit::kByte, kMebi, 1},
    {"MB", Unit::kByte, kMebi, 1},  // old drivers and dmon print MB and mean MiB
    {"GiB", Unit::kByte, 1024 * kMebi, 1},
    {"C", Unit::kMillicelsius, 1000, 1},
    {"", Unit::kCount, 1, 1},
    {"B/s", Unit::kBytePerSecond, 1, 1},
    {"KB/s", Unit::kBytePerSecond, 1000, 1},
    {"KiB/s", Unit::kBytePerSecond, 1024, 1},
    {"MB/s", Unit::kBytePerSecond, 1'000'000, 1},
    {"MiB/s", Unit::kBytePerSecond, kMebi, 1},
    {"GB/s", Unit::kBytePerSecond, 1'000'000'000, 1},
}};

Quantity NoValue(Unobserved why, QualityId issue) { return {std::nullopt, why, issue}; }

Quantity ReadMask(std::string_view text) {
  const std::optional<std::uint64_t> mask = ParseMask(text);
  if (!mask) return NoValue(Unobserved::kSentinel, QualityId::kBadRow);
  if (*mask > INT32_MAX) return NoValue(Unobserved::kSentinel, QualityId::kOutOfRange);
  return {static_cast<std::int64_t>(*mask)};
}

}  // namespace

std::optional<Unobserved> WhyUnavailable(std::string_view text) {
  text = Trim(text);
  const bool bracketed = text.size() >= 2 && text.front() == '[' && text.back() == ']';
  if (bracketed) text = Trim(text.substr(1, text.size() - 2));
  for (const Spelling& spelling : kUnavailable) {
    if (EqualsIgnoreCase(text, spelling.text)) return spelling.why;
  }
  return bracketed ? std::optional(Unobserved::kSentinel) : std::nullopt;
}

const UnitScale* FindUnitScale(std::string_view text, Unit unit) {
  const auto* const found = std::find_if(kScales.begin(), kScales.end(),
                                         [&](const UnitScale& s) { return s.unit == unit && s.text == text; });
  return found == kScales.end() ? nullptr : found;
}

std::size_t NumberLength(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789";
  const std::size_t stop = std::min(text.find_first_not_of("+-.0123456789"), text.size());
  if (text.substr(0, stop).find_first_of(kDigits) == std::string_view::npos) {
    return std::min(text.find_first_of(" %"), text.size());
  }
  if (stop == text.size() || (text[stop] != 'e' && text[stop] != 'E')) return stop;
  const std::size_t sign = text.substr(stop + 1).find_first_of("+-") == 0 ? 1 : 0;
  const std::size_t power = stop + 1 + sign;
  const std::size_t end = std::min(text.find_first_not_of(kDigits, power), text.size());
  return end > power ? end : stop;
}

Quantity ReadQuantity(std::string_view text, Unit unit, std::string_view plain) {
  text = Trim(text);
  if (const std::optional<Unobserved> why = WhyUnavailable(text)) {
    return NoValue(*why, QualityId::kUnavailableValue);
  }
  if (unit == Unit::kMask) return ReadMask(text);
  const std::size_t length = NumberLength(text);
  const std::string_view printed = Trim(text.substr(length));
  const UnitScale* const scale = FindUnitScale(printed.empty() ? plain : printed, unit);
  // Millionths keep every decimal that a tool prints.
  const ScaledNumber number = ParseScaled(text.substr(0, length), 6);
  if (number.fault == NumberFault::kNotFinite) return NoValue(Unobserved::kSentinel, QualityId::kNotFinite);
  if (number.fault == NumberFault::kTooLarge) return NoValue(Unobserved::kSentinel, QualityId::kOutOfRange);
  if (number.fault != NumberFault::kNone || scale == nullptr) {
    return NoValue(Unobserved::kSentinel, QualityId::kBadRow);
  }
  const Int128 value = DivHalfEven(static_cast<Int128>(number.value) * scale->numerator,
                                   static_cast<Int128>(scale->denominator) * 1'000'000);
  const std::optional<std::int64_t> valid = InRange(unit, value);
  return valid ? Quantity{*valid} : NoValue(Unobserved::kSentinel, QualityId::kOutOfRange);
}

bool PutQuantity(Signal signal, std::string_view text, std::string_view plain, Sample* sample, DataQuality& quality,
                 Place place) {
  const Quantity quantity = ReadQuantity(text, Info(signal).unit, plain);
  if (quantity.value) {
    sample->Set(signal, *quantity.value);
    return true;
  }
  sample->SetUnavailable(signal, quantity.why);
  quality.Count(quantity.issue, place);
  return false;
}

}  // namespace idleburn
