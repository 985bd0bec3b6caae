#include "standin/board.h"

#include <algorithm>
#include <cmath>

namespace idleburn::standin {

const std::deque<Published>& Board::Windows(std::int64_t now) {
  const std::int64_t known = activity_->KnownUntil(now);
  for (; next_window_ <= known; next_window_ += facts_.window_ns) {
    const double busy = activity_->Integral(Quantity::kBusy, next_window_ - facts_.window_ns, next_window_);
    if (activity_->Lost(next_window_)) continue;
    const double percent = busy / static_cast<double>(facts_.window_ns);
    windows_.push_back({next_window_, static_cast<std::uint32_t>(std::lround(std::clamp(percent, 0.0, 100.0)))});
    if (windows_.size() > facts_.ring) windows_.pop_front();
  }
  return windows_;
}

double Board::Since(Quantity quantity, std::int64_t now) {
  Counter& counter = counters_[static_cast<std::size_t>(quantity)];
  if (now > counter.until) {
    counter.sum += activity_->Integral(quantity, counter.until, now) / 1e9;
    counter.until = now;
  }
  return counter.sum;
}

std::uint64_t Board::Energy(std::int64_t now) {
  constexpr std::int64_t kUpdate = 20'000'000;
  const std::int64_t known = activity_->KnownUntil(now);
  return facts_.energy_mj + static_cast<std::uint64_t>(Since(Quantity::kPower, known / kUpdate * kUpdate));
}

void Board::ReloadDriver(std::int64_t at) {
  facts_.energy_mj = 0;
  counters_[static_cast<std::size_t>(Quantity::kPower)] = {at, 0};
  windows_.clear();
}

std::uint64_t Board::Moved(Quantity quantity, std::int64_t now) {
  return static_cast<std::uint64_t>(Since(quantity, activity_->KnownUntil(now)));
}

}  // namespace idleburn::standin
