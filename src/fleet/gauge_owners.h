#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "audit/audit.h"
#include "base/result.h"
#include "classify/thresholds.h"
#include "classify/totals.h"
#include "fleet/fleet_report.h"
#include "fleet/gauge_samples.h"
#include "import/importer.h"
#include "telemetry/device.h"

// What each owner did on the GPUs that it held, and what that cost.
namespace idleburn {

// What a GPU did while one owner held it.
struct HeldTime {
  std::array<std::int64_t, kPhaseCount> phase_ns{};
  double busy_ns = 0;     // observed time x utilization
  bool labelled = false;  // a label of the GPU names the owner

  [[nodiscard]] std::int64_t ObservedNs() const;
};
using HeldByOwner = std::map<std::string, HeldTime>;  // "job 7", "" without a named owner

// Classifies `samples.by_owner`. The result is by device of `devices`.
Result<std::map<DeviceId, HeldByOwner>> ClassifyHeld(const GaugeSamples& samples, const ImportOptions& options,
                                                     const Thresholds& thresholds, const DeviceTable& devices);

// Where owners are named by another metric than utilization, as by jobstats: gives the time without an owner to them,
// by how long each held the GPU.
void AddNamedElsewhere(const std::vector<OwnerLedger::Share>& shares, HeldByOwner* held);

// One GPU in milliseconds. The phases sum to the window; slices that no MIG instance has are unobserved.
FleetTime GpuTimeOf(const UsageCost& usage);

// A part of a GPU's time and cost.
struct HeldPart {
  std::string owner;  // as in HeldByOwner; kFleetUnknown and kFleetUnallocated for buckets
  FleetTime time;
  FleetCost cost;
  double busy_ms = 0;
};

// Splits a GPU among its owners. Each phase and each amount is split by largest remainder, so every sum is exact. Holes
// belong to kFleetUnknown: no label was read in them. `nobody` is the bucket of time without a named owner.
Result<std::vector<HeldPart>> SplitByOwner(const FleetTime& time, const UsageCost& usage, const HeldByOwner& held,
                                           const std::string& nobody);

}  // namespace idleburn
