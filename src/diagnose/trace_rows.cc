#include "diagnose/trace_rows.h"

#include <algorithm>
#include <bit>
#include <numeric>

namespace idleburn {

template <typename Row>
StartOrder<Row>::StartOrder(const std::vector<Row>& rows, std::size_t at_once)
    : rows_(rows), sorted_(std::is_sorted(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
        return a.start_ns < b.start_ns;
      })) {
  if (sorted_) return;
  if (rows.size() <= at_once) {
    Sort(INT64_MIN, INT64_MAX, &order_);
    return;
  }
  // Borders by a sample: parts are half as large as they may be, as a rule.
  constexpr std::size_t kSamplesPerPart = 64;
  const std::size_t parts = 2 * (rows.size() / at_once + 1);
  const std::size_t stride = std::max<std::size_t>(rows.size() / (parts * kSamplesPerPart), 1);
  std::vector<std::int64_t> starts;
  for (std::size_t i = 0; i < rows.size(); i += stride) starts.push_back(rows[i].start_ns);
  std::sort(starts.begin(), starts.end());
  borders_.push_back(INT64_MIN);
  for (std::size_t part = 1; part < parts; ++part) borders_.push_back(starts[part * starts.size() / parts]);
}

template <typename Row>
void StartOrder<Row>::Sort(std::int64_t from, std::int64_t before, std::vector<std::uint32_t>* order) const {
  order->clear();
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    if (rows_[i].start_ns >= from && rows_[i].start_ns < before) order->push_back(static_cast<std::uint32_t>(i));
  }
  std::sort(order->begin(), order->end(), [this](std::uint32_t a, std::uint32_t b) {
    return rows_[a].start_ns != rows_[b].start_ns ? rows_[a].start_ns < rows_[b].start_ns : a < b;
  });
}

template <typename Row>
void StartOrder<Row>::Walk::Load() {
  const std::vector<std::int64_t>& borders = order_.borders_;
  passed_ += at_;
  at_ = 0;
  part_.clear();
  while (part_.empty() && next_part_ < borders.size()) {
    const std::int64_t from = borders[next_part_++];
    order_.Sort(from, next_part_ < borders.size() ? borders[next_part_] : INT64_MAX, &part_);
  }
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
