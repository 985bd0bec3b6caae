#include "diagnose/live_causes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "diagnose/cause_table.h"
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
  f.refutes.emplace_back("allocator retries were not read: torch.cuda.memory_stats()['num_alloc_retries'] that rise");
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
  for (const std::string& sentence : verdict.holds) f.evidence.push_back("meanwhile " + sentence);
  for (const std::string& sentence : verdict.against) f.refutes.push_back("observed: " + sentence);
  if (!verdict.not_read.empty())
    f.refutes.push_back(fmt::format("not measured: {}", fmt::join(verdict.not_read, "; ")));
  f.refutes.emplace_back("not measured: whether the training thread waits for its loader; torch.profiler would tell");
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
                  "(threshold: 3 % of observed time) on {}; counted apart, not as a slow loader",
                  scene.BusyCounter(), Seconds(sum), scene.ListOf(gpus)));
  f.refutes = {"kernels in that time"};
  f.isolate =
      "what the command does before its first step: imports, the index of the data, compilation, loading a "
      "checkpoint (py-spy dump --pid PID)";
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
      fmt::format("{}, while {} is at least {:.0f} % of what the PCIe link can move (threshold {:.0f} %)",
                  IsLow(scene, low.ns, low), CounterOf(scene, Signal::kPcieRx), 100 * lowest, 100 * kLinkFull));
  f.refutes.emplace_back("not measured: which copies these are, and whether compute hides them; a trace would tell");
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

namespace {

constexpr double kReadOver = 0.5;  // of the chosen time, for a mean to count

// Weighted sums of a scope over the chosen time. A bucket counts by the share of its time that was chosen.
class Sums {
 public:
  Sums(const HostTimeline& timeline, HostScope scope, ChosenTimes chosen) {
    SecondBuckets<HostBucket> host = timeline.Of(scope);
    // Both timelines need the same width.
    while (host.bucket_seconds < chosen.bucket_seconds) host.Coarsen();
    while (chosen.bucket_seconds < host.bucket_seconds) chosen.Coarsen();
    const double width = static_cast<double>(chosen.bucket_seconds) * static_cast<double>(kNanosPerSecond);
    for (std::size_t i = 0; i < chosen.buckets.size(); ++i) {
      const ChosenTime& part = chosen.buckets[i];
      if (part.ns == 0) continue;
      const double weight = static_cast<double>(part.ns) / static_cast<double>(part.observed);
      wanted_ += weight * width;
      const std::int64_t at = chosen.first + static_cast<std::int64_t>(i) - host.first;
      if (at < 0 || at >= static_cast<std::int64_t>(host.buckets.size())) continue;
      const HostBucket& bucket = host.buckets[static_cast<std::size_t>(at)];
      for (std::size_t s = 0; s < kHostSignalCount; ++s) {
        ns_[s] += weight * static_cast<double>(bucket.sum[s].ns);
        amount_[s] += weight * static_cast<double>(bucket.sum[s].amount);
      }
    }
  }

  // The mean of a number of things or of a counter of nanoseconds. For a counter of bytes, bytes per
  // nanosecond.
  [[nodiscard]] std::optional<double> Mean(HostSignal signal) const {
    const double ns = ns_[Index(signal)];
    if (ns <= 0 || ns < kReadOver * wanted_) return std::nullopt;
    return amount_[Index(signal)] / ns;
  }
  [[nodiscard]] std::optional<double> PerSecond(HostSignal signal) const {
    const std::optional<double> mean = Mean(signal);
    return mean ? std::optional(*mean * static_cast<double>(kNanosPerSecond)) : std::nullopt;
  }

 private:
  double wanted_ = 0;
  std::array<double, kHostSignalCount> ns_{};
  std::array<double, kHostSignalCount> amount_{};
};

// Clamps a value to 0 to 1.
std::optional<double> AsShare(std::optional<double> value) {
  return value ? std::optional(std::clamp(*value, 0.0, 1.0)) : std::nullopt;
}

// The share of the workers' time. Without workers, the smaller of two shares of the job's: of its threads'
// wanted time, and of the elapsed time. Many threads that each wait a little do not mean that the job waits.
std::optional<double> WaitingShare(const Sums& job, HostSignal of_workers, HostSignal of_job) {
  const double workers = job.Mean(HostSignal::kWorkerTime).value_or(0);
  if (workers > 0) {
    const std::optional<double> waiting = job.Mean(of_workers);
    return waiting ? AsShare(*waiting / workers) : std::nullopt;
  }
  const std::optional<double> waiting = job.Mean(of_job);
  if (!waiting) return std::nullopt;
  double wanted = 0;
  for (const HostSignal part : {HostSignal::kCpuTime, HostSignal::kCpuWait, HostSignal::kBlockedTime}) {
    wanted += job.Mean(part).value_or(0);
  }
  return wanted <= 0 ? 0.0 : AsShare(std::min(*waiting, *waiting / wanted));
}

// Idle CPUs that the job may use: on the machine, and within its quota and affinity.
std::optional<double> FreeCpus(const Sums& machine, const Sums& job) {
  std::optional<double> least;
  for (const Sums* scope : {&machine, &job}) {
    const std::optional<double> cpus = scope->Mean(HostSignal::kCpus);
    const std::optional<double> busy = scope->Mean(HostSignal::kCpuTime);
    if (!cpus || !busy) continue;
    // The scarcer of machine and quota limits the job.
    const double free = std::max(0.0, *cpus - *busy);
    least = std::min(least.value_or(free), free);
  }
  return least;
}

}  // namespace

HostEvidence MeansOver(const HostTimeline& host, const ChosenTimes& chosen) {
  const Sums machine(host, HostScope::kMachine, chosen);
  const Sums job(host, HostScope::kWorkload, chosen);
  const auto pressure = [&](HostSignal signal) {
    const std::optional<double> own = job.Mean(signal);
    return AsShare(own ? own : machine.Mean(signal));
  };
  HostEvidence e;
  const double workers = job.Mean(HostSignal::kWorkerTime).value_or(0);
  if (const std::optional<double> on_cpu = job.Mean(HostSignal::kWorkerCpuTime); on_cpu && workers > 0) {
    e.worker_on_cpu = AsShare(*on_cpu / workers);
  }
  e.run_queue_wait = WaitingShare(job, HostSignal::kWorkerCpuWait, HostSignal::kCpuWait);
  e.d_state = WaitingShare(job, HostSignal::kWorkerBlockedTime, HostSignal::kBlockedTime);
  e.psi_cpu_some = pressure(HostSignal::kPsiCpuSome);
  e.psi_io_some = pressure(HostSignal::kPsiIoSome);
  e.psi_io_full = pressure(HostSignal::kPsiIoFull);
  e.psi_memory_full = pressure(HostSignal::kPsiMemoryFull);
  e.cpus_free = FreeCpus(machine, job);
  e.read_bytes_rate = job.PerSecond(HostSignal::kReadBytes);
  e.read_chars_rate = job.PerSecond(HostSignal::kReadChars);
  e.write_bytes_rate = job.PerSecond(HostSignal::kWriteBytes);
  e.cpu_throttled = AsShare(job.Mean(HostSignal::kThrottledTime));
  return e;
}

namespace {

// Marks an interval as chosen.
void Choose(Interval at, ChosenTimes& chosen) {
  for (std::int64_t second = at.start / kNanosPerSecond; second * kNanosPerSecond < at.end; ++second) {
    const Interval whole{second * kNanosPerSecond, (second + 1) * kNanosPerSecond};
    chosen.At(second).Merge({std::min(at.end, whole.end) - std::max(at.start, whole.start), kNanosPerSecond});
  }
}

// The wall-clock time from the first to the last device event or step.
std::optional<Interval> CaptureTime(const Profile& profile) {
  if (!profile.wall_base_ns) return std::nullopt;
  std::optional<Interval> at;
  const auto widen = [&at](std::int64_t start, std::int64_t end) {
    at = at ? Interval{std::min(at->start, start), std::max(at->end, end)} : Interval{start, end};
  };
  for (const ProfiledDevice& device : profile.devices) {
    for (const DeviceEvent& event : device.events) widen(event.start_ns, event.end_ns);
  }
  for (const ProfiledStep& step : profile.steps) widen(step.start_ns, step.end_ns);
  // Stamps that are not from the wall clock give no time.
  Interval wall;
  const bool fits = at && at->Ns() <= kLongestEventNs &&
                    !__builtin_add_overflow(at->start, *profile.wall_base_ns, &wall.start) &&
                    !__builtin_add_overflow(at->end, *profile.wall_base_ns, &wall.end) && wall.start >= 0;
  return fits ? std::optional(wall) : std::nullopt;
}

// All time that was read of the workload, or of the machine if the workload was not read.
ChosenTimes AllReadTime(const HostTimeline& host) {
  const SecondBuckets<HostBucket>& job = host.Of(HostScope::kWorkload);
  const SecondBuckets<HostBucket>& read = job.buckets.empty() ? host.Of(HostScope::kMachine) : job;
  ChosenTimes all;
  all.bucket_seconds = read.bucket_seconds;
  all.first = read.first;
  all.buckets.assign(read.buckets.size(), {kNanosPerSecond, kNanosPerSecond});
  return all;
}

}  // namespace

HostEvidence HostDuring(std::span<const Profile> profiles, const HostTimeline& host) {
  if (host.empty()) return {};
  ChosenTimes chosen;
  bool dated = false;
  for (const Profile& profile : profiles) {
    const std::optional<Interval> at = CaptureTime(profile);
    dated = dated || at.has_value();
    if (at) Choose(*at, chosen);
  }
  return MeansOver(host, dated ? chosen : AllReadTime(host));
}

namespace {

// How a value is written in a sentence.
enum class Written : std::uint8_t { kPercent, kCores, kRate, kFactor };

// One signal against one threshold. A signal that was not read decides nothing: it neither shows nor refutes a cause.
struct Test {
  std::string_view what;
  std::optional<double> (*value)(const HostEvidence& e);
  bool at_least;  // false: the value must be below
  double threshold;
  Written written;
};

// Free CPUs beyond a quota that throttles the job are not usable.
std::optional<double> FreeCores(const HostEvidence& e) {
  return e.cpu_throttled.value_or(0) >= kQuotaHeldBack ? std::nullopt : e.cpus_free;
}

// Bytes requested for each byte from storage. A high factor means that the page cache serves the reads. Absent
// if the job hardly reads.
std::optional<double> CachedFactor(const HostEvidence& e) {
  if (!e.read_chars_rate || !e.read_bytes_rate || *e.read_chars_rate < kReadsStorage) return std::nullopt;
  return *e.read_chars_rate / std::max(*e.read_bytes_rate, 1.0);
}

// The tests that the rules below combine.
constexpr Test kOnCpu = {"workers on CPU (schedstat, stat)", [](const HostEvidence& e) { return e.worker_on_cpu; },
                         true, kWorkerOnCpu, Written::kPercent};
constexpr Test kQuietCpus = {"some task waits for a CPU (pressure/cpu some)",
                             [](const HostEvidence& e) { return e.psi_cpu_some; }, false, kLittleCpuWait,
                             Written::kPercent};
constexpr Test kPressedCpus = {"some task waits for a CPU (pressure/cpu some)",
                               [](const HostEvidence& e) { return e.psi_cpu_some; }, true, kMuchCpuWait,
                               Written::kPercent};
constexpr Test kSpareCore = {"CPUs idle of those the job may use", FreeCores, true, kCoreToSpare, Written::kCores};
constexpr Test kRunQueue = {"workers ready but waiting for a CPU (schedstat)",
                            [](const HostEvidence& e) { return e.run_queue_wait; }, true, kInRunQueue,
                            Written::kPercent};
// Other programs may cause the pressure of a machine. The job's own workers then do not wait. A quota makes
// them wait outside the queue, so the test is void under a quota.
constexpr Test kNoQueue = {"workers ready but waiting for a CPU (schedstat)",
                           [](const HostEvidence& e) {
                             return e.cpu_throttled.value_or(0) >= kQuotaHeldBack ? std::nullopt : e.run_queue_wait;
                           },
                           false, kHardlyQueued, Written::kPercent};
constexpr Test kHeldBack = {"held back by a CPU quota (cpu.stat)",
                            [](const HostEvidence& e) { return e.cpu_throttled; }, true, kQuotaHeldBack,
                            Written::kPercent};
constexpr Test kBlocked = {"workers in state D (stat)", [](const HostEvidence& e) { return e.d_state; }, true,
                           kInStateD, Written::kPercent};
// "All tasks wait" never holds while other tasks compute. It then tells nothing about this job.
constexpr Test kStalledOnIo = {
    "all tasks wait for storage (pressure/io full)",
    [](const HostEvidence& e) { return e.cpus_free.value_or(1) < kCoreToSpare ? std::nullopt : e.psi_io_full; }, true,
    kIoFull, Written::kPercent};
constexpr Test kReads = {"read from storage (PID/io read_bytes)",
                         [](const HostEvidence& e) { return e.read_bytes_rate; }, true, kReadsStorage, Written::kRate};
constexpr Test kCached = {"asked for by reads, for each byte from storage (PID/io rchar)", CachedFactor, true,
                          kPageCacheFactor, Written::kFactor};

using Tests = std::array<const Test*, 3>;  // unused elements are null

// What shows, requires and refutes one loader cause. What refutes beats what shows (docs/diagnosis.md).
struct Rule {
  std::string_view cause;
  Tests shows;    // one must hold
  Tests needs;    // none may fail
  Tests refutes;  // none may hold
  std::optional<double> HostEvidence::*strength;
};

// In each row: the cause, what shows it, what it requires, what refutes it, and the signal that measures its
// strength.
constexpr auto kLoaderRules = std::to_array<Rule>({
    {"loader_cpu_spare_cores",
     {&kOnCpu},
     {&kQuietCpus, &kSpareCore},
     {&kRunQueue, &kBlocked, &kHeldBack},
     &HostEvidence::worker_on_cpu},
    {"loader_cpu_no_cores",
     {&kRunQueue, &kPressedCpus, &kHeldBack},
     {},
     {&kSpareCore, &kNoQueue},
     &HostEvidence::run_queue_wait},
    {"storage", {&kBlocked}, {&kStalledOnIo, &kReads}, {&kCached}, &HostEvidence::d_state},
});

// A value with its unit.
std::string Shown(double value, Written written) {
  switch (written) {
    case Written::kPercent:
      return fmt::format("{:.1f} %", 100 * value);
    case Written::kCores:
      return fmt::format("{:.2f}", value);
    case Written::kRate:
      return fmt::format("{:.3f} MB/s", value / 1e6);
    case Written::kFactor:
      return fmt::format("{:.3g} bytes", value);
  }
  return {};
}

// Absent if the signal was not read.
std::optional<bool> Holds(const Test& test, const HostEvidence& e) {
  const std::optional<double> value = test.value(e);
  if (!value) return std::nullopt;
  return test.at_least ? *value >= test.threshold : *value < test.threshold;
}

// The test with its value and threshold.
std::string Sentence(const Test& test, const HostEvidence& e) {
  return fmt::format("{}: {} ({} {})", test.what, Shown(*test.value(e), test.written),
                     test.at_least ? "threshold" : "threshold: below", Shown(test.threshold, test.written));
}

// Applies one rule. A sign that fails is a reason against the cause, but only a failed requirement or a refuter
// excludes it.
LoaderVerdict Judge(const Rule& rule, const HostEvidence& e) {
  LoaderVerdict verdict;
  verdict.cause = rule.cause;
  verdict.strength = (e.*rule.strength).value_or(0);
  bool refuted = false;
  // Collects tests that speak for the cause when they hold, or against it if they refute.
  const auto weigh = [&](const Tests& tests, bool decisive, bool refutes) {
    for (const Test* test : tests) {
      if (test == nullptr) continue;
      const std::optional<bool> holds = Holds(*test, e);
      if (!holds) {
        verdict.not_read.emplace_back(test->what);
      } else if (*holds && !refutes) {
        verdict.holds.push_back(Sentence(*test, e));
        verdict.shown = verdict.shown || decisive;
      } else if (*holds == refutes) {
        verdict.against.push_back(Sentence(*test, e));
        refuted = refuted || !decisive;
      }
    }
  };
  weigh(rule.shows, true, false);
  weigh(rule.needs, false, false);
  weigh(rule.refutes, false, true);
  verdict.shown = verdict.shown && !refuted;
  return verdict;
}

}  // namespace

std::vector<LoaderVerdict> JudgeLoader(const HostEvidence& e) {
  std::vector<LoaderVerdict> verdicts;
  for (const Rule& rule : kLoaderRules) verdicts.push_back(Judge(rule, e));
  return verdicts;
}

const LoaderVerdict* NamedBy(std::span<const LoaderVerdict> verdicts) {
  const LoaderVerdict* best = nullptr;
  for (const LoaderVerdict& v : verdicts) {
    if (v.shown && (best == nullptr || v.strength > best->strength)) best = &v;
  }
  return best;
}

namespace {

void Append(const std::vector<std::string>& more, std::vector<std::string>& sentences) {
  sentences.insert(sentences.end(), more.begin(), more.end());
}

// Turns a finding into the cause that the host shows.
void NameCause(const LoaderVerdict& verdict, const HostEvidence& host, bool few_steps, Finding& f) {
  const Cause& row = CauseById(verdict.cause);
  f.cause = row.id;
  f.title = row.title;
  f.status = few_steps ? Status::kLikely : Status::kConfirmed;
  f.isolate = row.isolate;
  f.refutes = {std::string(row.refuted)};
  Append(verdict.holds, f.evidence);
  for (const std::string& signal : verdict.not_read) f.refutes.push_back("not measured: " + signal);
  // Faster storage only removes the time in which workers wait for storage.
  if (verdict.cause == "storage") f.bound *= host.d_state.value_or(1);
}

// Turns a finding that the host contradicts into an unknown cause.
void TakeBack(const LoaderVerdict& own, Finding& f) {
  f.cause = CauseById("unknown").id;
  f.title = "The device waits in the data loader, and the host does not show why";
  f.status = Status::kUnknown;
  f.bound = 0;
  f.isolate = "the loader alone, without the model: its samples a second, and what its workers wait for";
  for (const std::string& sentence : own.against) {
    f.evidence.push_back("speaks against " + std::string(own.cause) + ": " + sentence);
  }
}

}  // namespace

void JoinHostEvidence(const HostEvidence& host, bool few_steps, Finding& finding) {
  const std::vector<LoaderVerdict> verdicts = JudgeLoader(host);
  const auto own =
      std::find_if(verdicts.begin(), verdicts.end(), [&](const LoaderVerdict& v) { return v.cause == finding.cause; });
  if (own == verdicts.end()) return;  // not a loader finding
  if (const LoaderVerdict* named = NamedBy(verdicts)) {
    NameCause(*named, host, few_steps, finding);
  } else if (!own->against.empty()) {
    TakeBack(*own, finding);
  }
}

}  // namespace idleburn
