#include "classify/spin_window.h"

#include <algorithm>

namespace idleburn {

SpinWindow::SpinWindow(std::int64_t cells)
    : n_(std::max<std::int64_t>(cells, 1)),
      ring_(static_cast<std::size_t>(2 * n_ - 1), Cell{kNever, 0, 0}),
      quiet_(2 * n_) {}

void SpinWindow::Credit(std::int64_t level, std::int64_t count, const Cell& cell, DeviceTotals& totals) {
  if (level == kNever) return;
  if (level == kActive) {
    totals.spin_by_activity.Add(cell.ns * count, cell.utilization);
  } else {
    totals.spin_by_power.Add(level, cell.ns * count, cell.utilization);
  }
}

std::int64_t SpinWindow::SettlingLevel() const {
  const auto n = static_cast<std::size_t>(n_);
  std::int64_t settling = kNever;
  for (std::size_t start = 0; start < n; ++start) {
    std::int64_t highest = kActive;
    for (std::size_t i = start; i < start + n; ++i) highest = std::max(highest, At(i).level);
    settling = std::min(settling, highest);
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

void SpinWindow::Push(std::int64_t level, std::int64_t count, std::int64_t ns, std::int64_t utilization,
                      DeviceTotals& totals) {
  const Cell cell{level, ns, utilization};
  const std::int64_t edge = 2 * n_;
  if (count > 2 * edge) {
    // Cells at least n away from both ends of a run of equal cells settle at their own level.
    for (std::int64_t i = 0; i < edge; ++i) PushOne(cell, totals);
    Credit(level, count - 2 * edge, cell, totals);
    count = edge;
  }
  for (std::int64_t i = 0; i < count; ++i) PushOne(cell, totals);
}

void SpinWindow::Flush(DeviceTotals& totals) { Push(kNever, 2 * n_, 0, 0, totals); }

}  // namespace idleburn
