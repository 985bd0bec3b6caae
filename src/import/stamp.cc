#include "import/stamp.h"

#include <fmt/format.h>

#include <array>

#include "text/number.h"

namespace idleburn {
namespace {

constexpr std::array<std::string_view, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                      "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

std::string_view TakeWord(std::string_view& text) {
  text = Trim(text);
  const std::string_view word = text.substr(0, text.find(' '));
  text.remove_prefix(word.size());
  return word;
}

}  // namespace

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

Instant ByOrder(const LocalMeaning& meaning, Instant* last) {
  constexpr Nanos kLate{60 * kNanosPerSecond};  // what several writers of one file may be apart
  const Nanos back = *last - meaning.first;
  // Further back than both passes is another log in the same file.
  const bool second = back > kLate && back <= meaning.again * 3 / 2;
  *last = second ? meaning.first + meaning.again : meaning.first;
  return *last;
}

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
  const std::int64_t since = __builtin_mul_overflow(sweep, period, &ns) ? INT64_MAX / 4 : ns;
  return options.start.value_or(Instant()) + Nanos(since);
}

DeviceId EnterDevice(const DeviceKey& key, ImportTarget& out, Place place) {
  const std::size_t known = out.devices.size();
  const DeviceId id = out.devices.Enter(key);
  const std::string uuid = NormalUuid(key.uuid);
  if (out.devices.size() > known && !uuid.empty() && IsMaskedUuid(uuid)) {
    out.quality.Count(QualityId::kMaskedUuid, place);
  }
  return id;
}

}  // namespace idleburn
