#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "profile/profile.h"

namespace idleburn::test {

// The profile as if `removed` had not happened to one of its devices, which comes last, the plain way: every row is
// copied and moves up. The twin of what slices do.
inline Profile WithoutTime(const Profile& profile, std::size_t device, const IntervalSet& removed) {
  const auto cut = [&removed](std::int64_t t) {
    std::int64_t before = 0;
    for (const Interval& part : removed.parts())
      before += std::max<std::int64_t>(std::min(t, part.end) - part.start, 0);
    return t - before;
  };
  const auto move = [&cut](auto& rows) {
    for (auto& row : rows) {
      row.start_ns = cut(row.start_ns);
      row.end_ns = cut(row.end_ns);
    }
  };
  Profile shorter = profile;
  const auto chosen = shorter.devices.begin() + static_cast<std::ptrdiff_t>(device);
  std::rotate(chosen, chosen + 1, shorter.devices.end());
  move(shorter.devices.back().events);
  move(shorter.calls);
  move(shorter.frames);
  move(shorter.steps);
  HostRanges& host = shorter.host;
  for (IntervalSet* set : {&host.dataloader, &host.loader_ahead, &host.cpu_op, &host.scalar_read, &host.overhead}) {
    std::vector<Interval> parts;
    for (const Interval& part : set->parts()) parts.push_back({cut(part.start), cut(part.end)});
    *set = IntervalSet::UnionOf(std::move(parts));
  }
  return shorter;
}

}  // namespace idleburn::test
