#pragma once

#include <cstdint>
#include <map>

#include "diagnose/finding.h"
#include "price/cost_report.h"

namespace idleburn {

// How GPU time is spread over devices: GPU-nanoseconds of each.
using DeviceShares = std::map<DeviceId, std::int64_t>;

// The waste of each device that no finding has claimed yet. Each finding takes its part, at most what is left: the
// costs of findings never add up to more than the waste (docs/money.md).
class WasteLeft {
 public:
  explicit WasteLeft(const CostReport& cost);

  // Gives the finding so much of each device's waste, and its cost.
  void Charge(const DeviceShares& wasted, Finding& finding);
  // The same, where nobody knows which devices wasted it: in proportion to what each has left.
  void Charge(std::int64_t wasted_ns, Finding& finding);
  [[nodiscard]] const DeviceShares& left() const { return left_; }

 private:
  const CostReport* cost_;
  DeviceShares left_;
  Money money_;  // what is left of the waste's cost
};

}  // namespace idleburn
