#include "fleet/gauge_owners.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "audit/read_run.h"
#include "base/int128.h"
#include "price/gpu_time.h"

// The file by owner says how an owner used a GPU, and the audit of the GPU says how long each phase lasted. A reading
// is held until the next one, so the first alone would be off by up to a scrape interval wherever owners change. So the
// phases of the GPU are split in proportion to those of its owners.

namespace idleburn {
namespace {

// Names of devices, for finding the device that a label key means.
class GpusByKey {
 public:
  explicit GpusByKey(const DeviceTable& devices) {
    for (DeviceId id = 0; id < devices.size(); ++id) {
      const Device& d = devices[id];
      const std::string instance = d.mig ? d.mig->id : "";
      if (!d.uuid.empty()) ids_.emplace(d.uuid + '\0' + instance, id);
      if (d.index) ids_.emplace(d.host + '\0' + std::to_string(*d.index) + '\0' + instance, id);
    }
  }
  [[nodiscard]] std::optional<DeviceId> Find(const DeviceKey& key) const {
    const std::string instance = key.mig ? key.mig->id : "";
    auto found = ids_.find(NormalUuid(key.uuid) + '\0' + instance);
    // A series without any key is GPU 0 of its host (import/prometheus_samples.cc).
    if (found == ids_.end()) {
      found = ids_.find(key.host + '\0' + std::to_string(key.index.value_or(0)) + '\0' + instance);
    }
    return found == ids_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  std::map<std::string, DeviceId> ids_;
};

std::int64_t SumOf(const std::vector<std::int64_t>& parts) {
  return std::accumulate(parts.begin(), parts.end(), std::int64_t{0});
}

std::vector<Money> NoMoney(std::size_t parts) { return std::vector<Money>(parts); }

// The waste of each part of a GPU, at its cost. `wasted` and `busy` are the milliseconds that readings by owner give;
// their sums differ a little from the GPU's own, because readings are held longer where an owner ends. So the smaller
// of the two sums decides: the GPU's waste is split, or its useful cost. Then no part wastes more than it costs.
Result<std::vector<Money>> SplitWaste(Money waste, const std::vector<Money>& cost,
                                      const std::vector<std::int64_t>& wasted, const std::vector<std::int64_t>& busy) {
  Int128 of_all = 0;
  for (const Money& part : cost) of_all += part.nano();
  const Int128 all_ms = static_cast<Int128>(SumOf(wasted)) + SumOf(busy);
  if (all_ms == 0) return NoMoney(cost.size());
  if (static_cast<Int128>(waste.nano()) * all_ms <= of_all * SumOf(wasted)) {
    return SumOf(wasted) == 0 ? NoMoney(cost.size()) : Split(waste, wasted);
  }
  const Money useful = Money::Nano(static_cast<std::int64_t>(of_all) - waste.nano());
  std::vector<Money> parts = SumOf(busy) == 0 ? NoMoney(cost.size()) : TRY(Split(useful, busy));
  for (std::size_t i = 0; i < parts.size(); ++i) parts[i] = Money::Nano(cost[i].nano() - parts[i].nano());
  return parts;
}

std::int64_t MsOf(const PhaseMs& phases, bool observed) {
  const std::int64_t all = std::accumulate(phases.begin(), phases.end(), std::int64_t{0});
  return observed ? all - phases[kFleetUnobserved] : all;
}

}  // namespace

std::int64_t HeldTime::ObservedNs() const { return std::accumulate(phase_ns.begin(), phase_ns.end(), std::int64_t{0}); }

Result<std::map<DeviceId, HeldByOwner>> ClassifyHeld(const GaugeSamples& samples, const ImportOptions& options,
                                                     const Thresholds& thresholds, const DeviceTable& devices) {
  const GpusByKey gpus(devices);
  // The audit has looked at the units of all samples. A file with a few idle GPUs alone may look like ratios.
  ImportOptions known = options;
  known.units.emplace("", PercentUnit::kHundred);
  std::map<DeviceId, HeldByOwner> found;
  for (const std::string& file : samples.by_owner) {
    const std::shared_ptr<RunInputs> run = TRY(Read({file}, known, thresholds));
    const RunResult result = run->classifier.Finish();
    for (const DeviceResult& d : result.devices) {
      const auto held = samples.held.find(run->devices[d.device].uuid);
      if (held == samples.held.end()) continue;
      const std::optional<DeviceId> gpu = gpus.Find(held->second.gpu);
      if (!gpu) continue;
      HeldTime& time = found[*gpu][held->second.owner];
      time.labelled = time.labelled || samples.labelled.count(held->first) > 0;
      for (std::size_t p = 0; p < kPhaseCount; ++p) time.phase_ns[p] += d.totals.phase_ns[p];
      time.busy_ns += static_cast<double>(d.totals.utilization.area) / static_cast<double>(kFull);
    }
  }
  return found;
}

void AddNamedElsewhere(const std::vector<OwnerLedger::Share>& shares, HeldByOwner* held) {
  double rest = 0;
  std::vector<OwnerLedger::Share> others;
  for (const OwnerLedger::Share& share : shares) {
    if (share.owner.empty()) rest = share.fraction;
    if (!share.owner.empty() && held->count(share.owner) == 0) others.push_back(share);
  }
  const auto nobody = held->find("");
  if (others.empty() || nobody == held->end()) return;
  double whole = rest;
  for (const OwnerLedger::Share& share : others) whole += share.fraction;
  if (whole <= 0) return;
  const HeldTime all = nobody->second;
  for (const OwnerLedger::Share& share : others) {
    HeldTime& part = (*held)[share.owner];
    const double of_all = share.fraction / whole;
    for (std::size_t p = 0; p < kPhaseCount; ++p) {
      part.phase_ns[p] = static_cast<std::int64_t>(static_cast<double>(all.phase_ns[p]) * of_all);
      nobody->second.phase_ns[p] -= part.phase_ns[p];
    }
    part.busy_ns = all.busy_ns * of_all;
    nobody->second.busy_ns -= part.busy_ns;
  }
}

// Rounds the whole to milliseconds first, then splits it, so that the phases sum to the window.
FleetTime GpuTimeOf(const UsageCost& usage) {
  std::vector<std::int64_t> ns(usage.phase_ns.begin(), usage.phase_ns.end());
  ns.push_back(usage.unobserved_ns + usage.unallocated_ns);
  const std::int64_t total = SumOf(ns);
  FleetTime time;
  const auto parts = SplitNanos((total + kNanosPerMs / 2) / kNanosPerMs, ns);
  if (parts) std::copy(parts->begin(), parts->end(), time.phases.begin());
  return time;
}

namespace {

// The owners' parts of the observed phases.
Result<std::vector<HeldPart>> SplitPhases(const FleetTime& time, const HeldByOwner& held, const std::string& nobody) {
  std::vector<HeldPart> parts;
  std::vector<const HeldTime*> times;
  std::vector<std::int64_t> observed;
  for (const auto& [owner, its] : held) {
    if (its.ObservedNs() == 0) continue;
    parts.push_back({owner.empty() ? nobody : owner, {}, {}, 0});
    times.push_back(&its);
    observed.push_back(its.ObservedNs());
  }
  if (parts.empty()) {
    parts.push_back({nobody, {}, {}, 0});
    std::copy(time.phases.begin(), time.phases.begin() + kPhaseCount, parts[0].time.phases.begin());
    return parts;
  }
  for (std::size_t p = 0; p < kPhaseCount; ++p) {
    std::vector<std::int64_t> weights;
    for (const HeldTime* its : times) weights.push_back(its->phase_ns[p]);
    const std::vector<std::int64_t> ms = TRY(SplitNanos(time.phases[p], SumOf(weights) > 0 ? weights : observed));
    for (std::size_t i = 0; i < parts.size(); ++i) parts[i].time.phases[p] = ms[i];
  }
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const double utilization = times[i]->busy_ns / static_cast<double>(observed[i]);
    parts[i].busy_ms = utilization * static_cast<double>(MsOf(parts[i].time.phases, true));
  }
  return parts;
}

// Unobserved time costs too, and is no waste.
Result<void> AddCosts(const UsageCost& usage, std::vector<HeldPart>* parts) {
  std::vector<std::int64_t> all;
  for (const HeldPart& part : *parts) all.push_back(MsOf(part.time.phases, false));
  if (!usage.total || SumOf(all) == 0) return {};
  const std::vector<Money> total = TRY(Split(*usage.total, all));
  std::vector<Money> cost;  // of observed time
  std::vector<std::int64_t> busy;
  std::vector<std::int64_t> wasted;
  for (std::size_t i = 0; i < parts->size(); ++i) {
    const HeldPart& part = (*parts)[i];
    const std::int64_t observed = MsOf(part.time.phases, true);
    cost.push_back(observed > 0 ? total[i] : Money());
    busy.push_back(std::clamp<std::int64_t>(std::llround(part.busy_ms), 0, observed));
    wasted.push_back(observed - busy.back());
  }
  const std::vector<Money> waste = TRY(SplitWaste(usage.waste.value_or(Money()), cost, wasted, busy));
  for (std::size_t i = 0; i < parts->size(); ++i) (*parts)[i].cost = {total[i], waste[i], waste[i]};
  return {};
}

}  // namespace

Result<std::vector<HeldPart>> SplitByOwner(const FleetTime& time, const UsageCost& usage, const HeldByOwner& held,
                                           const std::string& nobody) {
  std::vector<HeldPart> parts = TRY(SplitPhases(time, held, nobody));
  const std::vector<std::int64_t> hidden = {usage.unobserved_ns, usage.unallocated_ns};
  const std::vector<std::int64_t> hidden_ms = TRY(SplitNanos(time.phases[kFleetUnobserved], hidden));
  for (std::size_t i = 0; i < hidden.size(); ++i) {
    if (hidden_ms[i] == 0) continue;
    parts.push_back({i == 0 ? kFleetUnknown : kFleetUnallocated, {}, {}, 0});
    parts.back().time.phases[kFleetUnobserved] = hidden_ms[i];
  }
  TRY(AddCosts(usage, &parts));
  return parts;
}

}  // namespace idleburn
