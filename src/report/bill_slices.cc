#include "report/bill_slices.h"

namespace idleburn {
namespace {

std::optional<Money> Less(const std::optional<Money>& whole, const std::optional<Money>& part) {
  return whole ? std::optional(Money::Nano(whole->nano() - part.value_or(Money()).nano())) : std::nullopt;
}

constexpr auto kBound = static_cast<std::size_t>(Phase::kComputeBound);

}  // namespace

std::vector<BillSlice> SlicesOf(const UsageCost& u, const HourColumn& hours, const std::optional<CostColumn>& costs) {
  const CostColumn k = costs.value_or(CostColumn());
  const BillSlice idle[] = {
      {"idle_held", "idle, held by a process", u.idle_held_ns, u.idle_held_cost, hours.idle_held, k.idle_held},
      {"idle_empty", "idle, no process", u.idle_empty_ns, u.idle_empty_cost, hours.idle_empty, k.idle_empty},
      {"idle_unknown", "idle, holder unknown", u.idle_unknown_ns, u.idle_unknown_cost, hours.idle_unknown,
       k.idle_unknown}};
  const BillSlice bound = {kPhaseNames[kBound],
                           u.spin_wait_ns > 0 ? "compute_bound, without spin-wait" : kPhaseNames[kBound],
                           u.phase_ns[kBound] - u.spin_wait_ns,
                           Less(u.phase_cost[kBound], u.spin_wait_cost),
                           hours.phase[kBound] - hours.spin_wait,
                           Money::Nano(k.phase[kBound].nano() - k.spin_wait.nano())};
  const BillSlice rest[] = {
      {"spin_wait", "compute_bound, spin-wait", u.spin_wait_ns, u.spin_wait_cost, hours.spin_wait, k.spin_wait},
      {"unobserved", "unobserved", u.unobserved_ns, u.unobserved_cost, hours.unobserved, k.unobserved},
      {"unallocated", "unallocated MIG slices", u.unallocated_ns, u.unallocated_cost, hours.unallocated,
       k.unallocated}};
  std::vector<BillSlice> slices;
  for (const BillSlice& slice : idle) {
    if (slice.ns > 0) slices.push_back(slice);
  }
  if (slices.empty()) slices.push_back({kPhaseNames[0], kPhaseNames[0], 0, u.phase_cost[0], 0, k.phase[0]});
  for (std::size_t p = 1; p < kBound; ++p) {
    slices.push_back({kPhaseNames[p], kPhaseNames[p], u.phase_ns[p], u.phase_cost[p], hours.phase[p], k.phase[p]});
  }
  slices.push_back(bound);
  for (const BillSlice& slice : rest) {
    if (slice.ns > 0) slices.push_back(slice);
  }
  return slices;
}

}  // namespace idleburn
