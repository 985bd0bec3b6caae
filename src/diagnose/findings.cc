#include "diagnose/findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>

#include "classify/thresholds.h"
#include "diagnose/idle_time.h"
#include "diagnose/live_causes.h"
#include "diagnose/stalls.h"
#include "diagnose/work_evidence.h"
#include "text/figures.h"

namespace idleburn {
namespace {

// Readings in the units of a sentence.
double Watts(std::int64_t mw) { return static_cast<double>(mw) / 1000; }
double Percent(double micro_percent) { return micro_percent / kPercent; }

// "97.3 %", or "not read".
std::string MeanOrNotRead(const std::optional<double>& micro_percent) {
  return micro_percent ? PercentText(Percent(*micro_percent) / 100) : "not read";
}

// --- spin-wait -------------------------------------------------------------------------------------------------

// The largest share of the dynamic power range at which a device spun: (P - P_idle) / (P_limit - P_idle), in
// percent. Example: 171 W between 110 and 700 W is 10.3 %.
std::optional<double> LargestPowerShare(const DeviceResult& d) {
  if (!d.spin.below_watts || !d.spin.idle_mw || !d.spin.limit_mw || *d.spin.limit_mw <= *d.spin.idle_mw)
    return std::nullopt;
  const auto& bins = d.totals.spin_by_power.bins;
  std::int64_t watts = -1;
  for (std::int64_t w = 0; w < std::min(*d.spin.below_watts, static_cast<std::int64_t>(bins.size())); ++w) {
    if (bins[static_cast<std::size_t>(w)].ns > 0) watts = w + 1;  // a bin covers [w, w + 1) watts
  }
  if (watts < 0) return std::nullopt;
  const double range = static_cast<double>(*d.spin.limit_mw - *d.spin.idle_mw);
  return 100 * std::max(0.0, static_cast<double>(watts * 1000 - *d.spin.idle_mw)) / range;
}

// The counter that shows spin-wait on a device, with its value and threshold.
std::string SpinEvidence(const Scene& scene, const DeviceResult& d, const std::string& busy) {
  if (d.spin.evidence == SpinVerdict::Evidence::kActivity) {
    return fmt::format("{}, while {} averaged {} there (threshold {} %): kernels are resident without work", busy,
                       scene.Counter(d, Signal::kSmActive), MeanOrNotRead(BusySmActivity(d.totals)),
                       InPercent(scene.thresholds.spin_sm_below));
  }
  const std::optional<double> share = LargestPowerShare(d);
  return fmt::format("{}, while {} is {} of the range from {} W (idle) to {:.0f} W (limit) (threshold {} %)", busy,
                     scene.Counter(d, Signal::kPower),
                     share ? "at most " + PercentText(*share / 100) : "in the lowest part",
                     ThreeDigits(Watts(d.spin.idle_mw.value_or(0))), Watts(d.spin.limit_mw.value_or(0)),
                     InPercent(scene.thresholds.spin_power_tenths_percent * kPercent / 10));
}

// Names spin-wait whose cause is still unknown. `claimed` is the spin-wait with a known cause. SM activity or a late
// peer confirms it; power alone makes it likely. Without a late peer the time is still waste, but the data do not
// show what to speed up, so the bound is 0.
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
  f.bound = peer ? f.share : 0;  // without a late peer, the data do not show what to speed up
  waste.Charge(PartOf(where, spin), f);
  const std::string busy =
      fmt::format("{} >= {} % for {:.0f} GPU-s (threshold: 3 % of observed time) on {}", scene.BusyCounter(),
                  InPercent(scene.thresholds.bound_from), Seconds(spin), scene.ListOf(gpus));
  for (const DeviceResult* d : {by_activity, by_power}) {
    if (d != nullptr) f.evidence.push_back(SpinEvidence(scene, *d, busy));
  }
  if (peer) {
    f.evidence.push_back(fmt::format("{} is below {} % by {} in {:.0f} % of that time: the others wait for it",
                                     scene.NameOf(peer->device), InPercent(kLateBelow), scene.BusyCounter(),
                                     100 * peer->share));
  } else {
    f.evidence.emplace_back(
        "no GPU of this run lags while these wait: kernels are resident without work, and this data does not show what "
        "they wait for");
    f.refutes.emplace_back("a one-block kernel that does useful work looks the same in these counters");
    f.isolate = "torch.profiler for 20 steps on every rank: see what the resident kernels wait for";
  }
  findings.push_back(std::move(f));
}

// --- throttling ------------------------------------------------------------------------------------------------

// The threshold of a clock loss in percent.
std::string ClockLossThreshold(const Scene& scene) {
  return InPercent(scene.thresholds.clock_loss_tenths_percent * kPercent / 10);
}

// The share of SM clock lost while slowed down; 0 if clocks were not read.
double ClockLoss(const RunResult& run) {
  Integral clock;
  Integral limit;
  for (const DeviceResult& d : run.devices) {
    if (d.throttled_with_loss_ns == 0 || !d.max_sm_khz) continue;
    // A lowered power limit counts without a slowdown reason. The clock while busy then shows the loss.
    const Integral& slowed = d.totals.throttled_clock.ns > 0 ? d.totals.throttled_clock : d.totals.busy_clock;
    clock.Merge(slowed);
    limit.Add(slowed.ns, *d.max_sm_khz);
  }
  return limit.area == 0 ? 0 : std::max(0.0, 1 - static_cast<double>(clock.area) / static_cast<double>(limit.area));
}

// The reasons of all devices: "hw_thermal_slowdown 15 s, sw_power_cap 35 s".
std::string ListReasons(const RunResult& run) {
  std::string text;
  for (std::size_t bit = 0; bit < kEventReasonCount; ++bit) {
    std::int64_t ns = 0;
    for (const DeviceResult& d : run.devices) ns += d.totals.reason_ns[bit];
    if (ns == 0 || (kThrottledMask >> bit & 1) == 0) continue;
    text += fmt::format("{}{} {:.0f} s", text.empty() ? "" : ", ", kEventReasonTable[bit].name, Seconds(ns));
  }
  return text;
}

// Names slowdowns that cost clock speed. The bound is the clock that was lost, because full clocks do the same work
// in less time. A reason without a loss is no cause; MentionUnblamedThrottling reports it.
void FindThrottling(const Scene& scene, std::vector<Finding>& findings) {
  // A board with MIG instances is slowed down as a whole. The loss is capped at the observed time.
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
                                   CounterOf(scene, Signal::kEventReasons), ListReasons(scene.run), Seconds(lost),
                                   scene.ListOf(gpus)));
  if (loss > 0) {
    f.evidence.push_back(fmt::format("{} is {:.1f} % below its maximum in that time (threshold {} %)",
                                     CounterOf(scene, Signal::kSmClock), 100 * loss, ClockLossThreshold(scene)));
  }
  findings.push_back(std::move(f));
}

// Reasons that are reported without a loss belong to the first finding about healthy or unexplained time.
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
  std::string why = "the SM clock or its maximum was not read";
  if (compared && LacksPowerLimits(scene.run)) {
    why = "no slowdown costs " + ClockLossThreshold(scene) +
          " % of the SM clock; a lowered power limit is possible (power.limit or power.default_limit was not read)";
  } else if (compared) {
    why = "no slowdown or lowered power limit costs " + ClockLossThreshold(scene) + " % of the SM clock";
  }
  at->evidence.push_back(fmt::format("{} reports {}; idleburn counts no loss for it: {}",
                                     CounterOf(scene, Signal::kEventReasons), ListReasons(scene.run), why));
}

// --- bursts, the rest, compute ---------------------------------------------------------------------------------

// Names GPUs that alternate between idle and busy within seconds. The cause stays unknown: utilization cannot tell a
// slow loader from launches or a synchronization.
void FindBursts(const Scene& scene, WasteLeft& waste, std::vector<Finding>& findings) {
  const std::int64_t burst = BurstNs(scene);
  if (scene.Share(burst) < kMaterialShare) return;
  std::int64_t window = 0;
  std::vector<DeviceId> gpus;
  DeviceShares where;
  DeviceShares wasted;
  double low = 0;  // means over GPUs: frequent readings get no extra weight
  double high = 0;
  for (const DeviceResult& d : scene.run.devices) {
    if (d.totals.burst.ns == 0) continue;
    const auto& ticks = d.totals.ticks;
    const auto all = static_cast<double>(ticks[0] + ticks[1] + ticks[2] + ticks[3]);
    if (all > 0) low += static_cast<double>(ticks[kIdlePhase]) / all;
    if (all > 0) high += static_cast<double>(ticks[kBoundPhase]) / all;
    gpus.push_back(d.device);
    const std::int64_t used = static_cast<std::int64_t>(d.totals.burst.area / kFull);
    where[d.device] = scene.Weighted(d.totals.burst.ns, d.device);
    wasted[d.device] = scene.Weighted(d.totals.burst.ns - used, d.device);
    if (d.tick_window) window = std::max(window, d.tick_window->count());
  }
  low /= static_cast<double>(gpus.size());
  high /= static_cast<double>(gpus.size());
  Finding f = MakeFinding(scene, "unknown", Status::kUnknown, burst, where);
  f.title = "GPUs are starved in bursts; no data on what they wait for";
  waste.Charge(wasted, f);
  f.evidence.push_back(
      fmt::format("{} alternates within seconds for {:.0f} GPU-s (threshold: 3 % of observed time) on {}: of "
                  "all readings, {} apart, {} are below {} % and {} at {} % or more, burst index "
                  "B = 4 x {} x {} = {} (threshold {})",
                  scene.BusyCounter(), Seconds(burst), scene.ListOf(gpus), DurationForPeople(Nanos(window)),
                  PercentText(low), InPercent(scene.thresholds.idle_below), PercentText(high),
                  InPercent(scene.thresholds.bound_from), ThreeDigits(low), ThreeDigits(high),
                  ThreeDigits(4 * low * high), ThreeDigits(static_cast<double>(scene.thresholds.burst_percent) / 100)));
  f.evidence.emplace_back(
      "one job is starved in bursts; this is not idle time next to a compute-bound job. It waits for data, a "
      "synchronisation or launches; utilization cannot tell which");
  f.refutes = {"a trace in which the device is busy through the step",
               "several jobs taking turns on the GPU (a process list would show them)"};
  findings.push_back(std::move(f));
}

// The unclaimed time below 70 % in which no kernel ran, by device. Some causes take a share of such time without
// claiming its buckets (memory pressure, a loader, bursts). `before` is the waste that was left before them, so that
// what they took is subtracted here.
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

// Names time in the two lower bands that no cause explains. `idle` has the claimed stretches. `explained` is the
// claimed rest of both bands, and `unclear` the idle time that the timeline cannot place, in GPU-nanoseconds. For
// `shared` see UnclaimedWaste.
void FindUnexplained(const Scene& scene, const IdleClaim& idle, std::int64_t explained, std::int64_t unclear,
                     const DeviceShares& shared, Claims& claims, std::vector<Finding>& findings) {
  std::int64_t idle_left = scene.cost.whole.phase_ns[kIdlePhase];
  for (const auto& [device, ns] : idle.ns) idle_left -= ns;
  const std::int64_t under = scene.cost.whole.phase_ns[kUnderutilizedPhase];
  const std::int64_t left = under + idle_left - explained;
  if (scene.Share(left) < kMaterialShare) return;
  DeviceShares where;  // the rest of these bands
  for (const CostReport::DeviceCost& d : scene.cost.devices) {
    const auto claimed = idle.ns.find(d.device);
    const std::int64_t rest = d.usage.phase_ns[kIdlePhase] - (claimed == idle.ns.end() ? 0 : claimed->second);
    where[d.device] = d.usage.phase_ns[kUnderutilizedPhase] + std::max<std::int64_t>(rest, 0);
  }
  Finding f = MakeFinding(scene, "unknown", Status::kUnknown, left, where);
  f.title = "GPUs are under-used; no data on the cause";
  claims.waste.Charge(UnclaimedWaste(scene, claims, idle, shared), f);
  f.evidence.push_back(fmt::format(
      "{0} from {1} to {2} % for {3:.0f} GPU-s and below {1} % for {4:.0f} GPU-s outside stretches of {5} "
      "s or more; this data shows no cause for {6:.0f} GPU-s of that time",
      scene.BusyCounter(), InPercent(scene.thresholds.idle_below), InPercent(scene.thresholds.productive_from),
      Seconds(under), Seconds(idle_left), kIdleStretchSeconds, Seconds(left)));
  if (scene.Share(unclear) >= kMaterialShare) {
    f.evidence.push_back(
        fmt::format("the window is too long to place {:.0f} of the idle GPU-s: they may or may not lie in stretches of "
                    "{} s or more; audit a shorter window",
                    Seconds(unclear), kIdleStretchSeconds));
  }
  f.refutes = {"SM activity of 80 % or more in that time"};
  findings.push_back(std::move(f));
}

// Names compute-bound time that a better counter confirms. It claims no waste: levers of cheaper work act on it.
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
      "{} >= {} % for {:.0f} GPU-s on {}; in that time {} {} (threshold 80 %), {} {} over the run", scene.BusyCounter(),
      InPercent(scene.thresholds.bound_from), Seconds(bound), scene.ListOf(gpus), CounterOf(scene, Signal::kSmActive),
      MeanOrNotRead(sm), CounterOf(scene, Signal::kTensorActive), MeanOrNotRead(tensor)));
  findings.push_back(std::move(f));
}

// The only finding if no cause is material: healthy, or why nothing can be said.
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
  f.evidence.push_back(mean + "; no single cause explains 3 % of that time");
  return f;
}

}  // namespace

std::int64_t BurstNs(const Scene& scene) {
  std::int64_t burst = 0;
  for (const DeviceResult& d : scene.run.devices) burst += scene.Weighted(d.totals.burst.ns, d.device);
  return burst;
}

BusySm ReadBusySm(const DeviceTotals& totals) {
  BusySm sm;
  for (const Timeline::Bucket& bucket : totals.timeline.buckets) {
    if (bucket.phase_ns[kBoundPhase] * 2 <= bucket.ObservedNs()) continue;
    sm.known.Merge(bucket.sm_active);
    sm.busy_ns += bucket.ObservedNs();
  }
  return sm;
}

std::optional<double> BusySm::Mean() const { return 2 * known.ns >= busy_ns ? known.Mean() : std::nullopt; }

std::optional<double> BusySmActivity(const DeviceTotals& totals) { return ReadBusySm(totals).Mean(); }

std::int64_t BackedComputeNs(const DeviceResult& d) {
  const BusySm sm = ReadBusySm(d.totals);
  const std::int64_t tensor_ns = d.totals.tensor_active.ns;
  const std::optional<double> mean = sm.Mean();
  const bool backed = mean ? *mean >= kSmCompute : 2 * tensor_ns >= d.totals.ObservedNs();
  if (!backed) return 0;
  const std::int64_t dim = mean ? 0 : d.spin.dim_ns;
  const std::int64_t known = mean ? sm.known.ns : tensor_ns;
  return std::clamp<std::int64_t>(d.totals.phase_ns[kBoundPhase] - d.spin.time.ns - dim, 0, known);
}

std::vector<Finding> FindCauses(const Scene& scene) { return FindCauses(scene, WasteLeft(scene.cost)); }

std::vector<Finding> FindCauses(const Scene& scene, WasteLeft waste) {
  std::vector<Finding> findings;
  // Every step below gets the claims of the steps before it.
  Claims claims(scene.run, std::move(waste));
  if (scene.cost.whole.observed_ns > 0) {
    // Each step claims its time before the next one sees the rest. What no step explains is unknown.
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
    if (!host.named && writes == 0) {  // otherwise write stalls explain the alternation
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

namespace {

// Whether a finding names a cause of loss.
bool NamesACause(const Finding& f) { return f.cause != "unknown" && f.cause != "healthy"; }

// A trace counts its claims in nanoseconds. All of them are time that computes nothing, except for causes of
// busy time.
bool IsAboutWork(const Finding& f) {
  return f.cause == "compute_bound" || f.cause == "healthy" || f.cause == "throttling";
}

// Adds what a trace of part of the run shows to what the samples of the whole run show. A cause that both show is
// confirmed. A cause that only the trace shows keeps the share of its window, and its bound is scaled to the run.
void Join(const Scene& scene, std::vector<Finding> traced, std::vector<Finding>& findings) {
  for (Finding& f : traced) {
    const auto same = std::find_if(findings.begin(), findings.end(), [&](const Finding& live) {
      return live.cause == f.cause && NamesACause(f) && live.status != Status::kUnknown;
    });
    if (same == findings.end()) {
      const double of_window = f.share > 0 ? f.bound / f.share : 0;
      f.of_run = scene.Share(f.gpu_ns);
      f.bound = of_window * *f.of_run;
      findings.push_back(std::move(f));
      continue;
    }
    same->status = Status::kConfirmed;
    same->waste_ns += f.waste_ns;
    if (f.cost) same->cost = Money::Nano(same->cost.value_or(Money()).nano() + f.cost->nano());
    same->evidence.insert(same->evidence.end(), f.evidence.begin(), f.evidence.end());
  }
}

}  // namespace

std::vector<Finding> Diagnose(const Scene& scene) {
  if (scene.trace == nullptr) return FindCauses(scene);
  std::vector<Finding> traced = scene.trace->findings;
  // The trace claims its waste first, because it knows the causes precisely.
  WasteLeft waste(scene.cost);
  for (Finding& f : traced) {
    f.time_cost = CostOfTime(scene.cost, f.gpu_ns);
    if (!IsAboutWork(f)) waste.Charge(f.gpu_ns, f);
  }
  if (scene.traced_only) return traced;
  std::vector<Finding> findings = FindCauses(scene, std::move(waste));
  // The trace looked where the samples could only report that they saw nothing.
  if (std::any_of(traced.begin(), traced.end(), NamesACause)) {
    std::erase_if(findings, [](const Finding& f) { return f.cause == "healthy"; });
  }
  Join(scene, std::move(traced), findings);
  SortByLoss(scene.cost, findings);
  return findings;
}

namespace {

constexpr std::string_view kScrapes =
    "several scrapes, 15 s apart or less, each sample with a time stamp (a Prometheus range query has them)";

// One row for each source; the last one applies to all others.
constexpr auto kSources = std::to_array<ReadAgain>({
    {"rocm_smi", "rocm-smi --showuse --showmeminfo vram --showpower --json every second, one document after the other",
     "--showmeminfo vram together with --showuse in rocm-smi"},
    {"dcgm", kScrapes, "DCGM_FI_DEV_FB_USED in the counters of dcgm-exporter"},
    {"nvidia_smi_exporter", kScrapes, "nvidia_smi_memory_used_bytes together with the utilization"},
    {"nvitop", kScrapes, "gpu_memory_used_MiB of nvitop-exporter"},
    {"jobstats", kScrapes, "nvidia_gpu_memory_used_bytes together with the duty cycle"},
    {"all_smi", kScrapes, "all_smi_gpu_memory_used_bytes together with the utilization"},
    {"dynolog", kScrapes, "the memory that dynolog logs together with the utilization"},
    {"nvidia_smi_dmon", "nvidia-smi dmon -s pucm -o DT for a minute or longer", "nvidia-smi dmon with -s um"},
    {"",
     "nvidia-smi --query-gpu=timestamp,index,uuid,name,utilization.gpu,memory.used,power.draw --format=csv -lms 200",
     "memory.used together with the utilization (nvidia-smi "
     "--query-gpu=timestamp,index,uuid,utilization.gpu,memory.used "
     "--format=csv -lms 200)"},
});

}  // namespace

const ReadAgain& HowToRead(const Scene& scene) {
  const auto* found = std::find_if(kSources.begin(), kSources.end() - 1, [&](const ReadAgain& row) {
    return std::any_of(scene.run.devices.begin(), scene.run.devices.end(), [&](const DeviceResult& d) {
      const auto& counters = scene.devices[d.device].counter;
      return std::any_of(counters.begin(), counters.end(), [&](const std::string& counter) {
        return counter.substr(0, counter.find('.')) == row.source;
      });
    });
  });
  return *found;
}

}  // namespace idleburn
