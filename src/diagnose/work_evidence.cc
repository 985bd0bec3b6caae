#include "diagnose/work_evidence.h"

#include <fmt/format.h>

#include <algorithm>

#include "diagnose/findings.h"
#include "diagnose/make_finding.h"
#include "diagnose/stalls.h"

namespace idleburn {
namespace {

// What to record so that work can be proved.
constexpr std::string_view kMeasureWork =
    "add power.draw,enforced.power.limit to nvidia-smi's --query-gpu, or read SM activity (DCGM_FI_PROF_SM_ACTIVE, "
    "field 1002); both show whether busy GPUs work";

// Mean power while busy; absent if it is known for less than half of that time.
std::optional<double> BusyPower(const DeviceResult& d) {
  Integral power;
  for (const Timeline::Bucket& bucket : d.totals.timeline.buckets) power.Merge(bucket.busy_power);
  return 2 * power.ns >= d.totals.phase_ns[kBoundPhase] ? power.Mean() : std::nullopt;
}

// Power while busy in percent of the limit; absent if either was not read.
std::optional<double> ShareOfLimit(const DeviceResult& d) {
  const std::optional<double> power = BusyPower(d);
  if (!power || !d.spin.limit_mw || *d.spin.limit_mw <= 0) return std::nullopt;
  return 100 * *power / static_cast<double>(*d.spin.limit_mw);
}

// Power while busy in percent of the range from idle power to the limit.
std::optional<double> Load(const DeviceResult& d) {
  const std::optional<double> power = BusyPower(d);
  if (!power || !d.spin.idle_mw || !d.spin.limit_mw || *d.spin.limit_mw <= *d.spin.idle_mw) return std::nullopt;
  const auto idle = static_cast<double>(*d.spin.idle_mw);
  return 100 * (*power - idle) / (static_cast<double>(*d.spin.limit_mw) - idle);
}

// Whether the clocks are known and nothing held them back.
bool AtFullClocks(const Scene& scene, const DeviceResult& d) {
  const std::optional<double> clock = d.totals.busy_clock.Mean();
  if (!clock || !d.max_sm_khz || d.totals.reasons_ns == 0) return false;
  const double throttled = static_cast<double>(d.totals.throttled_ns) / static_cast<double>(d.totals.reasons_ns);
  return throttled < kMaterialShare &&
         *clock * 1000 >=
             static_cast<double>(*d.max_sm_khz) * static_cast<double>(scene.thresholds.works_clock_tenths_percent);
}

// Busy time without spin-wait, in GPU-nanoseconds.
std::int64_t BusyNs(const Scene& scene, const DeviceResult& d) {
  return scene.Weighted(std::max<std::int64_t>(d.totals.phase_ns[kBoundPhase] - d.spin.time.ns, 0), d.device);
}

// Mean utilization of the run as a fraction.
double BusyShare(const Scene& scene) {
  const UsageCost& w = scene.cost.whole;
  return w.observed_ns == 0 ? 0 : w.effective_ns / static_cast<double>(w.observed_ns);
}

// GPUs without evidence of work, and their busy time.
struct Unproven {
  std::int64_t ns = 0;
  DeviceShares where;
  std::vector<DeviceId> gpus;
  const DeviceResult* example = nullptr;
};

// Collects the GPUs that are busy without proof of work.
Unproven FindUnproven(const Scene& scene) {
  Unproven all;
  Example most(scene.cost);
  for (const DeviceResult& d : scene.run.devices) {
    const std::int64_t ns = BusyNs(scene, d);
    if (ns == 0 || EvidenceOfWork(scene, d) != WorkEvidence::kNone) continue;
    all.ns += ns;
    all.where[d.device] = ns;
    all.gpus.push_back(d.device);
    most.Offer(d, static_cast<double>(ns));
  }
  all.example = most.best();
  return all;
}

}  // namespace

// SM activity decides first, because it measures the work itself. Power is only its trace.
WorkEvidence EvidenceOfWork(const Scene& scene, const DeviceResult& d) {
  const Thresholds& t = scene.thresholds;
  if (BusySmActivity(d.totals).value_or(0) >= static_cast<double>(t.works_sm_from)) return WorkEvidence::kSmActivity;
  if (ShareOfLimit(d).value_or(0) >= static_cast<double>(t.works_limit_percent)) return WorkEvidence::kPower;
  // A high load is proof only at full clocks: a throttled GPU may draw much for little work.
  const bool loaded = Load(d).value_or(0) >= static_cast<double>(t.works_load_percent);
  return loaded && AtFullClocks(scene, d) ? WorkEvidence::kLoad : WorkEvidence::kNone;
}

std::string WhatWasRead(const Scene& scene, const DeviceResult& d) {
  const Thresholds& t = scene.thresholds;
  std::vector<std::string> parts;
  const std::optional<double> power = BusyPower(d);
  if (const std::optional<double> share = ShareOfLimit(d)) {
    parts.push_back(
        fmt::format("{} averages {:.0f} W while busy, {:.0f} % of the limit of {:.0f} W ({} % would show work)",
                    scene.Counter(d, Signal::kPower), *power / 1000, *share,
                    static_cast<double>(*d.spin.limit_mw) / 1000, t.works_limit_percent));
  } else {
    parts.emplace_back(power                    ? "power was read, but no power limit"
                       : d.totals.power.ns == 0 ? "power was not read"
                                                : "power is known for less than half of the busy time");
  }
  const BusySm sm = ReadBusySm(d.totals);
  if (const std::optional<double> mean = sm.Mean()) {
    parts.push_back(fmt::format("{} averages {:.0f} % there ({} % would show work)",
                                scene.Counter(d, Signal::kSmActive), *mean / kPercent, InPercent(t.works_sm_from)));
  } else {
    parts.push_back(sm.known.ns == 0 ? "SM activity was not read"
                                     : fmt::format("SM activity is known for {:.0f} of {:.0f} busy s (half is needed)",
                                                   Seconds(sm.known.ns), Seconds(sm.busy_ns)));
  }
  return fmt::format("{}: {}", scene.NameOf(d.device), fmt::join(parts, "; "));
}

std::int64_t DimNs(const Scene& scene, const DeviceResult& d) {
  const bool computes = BusySmActivity(d.totals).value_or(0) >= kSmCompute;
  const std::int64_t busy = std::max<std::int64_t>(d.totals.phase_ns[kBoundPhase] - d.spin.time.ns, 0);
  return computes ? 0 : scene.Weighted(std::min(d.spin.dim_ns, busy), d.device);
}

std::int64_t DimNs(const Scene& scene) {
  std::int64_t sum = 0;
  for (const DeviceResult& d : scene.run.devices) sum += DimNs(scene, d);
  return sum;
}

bool CannotTellWork(const Scene& scene) {
  if (scene.traced_only || scene.cost.whole.observed_ns == 0) return false;
  if (scene.Share(DimNs(scene)) >= kMaterialShare) return true;
  return BusyShare(scene) >= kHealthyBusy && scene.Share(FindUnproven(scene).ns) >= kMaterialShare;
}

std::string WhyNoSpinTest(const Thresholds& thresholds, const SpinVerdict& spin) {
  switch (spin.lacks) {
    case SpinVerdict::Lacks::kNothing:
      return "";
    case SpinVerdict::Lacks::kPower:
      return "power was not read";
    case SpinVerdict::Lacks::kLimit:
      return "the power limit was not read, and idleburn does not know it for this GPU";
    case SpinVerdict::Lacks::kLongIdle:
      return fmt::format(
          "idle power was not measured: that takes {:.0f} s at 0 %, each {:.0f} s or more into a stretch; give it with "
          "--idle-power WATTS",
          Seconds(thresholds.idle_power_least.count()), Seconds(thresholds.idle_power_after.count()));
    case SpinVerdict::Lacks::kIdlePower:
      return fmt::format(
          "power at 0 % is {:.1f} W, more than {} % of the limit of {:.0f} W, so it is not idle power; give it with "
          "--idle-power WATTS",
          static_cast<double>(spin.refused_mw.value_or(0)) / 1000, thresholds.idle_power_limit_percent,
          static_cast<double>(spin.limit_mw.value_or(0)) / 1000);
  }
  return "";
}

// It claims no waste and has no bound: the data do not show whether that time was lost.
void FindDimTime(const Scene& scene, std::vector<Finding>& findings) {
  const std::int64_t dim = DimNs(scene);
  if (scene.Share(dim) < kMaterialShare) return;
  DeviceShares where;
  std::vector<DeviceId> gpus;
  Example most(scene.cost);
  for (const DeviceResult& d : scene.run.devices) {
    const std::int64_t ns = DimNs(scene, d);
    if (ns == 0) continue;
    where[d.device] = ns;
    gpus.push_back(d.device);
    most.Offer(d, static_cast<double>(ns));
  }
  const DeviceResult& example = *most.best();
  Finding f = MakeFinding(scene, "unknown", Status::kUnknown, dim, where);
  f.title = "GPUs look busy but draw little power; no data on whether they work";
  f.evidence.push_back(fmt::format(
      "{} >= {} % for {:.0f} GPU-s (threshold: 3 % of observed time) on {}, while {} is at most {} % of the "
      "limit for {:.0f} s or longer",
      scene.BusyCounter(), InPercent(scene.thresholds.bound_from), Seconds(dim), scene.ListOf(gpus),
      scene.Counter(example, Signal::kPower), scene.thresholds.dim_limit_percent,
      Seconds(scene.thresholds.dim_after.count())));
  f.evidence.push_back(WhatWasRead(scene, example));
  const std::string why = WhyNoSpinTest(scene.thresholds, example.spin);
  f.evidence.push_back(why.empty() ? "that is more than a waiting GPU draws and less than a working GPU draws"
                                   : "spin-wait cannot be detected: " + why);
  if (const std::optional<LatePeer> peer = FindLatePeer(scene, Waiting::kDim)) {
    f.evidence.push_back(fmt::format("{} is below {} % in {:.0f} % of that time: the other GPUs probably wait for it",
                                     scene.NameOf(peer->device), InPercent(kLateBelow), 100 * peer->share));
  }
  f.refutes = {"SM activity of 50 % or more in that time: small or memory-bound kernels that work"};
  f.isolate = "add SM activity to this log (DCGM_FI_PROF_SM_ACTIVE), or run torch.profiler for 20 steps on every rank";
  findings.push_back(std::move(f));
}

Finding HealthyOrNot(const Scene& scene, const std::string& mean) {
  const Unproven unproven = FindUnproven(scene);
  if (scene.Share(unproven.ns) < kMaterialShare) {
    Finding f = MakeFinding(scene, "healthy", Status::kLikely, scene.cost.whole.observed_ns);
    f.evidence.push_back(mean + " (threshold 90 %) and no cause explains 3 % of that time");
    Example most(scene.cost);
    for (const DeviceResult& d : scene.run.devices) most.Offer(d, static_cast<double>(d.totals.phase_ns[kBoundPhase]));
    if (most.best() != nullptr) f.evidence.push_back(WhatWasRead(scene, *most.best()));
    return f;
  }
  Finding f = MakeFinding(scene, "unknown", Status::kUnknown, unproven.ns, unproven.where);
  f.title = "GPUs look busy; the readings cannot show whether they work";
  f.evidence.push_back(mean + ", and a resident kernel counts as busy whether or not it works");
  f.evidence.push_back(WhatWasRead(scene, *unproven.example));
  f.refutes = {"SM activity of 50 % or more, or power of 50 % of the limit or more, while busy"};
  f.isolate = kMeasureWork;
  return f;
}

}  // namespace idleburn
