#include "plan/spot_simulation.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "plan/spot_run.h"
#include "stats/order.h"
#include "stats/random.h"

namespace idleburn {
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

  // What is left of the turn that a random moment falls into: long ones are hit more often.
  Hours Rest(Random& random) const {
    if (seen_.empty()) return Whole(random);
    const auto hit = std::lower_bound(sums_.begin(), sums_.end(), random.Uniform() * sums_.back());
    return seen_[static_cast<std::size_t>(hit - sums_.begin())] * random.Uniform();
  }

 private:
  const std::vector<Hours>& seen_;
  Hours mean_;
  std::vector<double> sums_;
};

Hours DrawWork(const WorkHours& work, Random& random) {
  if (work.low == work.likely && work.likely == work.high) return work.likely;
  const double z = random.Normal() / kNormal95;
  return work.likely * std::pow(z < 0 ? work.likely / work.low : work.high / work.likely, z);
}

struct SimulatedRun {
  Hours wall{};
  JobProgress progress;
  bool finished = true;
};

SimulatedRun RunOnce(const CheckpointedWork& job, Hours unbilled, const Turns& up, const Turns& down, Random& random) {
  SimulatedRun run;
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

// Absent if the quantile lies among the runs that got nowhere, which stand at infinity.
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
