#pragma once

#include <cstdint>
#include <map>

#include "diagnose/finding.h"
#include "price/cost_report.h"

namespace idleburn {

// How GPU time is spread over devices: GPU-nanoseconds of each.
using DeviceShares = std::map<DeviceId, std::int64_t>;

// `ns` of that time, in the proportion of what each device has of it.
DeviceShares PartOf(DeviceShares whole, std::int64_t ns);

// GPU-nanoseconds of waste: observed time in which no kernel ran, and spin-wait (docs/money.md).
double WastedNs(const UsageCost& usage);

// The waste of each device that no finding has claimed yet. Each finding takes its part, at most what is left: the
// costs of findings never add up to more than the waste (docs/money.md).
class WasteLeft {
 public:
  explicit WasteLeft(const CostReport& cost);

  // Gives the finding so much of each device's waste, and its cost.
  void Charge(const DeviceShares& wasted, Finding& finding);
  // The same where the devices are not known: each gives in proportion to the waste that it has left.
  void Charge(std::int64_t wasted_ns, Finding& finding);
  [[nodiscard]] const DeviceShares& left() const { return left_; }

 private:
  const CostReport* cost_;
  DeviceShares left_;
  Money money_;  // what is left of the waste's cost
};

}  // namespace idleburn
