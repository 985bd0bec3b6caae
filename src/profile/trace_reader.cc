#include "profile/trace_reader.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "profile/json_scan.h"
#include "text/number.h"
#include "text/strings.h"

namespace idleburn {

// A trace may have gigabytes in one JSON document. The reader keeps a window of the file and walks over it as a state
// machine: before the document, between members, inside traceEvents, skipping a value, after the document. Each state
// takes one step; a step that lacks text asks for more. A value too long for the window is skipped in pieces.

namespace {

// Limits of times; see TraceMicrosToNs.
constexpr std::int64_t kFarthestNs = std::int64_t{1} << 61;
constexpr std::size_t kMostDigits = 16;  // of microseconds: more than kFarthestNs has

// Reads digits with at most three decimals, which nearly all times are. Absent for anything else, such as an
// exponent, which ParseScaled then reads.
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

// Whether the text has more precision than nanoseconds, or an exponent.
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

ScanWindow::ScanWindow(ByteSource& in, std::size_t size)
    : in_(in), buffer_(std::max<std::size_t>(size, 1) + kScanPad) {}

// Moves what is left to the front, and doubles the buffer if that fills more than half of it. So a long value is not
// rescanned for every few bytes.
Result<bool> ScanWindow::More() {
  std::memmove(buffer_.data(), begin(), size());
  end_ = size();
  begin_ = 0;
  if (const std::size_t room = buffer_.size() - kScanPad; end_ > room / 2) buffer_.resize(2 * room + kScanPad);
  const std::size_t before = end_;
  while (end_ < buffer_.size() - kScanPad) {
    const std::size_t got = TRY(in_.Read(std::span(buffer_).subspan(end_, buffer_.size() - kScanPad - end_)));
    if (got == 0) break;
    end_ += got;
  }
  return end_ > before;
}

namespace {

// In the order in which Kineto writes them, which ReadFields exploits.
constexpr auto kEventFields = std::to_array<JsonField<TraceEvent>>({
    {"ph", &TraceEvent::phase},
    {"cat", &TraceEvent::category},
    {"name", &TraceEvent::name},
    {"pid", &TraceEvent::process},
    {"tid", &TraceEvent::thread},
    {"ts", &TraceEvent::time},
    {"dur", &TraceEvent::duration},
    {"args", &TraceEvent::arguments},
});

}  // namespace

TraceReader::TraceReader(ByteSource& in, std::span<const std::string_view> headers, TraceLimits limits)
    : window_(in, limits.window), headers_(headers), limits_(limits) {}

// Takes steps until there is something to deliver. A value that is cut and already too long is skipped in pieces, so
// that the window does not grow further.
Result<TraceReader::Item> TraceReader::Next() {
  while (true) {
    const Step step = Take();
    if (step == Step::kEvent) return Item::kEvent;
    if (step == Step::kHeader) return Item::kHeader;
    if (step == Step::kOn) continue;
    if (at_ != At::kSkipping && TooLong(window_.begin(), window_.end())) {
      tally_.events += at_ == At::kEvents ? 1 : 0;
      StartSkipping(window_.begin());
      continue;
    }
    const bool more = TRY(window_.More());
    if (!more) return AtEnd(), Item::kEnd;
  }
}

// One step of the state machine. Every step consumes text, delivers something, or asks for more, so Next ends.
TraceReader::Step TraceReader::Take() {
  switch (at_) {
    case At::kStart:
      return TakeStart();
    case At::kMembers:
      return TakeMember();
    case At::kEvents:
      return TakeEvent();
    case At::kSkipping:
      return TakeSkipped();
    case At::kAfter:
      return TakeRest();
  }
  return Step::kCut;
}

// Consumes the text before `p` and ends the step.
TraceReader::Step TraceReader::DropTo(const char* p, Step step) {
  window_.DropTo(p);
  return step;
}

// The limit does not depend on the window: a larger window would see the end of an entry that a smaller one gave up
// on, and the same file would give different profiles.
bool TraceReader::TooLong(const char* p, const char* end) {
  const bool too_long = static_cast<std::size_t>(end - p) > limits_.longest;
  tally_.too_long += too_long ? 1 : 0;
  return too_long;
}

// Tells a bare array from an object. Anything else is behind the document, and lost.
TraceReader::Step TraceReader::TakeStart() {
  const char* p = SkipBlanks(window_.begin(), window_.end());
  if (p == window_.end()) return Step::kCut;
  bare_ = *p == '[';
  tally_.found_events = bare_;
  at_ = bare_ ? At::kEvents : *p == '{' ? At::kMembers : At::kAfter;
  return DropTo(at_ == At::kAfter ? p : p + 1);
}

// Reads one member beside the events: `traceEvents`, a wanted header, or something to skip. A wanted header must be
// in memory as a whole, so it has the same limit as an entry.
TraceReader::Step TraceReader::TakeMember() {
  const char* const end = window_.end();
  const char* p = SkipBlanksAndCommas(window_.begin(), end);
  window_.DropTo(p);
  if (p == end) return Step::kCut;
  if (*p != '"') {
    at_ = At::kAfter;  // the end, or no JSON from here on
    return DropTo(*p == '}' ? p + 1 : p);
  }
  const char* const key_end = StringEnd(p + 1, end);
  if (key_end == nullptr) return Step::kCut;
  const std::string_view key(p + 1, static_cast<std::size_t>(key_end - p - 1));
  p = SkipBlanks(key_end + 1, end);
  if (p < end && *p == ':') p = SkipBlanks(p + 1, end);
  if (p == end) return Step::kCut;
  if (key == "traceEvents" && *p == '[') {
    tally_.found_events = true;
    at_ = At::kEvents;
    return DropTo(p + 1);
  }
  if (std::find(headers_.begin(), headers_.end(), key) == headers_.end()) {
    StartSkipping(p);
    return Step::kOn;
  }
  const char* const after = SkipValue(p, end);
  if (after == nullptr) return Step::kCut;
  if (TooLong(p, after)) return DropTo(after);
  header_key_ = key;
  header_value_ = std::string_view(p, static_cast<std::size_t>(after - p));
  return DropTo(after, Step::kHeader);
}

// Reads one entry of the list of events. An entry that is not JSON is skipped as well as it can be, and the next one
// is tried: one bad entry must not cost the rest of a trace.
TraceReader::Step TraceReader::TakeEvent() {
  const char* const end = window_.end();
  const char* const first = SkipBlanksAndCommas(window_.begin(), end);
  window_.DropTo(first);
  if (first == end) return Step::kCut;
  if (*first == ']') {
    at_ = bare_ ? At::kAfter : At::kMembers;
    return DropTo(first + 1);
  }
  const char* p = first;
  Scan scan = Scan::kBad;
  if (*first == '{') {
    event_ = {};
    scan = ReadFields(p, end, kEventFields, event_);
  }
  if (scan == Scan::kCut) return Step::kCut;
  if (scan == Scan::kBad) {
    p = SkipValue(first, end);
    if (p == nullptr) return Step::kCut;
    p = std::max(p, first + 1);  // a stray bracket is not a value
  }
  ++tally_.events;
  if (TooLong(first, p)) return DropTo(p);
  tally_.malformed += scan == Scan::kBad ? 1 : 0;
  return DropTo(p, scan == Scan::kWhole ? Step::kEvent : Step::kOn);
}

// Goes back to the present state after the value. Skipping keeps only depth and string state, so a value may be larger
// than memory.
void TraceReader::StartSkipping(const char* p) {
  window_.DropTo(p);
  skipper_ = {};
  skipped_bytes_ = 0;
  after_skipping_ = at_;
  at_ = At::kSkipping;
}

// Continues to skip a value that is too long or not wanted.
TraceReader::Step TraceReader::TakeSkipped() {
  if (window_.size() == 0) return Step::kCut;
  const char* const after = skipper_.Skip(window_.begin(), window_.end());
  if (after == nullptr) {
    skipped_bytes_ += static_cast<std::int64_t>(window_.size());
    return DropTo(window_.end(), Step::kCut);
  }
  at_ = after_skipping_;
  return DropTo(after);
}

// Anything behind the document is lost bytes.
TraceReader::Step TraceReader::TakeRest() {
  const bool lost = tally_.lost_bytes > 0;
  const char* const p = lost ? window_.begin() : SkipBlanks(window_.begin(), window_.end());
  tally_.lost_bytes += static_cast<std::int64_t>(window_.end() - p);
  return DropTo(window_.end(), Step::kCut);
}

// A document that is not closed lost at least what is in the window.
void TraceReader::AtEnd() {
  if (at_ == At::kAfter) return;
  tally_.unclosed = true;
  tally_.lost_bytes += static_cast<std::int64_t>(window_.size());
  if (at_ == At::kSkipping) tally_.lost_bytes += skipped_bytes_;
}

// Every kind of loss is counted by itself, because each has another remedy: a cut file was copied too early, a
// malformed entry is a fault of the writer.
bool CountLosses(const TraceTally& tally, const ByteSource& in, DataQuality& quality) {
  const Place place{&in.name()};
  quality.Count(QualityId::kBadRow, place, tally.malformed);
  quality.Count(QualityId::kTooLongEvent, place, tally.too_long);
  quality.Count(QualityId::kUnclosedProfile, place, tally.unclosed ? 1 : 0);
  quality.Count(QualityId::kLostBytes, place, tally.lost_bytes);
  quality.Count(QualityId::kTruncatedInput, place, in.truncated() ? 1 : 0);
  return tally.unclosed || tally.lost_bytes > 0 || tally.too_long > 0 || tally.malformed > 0;
}

}  // namespace idleburn
