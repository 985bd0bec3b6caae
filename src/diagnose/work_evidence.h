#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "diagnose/finding.h"
#include "diagnose/scene.h"

namespace idleburn {

// What shows that a GPU works which looks busy by utilisation: one resident kernel counts as 100 %, so utilisation
// itself does not. Each threshold is a row of Thresholds (works_...).
enum class WorkEvidence : std::uint8_t {
  kNone,
  kSmActivity,  // mean SM activity while busy
  kPower,       // mean power while busy, as a share of the limit
  kLoad,        // as a share of the range from idle to the limit, at full clocks that nothing held back
};
WorkEvidence EvidenceOfWork(const Scene& scene, const DeviceResult& d);
// What was read of such a GPU, with the thresholds: "power.draw averages 171 W while busy, 24 % of the limit of 700 W
// (50 % would show work)"; what was not read is said too.
std::string WhatWasRead(const Scene& scene, const DeviceResult& d);

// GPU-nanoseconds in which a GPU was busy at little power for a minute or longer, and which is neither spin-wait nor
// shown to be work by SM activity of 80 % or more: nobody can tell.
std::int64_t DimNs(const Scene& scene, const DeviceResult& d);
std::int64_t DimNs(const Scene& scene);

// Whether the report says "cannot tell whether they work" of a material share of observed time. Advice that takes busy
// time for work is wrong there.
bool CannotTellWork(const Scene& scene);

// The finding of DimNs, where it is material.
void FindDimTime(const Scene& scene, std::vector<Finding>& findings);
// GPUs that are busy throughout: healthy where each of them shows that it works, otherwise unknown.
Finding HealthyOrNot(const Scene& scene, const std::string& mean);

// Why power did not decide on spin-wait, in words: "idle power was not measured: ..."; empty where it did.
std::string WhyNoSpinTest(const Thresholds& thresholds, const SpinVerdict& spin);

}  // namespace idleburn
