#include "classify/spin_window.h"

#include <algorithm>

namespace idleburn {

SpinWindow::SpinWindow(std::int64_t cells)
    : n_(std::max<std::int64_t>(cells, 1)),
      ring_(static_cast<std::size_t>(2 * n_ - 1), Cell{kNever, 0, 0}),
      to_right_(static_cast<std::size_t>(n_)),
      quiet_(2 * n_) {}

void SpinWindow::Credit(std::int64_t level, std::int64_t count, const Cell& cell, DeviceTotals& totals) {
  if (level == kNever) return;
  if (level == kActive) {
    totals.spin_by_activity.Add(cell.ns * count, cell.utilization);
  } else {
    totals.spin_by_power.Add(level, cell.ns * count, cell.utilization);
  }
}

// A window that begins k cells before the middle one is the middle one with k cells to its left and n - 1 - k to its
// right.
std::int64_t SpinWindow::SettlingLevel() {
  const auto n = static_cast<std::size_t>(n_);
  std::int64_t highest = At(n - 1).level;
  for (std::size_t k = 0; k < n; ++k) {
    highest = std::max(highest, At(n - 1 + k).level);
    to_right_[k] = highest;
  }
  highest = At(n - 1).level;
  std::int64_t settling = kNever;
  for (std::size_t k = 0; k < n; ++k) {
    highest = std::max(highest, At(n - 1 - k).level);
    settling = std::min(settling, std::max(highest, to_right_[n - 1 - k]));
  }
  return settling;
}

void SpinWindow::PushOne(const Cell& cell, DeviceTotals& totals) {
  if (cell.level != kNever) {
    quiet_ = 0;
  } else if (quiet_ < 2 * n_) {
    ++quiet_;
  } else {
    return;  // the ring holds nothing but kNever
  }
  ring_[oldest_] = cell;
  oldest_ = oldest_ + 1 < ring_.size() ? oldest_ + 1 : 0;
  const Cell& middle = At(static_cast<std::size_t>(n_ - 1));
  if (middle.level != kNever) Credit(SettlingLevel(), 1, middle, totals);
}

void SpinWindow::PushMany(const Cell& cell, std::int64_t count, DeviceTotals& totals) {
  const std::int64_t edge = 2 * n_;
  if (count > 2 * edge) {
    // Cells at least n away from both ends of a run of equal cells settle at their own level.
    for (std::int64_t i = 0; i < edge; ++i) PushOne(cell, totals);
    Credit(cell.level, count - 2 * edge, cell, totals);
    count = edge;
  }
  for (std::int64_t i = 0; i < count; ++i) PushOne(cell, totals);
}

void SpinWindow::Flush(DeviceTotals& totals) { Push(kNever, 2 * n_, 0, 0, totals); }

}  // namespace idleburn
