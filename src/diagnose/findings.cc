#include "diagnose/findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "classify/thresholds.h"
#include "diagnose/idle_stretches.h"
#include "diagnose/late_peer.h"
#include "diagnose/live_causes.h"
#include "diagnose/make_finding.h"
#include "diagnose/read_again.h"
#include "diagnose/stalls.h"
#include "diagnose/stop_time.h"
#include "diagnose/work_evidence.h"

namespace idleburn {
namespace {

constexpr std::size_t kIdle = static_cast<std::size_t>(Phase::kIdle);
constexpr std::size_t kUnderutilized = static_cast<std::size_t>(Phase::kUnderutilized);
constexpr std::size_t kBound = static_cast<std::size_t>(Phase::kComputeBound);

double Watts(std::int64_t mw) { return static_cast<double>(mw) / 1000; }
double Percent(double micro_percent) { return micro_percent / kPercent; }

std::string MeanOrNotRead(const std::optional<double>& micro_percent) {
  return micro_percent ? fmt::format("{:.1f} %", Percent(*micro_percent)) : "not read";
}

// --- idle ------------------------------------------------------------------------------------------------------

// Idle stretches of the run that belong to one cause.
struct IdleTally {
  explicit IdleTally(const CostReport& cost) : told(cost), unstopped(cost) {}
  std::int64_t ns = 0;
  std::int64_t stop_ns = 0;  // of them, what stopping would have given back
  std::int64_t used_ns = 0;  // of them, in parts in which the GPU was used a little
  bool listed = false;       // a list of processes was read of each GPU
  DeviceShares where;
  DeviceShares wasted;  // of them, what no kernel ran in
  std::vector<DeviceId> gpus;
  std::vector<DeviceId> rest;  // of them, those that are idle nearly throughout while their job works
  Example told;                // whose counters tell whether the GPU was held
  Example unstopped;           // that is idle longest without time to stop for
};

// What decided: the list of processes, and where there was none, memory.
std::string HolderEvidence(const Scene& scene, const DeviceResult& d, std::string_view cause) {
  const auto& counters = scene.devices[d.device].counter;
  const bool held = cause == "idle_held";
  if (cause == "idle") return "neither a list of processes nor memory.used tells whether a process holds them";
  const std::string list =
      fmt::format("{} lists {} meanwhile", scene.Counter(d, Signal::kProcesses), held ? "a process" : "no process");
  const std::string memory =
      fmt::format("{} is {} {} MiB{}", scene.Counter(d, Signal::kMemoryUsed), held ? "at least" : "below",
                  scene.thresholds.held_memory >> 20, held ? ", which some process holds" : "");
  if (counters[Index(Signal::kProcesses)].empty()) return memory + " meanwhile";
  return counters[Index(Signal::kMemoryUsed)].empty() ? list : list + ", or where no list is read " + memory;
}

// Of a device, its idle stretches and what of them stopping would give back.
struct DeviceIdle {
  const DeviceResult* device = nullptr;
  IdleStretches idle;
  StopTime stop;
  std::int64_t stop_ns = 0;
  std::int64_t used_ns = 0;
  std::int64_t wasted_ns = 0;
};

// Adds the `ns` of the device's idle stretches that belong to the cause, and their part of what is of all of them.
void Add(const Scene& scene, const DeviceIdle& one, std::int64_t ns, IdleTally& tally) {
  if (ns == 0) return;
  const DeviceResult& d = *one.device;
  const double part = static_cast<double>(ns) / static_cast<double>(one.idle.TotalNs());
  const auto part_of = [&](std::int64_t all) {
    return scene.Weighted(std::llround(part * static_cast<double>(all)), d.device);
  };
  const bool listed = !scene.devices[d.device].counter[Index(Signal::kProcesses)].empty();
  tally.listed = (tally.gpus.empty() || tally.listed) && listed;
  tally.ns += scene.Weighted(ns, d.device);
  tally.stop_ns += part_of(one.stop_ns);
  tally.used_ns += part_of(one.used_ns);
  tally.where[d.device] += scene.Weighted(ns, d.device);
  tally.wasted[d.device] += part_of(one.wasted_ns);
  tally.gpus.push_back(d.device);
  tally.told.Offer(d);
  if (one.stop_ns == 0) tally.unstopped.Offer(d, static_cast<double>(ns));
  const bool rests = 10 * d.totals.phase_ns[kIdle] > 9 * d.totals.ObservedNs();
  if (one.stop.peers_work && rests) tally.rest.push_back(d.device);
}

// Why there is nothing to stop, or less than is idle.
std::string WhyNotStopped(const Scene& scene, const IdleTally& tally, const std::vector<DeviceIdle>& devices) {
  const auto of = std::find_if(devices.begin(), devices.end(),
                               [&](const DeviceIdle& d) { return d.device == tally.unstopped.best(); });
  const double minutes = Seconds(scene.thresholds.idle_after.count()) / 60;
  if (of == devices.end()) return "less than a second of it is left to stop beyond the grace (--idle-grace)";
  if (of->stop.peers_work) {
    return fmt::format(
        "other GPUs of the same job work while {} is idle: that is one job that waits, or uses its GPUs unevenly, and "
        "no GPU to stop",
        scene.NameOf(of->device->device));
  }
  return fmt::format("no advice to stop {}: its job never had all GPUs at 0 % for {:g} minutes (--idle-after)",
                     scene.NameOf(of->device->device), minutes);
}

// Empty: that of the cause.
std::string IdleTitle(std::string_view cause, const IdleTally& tally) {
  const bool used = 2 * tally.used_ns > tally.ns;
  if (cause == "idle_held") return used ? "GPUs are held and hardly used" : "";
  if (cause != "idle") return "";
  return used ? "GPUs are used a few percent; by whom is not known"
              : "GPUs are idle for a minute or longer; whether a process holds them was not read";
}

// Memory that was read and does not tell leaves the list of processes.
std::string HowToTellHolders(const Scene& scene, const DeviceResult& d) {
  if (scene.devices[d.device].counter[Index(Signal::kMemoryUsed)].empty()) {
    return "record again with " + std::string(HowToRead(scene).holders);
  }
  return "read the processes beside this log: nvidia-smi --query-compute-apps=timestamp,gpu_uuid,pid,process_name,"
         "used_memory --format=csv -l 60";
}

// The idle time claimed of each device, and the waste of what is too little to be named.
struct IdleClaim {
  WasteLeft* waste;
  DeviceShares ns = {};
  DeviceShares unnamed_waste = {};
};

// Adds to `claim` what is worth a finding.
void ReportIdle(const Scene& scene, std::string_view cause, const IdleTally& tally,
                const std::vector<DeviceIdle>& devices, IdleClaim& claim, std::vector<Finding>& findings) {
  if (scene.Share(tally.ns) < kMaterialShare) {
    for (const auto& [device, ns] : tally.wasted) claim.unnamed_waste[device] += ns;
    return;
  }
  for (const auto& [device, ns] : tally.where) claim.ns[device] += ns;
  // Memory tells that a process is there; that none is only its list does.
  const bool sure = cause == "idle_held" || (cause == "idle_empty" && tally.listed);
  Finding f = MakeFinding(scene, cause, sure ? Status::kConfirmed : Status::kLikely, tally.ns, tally.where);
  if (const std::string title = IdleTitle(cause, tally); !title.empty()) f.title = title;
  if (cause == "idle") f.isolate = HowToTellHolders(scene, *tally.told.best());
  f.bound = scene.Share(std::min(tally.stop_ns, tally.ns));
  claim.waste->Charge(tally.wasted, f);
  f.evidence.push_back(
      fmt::format("{} below {} % in stretches of {} s or more, for {:.0f} GPU-s in all "
                  "(threshold: 3 % of observed time): {}",
                  scene.BusyCounter(), InPercent(scene.thresholds.idle_below), kIdleStretchSeconds, Seconds(tally.ns),
                  scene.ListOf(tally.gpus)));
  f.evidence.push_back(HolderEvidence(scene, *tally.told.best(), cause));
  if (tally.stop_ns > 0) {
    f.evidence.push_back(fmt::format(
        "{:.0f} GPU-s of it lie beyond the first {:g} minutes of runs of {:g} minutes or longer in which all GPUs of a "
        "job are at 0 %",
        Seconds(tally.stop_ns), Seconds(scene.thresholds.idle_grace.count()) / 60,
        Seconds(scene.thresholds.idle_after.count()) / 60));
  } else {
    f.evidence.push_back(WhyNotStopped(scene, tally, devices));
  }
  if (!tally.rest.empty()) {
    f.evidence.push_back(
        fmt::format("more than 90 % of the time of {} is idle while the job works: try the job on fewer GPUs",
                    scene.ListOf(tally.rest)));
  }
  findings.push_back(std::move(f));
}

DeviceIdle IdleOf(const Scene& scene, const DeviceResult& d, StopTime stop, std::vector<bool> taken) {
  const Timeline& timeline = d.totals.timeline;
  // In an idle phase a watched workload may starve its GPU: held without use is what no kernel ran in.
  for (std::size_t b = 0; WatchesWorkload(scene) && b < taken.size(); ++b) {
    taken[b] = taken[b] || InUse(timeline.buckets[b]);
  }
  DeviceIdle one{&d, FindIdleStretches(d.totals, taken, scene.machine.host == nullptr), std::move(stop)};
  one.stop_ns = BeyondGrace(scene.thresholds, one.stop, timeline, taken);
  std::int64_t marked_ns = 0;
  double wasted = 0;
  for (std::size_t b = 0; b < one.idle.marked.size(); ++b) {
    if (!one.idle.marked[b]) continue;
    const std::int64_t idle = timeline.buckets[b].phase_ns[kIdle];
    if (InUse(timeline.buckets[b])) one.used_ns += idle;
    marked_ns += idle;
    wasted += LostNs(timeline.buckets[b], idle);
  }
  one.wasted_ns = one.idle.TotalNs() - marked_ns + std::llround(wasted);  // what is not marked is at 0 %
  return one;
}

// Returns what is claimed, and adds to *unclear what the timeline was too coarse to place.
IdleClaim FindIdle(const Scene& scene, Claims& claims, std::int64_t* unclear, std::vector<Finding>& findings) {
  IdleTally held(scene.cost);
  IdleTally empty(scene.cost);
  IdleTally unknown(scene.cost);
  std::vector<StopTime> stops = FindStopTimes(scene);
  std::vector<DeviceIdle> devices;
  for (std::size_t i = 0; i < scene.run.devices.size(); ++i) {
    devices.push_back(IdleOf(scene, scene.run.devices[i], std::move(stops[i]), claims.buckets[i]));
    const DeviceIdle& one = devices.back();
    for (std::size_t b = 0; b < one.idle.marked.size(); ++b)
      claims.buckets[i][b] = claims.buckets[i][b] || one.idle.marked[b];
    *unclear += scene.Weighted(one.idle.unclear_ns, one.device->device);
    Add(scene, one, one.idle.held_ns, held);
    Add(scene, one, one.idle.empty_ns, empty);
    Add(scene, one, one.idle.unknown_ns, unknown);
  }
  IdleClaim claim{&claims.waste};
  ReportIdle(scene, "idle_held", held, devices, claim, findings);
  ReportIdle(scene, "idle_empty", empty, devices, claim, findings);
  ReportIdle(scene, "idle", unknown, devices, claim, findings);
  return claim;
}

// --- spin-wait -------------------------------------------------------------------------------------------------

// The largest share of the dynamic power range at which a device spun: (P - P_idle) / (P_limit - P_idle), percent.
std::optional<double> LargestPowerShare(const DeviceResult& d) {
  if (!d.spin.below_watts || !d.spin.idle_mw || !d.spin.limit_mw || *d.spin.limit_mw <= *d.spin.idle_mw)
    return std::nullopt;
  const auto& bins = d.totals.spin_by_power.bins;
  std::int64_t watts = -1;
  for (std::int64_t w = 0; w < std::min(*d.spin.below_watts, static_cast<std::int64_t>(bins.size())); ++w) {
    if (bins[static_cast<std::size_t>(w)].ns > 0) watts = w + 1;  // a bin holds [w, w + 1) watts
  }
  if (watts < 0) return std::nullopt;
  const double range = static_cast<double>(*d.spin.limit_mw - *d.spin.idle_mw);
  return 100 * std::max(0.0, static_cast<double>(watts * 1000 - *d.spin.idle_mw)) / range;
}

std::string SpinEvidence(const Scene& scene, const DeviceResult& d, const std::string& busy) {
  if (d.spin.evidence == SpinVerdict::Evidence::kActivity) {
    return fmt::format("{}, while {} averaged {} there (threshold {} %): kernels are resident without work", busy,
                       scene.Counter(d, Signal::kSmActive), MeanOrNotRead(BusySmActivity(d.totals)),
                       InPercent(scene.thresholds.spin_sm_below));
  }
  const std::optional<double> share = LargestPowerShare(d);
  return fmt::format("{}, while {} is {} of the range from {:.1f} W (idle) to {:.0f} W (limit) (threshold {} %)", busy,
                     scene.Counter(d, Signal::kPower),
                     share ? fmt::format("at most {:.1f} %", *share) : "in the lowest part",
                     Watts(d.spin.idle_mw.value_or(0)), Watts(d.spin.limit_mw.value_or(0)),
                     InPercent(scene.thresholds.spin_power_tenths_percent * kPercent / 10));
}

// `claimed`: spin-wait whose cause is known.
void FindSpinWait(const Scene& scene, std::int64_t claimed, WasteLeft& waste, std::vector<Finding>& findings) {
  using Evidence = SpinVerdict::Evidence;
  const std::int64_t spin = scene.cost.whole.spin_wait_ns - claimed;
  if (scene.Share(spin) < kMaterialShare) return;
  std::vector<DeviceId> gpus;
  DeviceShares where;
  std::array<Example, 3> longest = {Example(scene.cost), Example(scene.cost), Example(scene.cost)};  // by evidence
  for (const DeviceResult& d : scene.run.devices) {
    if (d.spin.time.ns == 0) continue;
    where[d.device] = scene.Weighted(d.spin.time.ns, d.device);
    gpus.push_back(d.device);
    longest[static_cast<std::size_t>(d.spin.evidence)].Offer(d, static_cast<double>(d.spin.time.ns));
  }
  const DeviceResult* by_activity = longest[static_cast<std::size_t>(Evidence::kActivity)].best();
  const DeviceResult* by_power = longest[static_cast<std::size_t>(Evidence::kPower)].best();
  const std::optional<LatePeer> peer = FindLatePeer(scene);
  Finding f = MakeFinding(scene, "spin_wait", by_activity != nullptr || peer ? Status::kConfirmed : Status::kLikely,
                          spin, where);
  f.bound = peer ? f.share : 0;  // whom to speed up is not known: nor is what that would give back
  waste.Charge(PartOf(where, spin), f);
  const std::string busy =
      fmt::format("{} >= {} % for {:.0f} GPU-s (threshold: 3 % of observed time) on {}", scene.BusyCounter(),
                  InPercent(scene.thresholds.bound_from), Seconds(spin), scene.ListOf(gpus));
  for (const DeviceResult* d : {by_activity, by_power}) {
    if (d != nullptr) f.evidence.push_back(SpinEvidence(scene, *d, busy));
  }
  if (peer) {
    f.evidence.push_back(
        fmt::format("{} is below {} % by {} in {:.0f} % of that time: it is the one the others wait for",
                    scene.NameOf(peer->device), InPercent(kLateBelow), scene.BusyCounter(), 100 * peer->share));
  } else {
    f.evidence.emplace_back(
        "no GPU of this run lags while these wait: resident without work; whom they wait for, if anyone, is not in "
        "this data");
    f.refutes.emplace_back("a one-block kernel that does useful work looks the same from outside");
    f.isolate = "torch.profiler for 20 steps on every rank: what the resident kernels wait for";
  }
  findings.push_back(std::move(f));
}

// --- throttling ------------------------------------------------------------------------------------------------

std::string ClockLossThreshold(const Scene& scene) {
  return InPercent(scene.thresholds.clock_loss_tenths_percent * kPercent / 10);
}

// Share of SM clock lost while slowed down; 0 where the clocks were not read.
double ClockLoss(const RunResult& run) {
  Integral clock;
  Integral limit;
  for (const DeviceResult& d : run.devices) {
    if (d.throttled_with_loss_ns == 0 || !d.max_sm_khz) continue;
    // A lowered power limit counts without a slowdown reason: then the clock while busy tells the loss.
    const Integral& slowed = d.totals.throttled_clock.ns > 0 ? d.totals.throttled_clock : d.totals.busy_clock;
    clock.Merge(slowed);
    limit.Add(slowed.ns, *d.max_sm_khz);
  }
  return limit.area == 0 ? 0 : std::max(0.0, 1 - static_cast<double>(clock.area) / static_cast<double>(limit.area));
}

// "hw_thermal_slowdown 15 s, sw_power_cap 35 s", of all devices.
std::string ReasonsOf(const RunResult& run) {
  std::string text;
  for (std::size_t bit = 0; bit < kEventReasonCount; ++bit) {
    std::int64_t ns = 0;
    for (const DeviceResult& d : run.devices) ns += d.totals.reason_ns[bit];
    if (ns == 0 || (kThrottledMask >> bit & 1) == 0) continue;
    text += fmt::format("{}{} {:.0f} s", text.empty() ? "" : ", ", kEventReasonTable[bit].name, Seconds(ns));
  }
  return text;
}

void FindThrottling(const Scene& scene, std::vector<Finding>& findings) {
  // A board with MIG instances is slowed down as a whole; no more is lost than is observed of it.
  const std::int64_t lost = std::min(scene.cost.whole.throttled_with_loss_ns, scene.cost.whole.observed_ns);
  if (scene.Share(lost) < kMaterialShare) return;
  std::vector<DeviceId> gpus;
  DeviceShares where;
  for (const CostReport::DeviceCost& d : scene.cost.devices) {
    if (d.usage.throttled_with_loss_ns == 0) continue;
    gpus.push_back(d.device);
    where[d.device] = d.usage.throttled_with_loss_ns;
  }
  const double loss = ClockLoss(scene.run);
  Finding f = MakeFinding(scene, "throttling", Status::kConfirmed, lost, where);
  f.bound = f.share * loss;
  f.evidence.push_back(fmt::format("{} reports {}, {:.0f} GPU-s with clock loss (threshold: 3 % of observed time): {}",
                                   CounterOf(scene, Signal::kEventReasons), ReasonsOf(scene.run), Seconds(lost),
                                   scene.ListOf(gpus)));
  if (loss > 0) {
    f.evidence.push_back(fmt::format("{} is {:.1f} % below its maximum meanwhile (threshold {} %)",
                                     CounterOf(scene, Signal::kSmClock), 100 * loss, ClockLossThreshold(scene)));
  }
  findings.push_back(std::move(f));
}

// Reasons that were read but not blamed belong to what the reader sees first about healthy or unexplained time.
void MentionUnblamedThrottling(const Scene& scene, std::vector<Finding>& findings) {
  const UsageCost& whole = scene.cost.whole;
  if (scene.Share(whole.throttled_ns) < kMaterialShare || scene.Share(whole.throttled_with_loss_ns) >= kMaterialShare)
    return;
  const auto about_work = [](const Finding& f) {
    return f.cause == "healthy" || f.cause == "compute_bound" || f.cause == "unknown";
  };
  auto at = std::find_if(findings.begin(), findings.end(), about_work);
  if (at == findings.end()) at = findings.begin();
  const bool compared = std::any_of(scene.run.devices.begin(), scene.run.devices.end(),
                                    [](const DeviceResult& d) { return d.max_sm_khz && d.totals.busy_clock.ns > 0; });
  at->evidence.push_back(fmt::format(
      "{} reports {}, {}: reported, not blamed", CounterOf(scene, Signal::kEventReasons), ReasonsOf(scene.run),
      compared ? "without a loss of SM clock of " + ClockLossThreshold(scene) +
                     " % that a slowdown or a lowered limit explains"
               : "at a cost that is not known, since the SM clock or its maximum was not read"));
}

// --- bursts, the rest, compute ---------------------------------------------------------------------------------

void FindBursts(const Scene& scene, WasteLeft& waste, std::vector<Finding>& findings) {
  const std::int64_t burst = BurstNs(scene);
  if (scene.Share(burst) < kMaterialShare) return;
  std::int64_t window = 0;
  std::vector<DeviceId> gpus;
  DeviceShares where;
  DeviceShares wasted;
  double low = 0;  // means over GPUs: one that is read more often says no more
  double high = 0;
  for (const DeviceResult& d : scene.run.devices) {
    if (d.totals.burst.ns == 0) continue;
    const auto& ticks = d.totals.ticks;
    const auto all = static_cast<double>(ticks[0] + ticks[1] + ticks[2] + ticks[3]);
    if (all > 0) low += static_cast<double>(ticks[kIdle]) / all;
    if (all > 0) high += static_cast<double>(ticks[kBound]) / all;
    gpus.push_back(d.device);
    const std::int64_t used = static_cast<std::int64_t>(d.totals.burst.area / kFull);
    where[d.device] = scene.Weighted(d.totals.burst.ns, d.device);
    wasted[d.device] = scene.Weighted(d.totals.burst.ns - used, d.device);
    if (d.tick_window) window = std::max(window, d.tick_window->count());
  }
  low /= static_cast<double>(gpus.size());
  high /= static_cast<double>(gpus.size());
  Finding f = MakeFinding(scene, "unknown", Status::kUnknown, burst, where);
  f.title = "GPUs are starved in bursts; what they wait for is not measured";
  waste.Charge(wasted, f);
  f.evidence.push_back(
      fmt::format("{} alternates within seconds for {:.0f} GPU-s (threshold: 3 % of observed time) on {}: of "
                  "all readings, {:.3f} s apart, {:.1f} % are below {} % and {:.1f} % at {} % or more, burst index "
                  "B = 4 x {:.3f} x {:.3f} = {:.2f} (threshold {:.2f})",
                  scene.BusyCounter(), Seconds(burst), scene.ListOf(gpus), Seconds(window), 100 * low,
                  InPercent(scene.thresholds.idle_below), 100 * high, InPercent(scene.thresholds.bound_from), low, high,
                  4 * low * high, static_cast<double>(scene.thresholds.burst_percent) / 100));
  f.evidence.emplace_back(
      "one job starved in bursts, not idle time beside a compute-bound job: it waits for data, a synchronisation or "
      "launches; utilisation cannot tell which");
  f.refutes = {"a trace in which the device is busy through the step",
               "several jobs taking turns on the GPU (a process list would show them)"};
  findings.push_back(std::move(f));
}

// What no kernel ran in, of the unclaimed time below 70 %, by device. `before`: the waste that was left when causes
// began that share such time, and do not claim all of it.
DeviceShares UnclaimedWaste(const Scene& scene, const Claims& claims, const IdleClaim& idle,
                            const DeviceShares& before) {
  DeviceShares shares = idle.unnamed_waste;
  for (std::size_t i = 0; i < scene.run.devices.size(); ++i) {
    const DeviceResult& d = scene.run.devices[i];
    const auto& buckets = d.totals.timeline.buckets;
    double lost = 0;
    for (std::size_t b = 0; b < buckets.size(); ++b) {
      if (!claims.buckets[i][b]) lost += LostNs(buckets[b], LowNs(buckets[b]));
    }
    const auto had = before.find(d.device);
    const auto has = claims.waste.left().find(d.device);
    const bool priced = had != before.end() && has != claims.waste.left().end();
    const std::int64_t shared = priced ? had->second - has->second : 0;
    shares[d.device] += std::max<std::int64_t>(0, scene.Weighted(std::llround(lost), d.device) - shared);
  }
  return shares;
}

// Time in the two lower bands that no cause above explains. `idle`: the stretches claimed; `explained`: of
// the other and of the underutilized time together; `shared`: see UnclaimedWaste.
void FindUnexplained(const Scene& scene, const IdleClaim& idle, std::int64_t explained, std::int64_t unclear,
                     const DeviceShares& shared, Claims& claims, std::vector<Finding>& findings) {
  std::int64_t idle_left = scene.cost.whole.phase_ns[kIdle];
  for (const auto& [device, ns] : idle.ns) idle_left -= ns;
  const std::int64_t under = scene.cost.whole.phase_ns[kUnderutilized];
  const std::int64_t left = under + idle_left - explained;
  if (scene.Share(left) < kMaterialShare) return;
  DeviceShares where;  // what else is in these bands
  for (const CostReport::DeviceCost& d : scene.cost.devices) {
    const auto claimed = idle.ns.find(d.device);
    const std::int64_t rest = d.usage.phase_ns[kIdle] - (claimed == idle.ns.end() ? 0 : claimed->second);
    where[d.device] = d.usage.phase_ns[kUnderutilized] + std::max<std::int64_t>(rest, 0);
  }
  Finding f = MakeFinding(scene, "unknown", Status::kUnknown, left, where);
  f.title = "GPUs are under-used; why is not measured";
  claims.waste.Charge(UnclaimedWaste(scene, claims, idle, shared), f);
  f.evidence.push_back(fmt::format(
      "{0} from {1} to {2} % for {3:.0f} GPU-s and below {1} % for {4:.0f} GPU-s outside stretches of {5} "
      "s or more; this data has no cause for {6:.0f} GPU-s of both",
      scene.BusyCounter(), InPercent(scene.thresholds.idle_below), InPercent(scene.thresholds.productive_from),
      Seconds(under), Seconds(idle_left), kIdleStretchSeconds, Seconds(left)));
  if (scene.Share(unclear) >= kMaterialShare) {
    f.evidence.push_back(
        fmt::format("the window is too long to place {:.0f} of the idle GPU-s: whether they lie in stretches of {} s "
                    "or more is not known; audit a shorter window",
                    Seconds(unclear), kIdleStretchSeconds));
  }
  f.refutes = {"SM activity of 80 % or more in that time"};
  findings.push_back(std::move(f));
}

void FindCompute(const Scene& scene, std::vector<Finding>& findings) {
  std::int64_t bound = 0;
  DeviceShares where;
  std::vector<DeviceId> gpus;
  Example most(scene.cost);
  for (const DeviceResult& d : scene.run.devices) {
    const std::int64_t backed = BackedComputeNs(d);
    if (backed == 0) continue;
    where[d.device] = scene.Weighted(backed, d.device);
    bound += where[d.device];
    gpus.push_back(d.device);
    most.Offer(d, static_cast<double>(backed));
  }
  const DeviceResult* example = most.best();
  if (example == nullptr || scene.Share(bound) < kMaterialShare) return;
  const std::optional<double> sm = BusySmActivity(example->totals);
  const std::optional<double> tensor = example->totals.tensor_active.Mean();
  Finding f = MakeFinding(scene, "compute_bound", sm && tensor ? Status::kConfirmed : Status::kLikely, bound, where);
  f.evidence.push_back(fmt::format(
      "{} >= {} % for {:.0f} GPU-s on {}; meanwhile {} {} (threshold 80 %), {} {} over the run", scene.BusyCounter(),
      InPercent(scene.thresholds.bound_from), Seconds(bound), scene.ListOf(gpus), CounterOf(scene, Signal::kSmActive),
      MeanOrNotRead(sm), CounterOf(scene, Signal::kTensorActive), MeanOrNotRead(tensor)));
  findings.push_back(std::move(f));
}

// When no cause is material: healthy, or why nothing can be said.
Finding Remainder(const Scene& scene, WasteLeft& waste) {
  const UsageCost& w = scene.cost.whole;
  if (w.observed_ns == 0) {
    Finding f = MakeFinding(scene, "unknown", Status::kUnknown, 0);
    f.evidence.push_back(
        fmt::format("no valid reading of {} covers any time; record for a minute or longer", scene.BusyCounter()));
    f.isolate = "record again: " + std::string(HowToRead(scene).longer);
    return f;
  }
  const double busy = w.effective_ns / static_cast<double>(w.observed_ns);
  const std::string mean = fmt::format("{} averages {:.1f} % over observed time", scene.BusyCounter(), 100 * busy);
  if (busy >= kHealthyBusy) return HealthyOrNot(scene, mean);
  Finding f = MakeFinding(scene, "unknown", Status::kUnknown, w.observed_ns - std::llround(w.effective_ns));
  waste.Charge(f.gpu_ns, f);
  f.evidence.push_back(mean + "; no single cause holds 3 % of it");
  return f;
}

}  // namespace

std::int64_t BurstNs(const Scene& scene) {
  std::int64_t burst = 0;
  for (const DeviceResult& d : scene.run.devices) burst += scene.Weighted(d.totals.burst.ns, d.device);
  return burst;
}

BusySm BusySmOf(const DeviceTotals& totals) {
  BusySm sm;
  for (const Timeline::Bucket& bucket : totals.timeline.buckets) {
    if (bucket.phase_ns[kBound] * 2 <= bucket.ObservedNs()) continue;
    sm.known.Merge(bucket.sm_active);
    sm.busy_ns += bucket.ObservedNs();
  }
  return sm;
}

std::optional<double> BusySm::Mean() const { return 2 * known.ns >= busy_ns ? known.Mean() : std::nullopt; }

std::optional<double> BusySmActivity(const DeviceTotals& totals) { return BusySmOf(totals).Mean(); }

std::int64_t BackedComputeNs(const DeviceResult& d) {
  const BusySm sm = BusySmOf(d.totals);
  const std::int64_t tensor_ns = d.totals.tensor_active.ns;
  const std::optional<double> mean = sm.Mean();
  const bool backed = mean ? *mean >= kSmCompute : 2 * tensor_ns >= d.totals.ObservedNs();
  if (!backed) return 0;
  const std::int64_t dim = mean ? 0 : d.spin.dim_ns;
  const std::int64_t known = mean ? sm.known.ns : tensor_ns;
  return std::clamp<std::int64_t>(d.totals.phase_ns[kBound] - d.spin.time.ns - dim, 0, known);
}

std::vector<Finding> FindCauses(const Scene& scene) { return FindCauses(scene, WasteLeft(scene.cost)); }

std::vector<Finding> FindCauses(const Scene& scene, WasteLeft waste) {
  std::vector<Finding> findings;
  Claims claims(scene.run, std::move(waste));
  if (scene.cost.whole.observed_ns > 0) {
    // Who comes first claims; what is left is explained by the next, and what nobody explains is unknown.
    const StallClaim stall = FindPeerStall(scene, claims, findings);
    const std::int64_t start_up = FindStartUp(scene, claims, findings);
    const std::int64_t writes = FindWriteStall(scene, claims, findings);
    std::int64_t unclear = 0;
    const IdleClaim idle = FindIdle(scene, claims, &unclear, findings);
    FindSpinWait(scene, stall.spin_ns, claims.waste, findings);
    FindDimTime(scene, findings);
    FindThrottling(scene, findings);
    const std::int64_t link = FindFullLink(scene, claims, findings);
    const DeviceShares before = claims.waste.left();
    const HostFindings host = FindHostCauses(scene, claims, findings);
    std::int64_t explained = stall.low_ns + start_up + writes + link + host.claimed_ns;
    const std::size_t unknown = findings.size();
    if (!host.named && writes == 0) {  // stalls to write are what alternates there
      FindBursts(scene, claims.waste, findings);
      explained += BurstNs(scene);
    }
    FindUnexplained(scene, idle, explained, unclear, before, claims, findings);
    for (std::size_t i = unknown; i < findings.size(); ++i) AddHostWords(host, findings[i]);
    FindCompute(scene, findings);
  }
  SortByLoss(scene.cost, findings);
  if (findings.empty()) findings.push_back(Remainder(scene, claims.waste));
  MentionUnblamedThrottling(scene, findings);
  return findings;
}

}  // namespace idleburn
