#include "import/printed_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/int128.h"
#include "telemetry/sample.h"
#include "text/number.h"

namespace idleburn {

// Times and quantities as vendor tools print them. Both are tables: the words that mean "no value", each with its
// reason, and the units with their factors.

namespace {

constexpr std::array<std::string_view, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                      "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

// Removes the next word from `text`.
std::string_view TakeWord(std::string_view& text) {
  text = Trim(text);
  const std::string_view word = text.substr(0, text.find(' '));
  text.remove_prefix(word.size());
  return word;
}

}  // namespace

// Brings the date into the form that TakeCivilTime reads, which then checks it.
std::optional<CivilTime> ParseCtime(std::string_view text) {
  TakeWord(text);  // the day of the week follows from the date
  const std::string_view month_name = TakeWord(text);
  const std::optional<std::int64_t> day = ParseInteger(TakeWord(text));
  const std::string_view clock = TakeWord(text);
  const std::string_view year = TakeWord(text);
  if (!day || *day < 1 || *day > 31 || clock.size() != 8 || year.size() != 4 || !Trim(text).empty())
    return std::nullopt;
  for (std::size_t month = 0; month < kMonths.size(); ++month) {
    if (kMonths[month] != month_name) continue;
    const std::string iso = fmt::format("{}-{:02}-{:02} {}", year, month + 1, *day, clock);
    std::string_view rest = iso;
    CivilTime stamp;
    bool zoned = false;
    if (TakeCivilTime(rest, &stamp, &zoned) && rest.empty()) return stamp;
  }
  return std::nullopt;
}

// A stamp is late if it lies more than a minute, and at most one and a half times the repeated hour, before the last.
Instant ByOrder(const LocalMeaning& meaning, Instant* last) {
  constexpr Nanos kLate{60 * kNanosPerSecond};  // several writers of one file may be this far apart
  const Nanos back = *last - meaning.first;
  // A stamp before both passes belongs to another log in the same file.
  const bool second = back > kLate && back <= meaning.again * 3 / 2;
  *last = second ? meaning.first + meaning.again : meaning.first;
  return *last;
}

// A stamp that names its zone needs no stamp before it, and does not count as one.
Instant StampClock::At(const CivilTime& stamp, bool zoned, std::int64_t line) {
  if (zoned) return InUtc(stamp);
  if (!options_.timezone) {
    if (!assumed_) quality_.Count(QualityId::kTimezoneAssumed, {&file_, line});
    assumed_ = true;
    return InUtc(stamp);
  }
  const LocalMeaning meaning = options_.timezone->MeaningOf(stamp);
  if (meaning.doubtful()) quality_.Count(QualityId::kTimezoneAmbiguous, {&file_, line});
  return ByOrder(meaning, &last_);
}

Instant AssumedTime(const ImportOptions& options, std::int64_t sweep) {
  std::int64_t ns = 0;
  const std::int64_t period = options.period.value_or(Nanos(kNanosPerSecond)).count();
  // A product that overflows is cut to a time that can still be added to.
  const std::int64_t since = __builtin_mul_overflow(sweep, period, &ns) ? INT64_MAX / 4 : ns;
  return options.start.value_or(Instant()) + Nanos(since);
}

namespace {

// A text that tools print instead of a value, and the reason it stands for.
struct Spelling {
  std::string_view text;
  Unobserved why;
};
// Words of nvidia-smi, dcgmi and rocm-smi. kUnsupported: this GPU or driver never has the value; kSentinel: it has
// none now.
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
// All units that tools print, by the integer unit of the signal.
constexpr std::array<UnitScale, 23> kUnitScales = {{
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

// A quantity without a value.
Quantity NoValue(Unobserved why, QualityId issue) { return {std::nullopt, why, issue}; }

// Reads a hexadecimal or decimal mask.
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
  // Other words in brackets are further ways to say that there is no value.
  return bracketed ? std::optional(Unobserved::kSentinel) : std::nullopt;
}

const UnitScale* FindUnitScale(std::string_view text, Unit unit) {
  const auto* const found = std::find_if(kUnitScales.begin(), kUnitScales.end(),
                                         [&](const UnitScale& s) { return s.unit == unit && s.text == text; });
  return found == kUnitScales.end() ? nullptr : found;
}

// Digits, sign, point and exponent. An "e" without digits behind it belongs to the unit.
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
  // A printed unit wins over the column's.
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
