#include "diagnose/host_evidence.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "text/figures.h"

namespace idleburn {
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
constexpr Test kQuietCpus = {"time in which some task waits for a CPU (pressure/cpu some)",
                             [](const HostEvidence& e) { return e.psi_cpu_some; }, false, kLittleCpuWait,
                             Written::kPercent};
constexpr Test kPressedCpus = {"time in which some task waits for a CPU (pressure/cpu some)",
                               [](const HostEvidence& e) { return e.psi_cpu_some; }, true, kMuchCpuWait,
                               Written::kPercent};
constexpr Test kSpareCore = {"idle share of the CPUs that the job may use", FreeCores, true, kCoreToSpare,
                             Written::kCores};
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
constexpr Test kHeldBack = {"throttled by a CPU quota (cpu.stat)",
                            [](const HostEvidence& e) { return e.cpu_throttled; }, true, kQuotaHeldBack,
                            Written::kPercent};
constexpr Test kBlocked = {"workers in state D (stat)", [](const HostEvidence& e) { return e.d_state; }, true,
                           kInStateD, Written::kPercent};
// "All tasks wait" never holds while other tasks compute. It then tells nothing about this job.
constexpr Test kStalledOnIo = {
    "time in which all tasks wait for storage (pressure/io full)",
    [](const HostEvidence& e) { return e.cpus_free.value_or(1) < kCoreToSpare ? std::nullopt : e.psi_io_full; }, true,
    kIoFull, Written::kPercent};
constexpr Test kReads = {"read from storage (PID/io read_bytes)",
                         [](const HostEvidence& e) { return e.read_bytes_rate; }, true, kReadsStorage, Written::kRate};
constexpr Test kCached = {"bytes requested by reads per byte from storage (PID/io rchar)", CachedFactor, true,
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
      return PercentText(value);
    case Written::kCores:
      return ThreeDigits(value);
    case Written::kRate:
      return DecimalBytes(value) + "/s";
    case Written::kFactor:
      return DecimalBytes(value);
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
  f.isolate = "run the loader alone, without the model: measure samples per second and what its workers wait for";
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
