#include "diagnose/trace_causes.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "diagnose/cause_table.h"
#include "diagnose/findings.h"
#include "diagnose/trace_rules.h"
#include "profile/profile.h"
#include "text/figures.h"
#include "text/strings.h"
#include "text/table.h"

namespace idleburn {
namespace {

// Thresholds of this file, as shares of the window unless stated otherwise.
constexpr double kUnknownShare = 0.03;
constexpr double kOverheadWorthSaying = 0.01;
constexpr std::size_t kNamedGaps = 2;
constexpr std::size_t kNamedSpeeds = 3;
constexpr int kLongestName = 60;
constexpr double kLongFirst = 1.03;  // steps

// "kineto.device_activity of device 0, profiler_steps": where every figure of the evidence comes from.
std::string FigureSource(const TraceScene& scene) {
  const Profile& profile = *scene.trace.profile;
  if (!scene.whose.empty()) {
    return fmt::format("{} of {}, {}", profile.counter.empty() ? profile.file : profile.counter, scene.whose,
                       Name(scene.trace.window));
  }
  return fmt::format("{} of {}device {}, {}", profile.counter.empty() ? profile.file : profile.counter,
                     profile.rank ? fmt::format("rank {}, ", *profile.rank) : "", scene.trace.device->id,
                     Name(scene.trace.window));
}

// "kineto.device_activity of device 0, profiler_steps: <what> is 352 ms of 1.05 s, 33.6 % (<threshold>)"
std::string Figure(const TraceScene& scene, std::string_view what, const TimeSet& time, const std::string& threshold) {
  return fmt::format("{}: {} is {} of {}, {} ({})", FigureSource(scene), what, DurationForPeople(Nanos(time.TotalNs())),
                     DurationForPeople(Nanos(scene.trace.budget.span.Ns())), PercentText(scene.Share(time)), threshold);
}

// The threshold of a test in words.
std::string Border(const FactTest& test) {
  const std::string border = DescribeBound(test.fact, test.border);
  switch (test.side) {
    case FactTest::Side::kAtLeast:
      return border + " or more";
    case FactTest::Side::kAbove:
      return "more than " + border;
    case FactTest::Side::kBelow:
      break;
  }
  return "below " + border;
}

// A fact with its value, its threshold and what that means: "idle gaps with host time in a step: 31 (20 or more
// needed)".
std::string DescribeTest(const FactTest& test, std::optional<double> value, std::string_view then) {
  return fmt::format("{} ({} {})", Describe(test.fact, value), Border(test), then);
}

// The result of testing a rule.
struct Outcome {
  bool holds = false;
  std::vector<std::string> shows;
  std::vector<std::string> lacks;     // why it does not hold
  std::vector<std::string> excluded;  // refuters that were tested and do not hold
};

// Tests the facts that a rule requires or that refute it, and collects the reasons.
void Require(const TraceRule& rule, const Facts& facts, Outcome& outcome) {
  const auto value = [&](const FactTest& test) { return facts[static_cast<std::size_t>(test.fact)]; };
  const auto holds = [&](const FactTest& test) { return value(test) && test.Holds(*value(test)); };
  for (const FactTest& test : rule.required) {
    (holds(test) ? outcome.shows : outcome.lacks).push_back(DescribeTest(test, value(test), "needed"));
  }
  for (const FactTest& test : rule.refuted_by) {
    (holds(test) ? outcome.lacks : outcome.excluded).push_back(DescribeTest(test, value(test), "refutes it"));
  }
  if (rule.any_of.empty()) return;
  const bool any = std::any_of(rule.any_of.begin(), rule.any_of.end(), holds);
  for (const FactTest& test : rule.any_of) {
    if (holds(test) == any) (any ? outcome.shows : outcome.lacks).push_back(DescribeTest(test, value(test), "needed"));
  }
}

// Tests a rule on the time that is left.
Outcome Try(const TraceScene& scene, const TraceRule& rule, const Facts& facts, const TimeSet& time) {
  Outcome outcome;
  const double share = scene.Share(time);
  const std::string figure = Figure(scene, rule.claims, time, StatedPercent(rule.least) + " needed");
  (share >= rule.least ? outcome.shows : outcome.lacks).push_back(figure);
  if (share <= scene.steps.noise) {
    outcome.lacks.push_back(
        fmt::format("it is within the noise from step to step, {} (2 x MAD / median)", PercentText(scene.steps.noise)));
  }
  Require(rule, facts, outcome);
  outcome.holds = outcome.lacks.empty();
  return outcome;
}

// Whether the profile has a data loader with this iterator.
bool Is(const Profile& profile, std::string_view iterator) {
  return std::any_of(profile.names.begin(), profile.names.end(), [&](const std::string& name) {
    return IsDataLoader(name) && name.find(iterator) != std::string::npos;
  });
}

// The Remark functions add evidence that is specific to one kind of time. RemarkLoader adds which loader it is, and
// what would decide between the loader causes.
void RemarkLoader(const TraceScene& scene, Finding& f) {
  if (Is(*scene.trace.profile, "_SingleProcessDataLoaderIter")) {
    f.evidence.emplace_back(
        "the iterator is _SingleProcessDataLoaderIter (num_workers=0): the loader is the training thread, and one "
        "worker needs one spare core");
  } else if (Is(*scene.trace.profile, "_MultiProcessingDataLoaderIter")) {
    f.evidence.emplace_back("the iterator is _MultiProcessingDataLoaderIter: it has workers, but they do not keep up");
  }
  f.evidence.emplace_back(
      "alternative loader_cpu_no_cores: decided by the workers' run-queue wait (/proc/<pid>/schedstat, 30 % or more), "
      "PSI cpu.some (50 % or more) or a rising nr_throttled");
  f.evidence.emplace_back(
      "alternative storage: decided by the workers' time in state D (/proc/<pid>/stat, 30 % or more) with PSI io.full "
      "(10 % or more) and rising read_bytes (/proc/<pid>/io)");
}

// Divides host time by class, and mentions a loader that fetches ahead.
void RemarkHost(const TraceScene& scene, const TimeSet& time, Finding& f) {
  if (!scene.trace.budget.idle_by_class) return;
  const auto share = [&](IdleClass c) { return PercentText(scene.Share(time.With(ToTrait(c)))); };
  f.evidence.push_back(fmt::format("split: operators {}, other host work {}, launch latency {}",
                                   share(IdleClass::kCpuOp), share(IdleClass::kHostOther),
                                   share(IdleClass::kLaunchLatency)));
  const TimeSet ahead = time.With(Trait::kLoaderAhead);
  if (ahead.TotalNs() > 0) {
    f.evidence.push_back(Figure(scene, "while a loader fetched ahead in a thread that launches nothing", ahead,
                                "the trace does not show whether training waits for it"));
  }
  if (scene.trace.profile->dataloader_events == 0) {
    f.evidence.emplace_back(
        "no data loader is visible in this file: waiting for input, if any, counts as other host work");
  }
}

// Whether a device ran any collective.
bool Communicates(const ProfiledDevice& device) {
  return std::any_of(device.events.begin(), device.events.end(),
                     [](const DeviceEvent& e) { return e.op == DeviceOp::kComm; });
}

// Whether other ranks take part: they meet in collectives.
bool HasPeers(const TraceScene& scene) {
  const std::vector<ProfiledDevice>& devices = scene.trace.profile->devices;
  return std::any_of(devices.begin(), devices.end(), Communicates);
}

// Adds what the traces of several ranks agree on.
void RemarkPeers(const TraceScene& scene, Finding& f) {
  const PeerWait& peers = *scene.peers;
  const std::optional<std::int64_t> world = scene.trace.profile->world_size;
  const std::string of = peers.all_ranks
                             ? fmt::format("all {}", peers.ranks)
                             : fmt::format("{}{}", peers.ranks, world ? fmt::format(" of {}", *world) : std::string());
  f.evidence.push_back(fmt::format(
      "{} collectives matched on {} ranks{}: {} of transfer (the shortest over the ranks) in {} of {}; rank {} usually "
      "arrives last",
      peers.matched, of,
      peers.unmatched > 0
          ? fmt::format(", {} unmatched ({})", peers.unmatched, DurationForPeople(Nanos(peers.unmatched_ns)))
          : std::string(),
      DurationForPeople(Nanos(peers.transfer_ns)), DurationForPeople(Nanos(peers.own_ns)),
      scene.ranks > 1 ? "all ranks' calls" : "this rank's own", peers.last_rank));
  if (peers.late_in == 0) return;
  std::string alone;
  if (peers.late_alone_ns) {
    alone = fmt::format("; repaired alone it would arrive {} earlier, until the second latest rank",
                        DurationForPeople(Nanos(*peers.late_alone_ns)));
  }
  f.evidence.push_back(fmt::format("rank {} was the last in {} collectives, and the others waited {} in them{}",
                                   peers.last_rank, peers.late_in, DurationForPeople(Nanos(peers.late_caused_ns)),
                                   alone));
}

// Why transfer and waiting cannot be told apart.
std::string WhyAlone(const TraceScene& scene) {
  const Profile& profile = *scene.trace.profile;
  if (!scene.apart.empty()) {
    return fmt::format("the files are not joined as ranks of one job, because {}: ", scene.apart);
  }
  const auto gpus = std::count_if(profile.devices.begin(), profile.devices.end(), Communicates);
  if (gpus > 1) return fmt::format("the collectives of the {} GPUs in this file are not matched: ", gpus);
  return fmt::format("one rank{} is traced: ", profile.world_size ? fmt::format(" of {}", *profile.world_size) : "");
}

// Adds how fast the largest collectives were, beside the links of the board.
void RemarkSpeed(const TraceScene& scene, Finding& f) {
  if (scene.ranks > 1) return;
  std::vector<CollectiveSpeed> speeds = MeasureCollectives(*scene.trace.profile, *scene.trace.device);
  std::stable_sort(speeds.begin(), speeds.end(),
                   [](const CollectiveSpeed& a, const CollectiveSpeed& b) { return a.ns > b.ns; });
  const std::optional<double> link = PeerLinkGBs(scene.trace.device->model);
  for (std::size_t i = 0; i < std::min(speeds.size(), kNamedSpeeds); ++i) {
    const CollectiveSpeed& s = speeds[i];
    f.evidence.push_back(fmt::format(
        "{} of {} to {}: {} calls, {} GB/s on the bus (this rank's time, which contains waiting{})", s.operation,
        DecimalBytes(static_cast<double>(s.from_bytes)), DecimalBytes(2 * static_cast<double>(s.from_bytes)), s.count,
        ThreeDigits(s.bus_gb_per_s),
        link ? fmt::format("; the links of the board carry {} GB/s in one direction", ThreeDigits(*link)) : ""));
  }
}

// Adds whether transfer and waiting can be told apart.
void RemarkComm(const TraceScene& scene, Finding& f) {
  if (scene.peers != nullptr) return RemarkPeers(scene, f);
  f.evidence.push_back(WhyAlone(scene) +
                       "idleburn cannot tell transfer from waiting for a late rank; record every rank at the same "
                       "time, each in its own file");
}

// Divides the queued wait by what it waits for.
void RemarkQueue(const TraceScene& scene, Finding& f) {
  const TraceBudget& b = scene.trace.budget;
  if (!b.idle_by_class || b.IdleNs(IdleClass::kQueuedWait) == 0) return;
  f.evidence.push_back(fmt::format("of {} of queued wait {} lie inside the launch call itself",
                                   DurationForPeople(Nanos(b.IdleNs(IdleClass::kQueuedWait))),
                                   DurationForPeople(Nanos(b.in_launch_call_ns))));
  const TimeSet inside = QueuedTime(scene).With(Trait::kInsideGraph);
  if (inside.TotalNs() > 0) {
    f.evidence.push_back(
        Figure(scene, "between kernels of one graph launch", inside, "dependencies, not another rank"));
  }
  if (scene.peers == nullptr && HasPeers(scene)) {
    f.evidence.emplace_back("traces of every rank show which dependency or peer it waits for");
  }
}

// Rewords the cause if nothing shows that the work waits for another rank.
void NameDependency(const TraceScene& scene, Finding& f) {
  f.title = "Launched work waits on the device for other work";
  if (!HasPeers(scene)) f.isolate = "run one step on one stream without CUDA graphs: see which order makes it wait";
}

// Adds the host functions behind the longest gaps, and the profiler's own time. Returns whether it named any
// function.
bool NameGaps(const TraceScene& scene, const TimeSet& time, Finding& f) {
  const TraceBudget& b = scene.trace.budget;
  std::size_t named = 0;
  for (const LargeGap& gap : b.largest_gaps) {
    if (gap.frames.empty() || 2 * Intersection(gap.time, time).TotalNs() < gap.at.Ns() || named++ >= kNamedGaps)
      continue;
    f.evidence.push_back(fmt::format("the gap of {} at +{} lies in {}", DurationForPeople(Nanos(gap.at.Ns())),
                                     DurationForPeople(Nanos(gap.at.start - b.span.start)), Describe(gap.frames)));
  }
  const TimeSet overhead = time.With(Trait::kOverhead);
  if (scene.Share(overhead) >= kOverheadWorthSaying) {
    f.evidence.push_back(Figure(scene, "the profiler's own overhead in this time", overhead, "not part of the job"));
  }
  return named > 0;
}

// Adds what was used for the first time, and that it does not recur.
void RemarkFirstUse(const TraceScene& scene, const TimeSet& time, Finding& f) {
  if (!scene.trace.first) return;
  const FirstUse& first = *scene.trace.first;
  const auto took = [](const IntervalSet& set) { return DurationForPeople(Nanos(set.TotalNs())); };
  if (first.slow_launches > 0) {
    f.evidence.push_back(
        fmt::format("{} first launch{} of a kernel took {} in all, up to {} (of {}); a median launch takes {} us",
                    first.slow_launches, first.slow_launches == 1 ? "" : "es", took(first.launches),
                    DurationForPeople(Nanos(first.slowest_ns)),
                    Shortened(Printable(scene.trace.profile->names[first.slowest]), kLongestName),
                    ThreeDigits(first.median_launch_ns / 1e3)));
  }
  if (!first.capture.empty()) {
    f.evidence.push_back("graph captures took " + took(first.capture) + ": they record launches and run none");
  }
  if (!first.setup.empty()) {
    f.evidence.push_back("calls that load modules or create contexts, handles or graphs took " + took(first.setup));
  }
  const IntervalSet& compiling = scene.trace.profile->host.compiling;
  if (!compiling.empty()) f.evidence.push_back("compilers and tuners worked for " + took(compiling));
  f.evidence.push_back(fmt::format("it comes once in a process: {} at each start of the job, which no step pays again",
                                   DurationForPeople(Nanos(time.TotalNs()))));
}

// Adds what would make it another cause.
void RemarkAllocation(const TraceScene& scene, Finding& f) {
  if (!MemoryHeld(*scene.trace.device)) {
    f.evidence.emplace_back("how full the memory is was not recorded; from 90 % on the cause would be memory_pressure");
  }
}

// Adds the copies to the host.
void RemarkToHost(const TraceScene& scene, Finding& f) {
  std::int64_t count = 0;
  std::int64_t bytes = 0;
  for (const CopyFigures& copy : scene.trace.budget.copies) {
    if (copy.kind != CopyKind::kDtoH) continue;
    count += copy.count;
    bytes += copy.bytes;
  }
  if (count == 0) return;
  f.evidence.push_back(fmt::format("{} copies to the host of {} on average", count,
                                   DecimalBytes(static_cast<double>(bytes) / static_cast<double>(count))));
}

// Adds the part of the host's time that lies in optimizer steps, and in replays of graphs.
void RemarkLaunches(const TraceScene& scene, const TimeSet& time, Finding& f) {
  const TimeSet optimizer = time.With(Trait::kOptimizer);
  if (scene.Share(optimizer) >= kUnknownShare) {
    f.evidence.push_back(Figure(scene, "of that inside optimizer steps on the host", optimizer,
                                "a fused optimizer launches once for many parameters"));
  }
  const TimeSet replay = time.With(Trait::kGraphReplay);
  if (scene.Share(replay) >= kUnknownShare) {
    f.evidence.push_back(Figure(scene, "of that from launching a graph to its first kernel (graph replay latency)",
                                replay, "the graphs are there already"));
  }
}

// Adds the remarks that fit a rule.
void Remark(const TraceScene& scene, const TraceRule& rule, const TimeSet& time, Finding& f) {
  if (rule.cause == "loader_cpu_spare_cores") RemarkLoader(scene, f);
  if (rule.cause == "launch_bound") {
    RemarkHost(scene, time, f);
    RemarkLaunches(scene, time, f);
  }
  if (rule.cause == "first_use") RemarkFirstUse(scene, time, f);
  if (rule.cause == "allocation") RemarkAllocation(scene, f);
  if (rule.cause == "d2h") RemarkToHost(scene, f);
  if (rule.peers_confirm) RemarkComm(scene, f);
  if (rule.cause == "comm_exposed") RemarkSpeed(scene, f);
  if (rule.time == QueuedTime) {
    RemarkQueue(scene, f);
    NameDependency(scene, f);
  }
  if (rule.cause == "synchronization") {
    const TimeSet scalar = time.With(Trait::kScalarRead);
    f.evidence.push_back(DurationForPeople(Nanos(scalar.TotalNs())) +
                         " of that are inside item, is_nonzero or nonzero");
  }
  NameGaps(scene, time, f);
}

// Starts a finding about part of the window.
Finding Make(std::string_view cause, const TraceScene& scene, const TimeSet& time) {
  Finding f;
  const Cause& row = CauseById(cause);
  f.cause = row.id;
  f.title = row.title;
  f.status = Status::kLikely;
  f.gpu_ns = time.TotalNs();
  f.share = scene.Share(time);
  f.refutes.emplace_back(row.refuted);
  f.isolate = row.isolate;
  return f;
}

// What repairing the latest rank alone gives: all ranks wait until the second latest then.
double LatestRankShare(const TraceScene& scene, double share) {
  if (!scene.peers->late_alone_ns) return share;
  return std::min(share, scene.trace.budget.Share(*scene.peers->late_alone_ns * scene.ranks));
}

// The share of the steps after the first. Without a second step nothing tells what recurs, and all of it counts.
double SteadyShare(const TraceScene& scene, const TimeSet& time) {
  const std::int64_t others = scene.trace.budget.span.Ns() - scene.trace.first_step.TotalNs();
  if (scene.trace.steps.size() < 2 || others <= 0) return scene.Share(time);
  const std::int64_t later = time.TotalNs() - scene.trace.first_step.Like(time).TotalNs();
  return std::min(scene.Share(time), static_cast<double>(later) / static_cast<double>(others));
}

// How much of the share a fix can recover, by the rule's Gain.
double RuleBound(const TraceScene& scene, const TraceRule& rule, const TimeSet& time) {
  const double share = scene.Share(time);
  switch (rule.gain) {
    case TraceRule::Gain::kAll:
      return share;
    case TraceRule::Gain::kOverlap: {
      const TraceBudget& b = scene.trace.budget;
      return std::min(share, 1 - b.Share(std::max(b.compute_ns, b.copy_ns)));
    }
    case TraceRule::Gain::kAllRanks:
      return scene.peers != nullptr && scene.peers->all_ranks ? LatestRankShare(scene, share) : 0;
    case TraceRule::Gain::kSteady:
      return SteadyShare(scene, time);
    case TraceRule::Gain::kNone:
      break;
    case TraceRule::Gain::kUnknown:
      break;
  }
  return 0;
}

// A first step that is longer than the others contains warm-up, such as starting workers and compiling kernels.
// Time that lies mostly in it will not recur. So a fix is credited only with its time in the other steps.
void CreditOtherSteps(const TraceScene& scene, const TimeSet& time, Finding& f) {
  const std::int64_t in_first = scene.trace.first_step.Like(time).TotalNs();
  const std::int64_t all = time.TotalNs();
  if (!scene.steps.Enough() || 2 * in_first <= all || f.bound == 0) return;
  if (static_cast<double>(scene.steps.steps.front().at.Ns()) < kLongFirst * *scene.steps.median_ns) return;
  const std::int64_t others = scene.trace.budget.span.Ns() - scene.trace.first_step.TotalNs();
  const double share = others == 0 ? 0 : static_cast<double>(all - in_first) / static_cast<double>(others);
  f.bound *= std::min(share / f.share, 1.0);
  f.evidence.push_back(
      fmt::format("{}: {} of that are in the first step, with warm-up; the other steps have {}, and a fix can save no "
                  "more than that",
                  FigureSource(scene), DurationForPeople(Nanos(in_first)), PercentText(share)));
}

// The finding of a rule that holds.
Finding Found(const TraceScene& scene, const TraceRule& rule, const TimeSet& time, Outcome outcome) {
  Finding f = Make(rule.cause, scene, time);
  if (!rule.title.empty()) f.title = rule.title;
  f.bound = RuleBound(scene, rule, time);
  // Every other rank is a second signal, even of a single step.
  const bool whole = !scene.trace.profile->events_missing;
  if (rule.peers_confirm && scene.peers != nullptr && scene.peers->Conclusive() && whole) f.status = Status::kConfirmed;
  if (f.cause == "unknown") {
    f.status = Status::kUnknown;
    f.isolate = HowToRecord(scene.trace.profile->kind).early;
  }
  f.evidence = std::move(outcome.shows);
  for (std::string& refuter : outcome.excluded) f.refutes.push_back("checked and not found: " + std::move(refuter));
  Remark(scene, rule, time, f);
  CreditOtherSteps(scene, time, f);
  return f;
}

// Adds a second rule's result to the finding of the same cause. The weaker status stays.
void Merge(Finding more, Finding& f) {
  f.share += more.share;
  f.gpu_ns += more.gpu_ns;
  f.bound += more.bound;
  f.status = std::max(f.status, more.status);
  f.evidence.insert(f.evidence.end(), more.evidence.begin(), more.evidence.end());
}

// Adds a finding, or merges it with one of the same cause.
void AddOrMerge(Finding f, std::vector<Finding>& findings) {
  const auto same =
      std::find_if(findings.begin(), findings.end(), [&](const Finding& g) { return g.cause == f.cause; });
  if (same == findings.end() || f.cause == "unknown") {
    findings.push_back(std::move(f));
  } else {
    Merge(std::move(f), *same);
  }
}

// A rule that did not hold, and the time it would have claimed.
struct Refused {
  const TraceRule* rule;
  TimeSet time;
  Outcome outcome;
};

// A material rest that no rule claimed, with the reason why each rule that tried did not hold.
void AddUnknown(const TraceScene& scene, const TestedShare& share, const TimeSet& time,
                const std::vector<Refused>& refused, std::vector<Finding>& findings) {
  Finding f = Make("unknown", scene, time);
  f.status = Status::kUnknown;
  f.title = "No rule explains " + std::string(share.name);
  f.evidence.push_back(Figure(scene, share.name, time, "unclaimed; threshold 3 %"));
  if (share.time == HostTime) {
    RemarkHost(scene, time, f);
    RemarkLaunches(scene, time, f);
  }
  if (share.id == "queued_wait") RemarkQueue(scene, f);
  for (const Refused& r : refused) {
    if (scene.Share(Intersection(r.time, time)) < kUnknownShare) continue;
    for (const std::string& lack : r.outcome.lacks)
      f.evidence.push_back(fmt::format("not {}: {}", r.rule->cause, lack));
  }
  const bool named = NameGaps(scene, time, f);
  const RecordAgain& record = HowToRecord(scene.trace.profile->kind);
  f.isolate = share.record == nullptr ? share.next : record.*share.record;
  if (named && share.record == &RecordAgain::names) f.isolate = "run the functions in the longest gaps alone";
  findings.push_back(std::move(f));
}

// Mentions accelerators in the file that this program cannot diagnose.
void SayForeign(const Profile& profile, Finding& f) {
  for (const std::string& foreign : profile.foreign_accelerators) {
    f.evidence.push_back(
        fmt::format("{}: it has events of {}, an accelerator that idleburn does not support", profile.file, foreign));
  }
}

// The only finding if no share is material: healthy, or why the data cannot tell.
Finding TraceRemainder(const TraceScene& scene) {
  const TraceBudget& b = scene.trace.budget;
  const bool several = LaunchedBySeveral(*scene.trace.device) || !scene.trace.profile->correlation_by_process;
  // A busy device is healthy only if its figures can be trusted: one process, and kernels with names.
  const bool healthy = b.Share(b.busy_ns) >= kHealthyBusy && !several && scene.nameless < kUnknownShare;
  const TimeSet busy = scene.Where([](Traits t) { return Has(t, kBusyTraits); });
  Finding f = Make(healthy ? "healthy" : "unknown", scene, healthy ? busy : Difference(scene.trace.time, busy));
  f.evidence.push_back(Figure(scene, "busy time", busy, "90 % or more is healthy"));
  f.evidence.emplace_back("no tested share is 3 % of the window or more");
  if (several) {
    f.evidence.emplace_back(
        "several processes launch on this device number: they may use several GPUs, and each may idle while another is "
        "busy");
  }
  if (scene.nameless >= kUnknownShare) {
    f.evidence.push_back(fmt::format(
        "{} of the kernels' time has no name in {}: communication in it counts as compute, by an unknown amount",
        PercentText(scene.nameless), scene.trace.profile->file));
  }
  if (healthy) {
    f.evidence.emplace_back(
        "the kernels' names do not show their precision, so a cheaper precision may or may not help");
  } else {
    f.status = Status::kUnknown;
    const RecordAgain& record = HowToRecord(scene.trace.profile->kind);
    f.isolate = scene.nameless >= kUnknownShare ? fmt::format("{}: kernels must have names", record.gpu)
                                                : fmt::format("{} for 20 steps on every rank", record.tool);
  }
  return f;
}

// What a window shows that is too short for anything else.
void AddTooShort(const TraceScene& scene, std::vector<Finding>& findings) {
  const TraceBudget& b = scene.trace.budget;
  const std::string why = fmt::format(
      "{}: {} kernel{} in {}{}; ten kernels and a millisecond are needed", FigureSource(scene), b.kernels.count,
      b.kernels.count == 1 ? "" : "s", DurationForPeople(Nanos(b.span.Ns())),
      scene.steps.steps.empty()
          ? ""
          : fmt::format(" of {} step{}", scene.steps.steps.size(), scene.steps.steps.size() == 1 ? "" : "s"));
  if (!findings.empty()) {
    findings.front().evidence.push_back(why + ": nothing else can be judged");
    return;
  }
  Finding f = Make("unknown", scene, scene.Where([](Traits t) { return !Has(t, kBusyTraits); }));
  f.status = Status::kUnknown;
  f.title = "The capture is too short to judge";
  f.evidence.push_back(why);
  f.isolate = fmt::format("{} for 20 steps on every rank", HowToRecord(scene.trace.profile->kind).tool);
  findings.push_back(std::move(f));
}

// Rules claim time in the order of the table. The first ones explain time that is no part of any share afterwards.
struct Claiming {
  TraceVerdict verdict;
  TimeSet claimed;
  std::vector<Refused> refused;
};

// Tries all rules that come `first`, or all others.
void Claim(const TraceScene& scene, bool first, Claiming& claiming) {
  Facts facts = MeasureFacts(scene, claiming.claimed);
  for (const TraceRule& rule : TraceRules()) {
    if (rule.first != first) continue;
    // A rule only sees time that no earlier rule claimed.
    TimeSet time = Difference(rule.time(scene), claiming.claimed);
    Outcome outcome = Try(scene, rule, facts, time);
    if (!outcome.holds) {
      claiming.refused.push_back({&rule, std::move(time), std::move(outcome)});
      continue;
    }
    claiming.claimed = Union(claiming.claimed, time);
    AddOrMerge(Found(scene, rule, time, std::move(outcome)), claiming.verdict.findings);
    if (rule.cause != "unknown") claiming.verdict.claims.push_back({rule.cause, std::move(time)});
  }
}

}  // namespace

// After the rules every tested share with a material rest becomes a finding without a cause, so that nothing of 3 % or
// more goes unmentioned.
TraceVerdict FindTraceCauses(const TraceScene& scene) {
  Claiming claiming;
  TraceVerdict& verdict = claiming.verdict;
  Claim(scene, true, claiming);
  if (TooShort(scene)) {
    AddTooShort(scene, verdict.findings);
  } else {
    Claim(scene, false, claiming);
    for (const TestedShare& share : TestedShares()) {
      // What remains of each tested share must not go unmentioned.
      const TimeSet rest = Difference(share.time(scene), claiming.claimed);
      if (scene.Share(rest) >= kUnknownShare) AddUnknown(scene, share, rest, claiming.refused, verdict.findings);
    }
  }
  std::stable_sort(verdict.findings.begin(), verdict.findings.end(),
                   [](const Finding& a, const Finding& b) { return a.share > b.share; });
  if (verdict.findings.empty()) verdict.findings.push_back(TraceRemainder(scene));
  SayForeign(*scene.trace.profile, verdict.findings.front());
  return std::move(claiming.verdict);
}

Finding WorkOutsideSteps(const TraceScene& span, Interval steps) {
  const TraceBudget& b = span.trace.budget;
  const std::string_view where = b.span.start >= steps.end   ? "after the last step ends"
                                 : b.span.end <= steps.start ? "before the first step begins"
                                                             : "before and after the steps";
  Finding f = Make("unknown", span, span.Where([](Traits t) { return !Has(t, kBusyTraits); }));
  f.status = Status::kUnknown;
  f.title = "The device's work lies outside the profiled steps";
  f.evidence.push_back(fmt::format(
      "{}: all {} of its work lie {}; it does nothing in the {} profiled steps ({}), so neither window shows the run",
      FigureSource(span), DurationForPeople(Nanos(b.busy_ns)), where, span.steps.steps.size(),
      DurationForPeople(Nanos(steps.Ns()))));
  f.refutes = {"work of the device inside a step"};
  f.isolate =
      "record again with each step around its launches, and wait for the device before the last step ends; if the "
      "result is the same, the clocks of host and device differ in this file";
  return f;
}

Finding NoDevices(const Profile& profile) {
  Finding f;
  const Cause& row = CauseById("unknown");
  f.cause = row.id;
  f.title = "The trace has no data on a GPU";
  f.status = Status::kUnknown;
  SayForeign(profile, f);  // first, because advice on recording a GPU does not help there
  const RecordAgain& record = HowToRecord(profile.kind);
  const auto launches = std::count_if(profile.calls.begin(), profile.calls.end(), [](const HostCall& call) {
    return call.kind == CallKind::kLaunchKernel || call.kind == CallKind::kLaunchGraph;
  });
  if (launches > 0) {
    f.title = "The records of the device are missing";
    f.evidence.push_back(fmt::format(
        "{}: {} launches, and no GPU activity {}in this file: the profiler was not allowed to record the device; "
        "record with {}",
        profile.file, launches, profile.events_missing ? "that can be read is " : "", record.with));
  } else {
    f.evidence.push_back(fmt::format("{}: no GPU activity {}in this file; record with {}", profile.file,
                                     profile.events_missing ? "that can be read is " : "", record.with));
  }
  f.isolate = profile.foreign_accelerators.empty() ? record.gpu : "the profiler of that accelerator's vendor";
  return f;
}

}  // namespace idleburn
