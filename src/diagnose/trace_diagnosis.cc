#include "diagnose/trace_diagnosis.h"

#include <fmt/format.h>

#include <cmath>
#include <unordered_map>
#include <utility>

#include "diagnose/job_causes.h"
#include "diagnose/rank_join.h"
#include "diagnose/scene.h"
#include "diagnose/step_budget.h"
#include "diagnose/trace_causes.h"
#include "profile/trace_reader.h"
#include "stats/order.h"
#include "text/figures.h"

namespace idleburn {

std::vector<KernelClass> TopKernels(const Profile& profile, const ProfiledDevice& device, std::size_t most) {
  struct Sum {
    NameId name = kNoName;
    DeviceOp op = DeviceOp::kKernel;
    std::int64_t count = 0;
    std::int64_t ns = 0;
  };
  std::unordered_map<NameId, Sum> sums;
  for (const DeviceEvent& e : device.events) {
    if (e.op != DeviceOp::kKernel && e.op != DeviceOp::kComm) continue;
    Sum& sum = sums[e.name];
    sum.name = e.name;
    sum.op = e.op;
    ++sum.count;
    sum.ns += e.end_ns - e.start_ns;
  }
  std::vector<Sum> sorted;
  for (const auto& [name, sum] : sums) sorted.push_back(sum);
  // Ties are ordered by id, so the result does not depend on the hash map.
  std::sort(sorted.begin(), sorted.end(),
            [](const Sum& a, const Sum& b) { return a.ns != b.ns ? a.ns > b.ns : a.name < b.name; });
  if (sorted.size() > most) sorted.resize(most);
  std::vector<KernelClass> top;
  for (const Sum& sum : sorted) top.push_back({profile.names[sum.name], sum.op, sum.count, sum.ns});
  return top;
}

namespace {

constexpr std::size_t kEvidenceDevices = 4;  // devices whose evidence a joint finding quotes

// The time to cut out: that of the largest cause with a known gain.
struct Cut {
  std::string_view cause;  // empty: none has a known gain
  TimeSet time;
  double share = 0;
};

// The time of the first finding with a known gain. Causes with an unknown gain are skipped, because removing
// them completely would promise too much.
Cut LargestGain(const DeviceTrace& trace, const TraceVerdict& verdict) {
  Cut cut;
  const auto first =
      std::find_if(verdict.findings.begin(), verdict.findings.end(), [](const Finding& f) { return f.bound > 0; });
  if (first == verdict.findings.end()) return cut;
  cut.cause = first->cause;
  for (const TraceClaim& claim : verdict.claims) {
    if (claim.cause == cut.cause) cut.time = Union(cut.time, claim.time);
  }
  cut.share = trace.budget.Share(cut.time.TotalNs());
  return cut;
}

// The share of kernel time whose kernel names are not in the file.
double NamelessShare(const ProfiledDevice& device) {
  std::int64_t all = 0;
  std::int64_t nameless = 0;
  for (const DeviceEvent& e : device.events) {
    if (e.op != DeviceOp::kKernel && e.op != DeviceOp::kComm) continue;
    all += e.end_ns - e.start_ns;
    if (e.name == kNoName) nameless += e.end_ns - e.start_ns;
  }
  return all == 0 ? 0 : static_cast<double>(nameless) / static_cast<double>(all);
}

// Diagnoses what is left after the cut.
std::optional<NextBottleneck> FindNext(const TracedDevice& device, const DeviceTrace& whole, double nameless,
                                       const Cut& cut) {
  if (cut.cause.empty()) return std::nullopt;
  const DeviceTrace left = device.Without(whole, cut.time);
  if (left.budget.span.Ns() == 0) return std::nullopt;
  const StepStatistics steps = MeasureSteps(left.steps, left.busy_by_step);
  NextBottleneck next;
  next.removed = cut.cause;
  next.removed_share = cut.share;
  next.findings = FindTraceCauses({left, steps, nullptr, {}, nameless}).findings;
  next.cause = next.findings.front().cause;
  next.share = next.findings.front().share;
  next.adds = next.findings.front().bound * (1 - next.removed_share);
  return next;
}

// What the other ranks tell about one rank, or why they tell nothing.
struct Joined {
  const PeerWait* peers = nullptr;
  std::string_view apart;
};

// "GPU 2 worked for 0.1 % of this capture (1.02 ms of 1.18 s)"
std::string Coverage(const DeviceDiagnosis& d) {
  constexpr double kTenthOfPercent = 0.001;
  return fmt::format("the device worked for {} of this capture ({} of {})",
                     d.active >= kTenthOfPercent ? PercentText(d.active) : fmt::format("{:.2f} %", 100 * d.active),
                     DurationForPeople(Nanos(d.BusyNs())), DurationForPeople(Nanos(d.capture_ns)));
}

// Says first how much of the capture the device worked. Where that is next to nothing, shares are facts of the capture,
// and no saving follows from them. First use is most of a short capture, so its reader needs the figure too.
void SayCoverage(const DeviceDiagnosis& d, std::vector<Finding>& findings) {
  Finding& first = findings.front();
  const bool hardly = d.active < DeviceDiagnosis::kHardlyUsed;
  if (!hardly && first.cause != "first_use") return;
  first.evidence.insert(first.evidence.begin(),
                        Coverage(d) + (hardly ? ": shares of idle time are facts of the capture, not of the job" : ""));
  if (!hardly) return;
  for (Finding& f : findings) f.bound = 0;
}

// Diagnoses a device by its deciding window.
Cut DiagnoseDevice(const DeviceTrace& deciding, const Joined& joined, double nameless, const HostEvidence& host,
                   DeviceDiagnosis& d, TraceVerdict& verdict) {
  const Profile& profile = *deciding.profile;
  TraceScene scene{deciding, d.steps, joined.peers, joined.apart, nameless};
  verdict = FindTraceCauses(scene);
  for (const TraceClaim& claim : verdict.claims) {
    d.claims.push_back({claim.cause, deciding.budget.Share(claim.time.TotalNs()), claim.time});
  }
  SayCoverage(d, verdict.findings);
  const TimeSet launches = deciding.time.Where(IsLaunchTime);
  d.launch_share = deciding.budget.Share(launches.TotalNs());
  d.replay_share = deciding.budget.Share(launches.With(Trait::kGraphReplay).TotalNs());
  Cut cut = LargestGain(deciding, verdict);
  const bool few = !d.steps.Enough() || profile.events_missing;
  d.findings = verdict.findings;
  for (Finding& f : d.findings) JoinHostEvidence(host, few, f);
  return cut;
}

// What is known of a device before its windows are looked at.
DeviceDiagnosis Describe(const Profile& profile, const ProfiledDevice& device) {
  DeviceDiagnosis d;
  d.file = profile.file;
  d.rank = profile.rank;
  d.device = device.id;
  d.model = device.model;
  d.profiler = profile.profiler;
  d.events_missing = profile.events_missing;
  d.facts = profile.facts;
  d.top_kernels = TopKernels(profile, device);
  d.memory_held = MemoryHeld(device);
  d.framework = FindFramework(profile);
  return d;
}

// Where no step is marked, says how long the time between two optimizer steps is. Shares stay those of the capture.
void SayMarks(const Profile& profile, DeviceDiagnosis& d) {
  if (profile.step_marks.size() < 3 || !profile.steps.empty()) return;
  std::vector<double> distances;
  for (std::size_t i = 1; i < profile.step_marks.size(); ++i) {
    distances.push_back(static_cast<double>(profile.step_marks[i] - profile.step_marks[i - 1]));
  }
  d.findings.front().evidence.push_back(fmt::format("no step is marked; by {} the file has {} steps, median {}",
                                                    profile.step_mark_name, distances.size(),
                                                    SecondsForPeople(Median(distances) / 1e9)));
}

// Diagnoses every device of one profile. Ranks of a job also go to `ranks`, if each can stand beside the others.
std::vector<DeviceDiagnosis> DiagnoseDevices(const Profile& profile, const Joined& joined, const HostEvidence& host,
                                             std::vector<RankWindow>& ranks) {
  const LaunchIndex launches(profile);
  const StartOrder<HostCall> calls(profile.calls);
  const LaunchScopes scopes(profile);
  const IntervalSet* peer_wait = joined.peers == nullptr ? nullptr : &joined.peers->waiting;
  std::vector<DeviceDiagnosis> devices;
  for (const ProfiledDevice& device : profile.devices) {
    DeviceDiagnosis& d = devices.emplace_back(Describe(profile, device));
    const TracedDevice traced(profile, device, launches, calls);
    DeviceTrace deciding = traced.GpuSpan(peer_wait);
    d.budgets.push_back(deciding.budget);
    d.capture_ns = profile.recorded.value_or(deciding.budget.span).Ns();
    if (d.capture_ns > 0) d.active = static_cast<double>(deciding.budget.busy_ns) / static_cast<double>(d.capture_ns);
    if (std::optional<DeviceTrace> steps = traced.Steps(peer_wait)) {
      d.steps = MeasureSteps(steps->steps, steps->busy_by_step);
      if (steps->budget.busy_ns == 0) {  // the steps tell nothing about this device
        d.budgets.insert(d.budgets.begin(), steps->budget);
        d.findings.push_back(WorkOutsideSteps({deciding, d.steps}, steps->budget.span));
        d.time = MeasureTracedTime(profile, device, launches, scopes, d.Deciding(), 0);
        continue;
      }
      deciding = std::move(*steps);
      d.budgets.push_back(deciding.budget);
    }
    d.time = MeasureTracedTime(profile, device, launches, scopes, deciding.budget, deciding.steps.size());
    d.roofline = MeasureRoofline(profile, device, launches, deciding.budget);
    const double nameless = NamelessShare(device);
    TraceVerdict verdict;
    d.next = FindNext(traced, deciding, nameless, DiagnoseDevice(deciding, joined, nameless, host, d, verdict));
    SayMarks(profile, d);
    if (joined.peers == nullptr || !deciding.budget.idle_by_class) continue;
    ranks.push_back({profile.rank.value_or(0), std::move(deciding), d.steps, *joined.peers, std::move(verdict)});
  }
  return devices;
}

// Whether the ranks can be summed up: all of them, in the same kind of window.
bool AreOneJob(const std::vector<RankWindow>& ranks, std::size_t devices) {
  return ranks.size() > 1 && ranks.size() == devices &&
         std::all_of(ranks.begin(), ranks.end(),
                     [&](const RankWindow& r) { return r.trace.window == ranks.front().trace.window; });
}

// Names devices that the profiler watched and that did nothing. They are not idle GPUs of the job: nothing tells that
// the job was to use them.
void SayUnused(std::span<const Profile> profiles, std::vector<Finding>& findings) {
  for (const Profile& profile : profiles) {
    if (profile.without_events.empty() || findings.empty()) continue;
    std::string names;
    for (const std::int64_t id : profile.without_events) names += (names.empty() ? "" : ", ") + std::to_string(id);
    findings.front().evidence.push_back(
        fmt::format("{}: no events of device {}; they are left out, and not counted as idle", profile.file, names));
  }
}

// Joins findings of several devices with the same cause and title. The share refers to all their windows. The
// largest comes first, but "healthy" last.
std::vector<Finding> Gather(const std::vector<DeviceDiagnosis>& devices) {
  std::int64_t windows = 0;
  for (const DeviceDiagnosis& d : devices) windows += d.Deciding().span.Ns();
  struct Row {
    Finding finding;
    double bound_ns = 0;
    std::size_t devices = 0;
  };
  std::vector<Row> rows;
  for (const DeviceDiagnosis& d : devices) {
    for (const Finding& f : d.findings) {
      auto at = std::find_if(rows.begin(), rows.end(),
                             [&](const Row& r) { return r.finding.cause == f.cause && r.finding.title == f.title; });
      if (at == rows.end()) {
        rows.push_back({f, 0, 0});
        at = rows.end() - 1;
      } else {
        at->finding.gpu_ns += f.gpu_ns;
        at->finding.status = std::max(at->finding.status, f.status);
        if (at->devices < kEvidenceDevices) at->finding.evidence.push_back(f.evidence.front());
      }
      at->bound_ns += f.bound * static_cast<double>(d.Deciding().span.Ns());
      ++at->devices;
    }
  }
  std::vector<Finding> findings;
  for (Row& row : rows) {
    Finding& f = row.finding;
    if (windows > 0) {
      f.share = static_cast<double>(f.gpu_ns) / static_cast<double>(windows);
      f.bound = row.bound_ns / static_cast<double>(windows);
    }
    if (devices.size() > 1) {
      f.evidence.push_back(
          fmt::format("seen on {} of {} devices; shares are of all their windows", row.devices, devices.size()));
    }
    findings.push_back(std::move(f));
  }
  // That some devices are well matters less than what others lose.
  const auto key = [](const Finding& f) { return std::pair(f.cause == "healthy", -f.share); };
  std::stable_sort(findings.begin(), findings.end(),
                   [key](const Finding& a, const Finding& b) { return key(a) < key(b); });
  return findings;
}

// Lists the findings of each rank in the order of the job's. Ranks that wait for each other have one first cause.
void OrderAsJob(TraceDiagnosis& diagnosis) {
  const auto place = [&](const Finding& f) {
    return std::find_if(diagnosis.findings.begin(), diagnosis.findings.end(),
                        [&](const Finding& g) { return g.cause == f.cause; });
  };
  for (DeviceDiagnosis& d : diagnosis.devices) {
    std::stable_sort(d.findings.begin(), d.findings.end(),
                     [&](const Finding& a, const Finding& b) { return place(a) < place(b); });
  }
}

}  // namespace

TraceDiagnosis DiagnoseProfiles(std::span<const Profile> profiles, const HostEvidence& host) {
  TraceDiagnosis diagnosis;
  const std::vector<std::optional<PeerWait>> peers = JoinRanks(profiles);
  if (profiles.size() > 1) diagnosis.apart = WhyApart(profiles);
  const bool any = std::any_of(peers.begin(), peers.end(), [](const auto& p) { return p.has_value(); });
  if (profiles.size() > 1 && diagnosis.apart.empty() && !any) diagnosis.apart = "no two of them share a collective";
  std::vector<Finding> without_devices;
  std::vector<RankWindow> ranks;
  for (std::size_t i = 0; i < profiles.size(); ++i) {
    if (profiles[i].devices.empty()) without_devices.push_back(NoDevices(profiles[i]));
    const Joined joined{peers[i] ? &*peers[i] : nullptr, diagnosis.apart};
    for (DeviceDiagnosis& d : DiagnoseDevices(profiles[i], joined, host, ranks)) {
      d.profile = i;
      diagnosis.devices.push_back(std::move(d));
    }
  }
  if (AreOneJob(ranks, diagnosis.devices.size())) {
    diagnosis.findings = FindJobCauses(ranks);
    for (Finding& f : diagnosis.findings) JoinHostEvidence(host, !ranks.front().steps.Enough(), f);
    OrderAsJob(diagnosis);
  } else {
    diagnosis.findings = Gather(diagnosis.devices);
  }
  diagnosis.findings.insert(diagnosis.findings.end(), without_devices.begin(), without_devices.end());
  SayUnused(profiles, diagnosis.findings);
  return diagnosis;
}

namespace {

// The offset that turns a profile's stamps into dates. A profile without dates starts at 0.
std::int64_t ToWall(const Profile& profile, std::int64_t first, DataQuality& quality) {
  const std::int64_t base = profile.wall_base_ns.value_or(0);
  if (IsWallClock(first + base)) return base;
  quality.Count(QualityId::kNoTimestamp, {&profile.file, 0});
  return -first;
}

// The key of a traced device. Ranks are told apart as if each were a host of its own. If several files claim one
// rank, the names of the files tell them apart.
DeviceKey TracedDeviceKey(std::span<const Profile> profiles, const DeviceDiagnosis& d) {
  const Profile& profile = profiles[d.profile];
  const auto same =
      std::count_if(profiles.begin(), profiles.end(), [&](const Profile& other) { return other.rank == profile.rank; });
  DeviceKey key;
  key.index = static_cast<int>(d.device);
  key.name = d.model;
  if (profiles.size() > 1)
    key.host = profile.rank && same == 1 ? "rank " + std::to_string(*profile.rank) : profile.file;
  return key;
}

// The totals of a device by its deciding window, as a classifier would have left them.
DeviceTotals TracedTotals(const TraceBudget& budget) {
  DeviceTotals totals;
  totals.phase_ns[kIdlePhase] = budget.idle_ns;
  totals.phase_ns[kUnderutilizedPhase] = budget.exposed_comm_ns + budget.exposed_copy_ns;
  totals.phase_ns[kProductivePhase] = budget.compute_ns;
  totals.idle_held_ns = budget.idle_ns;
  totals.utilization.Add(budget.compute_ns, kFull);
  totals.utilization.Add(budget.span.Ns() - budget.compute_ns, 0);
  return totals;
}

}  // namespace

RunResult TracedRun(std::span<const Profile> profiles, const TraceDiagnosis& diagnosis, DeviceTable& devices,
                    DataQuality& quality) {
  RunResult run;
  for (const DeviceDiagnosis& d : diagnosis.devices) {
    const Profile& profile = profiles[d.profile];
    const Interval span = d.Deciding().span;
    const std::int64_t to_wall = ToWall(profile, span.start, quality);
    DeviceResult result;
    result.device = devices.Enter(TracedDeviceKey(profiles, d));
    devices.NameCounter(result.device, Signal::kUtilization, profile.counter);
    result.counter = Signal::kUtilization;
    result.first = Instant::FromNanos(span.start + to_wall);
    result.last = Instant::FromNanos(span.end + to_wall);
    result.totals = TracedTotals(d.Deciding());
    run.start = run.devices.empty() ? result.first : std::min(run.start, result.first);
    run.end = run.devices.empty() ? result.last : std::max(run.end, result.last);
    run.devices.push_back(std::move(result));
  }
  std::sort(run.devices.begin(), run.devices.end(),
            [](const DeviceResult& a, const DeviceResult& b) { return a.device < b.device; });
  return run;
}

namespace {

// What CompareCaptures expects: the part of a bound that a fix recovers, how much the work may differ, and the steps
// on each side for more than an estimate.
constexpr double kRecovered = 0.8;
constexpr double kSameWork = 0.02;
constexpr std::size_t kStepsForVerdict = 20;

// A sum over the window, for one step.
double PerStep(const DeviceDiagnosis& d, double sum) {
  return sum / static_cast<double>(std::max<std::size_t>(d.steps.steps.size(), 1));
}

// The relative change; absent if there was nothing before.
std::optional<double> Change(double before, double after) {
  if (before == 0) return std::nullopt;
  return after / before - 1;
}

// Collects what keeps the comparison from being proof.
void Doubt(const DeviceDiagnosis& before, const DeviceDiagnosis& after, BeforeAfter& pair) {
  const std::size_t steps = std::min(before.steps.steps.size(), after.steps.steps.size());
  if (!pair.realised) {
    pair.doubts.emplace_back("a capture has no steps, so the captures cannot be compared");
  } else if (steps < kStepsForVerdict) {
    pair.doubts.push_back(
        fmt::format("{} steps a side: below {} the change is only an estimate", steps, kStepsForVerdict));
  }
  for (const auto& [change, what] :
       {std::pair(pair.kernels_change, "kernels"), {pair.compute_change, "compute time"}}) {
    if (change && std::abs(*change) > kSameWork) {
      pair.doubts.push_back(
          fmt::format("{} a step changed by {}: the work is not the same, the captures are "
                      "not comparable",
                      what, SignedPercent(*change)));
    }
  }
  pair.doubts.emplace_back("a capture is one run: it does not show differences between runs");
}

}  // namespace

BeforeAfter CompareCaptures(const DeviceDiagnosis& before, const DeviceDiagnosis& after) {
  BeforeAfter pair;
  const auto first =
      std::find_if(before.findings.begin(), before.findings.end(), [](const Finding& f) { return f.bound > 0; });
  if (first != before.findings.end()) {
    pair.cause = first->cause;
    pair.bound = first->bound;
    pair.expected = kRecovered * first->bound;
  }
  pair.before_ns = before.steps.median_ns;
  pair.after_ns = after.steps.median_ns;
  // Without steps on both sides there is nothing to compare.
  if (pair.before_ns && pair.after_ns && *pair.before_ns > 0) {
    pair.realised = 1 - *pair.after_ns / *pair.before_ns;
    if (pair.bound > 0) pair.recovered = *pair.realised / pair.bound;
    const auto count = [](const DeviceDiagnosis& d) { return static_cast<double>(d.Deciding().kernels.count); };
    const auto compute = [](const DeviceDiagnosis& d) { return static_cast<double>(d.Deciding().compute_ns); };
    pair.kernels_change = Change(PerStep(before, count(before)), PerStep(after, count(after)));
    pair.compute_change = Change(PerStep(before, compute(before)), PerStep(after, compute(after)));
  }
  Doubt(before, after, pair);
  if (!after.findings.empty()) pair.next = after.findings.front().cause;
  return pair;
}

}  // namespace idleburn
