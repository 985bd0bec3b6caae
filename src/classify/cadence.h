#pragma once

#include <optional>
#include <span>

#include "classify/thresholds.h"
#include "telemetry/period.h"
#include "telemetry/sample.h"

namespace idleburn {

// How often a device reports, fixed after its first samples and stored in partial results, so that streamed and
// merged answers agree.
struct Cadence {
  std::optional<Signal> counter;  // that decides the phases: utilisation, else graphics-engine activity
  Nanos period{0};                // of the first kIntervals positive intervals; 0: only one sample
  Nanos tick_window{0};           // W: readings closer than this are one published value unless it changed
  Nanos max_gap{0};               // a reading is held at most this long
  bool spans = false;             // the source says when a reading ends: it lasts until the next

  [[nodiscard]] bool Fast(const Thresholds& t) const { return !spans && period > Nanos(0) && period <= t.fast_period; }
  // From here on readings last until the next, unless --max-gap says how long.
  void LastToTheNext(const Thresholds& thresholds);
  friend bool operator==(const Cadence&, const Cadence&) = default;
};

// The cadence of a device from its first samples (kIntervals + 1 of them, all if fewer), its period that of PeriodOf.
//
// W, where the driver's own stamps are not known: NVML refreshes utilisation every 1/6 s to 1 s by product
// (nvml.h). When polled faster, the shortest distances of value changes show the refresh: W is their fifth
// percentile over at least 20 changes, kept within 1/6 s and 1 s; with fewer changes 1/6 s.
Cadence MeasureCadence(std::span<const Sample> first, const Thresholds& thresholds);

}  // namespace idleburn
