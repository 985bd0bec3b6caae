#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/byte_source.h"
#include "base/time.h"
#include "profile/json_scan.h"
#include "telemetry/data_quality.h"

namespace idleburn {

// Reading Chrome traces, which PyTorch, TensorFlow and JAX export: entries in constant memory, and times without
// loss. What the entries mean is in profile/kineto_trace.cc and profile/xla_rows.cc.

// A time of a trace in nanoseconds.
struct TraceNs {
  std::int64_t ns = 0;
  bool rounded = false;  // finer than a nanosecond, or in exponent form
};

// Converts microseconds to nanoseconds without passing through binary floating point: "1712195495519761.132" has more
// digits than a double. Rounds half away from zero. Absent if it is not a number or is beyond 2^61 ns (73 years) from
// 0, so that sums and differences of two always fit.
//
// Example: "12.5" is 12,500 ns, and "12.34567" is 12,346 ns, rounded.
std::optional<TraceNs> TraceMicrosToNs(std::string_view micros);

// Whether a profiler's stamp is on the wall clock: after September 2001. Other stamps count from a machine's boot, and
// machines run for years, so IsDated would accept them.
constexpr bool IsWallClock(std::int64_t stamp_ns) { return stamp_ns >= 1'000'000'000 * kNanosPerSecond; }

// The part of a source that is being scanned: contiguous, with kScanPad readable bytes behind it. It grows only if a
// single value is longer than the window. `in` must outlive it.
class ScanWindow {
 public:
  ScanWindow(ByteSource& in, std::size_t size);

  [[nodiscard]] const char* begin() const { return buffer_.data() + begin_; }
  [[nodiscard]] const char* end() const { return buffer_.data() + end_; }
  [[nodiscard]] std::size_t size() const { return end_ - begin_; }

  // Forgets everything before `p`.
  void DropTo(const char* p) { begin_ = static_cast<std::size_t>(p - buffer_.data()); }
  // Reads as much as fits. False at the end of the source. Invalidates pointers into the window.
  Result<bool> More();

 private:
  ByteSource& in_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

// One entry of a Chrome trace: https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
//
// Members are as written in the file, strings without quotes but still escaped. Empty: absent. Arguments stay
// unparsed until somebody asks for them, because most of a trace is arguments that nobody needs.
struct TraceEvent {
  std::string_view phase;
  std::string_view category;
  std::string_view name;
  std::string_view process;
  std::string_view thread;
  std::string_view time;       // microseconds
  std::string_view duration;   // microseconds
  std::string_view arguments;  // an object; kScanPad bytes behind it are readable
};

// How much of a trace is in memory at once, in bytes.
struct TraceLimits {
  std::size_t window = std::size_t{256} << 10;
  std::size_t longest = std::size_t{16} << 20;  // a longer entry or header value is skipped
};

// What was in a trace, and what could not be read. CountLosses passes it on to the data quality of a report.
struct TraceTally {
  std::int64_t events = 0;      // all entries of traceEvents
  std::int64_t malformed = 0;   // of these, not objects or not JSON
  std::int64_t too_long = 0;    // entries and header values longer than TraceLimits
  std::int64_t lost_bytes = 0;  // outside whole entries: after a cut, or behind the document
  bool unclosed = false;        // the input ended before the last bracket
  bool found_events = false;    // there was a list of events

  friend bool operator==(const TraceTally&, const TraceTally&) = default;
};

// Reads a Chrome trace, an object with `traceEvents` or a bare array, entry by entry in constant memory. Entries that
// are cut off, malformed or too long are skipped and tallied. A capture that was killed lacks its end, and what it
// has is worth reading.
class TraceReader {
 public:
  enum class Item : std::uint8_t { kEvent, kHeader, kEnd };

  // `headers`: members beside traceEvents to deliver, wherever they are. `in` and `headers` outlive the reader.
  TraceReader(ByteSource& in, std::span<const std::string_view> headers, TraceLimits limits = {});

  // Moves to the next entry or header. The result is valid until the next call. Nothing follows kEnd or an error of
  // the source, which is the only error.
  Result<Item> Next();
  [[nodiscard]] const TraceEvent& event() const { return event_; }
  [[nodiscard]] std::string_view header_key() const { return header_key_; }
  // Any JSON value; kScanPad bytes behind it are readable.
  [[nodiscard]] std::string_view header_value() const { return header_value_; }
  [[nodiscard]] const TraceTally& tally() const { return tally_; }

 private:
  // Where the window begins: before the document, between members, in the list of events, in a value to skip, behind
  // the document.
  enum class At : std::uint8_t { kStart, kMembers, kEvents, kSkipping, kAfter };
  enum class Step : std::uint8_t { kEvent, kHeader, kOn, kCut };

  // Each takes one step from the beginning of the window. kOn: nothing to deliver yet. kCut: more text is needed.
  Step TakeStart();
  Step TakeMember();
  Step TakeEvent();
  Step TakeSkipped();
  Step TakeRest();
  Step Take();
  Step DropTo(const char* p, Step step = Step::kOn);
  // Skips the value that begins at `p`, then goes on where it was.
  void StartSkipping(const char* p);
  // Whether a value exceeds the limit. Tallies it if so.
  bool TooLong(const char* p, const char* end);
  // Tallies what is missing when the source ends before the document.
  void AtEnd();

  ScanWindow window_;
  std::span<const std::string_view> headers_;
  TraceLimits limits_;
  At at_ = At::kStart;
  At after_skipping_ = At::kMembers;
  bool bare_ = false;
  ValueSkipper skipper_;
  std::int64_t skipped_bytes_ = 0;
  TraceEvent event_;
  std::string_view header_key_;
  std::string_view header_value_;
  TraceTally tally_;
};

// Call after the last entry: counts what could not be read. True if entries are missing, which means that the absence
// of an event proves nothing.
bool CountLosses(const TraceTally& tally, const ByteSource& in, DataQuality& quality);

}  // namespace idleburn
