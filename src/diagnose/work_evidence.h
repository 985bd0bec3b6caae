// Whether busy GPUs do useful work. Utilization only says that some kernel was resident, so this asks power, SM
// activity and clocks.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "diagnose/cause_table.h"
#include "diagnose/scene.h"

namespace idleburn {

// What proves that a GPU works that looks busy by utilization. One resident kernel counts as 100 %, so
// utilization itself is no proof. Each threshold is a row of Thresholds (works_...).
enum class WorkEvidence : std::uint8_t {
  kNone,
  kSmActivity,  // mean SM activity while busy
  kPower,       // mean power while busy, as a share of the limit
  kLoad,        // power as a share of the range from idle to limit, at full clocks that nothing held back
};
// The first kind of evidence that a device has.
WorkEvidence EvidenceOfWork(const Scene& scene, const DeviceResult& d);
// What was read of such a GPU, with the thresholds, and what was not read: "power.draw averages 171 W while
// busy, 24 % of the limit of 700 W (50 % would show work)".
std::string WhatWasRead(const Scene& scene, const DeviceResult& d);

// GPU-nanoseconds in which a GPU was busy at low power for a minute or longer. It is neither spin-wait nor
// proved to be work by SM activity of 80 % or more, so nobody can tell.
std::int64_t DimNs(const Scene& scene, const DeviceResult& d);
// The same for all GPUs of the run.
std::int64_t DimNs(const Scene& scene);

// Whether the report says "cannot tell whether they work" about a material share of observed time. Advice that
// takes busy time for work would be wrong there.
bool CannotTellWork(const Scene& scene);

// Adds the finding for DimNs if it is material.
void FindDimTime(const Scene& scene, std::vector<Finding>& findings);
// The finding for GPUs that are busy throughout: healthy if each proves that it works, otherwise unknown.
Finding HealthyOrNot(const Scene& scene, const std::string& mean);

// Why power did not decide on spin-wait: "idle power was not measured: ..."; empty if it did.
std::string WhyNoSpinTest(const Thresholds& thresholds, const SpinVerdict& spin);

}  // namespace idleburn
