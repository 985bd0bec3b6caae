#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace idleburn {

// Makes time of the stamps of one device, whose rows come as they were written: the time of a row is its stamp and the
// shift(), which changes where the clock was set.
class DeviceClock {
 public:
  enum class Row : std::uint8_t {
    kOn,         // its time is new
    kStep,       // the same, but the clock was set before it: shift() has changed
    kLate,       // a little older than the newest: out of order
    kAgain,      // of a log that begins anew from its first row, and was there
    kMisplaced,  // lies in a gap between rows before it: of a piece that is not in its place
  };

  // Of the first row: its stamp and its signals.
  void Begin(std::int64_t stamp, std::uint32_t signals) {
    first_ = stamp;
    first_signals_ = signals;
  }
  // A row of another time than `newest`, that of the newest one. A row older by more than `hold` ns shows a step back:
  // its time is `period` after the newest. Where the stamps then go on as before the step, so does time.
  Row Place(std::int64_t stamp, std::uint32_t signals, std::int64_t newest, std::int64_t hold, std::int64_t period);

  [[nodiscard]] std::int64_t shift() const { return shift_; }
  // Another device of the same clock has shown it.
  void set_shift(std::int64_t shift) {
    shift_before_ = shift_;
    shift_ = shift;
  }

 private:
  // Between two rows, longer than readings are held.
  struct Gap {
    std::int64_t from;
    std::int64_t to;
  };
  void KeepGap(Gap gap);

  std::int64_t shift_ = 0;
  std::optional<std::int64_t> shift_before_;  // before the last step back
  std::int64_t first_ = 0;
  std::uint32_t first_signals_ = 0;
  bool again_ = false;
  std::vector<Gap> gaps_;  // the longest
};

}  // namespace idleburn
