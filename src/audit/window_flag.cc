#include "audit/window_flag.h"

#include <string>

#include "text/escape.h"

namespace idleburn {
namespace {

// "2026-07-01", "2026-07-01 09:00", and what TakeCivilTime reads.
bool ReadCivil(std::string_view text, CivilTime* time, bool* zoned) {
  for (const char* rest : {"", ":00", " 00:00:00"}) {
    const std::string whole = std::string(text) + rest;
    std::string_view left = whole;
    if (TakeCivilTime(left, time, zoned) && left.empty()) return true;
  }
  return false;
}

Result<Instant> ReadEnd(std::string_view text, const std::optional<TimeZone>& zone) {
  const std::string shown = Printable(text.substr(0, 60));
  CivilTime time;
  bool zoned = false;
  if (!ReadCivil(text, &time, &zoned)) {
    return FailUsage("--window: '" + shown +
                     "' is no time; write START..END as 2026-07-01T09:00:00Z..2026-07-03T18:00:00Z, or as days");
  }
  if (zoned || !zone) return InUtc(time);
  const LocalMeaning meaning = zone->MeaningOf(time);
  if (meaning.doubtful()) {
    return FailUsage("--window: daylight saving repeats or skips '" + shown + "' in " + zone->name() +
                     "; write the time with its offset, such as 2026-10-25T02:30:00+02:00");
  }
  return meaning.first;
}

}  // namespace

Result<RunWindow> ParseWindow(std::string_view text, const std::optional<TimeZone>& zone) {
  const std::size_t dots = text.find("..");
  if (dots == std::string_view::npos) {
    return FailUsage("--window: '" + Printable(text.substr(0, 60)) +
                     "' has no '..' between its two times; write 2026-07-01T09:00:00Z..2026-07-03T18:00:00Z");
  }
  const Instant start = TRY(ReadEnd(text.substr(0, dots), zone));
  const Instant end = TRY(ReadEnd(text.substr(dots + 2), zone));
  if (end <= start) {
    return FailUsage("--window: its end, " + FormatRfc3339(end) + ", is not after its start, " + FormatRfc3339(start));
  }
  RunWindow window;
  window.start = start;
  window.end = end;
  window.named = true;
  return window;
}

}  // namespace idleburn
