#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "profile/json_scan.h"
#include "profile/scan_window.h"

namespace idleburn {

// One entry of a Chrome trace: https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
// Each member as it stands in the file, strings without quotes and still escaped; empty: absent.
struct TraceEvent {
  std::string_view phase;
  std::string_view category;
  std::string_view name;
  std::string_view process;
  std::string_view thread;
  std::string_view time;       // microseconds
  std::string_view duration;   // microseconds
  std::string_view arguments;  // an object, kScanPad bytes after it may be read
};

// How much of a trace is in memory at once.
struct TraceLimits {
  std::size_t window = std::size_t{256} << 10;
  std::size_t longest = std::size_t{16} << 20;  // an entry or header value beyond is passed over
};

// What a trace turned out to hold.
struct TraceTally {
  std::int64_t events = 0;      // all entries of traceEvents
  std::int64_t malformed = 0;   // of these, no objects or not JSON
  std::int64_t too_long = 0;    // entries and header values longer than TraceLimits
  std::int64_t lost_bytes = 0;  // not part of a whole entry: after a cut, or after the document
  bool unclosed = false;        // the input ended before the last bracket
  bool found_events = false;    // there was a list of events

  friend bool operator==(const TraceTally&, const TraceTally&) = default;
};

// Reads a Chrome trace, an object with `traceEvents` or a bare array, entry by entry in constant memory. What is cut
// off at the end, malformed or too long is passed over and tallied.
class TraceReader {
 public:
  enum class Item : std::uint8_t { kEvent, kHeader, kEnd };

  // `headers`: members beside traceEvents to deliver, before or after the events. `in` and `headers` outlive this.
  TraceReader(ByteSource& in, std::span<const std::string_view> headers, TraceLimits limits = {});

  // What was read is valid until the next call. After kEnd, or an error of the source, there is no more.
  Result<Item> Next();
  [[nodiscard]] const TraceEvent& event() const { return event_; }
  [[nodiscard]] std::string_view header_key() const { return header_key_; }
  // Any JSON value, kScanPad bytes after it may be read.
  [[nodiscard]] std::string_view header_value() const { return header_value_; }
  [[nodiscard]] const TraceTally& tally() const { return tally_; }

 private:
  enum class At : std::uint8_t { kStart, kMembers, kEvents, kSkipping, kAfter };
  enum class Step : std::uint8_t { kEvent, kHeader, kOn, kCut };

  // Each takes one step from the window's begin; kCut: needs more text.
  Step TakeStart();
  Step TakeMember();
  Step TakeEvent();
  Step TakeSkipped();
  Step TakeRest();
  Step Take();
  Step DropTo(const char* p, Step step = Step::kOn);
  void StartSkipping(const char* p);
  bool TooLong(const char* p, const char* end);
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

}  // namespace idleburn
