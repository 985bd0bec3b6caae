#include "diagnose/trace_rows.h"

#include <algorithm>
#include <bit>
#include <numeric>

namespace idleburn {

template <typename Row>
StartOrder<Row>::StartOrder(const std::vector<Row>& rows) : size_(rows.size()) {
  if (std::is_sorted(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.start_ns < b.start_ns; })) {
    return;
  }
  order_.resize(rows.size());
  std::iota(order_.begin(), order_.end(), 0U);
  std::sort(order_.begin(), order_.end(), [&rows](std::uint32_t a, std::uint32_t b) {
    return rows[a].start_ns != rows[b].start_ns ? rows[a].start_ns < rows[b].start_ns : a < b;
  });
}

template class StartOrder<HostCall>;
template class StartOrder<DeviceEvent>;

// One row of each launch: its first.
void GraphLaunches::Join(std::vector<Launch>& launches) {
  std::sort(launches.begin(), launches.end());
  std::size_t kept = 0;
  for (const Launch& launch : launches) {
    if (kept > 0 && launches[kept - 1].Same(launch)) {
      launches[kept - 1].many = true;
    } else {
      launches[kept++] = launch;
    }
  }
  launches.resize(kept);
}

// A part of the ids at a time: all of them at once would take half as much memory as the events.
GraphLaunches::GraphLaunches(const std::vector<DeviceEvent>& events) {
  constexpr std::size_t kAtOnce = std::size_t{1} << 17;
  const std::size_t parts = std::bit_ceil(events.size() / kAtOnce + 1);
  std::vector<Launch> some;
  for (std::size_t part = 0; part < parts; ++part) {
    some.clear();
    std::size_t join_at = 2 * kAtOnce;
    for (const DeviceEvent& e : events) {
      if (e.correlation == kNoCorrelation || (static_cast<std::uint64_t>(e.correlation) & (parts - 1)) != part)
        continue;
      some.push_back({e.correlation, e.start_ns, e.process, false});
      if (some.size() < join_at) continue;
      Join(some);
      join_at = some.size() + 2 * kAtOnce;
    }
    Join(some);
    std::copy_if(some.begin(), some.end(), std::back_inserter(launches_), [](const Launch& l) { return l.many; });
  }
  std::sort(launches_.begin(), launches_.end());
}

std::optional<std::int64_t> GraphLaunches::FirstStart(const DeviceEvent& event) const {
  const Launch one{event.correlation, INT64_MIN, event.process, true};
  const auto at = std::lower_bound(launches_.begin(), launches_.end(), one);
  return at != launches_.end() && at->Same(one) ? std::optional(at->start_ns) : std::nullopt;
}

std::vector<bool> Drivers(const Profile& profile, const ProfiledDevice& device) {
  std::vector<bool> drives(UINT16_MAX + 1, !profile.correlation_by_process);
  for (const DeviceEvent& e : device.events) drives[e.process] = true;
  return drives;
}

}  // namespace idleburn
