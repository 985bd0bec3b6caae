#include "plan/spot_trace.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <deque>
#include <limits>
#include <map>
#include <numeric>
#include <string_view>

#include "base/result.h"
#include "stats/order.h"
#include "stats/random.h"
#include "text/csv.h"
#include "text/number.h"

namespace idleburn {

// Reading events, replaying a trace, choosing an interval on it, and simulating. A run that loses too many machines is
// given up, because the loop would otherwise never end for an interval that is longer than any stay.

namespace {

// Columns that every file of events has.
constexpr std::array<std::string_view, 3> kColumns = {"t_s", "event", "node"};
// Seconds are read as whole nanoseconds, so that equal times stay equal.
constexpr int kNanoDecimals = 9;

// A fleet while its events are read.
struct Fleet {
  InterruptionHistory history;
  std::map<std::string, std::size_t, std::less<>> seat_of;  // the last seat of every node seen
  std::deque<std::size_t> vacant;                           // longest first

  // Whether the node is in its seat now.
  [[nodiscard]] bool Present(std::string_view node) const {
    const auto found = seat_of.find(node);
    return found != seat_of.end() && occupant[found->second] == found->first;
  }

  // The node comes and takes a seat.
  void Fill(std::string_view node, Nanos at) {
    const std::size_t seat = TakeSeat(node);
    occupant[seat] = node;
    seat_of.insert_or_assign(std::string(node), seat);
    history.seats[seat].push_back({at, at, false});
  }

  // The node is taken away; its seat becomes vacant.
  void Empty(std::string_view node, Nanos at) {
    const std::size_t seat = seat_of.find(node)->second;
    occupant[seat].clear();
    history.seats[seat].back().end = at;
    history.seats[seat].back().lost = true;
    vacant.push_back(seat);
  }

  // The history is over: machines that are still there were not lost.
  void End() {
    for (SeatHistory& seat : history.seats) {
      if (!seat.back().lost) seat.back().end = history.end;
    }
  }

 private:
  // Its own seat, if that is vacant, else the one vacant longest, else a new one.
  std::size_t TakeSeat(std::string_view node) {
    auto choice = vacant.begin();
    // A node that comes back is likely the same machine.
    const auto own = seat_of.find(node);
    for (auto seat = vacant.begin(); own != seat_of.end() && seat != vacant.end(); ++seat) {
      if (*seat == own->second) choice = seat;
    }
    if (choice == vacant.end()) {
      history.seats.emplace_back();
      occupant.emplace_back();
      return history.seats.size() - 1;
    }
    const std::size_t seat = *choice;
    vacant.erase(choice);
    return seat;
  }

  std::vector<std::string> occupant;  // of each seat; empty: vacant
};

// Counts a row that was left out, and remembers where the first one is.
void Note(const CsvTable& table, EventDoubt& doubt) {
  if (doubt.rows++ == 0) doubt.first = table.Where();
}

// The time of the row that the table is at.
Result<Nanos> ReadTime(const CsvTable& table) {
  const ScaledNumber seconds = ParseScaled(table.Cell("t_s"), kNanoDecimals);
  if (seconds.fault != NumberFault::kNone || seconds.value < 0) {
    return table.Bad("t_s", "is not a time; write seconds from the start of the history, like 480.0");
  }
  return Nanos(seconds.value);
}

// Applies the row that the table is at to its fleet, or notes it as a contradiction.
Result<void> AddEvent(const CsvTable& table, Fleet& fleet, NodeEvents& events) {
  const Nanos at = TRY(ReadTime(table));
  if (at < fleet.history.end) return table.Bad("t_s", "is earlier than the row before it; sort each trace by time");
  fleet.history.end = at;
  const std::string_view node = table.Cell("node");
  if (node.empty()) return table.Bad("node", "is empty; name the machine of each event");
  const std::string_view event = table.Cell("event");
  if (event != "add" && event != "remove") return table.Bad("event", "is not an event; write add or remove");
  const bool add = event == "add";
  // Contradictions are counted and left out: a recorder may have lost an event.
  if (fleet.Present(node) == add) {
    Note(table, add ? events.added_twice : events.removed_unknown);
  } else if (add) {
    fleet.Fill(node, at);
  } else {
    fleet.Empty(node, at);
  }
  return {};
}

}  // namespace

Result<NodeEvents> ReadNodeEvents(ByteSource& in) {
  CsvTable table(in);
  TRY(table.ReadHeader());
  TRY(table.Require(kColumns));
  const bool named = table.Has("trace");
  NodeEvents events;
  std::vector<Fleet> fleets;
  std::map<std::string, std::size_t, std::less<>> fleet_of;
  while (true) {
    const bool more = TRY(table.Next());
    if (!more) break;
    const std::string_view trace = named ? table.Cell("trace") : std::string_view(in.name());
    // Histories may be interleaved in the file.
    const auto known = fleet_of.find(trace);
    const std::size_t index = known != fleet_of.end() ? known->second : fleets.size();
    if (known == fleet_of.end()) {
      fleet_of.emplace(trace, index);
      fleets.emplace_back().history.trace = trace;
    }
    TRY(AddEvent(table, fleets[index], events));
  }
  if (fleets.empty()) return Fail(in.name() + ": no events under the header; add rows of added and removed nodes");
  for (Fleet& fleet : fleets) {
    fleet.End();
    events.histories.push_back(std::move(fleet.history));
  }
  return events;
}

UptimeFacts FactsOf(const InterruptionHistory& history) {
  UptimeFacts facts;
  Hours observed{};
  for (const SeatHistory& seat : history.seats) {
    observed += history.end - seat.front().start;
    for (const UpPeriod& period : seat) {
      facts.up += period.end - period.start;
      facts.losses += period.lost ? 1 : 0;
    }
  }
  if (facts.losses > 0) facts.mean_uptime = facts.up / static_cast<double>(facts.losses);
  if (observed > Hours{}) facts.up_fraction = facts.up / observed;
  return facts;
}

namespace {

constexpr double kRounding = 1e-9;  // of an interval: what sums of spans are off by decides nothing

}  // namespace

std::optional<Hours> UseMachine(const CheckpointedWork& job, Hours unbilled, Hours available, JobProgress& progress) {
  const Hours left = job.work - progress.kept;
  // No checkpoint is written at the end, when all work is done.
  const double writes = std::max(0.0, std::ceil(left / job.interval - kRounding) - 1);
  const Hours needed = job.restart + left + job.checkpoint * writes;
  const Hours used = std::min(needed, available);
  progress.billed += std::max(Hours{}, used - unbilled);
  if (needed <= available + job.interval * kRounding) {
    progress.kept = job.work;
    return needed;
  }
  // Work since the last completed checkpoint is lost.
  const double completed = std::floor((available - job.restart) / (job.interval + job.checkpoint) + kRounding);
  progress.kept += job.interval * std::clamp(completed, 0.0, writes);
  ++progress.interruptions;
  return std::nullopt;
}

namespace {

// A run that has lost so many machines is given up: it gets nowhere.
constexpr std::int64_t kMostStays = 20'000;
// Factor from one interval tried to the next: finer steps gain less than the accidents of a history.
constexpr double kStepTried = 1.1;

}  // namespace

std::optional<SpotTrace> SpotTrace::EndToEnd(const InterruptionHistory& history, std::size_t first, std::size_t count) {
  SpotTrace trace;
  bool lost = true;
  for (std::size_t i = first; i < std::min(history.seats.size(), first + count); ++i) {
    const SeatHistory& seat = history.seats[i];
    // Each seat's history is moved to the end of those before it.
    const Hours shift = trace.length_ - seat.front().start;
    for (const UpPeriod& period : seat) {
      if (lost) trace.stays_.push_back({shift + period.start, {}});
      trace.stays_.back().end = shift + period.end;
      lost = period.lost;
    }
    trace.length_ += history.end - seat.front().start;
  }
  if (!lost) {  // the last machine is the first one
    if (trace.stays_.size() == 1) return std::nullopt;
    trace.stays_.back().end = trace.length_ + trace.stays_.front().end;
    trace.stays_.erase(trace.stays_.begin());
  }
  if (trace.mean_uptime() <= Hours{}) return std::nullopt;
  return trace;
}

std::optional<SpotTrace> SpotTrace::EndToEnd(const InterruptionHistory& history) {
  return EndToEnd(history, 0, history.seats.size());
}

Hours SpotTrace::mean_uptime() const {
  if (stays_.empty()) return Hours{};
  const Hours up = std::accumulate(stays_.begin(), stays_.end(), Hours{},
                                   [](Hours sum, const Stay& stay) { return sum + (stay.end - stay.start); });
  return up / static_cast<double>(stays_.size());
}

double SpotTrace::up_fraction() const { return mean_uptime() * static_cast<double>(stays_.size()) / length_; }

RunLengths SpotTrace::Lengths() const {
  RunLengths lengths;
  for (std::size_t i = 0; i < stays_.size(); ++i) {
    const Hours next = i + 1 < stays_.size() ? stays_[i + 1].start : length_ + stays_.front().start;
    lengths.up.push_back(stays_[i].end - stays_[i].start);
    lengths.down.push_back(next - stays_[i].end);
  }
  return lengths;
}

std::optional<Hours> SpotTrace::MeanBilled(const CheckpointedWork& job, Hours unbilled, int starts) const {
  JobProgress all;
  for (int k = 0; k < starts; ++k) {
    // Starts lie in the middle of equal parts, so that none falls on an end of the trace.
    const Hours start = stays_.front().start + length_ * ((k + 0.5) / starts);
    // A start while the machine is gone waits for the next stay.
    auto stay = std::find_if(stays_.begin(), stays_.end(), [&](const Stay& s) { return s.end > start; });
    Hours from = std::max(start, stay == stays_.end() ? start : stay->start);
    if (stay == stays_.end()) {
      stay = stays_.begin();
      from = stay->start;
    }
    JobProgress progress;
    while (!UseMachine(job, unbilled, stay->end - from, progress)) {
      if (progress.interruptions == kMostStays) return std::nullopt;
      if (++stay == stays_.end()) stay = stays_.begin();
      from = stay->start;
    }
    all.billed += progress.billed;
  }
  return all.billed / starts;
}

std::optional<IntervalChoice> ChooseInterval(const SpotTrace& trace, CheckpointedWork job, Hours unbilled, int starts) {
  IntervalChoice choice;
  // Young's interval first: what is best must at least be as good.
  choice.young = job.interval = YoungInterval(job.checkpoint, trace.mean_uptime());
  const std::optional<Hours> young = trace.MeanBilled(job, unbilled, starts);
  if (!young) return std::nullopt;
  choice.billed_young = choice.billed_best = *young;
  choice.best = choice.young;
  choice.tried = 1;
  for (job.interval = kShortestInterval; job.interval < job.work * kStepTried; job.interval *= kStepTried) {
    ++choice.tried;
    const std::optional<Hours> billed = trace.MeanBilled(job, unbilled, starts);
    if (!billed || *billed >= choice.billed_best) continue;
    choice.billed_best = *billed;
    choice.best = job.interval;
  }
  choice.regret = choice.billed_young / choice.billed_best - 1;
  return choice;
}

namespace {

constexpr double kNormal95 = 1.6448536269514722;  // the standard normal quantile of 0.95

// Draws lengths of one kind of turn, up or down.
class Turns {
 public:
  Turns(const std::vector<Hours>& seen, Hours mean) : seen_(seen), mean_(mean) {
    for (const Hours length : seen_) sums_.push_back((sums_.empty() ? 0 : sums_.back()) + length.count());
    if (!seen_.empty()) mean_ = Hours(sums_.back() / static_cast<double>(seen_.size()));
  }

  [[nodiscard]] Hours mean() const { return mean_; }

  Hours Whole(Random& random) const {
    if (seen_.empty()) return mean_ * -std::log(random.Uniform());
    return seen_[static_cast<std::size_t>(random.Uniform() * static_cast<double>(seen_.size()))];
  }

  // What is left of the turn that a random moment falls into. Such a moment hits long turns more often.
  Hours Rest(Random& random) const {
    if (seen_.empty()) return Whole(random);
    // By length, and then anywhere within the turn.
    const auto hit = std::lower_bound(sums_.begin(), sums_.end(), random.Uniform() * sums_.back());
    return seen_[static_cast<std::size_t>(hit - sums_.begin())] * random.Uniform();
  }

 private:
  const std::vector<Hours>& seen_;
  Hours mean_;
  std::vector<double> sums_;
};

// Draws the work of one run. A log-normal on either side of the likely value keeps work above 0 and meets both ends of
// the interval.
Hours DrawWork(const WorkHours& work, Random& random) {
  if (work.low == work.likely && work.likely == work.high) return work.likely;
  const double z = random.Normal() / kNormal95;
  return work.likely * std::pow(z < 0 ? work.likely / work.low : work.high / work.likely, z);
}

// How one simulated run went.
struct SimulatedRun {
  Hours wall{};
  JobProgress progress;
  bool finished = true;
};

// Runs a job once, from a random moment until it is done or given up.
SimulatedRun RunOnce(const CheckpointedWork& job, Hours unbilled, const Turns& up, const Turns& down, Random& random) {
  SimulatedRun run;
  // The chance to find the machine there is its share of the time.
  const bool starts_up = random.Uniform() * (up.mean() + down.mean()).count() < up.mean().count();
  if (!starts_up) run.wall += down.Rest(random);
  Hours available = starts_up ? up.Rest(random) : up.Whole(random);
  while (true) {
    if (const std::optional<Hours> last = UseMachine(job, unbilled, available, run.progress)) {
      run.wall += *last;
      return run;
    }
    run.wall += available + down.Whole(random);
    if (run.progress.interruptions == kMostStays) {
      run.finished = false;
      return run;
    }
    available = up.Whole(random);
  }
}

// A quantile of runs in order. Absent if it lies among those that got nowhere, which stand at infinity.
std::optional<Hours> Quantile(const std::vector<double>& ascending, double p) {
  const double value = SortedQuantile(ascending, p);
  return std::isfinite(value) ? std::optional<Hours>(value) : std::nullopt;
}

}  // namespace

UpAndDown UpAndDownOf(const SpotTrace& trace) {
  return {trace.mean_uptime(), MeanDownTime(trace.mean_uptime(), trace.up_fraction()), trace.Lengths()};
}

UpAndDown OfJob(UpAndDown of_node, int nodes) {
  of_node.mean_up = JobMeanUptime(of_node.mean_up, nodes);
  // The first loss of several machines comes as much sooner.
  for (Hours& length : of_node.lengths.up) length = JobMeanUptime(length, nodes);
  return of_node;
}

SpotOutlook SimulateSpot(const WorkHours& work, const CheckpointedWork& job, Hours unbilled, const UpAndDown& machines,
                         const SimulationSpec& spec) {
  CHECK(spec.runs > 0);
  const Turns up(machines.lengths.up, machines.mean_up);
  const Turns down(machines.lengths.down, machines.mean_down);
  CHECK(up.mean() > Hours{});
  Random random(spec.seed);
  SpotOutlook outlook;
  outlook.runs = spec.runs;
  std::vector<double> walls;
  std::vector<double> billed;
  double interruptions = 0;
  int in_time = 0;
  for (int i = 0; i < spec.runs; ++i) {
    CheckpointedWork one = job;
    one.work = DrawWork(work, random);
    const SimulatedRun run = RunOnce(one, unbilled, up, down, random);
    // A run that got nowhere stands at infinity, so that quantiles below it stay right.
    constexpr double kNever = std::numeric_limits<double>::infinity();
    walls.push_back(run.finished ? run.wall.count() : kNever);
    billed.push_back(run.finished ? run.progress.billed.count() : kNever);
    interruptions += static_cast<double>(run.progress.interruptions);
    outlook.unfinished += run.finished ? 0 : 1;
    if (spec.deadline && walls.back() <= spec.deadline->count()) ++in_time;
  }
  std::sort(walls.begin(), walls.end());
  std::sort(billed.begin(), billed.end());
  outlook.wall_p50 = Quantile(walls, 0.5);
  outlook.wall_p90 = Quantile(walls, 0.9);
  outlook.wall_p95 = Quantile(walls, 0.95);
  outlook.billed_p05 = Quantile(billed, 0.05);
  outlook.billed_p95 = Quantile(billed, 0.95);
  // A mean over runs without an end would be one of the lucky ones.
  if (outlook.unfinished == 0) {
    double sum = 0;
    for (const double hours : billed) sum += hours;
    outlook.billed_mean = Hours(sum / spec.runs);
    outlook.interruptions_mean = interruptions / spec.runs;
  }
  if (spec.deadline) outlook.deadline_met = static_cast<double>(in_time) / spec.runs;
  return outlook;
}

}  // namespace idleburn
