#pragma once

#include <cstdint>
#include <optional>

#include "diagnose/host_evidence.h"
#include "telemetry/host_timeline.h"

namespace idleburn {

// Of a part of time: GPU-nanoseconds of interest, of those observed.
struct ChosenTime {
  std::int64_t ns = 0;
  std::int64_t observed = 0;
  void Merge(const ChosenTime& o) {
    ns += o.ns;
    observed += o.observed;
  }
  friend bool operator==(const ChosenTime&, const ChosenTime&) = default;
};
using ChosenTimes = SecondBuckets<ChosenTime>;

// Means of the host over chosen time: each part of time counts by the share of it that was chosen. Of the workload
// where that was read, else of the machine. A signal that was read over less than half of that time is absent.
HostEvidence MeansOver(const HostTimeline& host, const ChosenTimes& chosen);

}  // namespace idleburn
