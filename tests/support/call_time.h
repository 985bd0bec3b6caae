#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "profile/profile.h"

namespace idleburn::test {

// Time in which some host thread was in a call of that kind: where calls overlap it counts once.
inline std::int64_t CallNs(const Profile& profile, CallKind kind) {
  std::vector<Interval> parts;
  for (const HostCall& call : profile.calls) {
    if (call.kind == kind) parts.push_back({call.start_ns, call.end_ns});
  }
  return IntervalSet::UnionOf(std::move(parts)).TotalNs();
}

}  // namespace idleburn::test
