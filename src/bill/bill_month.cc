#include "bill/bill_month.h"

#include "text/number.h"
#include "text/strings.h"
#include "text/time_zone.h"

namespace idleburn {

Result<MonthSpan> ParseMonth(const std::string& text, Instant now) {
  constexpr std::int64_t kSecondsOfDay = 86'400;
  CivilTime begin = ToCivil(now);
  begin = {begin.year, begin.month};
  if (!text.empty()) {
    const std::optional<std::int64_t> year = ParseInteger(text.substr(0, 4));
    const std::optional<std::int64_t> month = text.size() == 7 ? ParseInteger(text.substr(5)) : std::nullopt;
    if (!year || !month || text[4] != '-' || *year < 1970 || *month < 1 || *month > 12) {
      return FailUsage("bill: " + Printable(text) + " is not a month; write it like 2026-10");
    }
    begin = {*year, static_cast<int>(*month)};
  }
  const std::int64_t first = DaysFromCivil(begin.year, begin.month, 1) * kSecondsOfDay;
  return MonthSpan{FormatRfc3339(InUtc(begin)).substr(0, 7), first,
                   first + DaysInMonth(begin.year, begin.month) * kSecondsOfDay};
}

}  // namespace idleburn
