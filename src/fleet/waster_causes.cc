#include "fleet/waster_causes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "diagnose/cause_table.h"
#include "diagnose/make_finding.h"
#include "recommend/lever_table.h"
#include "recommend/try_table.h"
#include "text/figures.h"

namespace idleburn {
namespace {

constexpr std::size_t kWastersShown = 10;
constexpr std::size_t kTriesShown = 3;
// Of a job's observed time. Seconds of idle time between bursts are a starved job, and look the same in counters of
// hours; a job that works in a tenth of its seconds or less wastes its GPUs either way.
constexpr double kMostlyIdle = 0.9;

// A signal, the cause that an audit names for it, and how a sentence tells what was seen. An audit of a run advises the
// cause's lever only if it sees more than counters of hours can show. The fix names that as a condition.
struct CauseRow {
  JobSignal signal;
  std::string_view cause;
  std::string_view seen;
  std::string_view condition;  // of the fix; empty: none
};
constexpr std::string_view kIfIdleTogether = "if all GPUs of the job are idle together for 15 minutes or longer";
// Their claims are made in this order. Low time that is not an idle stretch comes last. Pressure on storage is not
// here: an audit blames storage only if it sees the loader's workers blocked on reads.
constexpr auto kCauseRows = std::to_array<CauseRow>({
    {JobSignal::kIdleHeld, "idle_held", "its GPUs were idle for a minute or longer with memory held", kIfIdleTogether},
    {JobSignal::kIdleEmpty, "idle_empty", "its GPUs were idle for a minute or longer without a process",
     kIfIdleTogether},
    {JobSignal::kIdleUnknown, "idle", "its GPUs were idle for a minute or longer", kIfIdleTogether},
    {JobSignal::kSpinWait, "spin_wait", "its GPUs looked busy and waited",
     "if torch.profiler on every rank for 20 steps shows one"},
    {JobSignal::kThrottled, "throttling", "its GPUs ran at lowered clocks", ""},
    {JobSignal::kPcieFull, "h2d_bandwidth", "its GPUs were below 70 % busy while their PCIe link was full",
     "if a trace shows copies without compute"},
    {JobSignal::kNodeCpuPressure, "loader_cpu_no_cores",
     "its GPUs were below 70 % busy while tasks of the node waited for CPUs", "if the job waits for its data loader"},
});

double ShareOf(std::int64_t part, std::int64_t whole) {
  return whole <= 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

std::string HoursOf(std::int64_t ms) { return GpuHoursForPeople(GpuHoursOf(ms)); }

// Signals within the time of their phases. Those that share time are cut in the order of the table.
SignalMs Within(const FleetTime& time, const SignalMs& signals) {
  SignalMs cut{};
  const auto phase = [&](std::size_t p) { return time.phases[p]; };
  std::int64_t idle = phase(0);
  std::int64_t low = phase(0) + phase(1);
  std::int64_t bound = phase(3);
  std::int64_t working = phase(1) + phase(2) + phase(3);
  const auto take = [&](JobSignal signal, std::int64_t most) {
    return cut[Index(signal)] = std::clamp<std::int64_t>(signals[Index(signal)], 0, most);
  };
  for (const JobSignal signal : {JobSignal::kIdleHeld, JobSignal::kIdleEmpty, JobSignal::kIdleUnknown}) {
    const std::int64_t taken = take(signal, idle);
    idle -= taken;
    low -= taken;
  }
  for (const JobSignal signal : {JobSignal::kPcieFull, JobSignal::kNodeCpuPressure, JobSignal::kNodeIoPressure})
    low -= take(signal, low);
  working -= take(JobSignal::kSpinWait, bound);
  take(JobSignal::kThrottled, working);
  // What the clock lost is of busy time, so it cannot be more than may have been busy.
  const std::int64_t busy = time.ObservedMs() - WasteOf(time).low_ms - cut[Index(JobSignal::kSpinWait)];
  take(JobSignal::kClockLost, std::clamp<std::int64_t>(busy, 0, cut[Index(JobSignal::kThrottled)]));
  take(JobSignal::kSharedGpu, time.TotalMs());
  return cut;
}

// Waste of each row of the table: at least 90 % of idle time and 30 % of underutilized time was not busy.
std::vector<std::int64_t> ClaimsOf(const FleetTime& time, const SignalMs& cut) {
  std::vector<std::int64_t> claims;
  std::int64_t under = time.phases[1];
  for (const CauseRow& row : kCauseRows) {
    const std::int64_t ms = cut[Index(row.signal)];
    switch (row.signal) {
      case JobSignal::kIdleHeld:
      case JobSignal::kIdleEmpty:
      case JobSignal::kIdleUnknown:
        claims.push_back(ms * 9 / 10);
        break;
      case JobSignal::kSpinWait:
        claims.push_back(ms);
        break;
      case JobSignal::kThrottled:
        claims.push_back(cut[Index(JobSignal::kClockLost)]);
        break;
      default: {
        // Nothing tells which of this time was idle. At least what underutilized time does not hold was.
        const std::int64_t of_under = std::min(ms, under);
        under -= of_under;
        claims.push_back(of_under * 3 / 10 + (ms - of_under) * 9 / 10);
      }
    }
  }
  return claims;
}

// How the first lever of a cause is applied, in a sentence.
std::string FixOf(std::string_view cause, std::string_view condition) {
  const Lever& lever = LeverById(CauseById(cause).levers[0]);
  const std::string when = condition.empty() ? "" : ", " + std::string(condition);
  return std::string(lever.title) + when + ": " + std::string(lever.how);
}

// The pattern that an audit would look at first. Bands of hours cannot tell bursts from steady load, but idle time that
// is no stretch of a minute is pauses between work.
Pattern PatternOf(const FleetTime& time, const JobKnowledge& known, const SignalMs& cut) {
  const std::int64_t stretches = cut[0] + cut[1] + cut[2];
  const std::int64_t pauses = time.phases[0] - stretches;
  if (!known.signals && ShareOf(time.phases[0], time.ObservedMs()) >= kIdleHeavyShare) return Pattern::kIdleHeavy;
  const std::array<std::pair<std::int64_t, Pattern>, 4> losses = {{{stretches * 9, Pattern::kIdleHeavy},
                                                                   {pauses * 9, Pattern::kBursts},
                                                                   {time.phases[1] * 3, Pattern::kSteadyUnderutilized},
                                                                   {time.phases[2], Pattern::kProductive}}};
  return std::max_element(losses.begin(), losses.end(), [](const auto& a, const auto& b) { return a.first < b.first; })
      ->second;
}

std::vector<WasterTry> TriesOf(Pattern pattern) {
  std::vector<WasterTry> tries;
  for (const TryRow& row : TryRows()) {
    // Settings that depend on the GPU need a run of their own.
    if (row.pattern != pattern || row.how.empty() || tries.size() == kTriesShown) continue;
    tries.push_back({std::string(row.lever), std::string(LeverById(row.lever).title), std::string(row.how),
                     std::string(row.confirm)});
  }
  return tries;
}

std::vector<WasterEvidence> EvidenceOf(const FleetTime& time, const SignalMs& cut) {
  std::vector<WasterEvidence> evidence;
  for (const JobSignalRow& row : kJobSignals) {
    const std::int64_t ms = cut[Index(row.id)];
    if (ms > 0) evidence.push_back({std::string(row.name), ms, ShareOf(ms, time.ObservedMs())});
  }
  std::stable_sort(evidence.begin(), evidence.end(),
                   [](const WasterEvidence& a, const WasterEvidence& b) { return a.ms > b.ms; });
  return evidence;
}

// "its GPUs looked busy and waited for 12 GPU-hours (signal spin_wait, 61.0 % of its time), 80.0 % of the waste".
std::string SeenText(const CauseRow& row, const FleetTime& time, const SignalMs& cut, double of_waste) {
  const std::int64_t ms = cut[Index(row.signal)];
  return fmt::format("{} for {} (signal {}, {} of its time): {} of the waste", row.seen, HoursOf(ms),
                     kJobSignals[Index(row.signal)].name, PercentText(ShareOf(ms, time.ObservedMs())),
                     PercentText(of_waste));
}

// Why nothing names the cause, in the order of what a reader can change.
std::string WhyUnknown(const FleetTime& time, const JobKnowledge& known, const SignalMs& cut) {
  if (!known.signals) return "the agents of its nodes count no signals; update them to learn the cause";
  if (known.silent_nodes > 0)
    return fmt::format("the agents of {} of its {} nodes did not count signals in all of the window; update them",
                       known.silent_nodes, known.nodes);
  const std::int64_t shared = cut[Index(JobSignal::kSharedGpu)];
  if (ShareOf(shared, time.TotalMs()) >= kMaterialShare)
    return fmt::format("other jobs shared its GPUs for {}; agents cannot tell the causes of that time apart",
                       HoursOf(shared));
  const std::int64_t io = cut[Index(JobSignal::kNodeIoPressure)];
  if (ShareOf(io, time.ObservedMs()) >= kMaterialShare)
    return fmt::format(
        "storage is a suspect: tasks of the node waited for it for {} in which GPUs were below 70 % busy", HoursOf(io));
  std::string unread;
  for (const CauseRow& row : kCauseRows) {
    if (known.told[Index(row.signal)]) continue;
    unread += (unread.empty() ? "" : ", ") + std::string(kJobSignals[Index(row.signal)].name);
  }
  if (unread.empty()) return "no signal of its agents explains it";
  return "no signal that was read explains it; its nodes cannot tell " + unread;
}

// One judgement, step by step.
class WasterJudge {
 public:
  WasterJudge(const FleetOwner& job, const JobKnowledge& known)
      : job_(job), known_(known), cut_(Within(job.time, known.signals.value_or(SignalMs{}))) {
    waster_ = {job.name, job.team, job.user, {}, JobLossMs(job.time, cut_), {}, {}, {}, {}, {}, {}};
  }

  Result<FleetWaster> Run() {
    if (job_.cost.total && job_.time.TotalMs() > 0)
      waster_.waste = TRY(Scale(*job_.cost.total, waster_.waste_ms, job_.time.TotalMs()));
    waster_.evidence = EvidenceOf(job_.time, cut_);
    NameCauses();
    std::int64_t explained = 0;
    for (const WasterCause& part : waster_.causes) explained += part.waste_ms;
    if (!waster_.causes.empty() && explained * 2 >= waster_.waste_ms) {
      waster_.cause = waster_.causes.front().cause;
      waster_.fix = waster_.causes.front().fix;
    } else {
      waster_.cause = "unknown";
      TryFirst();
    }
    const std::int64_t rest = waster_.waste_ms - explained;
    if (ShareOf(rest, waster_.waste_ms) >= kMaterialShare) {
      const bool all = explained == 0;
      const std::string head =
          all ? "" : fmt::format("{} of the waste is unexplained: ", PercentText(ShareOf(rest, waster_.waste_ms)));
      Say(head + WhyUnknown(job_.time, known_, cut_));
    }
    return std::move(waster_);
  }

 private:
  void Say(const std::string& sentence) { waster_.why += (waster_.why.empty() ? "" : "; ") + sentence; }

  void NameCauses() {
    const std::vector<std::int64_t> claims = ClaimsOf(job_.time, cut_);
    std::vector<std::pair<std::int64_t, const CauseRow*>> named;
    for (std::size_t i = 0; i < kCauseRows.size(); ++i) {
      const std::int64_t seen = cut_[Index(kCauseRows[i].signal)];
      if (claims[i] > 0 && ShareOf(seen, job_.time.ObservedMs()) >= kMaterialShare)
        named.emplace_back(claims[i], &kCauseRows[i]);
    }
    std::stable_sort(named.begin(), named.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    for (const auto& [claim, row] : named) {
      const double share = ShareOf(claim, waster_.waste_ms);
      Say(SeenText(*row, job_.time, cut_, share));
      AddCause(row->cause, row->condition, claim);
    }
    // Without signals the bands still tell a GPU that hardly ever worked.
    const bool idle = ShareOf(job_.time.phases[0], job_.time.ObservedMs()) >= kMostlyIdle;
    if (known_.signals || !idle) return;
    Say("its GPUs were idle in nine of ten seconds or more");
    AddCause("idle", kIfIdleTogether, job_.time.phases[0] * 9 / 10);
  }

  void AddCause(std::string_view cause, std::string_view condition, std::int64_t claim) {
    WasterCause part{std::string(cause), claim, ShareOf(claim, waster_.waste_ms), {}, FixOf(cause, condition)};
    // Rounded down, so that the parts never cost more than the whole.
    if (waster_.waste && waster_.waste_ms > 0) {
      const auto nano = static_cast<Int128>(waster_.waste->nano()) * claim / waster_.waste_ms;
      part.waste = Money::Nano(static_cast<std::int64_t>(nano));
    }
    waster_.causes.push_back(std::move(part));
  }

  void TryFirst() {
    waster_.try_first = TriesOf(PatternOf(job_.time, known_, cut_));
    std::string levers;
    for (std::size_t i = 0; i < std::min<std::size_t>(waster_.try_first.size(), 2); ++i)
      levers += (i == 0 ? "" : "; ") + waster_.try_first[i].title;
    waster_.fix = "try first: " + levers + "; to find the cause: idleburn run -- CMD";
  }

  const FleetOwner& job_;
  const JobKnowledge& known_;
  SignalMs cut_;
  FleetWaster waster_;
};

JobKey KeyOf(const FleetOwner& job) { return {job.cluster, job.name, job.user, job.team, job.experiment}; }

// What the agents of a job's nodes could tell.
JobKnowledge KnowledgeOf(const FleetOwner& job, const JobSignals& signals) {
  JobKnowledge known;
  known.nodes = job.nodes.size();
  known.told.fill(true);
  for (const std::string& node : job.nodes) {
    const auto told = signals.known.find(node);
    if (told == signals.known.end() || signals.late.contains(node)) ++known.silent_nodes;
    if (told == signals.known.end()) continue;
    for (std::size_t i = 0; i < kJobSignalCount; ++i) known.told[i] = known.told[i] && told->second[i];
  }
  const auto counted = signals.jobs.find(KeyOf(job));
  const bool any = std::any_of(job.nodes.begin(), job.nodes.end(),
                               [&](const std::string& node) { return signals.known.contains(node); });
  if (counted != signals.jobs.end()) {
    known.signals = counted->second;
  } else if (any) {
    known.signals = SignalMs{};
  }
  return known;
}

void AddSignalDoubts(const JobSignals& signals, std::int64_t beyond_ms, FleetReport* report) {
  std::set<std::string> nodes;
  std::size_t silent = 0;
  for (const FleetOwner& job : report->jobs) nodes.insert(job.nodes.begin(), job.nodes.end());
  for (const std::string& node : nodes)
    silent += signals.known.contains(node) && !signals.late.contains(node) ? 0U : 1U;
  if (silent > 0) {
    report->doubts.push_back({"no_job_signals", static_cast<std::int64_t>(silent), "info",
                              fmt::format("the agents of {} of {} nodes are older and did not count signals of jobs in "
                                          "all of the window; causes there are unknown",
                                          silent, nodes.size())});
  }
  if (!signals.missing.empty()) {
    report->doubts.push_back({"job_signals_missing", static_cast<std::int64_t>(signals.missing.size()), "warn",
                              std::string("the engine did not answer for signals of jobs, so causes may ") +
                                  (signals.start_known ? "lack" : "lack or be too large") + ": " +
                                  signals.missing.front()});
  }
  if (beyond_ms > 0) {
    report->doubts.push_back({"waste_beyond_bands", 1, "info",
                              "the waste of the jobs that waste most includes " + HoursOf(beyond_ms) +
                                  " of spin-wait and lost clock; the totals do not"});
  }
}

}  // namespace

std::int64_t JobLossMs(const FleetTime& time, const SignalMs& signals) {
  const SignalMs cut = Within(time, signals);
  return WasteOf(time).low_ms + cut[Index(JobSignal::kSpinWait)] + cut[Index(JobSignal::kClockLost)];
}

Result<FleetWaster> JudgeWaster(const FleetOwner& job, const JobKnowledge& known) {
  return WasterJudge(job, known).Run();
}

std::vector<const FleetOwner*> WorstJobs(const JobSignals& signals, const FleetReport& report) {
  std::vector<std::pair<std::int64_t, const FleetOwner*>> order;
  for (const FleetOwner& job : report.jobs) {
    if (job.name == kFleetUnknown || job.name == kFleetOther) continue;
    const auto counted = signals.jobs.find(KeyOf(job));
    const std::int64_t loss = JobLossMs(job.time, counted == signals.jobs.end() ? SignalMs{} : counted->second);
    if (loss > 0) order.emplace_back(loss, &job);
  }
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<const FleetOwner*> worst;
  for (std::size_t i = 0; i < std::min(order.size(), kWastersShown); ++i) worst.push_back(order[i].second);
  return worst;
}

Result<void> FillWasters(const JobSignals& signals, FleetReport* report) {
  std::int64_t beyond = 0;
  for (const FleetOwner* job : WorstJobs(signals, *report)) {
    report->wasters.push_back(TRY(JudgeWaster(*job, KnowledgeOf(*job, signals))));
    beyond += report->wasters.back().waste_ms - WasteOf(job->time).low_ms;
  }
  AddSignalDoubts(signals, beyond, report);
  return {};
}

}  // namespace idleburn
