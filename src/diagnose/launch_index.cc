#include "diagnose/launch_index.h"

#include <algorithm>
#include <numeric>

#include "stats/order.h"

namespace idleburn {

// Calls and device events are compared by the same two members.
template <typename Row>
bool LaunchIndex::Before(const HostCall& call, const Row& row) const {
  if (call.correlation != row.correlation) return call.correlation < row.correlation;
  return ProcessOf(call.process) < ProcessOf(row.process);
}

LaunchIndex::LaunchIndex(const Profile& profile) : calls_(profile.calls), by_process_(profile.correlation_by_process) {
  const auto before = [this](const HostCall& a, const HostCall& b) { return Before(a, b); };
  // Ids are handed out in the order of calls: many files are sorted but for a few threads that overtake each other.
  if (std::is_sorted(calls_.begin(), calls_.end(), before)) return;
  order_.resize(calls_.size());
  std::iota(order_.begin(), order_.end(), 0U);
  std::sort(order_.begin(), order_.end(), [&](std::uint32_t a, std::uint32_t b) {
    return Before(calls_[a], calls_[b]) || (!Before(calls_[b], calls_[a]) && a < b);
  });
}

std::size_t LaunchIndex::First(const DeviceEvent& event) const {
  const std::size_t n = event.correlation == kNoCorrelation ? 0 : calls_.size();
  if (n == 0) return 0;
  const auto id = [](const auto& row) { return static_cast<double>(row.correlation); };
  return PartitionPointNear(n, EvenGuess(n, id(At(0)), id(At(n - 1)), id(event)),
                            [&](std::size_t i) { return Before(At(i), event); });
}

bool LaunchIndex::Matches(std::size_t i, const DeviceEvent& event) const {
  if (event.correlation == kNoCorrelation || i >= calls_.size()) return false;
  const HostCall& call = At(i);
  return call.correlation == event.correlation && ProcessOf(call.process) == ProcessOf(event.process);
}

const HostCall* LaunchIndex::Of(const DeviceEvent& event) const {
  const std::size_t first = First(event);
  return Matches(first, event) ? &At(first) : nullptr;
}

bool LaunchIndex::IsAmbiguous(const DeviceEvent& event) const {
  if (by_process_) return false;
  const std::size_t first = First(event);
  for (std::size_t i = first; Matches(i, event); ++i) {
    if (At(i).process != At(first).process) return true;
  }
  return false;
}

}  // namespace idleburn
