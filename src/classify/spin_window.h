#pragma once

#include <cstdint>
#include <vector>

#include "classify/totals.h"

namespace idleburn {

// Finds spin-wait among the busy cells of one device without knowing the power threshold yet.
//
// A cell is spin-wait when it lies in some run of n consecutive busy cells that all pass the test. For the power
// test the threshold depends on the idle power of the whole trace, known only at the end. So each cell is given
// its *settling level*: the smallest power such that with a threshold above it the cell lies in such a run,
//
//     m(j) = min over the windows of n cells that contain j of (max power in the window),
//
// and its time goes into a histogram of m. At the end spin-wait is the histogram below the threshold: exact,
// streaming, additive. Cells settled by SM activity take part as level kActive (always passes) or kNever.
class SpinWindow {
 public:
  static constexpr std::int64_t kActive = -1;        // SM activity says: resident without work
  static constexpr std::int64_t kNever = INT64_MAX;  // not busy, not observed, or SM activity says: work

  explicit SpinWindow(std::int64_t cells);

  // `count` equal consecutive cells at `level` watts, each covering `ns` at `utilization`.
  void Push(std::int64_t level, std::int64_t count, std::int64_t ns, std::int64_t utilization, DeviceTotals& totals) {
    if (level == kNever && quiet_ >= 2 * n_) return;  // nothing is left to settle
    PushMany({level, ns, utilization}, count, totals);
  }
  // End of input: no further cell follows.
  void Flush(DeviceTotals& totals);

 private:
  struct Cell {
    std::int64_t level;
    std::int64_t ns;
    std::int64_t utilization;
  };
  void PushMany(const Cell& cell, std::int64_t count, DeviceTotals& totals);
  void PushOne(const Cell& cell, DeviceTotals& totals);
  [[nodiscard]] const Cell& At(std::size_t age) const {
    const std::size_t at = oldest_ + age;
    return ring_[at < ring_.size() ? at : at - ring_.size()];
  }
  [[nodiscard]] std::int64_t SettlingLevel();
  static void Credit(std::int64_t level, std::int64_t count, const Cell& cell, DeviceTotals& totals);

  std::int64_t n_;
  // The last 2n-1 cells; the middle one is settled by the newest. The oldest is at oldest_, and what follows it goes
  // round.
  std::vector<Cell> ring_;
  std::size_t oldest_ = 0;
  std::vector<std::int64_t> to_right_;  // for SettlingLevel: the highest of the middle cell and the k to its right
  std::int64_t quiet_;                  // kNever cells since the last other one, up to 2n
};

}  // namespace idleburn
