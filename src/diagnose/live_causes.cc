#include "diagnose/live_causes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "diagnose/host_evidence.h"
#include "diagnose/make_finding.h"
#include "diagnose/stalls.h"

namespace idleburn {
namespace {

// Time of working GPUs below 70 % that no finding has claimed. `when` says when it was, so that the host is asked
// about that time only.
struct LowTime {
  std::int64_t ns = 0;      // GPU-nanoseconds
  std::int64_t lost = 0;    // part of ns without a kernel
  DeviceShares wasted;      // the same by device
  std::int64_t slowed = 0;  // low as well, but claimed by throttling
  DeviceShares where;
  std::vector<DeviceId> gpus;
  ChosenTimes when;

  // The time without a kernel within `part_ns` of it.
  [[nodiscard]] DeviceShares WastedIn(std::int64_t part_ns) const {
    const double part = ns > 0 ? static_cast<double>(part_ns) / static_cast<double>(ns) : 0;
    DeviceShares shares;
    for (const auto& [device, all] : wasted) shares[device] = std::llround(part * static_cast<double>(all));
    return shares;
  }
};

// Underutilized time of a bucket that belongs to throttling, if throttling is named.
std::int64_t SlowedNs(const Scene& scene, const Timeline::Bucket& bucket) {
  if (scene.Share(scene.cost.whole.throttled_with_loss_ns) < kMaterialShare) return 0;
  return std::min(bucket.throttled_ns, bucket.phase_ns[kUnderutilizedPhase]);
}

// Adds the unclaimed low time of one device.
void AddLow(const Scene& scene, const DeviceResult& d, const std::vector<bool>& claimed, LowTime* low) {
  if (!InUse(d.totals)) return;
  const Timeline& t = d.totals.timeline;
  std::int64_t ns = 0;
  std::int64_t slowed = 0;
  double lost = 0;
  for (std::size_t b = 0; b < t.buckets.size(); ++b) {
    const Timeline::Bucket& bucket = t.buckets[b];
    const std::int64_t here = claimed[b] ? 0 : LowNs(bucket) - SlowedNs(scene, bucket);
    slowed += claimed[b] ? 0 : SlowedNs(scene, bucket);
    low->when.At((t.first + static_cast<std::int64_t>(b)) * t.bucket_seconds).Merge({here, bucket.ObservedNs()});
    ns += here;
    lost += LostNs(bucket, here);
  }
  low->ns += scene.Weighted(ns, d.device);
  low->wasted[d.device] = scene.Weighted(std::llround(lost), d.device);
  low->lost += low->wasted[d.device];
  low->slowed += scene.Weighted(slowed, d.device);
  low->where[d.device] = scene.Weighted(ns, d.device);
  if (ns > 0) low->gpus.push_back(d.device);
}

// "utilization.gpu is below 70 % for 300 GPU-s (threshold: 3 % of observed time) on GPU 0"
std::string IsLow(const Scene& scene, std::int64_t ns, const LowTime& low) {
  return fmt::format("{} is below {} % for {:.0f} GPU-s (threshold: 3 % of observed time) on {}", scene.BusyCounter(),
                     InPercent(scene.thresholds.productive_from), Seconds(ns), scene.ListOf(low.gpus));
}

// An empty LowTime with the common bucket width.
LowTime NoLowTime(const Scene& scene) {
  LowTime low;
  const std::int64_t width = CommonWidth(scene.run);
  while (low.when.bucket_seconds < width) low.when.Coarsen();
  return low;
}

// The least share of the link's speed that crossed it while the device was low. Only the mean over all time is known,
// and the link may have been full in the rest. So the rest is subtracted at full speed. Absent if unknown, or if the
// device is low too rarely.
//
// Example: a device is low half of the time, and the mean is 80 % of the link's speed. Even if the other half moved
// 100 %, the low half moved 60 %.
std::optional<double> LinkShareWhileLow(const Scene& scene, const DeviceResult& d, const std::vector<bool>& claimed) {
  const std::vector<std::int64_t>& speeds = scene.machine.link_speed;
  const double speed = d.device < speeds.size() ? static_cast<double>(speeds[d.device]) : 0;
  const std::optional<double> moved = d.totals.pcie_rx.Mean();
  const auto observed = static_cast<double>(d.totals.ObservedNs());
  if (speed <= 0 || !moved || observed <= 0 || !InUse(d.totals)) return std::nullopt;
  double low = 0;
  for (std::size_t b = 0; b < claimed.size(); ++b) {
    if (!claimed[b]) low += static_cast<double>(LowNs(d.totals.timeline.buckets[b]));
  }
  const double share = low / observed;
  if (share < kLinkShare) return std::nullopt;
  return (*moved / speed - (1 - share)) / share;
}

// Whether the peak memory of a device reached kMemoryFull.
bool MemoryIsFull(const DeviceResult& d) { return d.totals.PeakMemoryShare().value_or(0) >= kMemoryFull; }

// Names memory that the host must reclaim while GPUs wait, if GPU memory is full too. Returns the low time that it
// claims: the share in which all tasks of the host wait for memory. It is likely at most, because retries of the
// allocator are not seen.
std::int64_t FindMemoryPressure(const Scene& scene, const LowTime& low, const HostEvidence& e, WasteLeft& waste,
                                std::vector<Finding>& findings) {
  std::vector<DeviceId> full;
  for (const DeviceResult& d : scene.run.devices) {
    if (MemoryIsFull(d)) full.push_back(d.device);
  }
  const std::int64_t ns = std::llround(static_cast<double>(low.ns) * e.psi_memory_full.value_or(0));
  if (full.empty() || scene.Share(ns) < kMaterialShare) return 0;
  Finding f = MakeFinding(scene, "memory_pressure", Status::kLikely, ns, low.where);
  f.bound = scene.Share(std::min(ns, low.lost));
  waste.Charge(low.WastedIn(ns), f);
  f.evidence.push_back(fmt::format("{} reaches {:.0f} % or more of the GPU's memory on {}",
                                   CounterOf(scene, Signal::kMemoryUsed), 100 * kMemoryFull, scene.ListOf(full)));
  f.evidence.push_back(
      fmt::format("all tasks of the host wait for memory {:.1f} % of the {:.0f} GPU-s in which GPUs are below {} % "
                  "(pressure/memory full): {:.0f} GPU-s (threshold: 3 % of observed time)",
                  100 * *e.psi_memory_full, Seconds(low.ns), InPercent(scene.thresholds.productive_from), Seconds(ns)));
  f.refutes.emplace_back("allocator retries were not read: torch.cuda.memory_stats()['num_alloc_retries'] must rise");
  findings.push_back(std::move(f));
  return ns;
}

// The finding for a loader that the host's signals name.
Finding LoaderFinding(const Scene& scene, const LoaderVerdict& verdict, const LowTime& low, std::int64_t ns,
                      WasteLeft& waste) {
  // Without a profiler nobody has seen the training thread wait for the loader, so it is at most likely.
  Finding f = MakeFinding(scene, verdict.cause, Status::kLikely, ns, low.where);
  f.bound = scene.Share(std::min(ns, low.lost));
  waste.Charge(low.WastedIn(ns), f);
  f.evidence.push_back(IsLow(scene, ns, low));
  for (const std::string& sentence : verdict.holds) f.evidence.push_back("in that time " + sentence);
  for (const std::string& sentence : verdict.against) f.refutes.push_back("observed: " + sentence);
  if (!verdict.not_read.empty())
    f.refutes.push_back(fmt::format("not measured: {}", fmt::join(verdict.not_read, "; ")));
  f.refutes.emplace_back("not measured: whether the training thread waits for its loader; torch.profiler shows it");
  return f;
}

// What was read for and against each loader cause, if none is shown.
std::vector<std::string> WhyNoLoader(const std::vector<LoaderVerdict>& verdicts) {
  std::vector<std::string> words;
  for (const LoaderVerdict& v : verdicts) {
    if (!v.against.empty()) {
      words.push_back(fmt::format("the host excludes {}: {}", v.cause, fmt::join(v.against, "; ")));
    } else if (!v.not_read.empty()) {
      words.push_back(fmt::format("the host cannot tell {}: not measured: {}", v.cause, fmt::join(v.not_read, "; ")));
    }
  }
  return words;
}

}  // namespace

bool WatchesWorkload(const Scene& scene) {
  return scene.machine.host != nullptr && !scene.machine.host->Of(HostScope::kWorkload).buckets.empty();
}

// Claims the buckets of each GPU up to its first kernel. A GPU that never worked has no start-up.
std::int64_t FindStartUp(const Scene& scene, Claims& claims, std::vector<Finding>& findings) {
  if (!WatchesWorkload(scene)) return 0;
  std::int64_t sum = 0;
  DeviceShares where;
  DeviceShares wasted;
  std::vector<DeviceId> gpus;
  for (std::size_t i = 0; i < scene.run.devices.size(); ++i) {
    const DeviceResult& d = scene.run.devices[i];
    if (!InUse(d.totals)) continue;
    std::int64_t ns = 0;
    double lost = 0;
    for (std::size_t b = 0; b < d.totals.timeline.buckets.size(); ++b) {
      const Timeline::Bucket& bucket = d.totals.timeline.buckets[b];
      if (InUse(bucket) || claims.buckets[i][b]) break;
      claims.buckets[i][b] = true;
      ns += LowNs(bucket);
      lost += LostNs(bucket, LowNs(bucket));
    }
    wasted[d.device] = scene.Weighted(std::llround(lost), d.device);
    where[d.device] = scene.Weighted(ns, d.device);
    sum += where[d.device];
    if (ns > 0) gpus.push_back(d.device);
  }
  if (scene.Share(sum) < kMaterialShare) return sum;
  Finding f = MakeFinding(scene, "unknown", Status::kUnknown, sum, where);
  f.title = "Start-up: GPUs wait for the first kernel";
  claims.waste.Charge(wasted, f);
  f.evidence.push_back(
      fmt::format("{} is 0 % from the start of the command to the first kernel: {:.0f} GPU-s "
                  "(threshold: 3 % of observed time) on {}; idleburn counts it separately, not as a slow loader",
                  scene.BusyCounter(), Seconds(sum), scene.ListOf(gpus)));
  f.refutes = {"kernels in that time"};
  f.isolate =
      "find what the command does before its first step: imports, data index, compilation, checkpoint loading (py-spy "
      "dump --pid PID)";
  findings.push_back(std::move(f));
  return sum;
}

// A device whose link is full is claimed as a whole, because only the mean of its link over all time is known.
std::int64_t FindFullLink(const Scene& scene, Claims& claims, std::vector<Finding>& findings) {
  LowTime low = NoLowTime(scene);
  double lowest = 1;
  for (std::size_t i = 0; i < scene.run.devices.size(); ++i) {
    const DeviceResult& d = scene.run.devices[i];
    const std::optional<double> share = LinkShareWhileLow(scene, d, claims.buckets[i]);
    if (!share || *share < kLinkFull) continue;
    AddLow(scene, d, claims.buckets[i], &low);
    lowest = std::min(lowest, *share);
    claims.buckets[i].assign(claims.buckets[i].size(), true);
  }
  if (scene.Share(low.ns) < kMaterialShare) return low.ns;
  Finding f = MakeFinding(scene, "h2d_bandwidth", Status::kLikely, low.ns, low.where);
  f.bound = scene.Share(low.lost);
  claims.waste.Charge(low.wasted, f);
  f.evidence.push_back(
      fmt::format("{}, while {} is at least {:.0f} % of the PCIe link's bandwidth (threshold {:.0f} %)",
                  IsLow(scene, low.ns, low), CounterOf(scene, Signal::kPcieRx), 100 * lowest, 100 * kLinkFull));
  f.refutes.emplace_back("not measured: which copies these are, and whether compute hides them; a trace shows it");
  findings.push_back(std::move(f));
  return low.ns;
}

// Memory pressure takes its share first. If a loader cause is shown, it explains all the rest, slowed-down time
// included.
HostFindings FindHostCauses(const Scene& scene, Claims& claims, std::vector<Finding>& findings) {
  HostFindings host;
  if (scene.machine.host == nullptr) return host;
  LowTime low = NoLowTime(scene);
  for (std::size_t i = 0; i < claims.buckets.size(); ++i) {
    AddLow(scene, scene.run.devices[i], claims.buckets[i], &low);
  }
  if (scene.Share(low.ns) < kMaterialShare) return host;
  const HostEvidence e = MeansOver(*scene.machine.host, low.when);
  host.claimed_ns = FindMemoryPressure(scene, low, e, claims.waste, findings);
  const std::int64_t left = low.ns - host.claimed_ns;
  const std::vector<LoaderVerdict> verdicts = JudgeLoader(e);
  const LoaderVerdict* named = NamedBy(verdicts);
  if (named == nullptr || scene.Share(left) < kMaterialShare) {
    host.words = WhyNoLoader(verdicts);
    return host;
  }
  findings.push_back(LoaderFinding(scene, *named, low, left, claims.waste));
  host.named = true;
  host.claimed_ns = low.ns + low.slowed;
  return host;
}

void AddHostWords(const HostFindings& host, Finding& finding) {
  finding.evidence.insert(finding.evidence.end(), host.words.begin(), host.words.end());
}

}  // namespace idleburn
