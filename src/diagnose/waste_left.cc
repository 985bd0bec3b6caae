#include "diagnose/waste_left.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "diagnose/make_finding.h"
#include "price/gpu_time.h"

namespace idleburn {

DeviceShares PartOf(DeviceShares whole, std::int64_t ns) {
  std::vector<std::int64_t> weights;
  for (const auto& entry : whole) weights.push_back(entry.second);
  const Result<std::vector<std::int64_t>> parts = SplitNanos(ns, weights);
  std::size_t at = 0;
  for (auto& entry : whole) entry.second = parts ? (*parts)[at++] : 0;
  return whole;
}

double WastedNs(const UsageCost& u) {
  return static_cast<double>(u.observed_ns) - u.effective_ns + u.spin_effective_ns;
}

WasteLeft::WasteLeft(const CostReport& cost) : cost_(&cost), money_(cost.whole.waste.value_or(Money())) {
  for (const CostReport::DeviceCost& d : cost.devices) {
    left_[d.device] = static_cast<std::int64_t>(std::max(0.0, WastedNs(d.usage)));
  }
}

void WasteLeft::Charge(const DeviceShares& wasted, Finding& finding) {
  DeviceShares taken;
  for (const auto& [device, ns] : wasted) {
    std::int64_t& left = left_[device];
    const std::int64_t part = std::clamp<std::int64_t>(ns, 0, left);
    if (part == 0) continue;
    left -= part;
    taken[device] = part;
    finding.waste_ns += part;
  }
  if (taken.empty()) return;
  // The price of each part is rounded for itself, to a nano-unit.
  const std::optional<Money> cost = CostOfTime(*cost_, finding.waste_ns, taken);
  if (!cost) return;
  finding.cost = std::min(*cost, money_);
  money_ = Money::Nano(money_.nano() - finding.cost->nano());
}

void WasteLeft::Charge(std::int64_t wasted_ns, Finding& finding) { Charge(PartOf(left_, wasted_ns), finding); }

}  // namespace idleburn
