#include "trial/leg.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <memory>
#include <thread>

#include "os/digest.h"
#include "os/run_clock.h"
#include "run/work_lane.h"

namespace idleburn {
namespace {

constexpr Nanos kLook(10'000'000);      // at the work done
constexpr Nanos kFileLook(50'000'000);  // at the files of checkpoints
constexpr int kLastPolls = 64;          // of at most a mebibyte each

bool AnyDone(const WorkCount& work) {
  return std::any_of(work.of.begin(), work.of.end(), [](const auto& done) { return done.value_or(0) > 0; });
}

class LegWatch {
 public:
  LegWatch(Workload& workload, const LegSpec& spec, MarkerFile& markers, OutputReader& output, Leg& leg)
      : workload_(workload), spec_(spec), markers_(markers), output_(output), leg_(leg), clock_(SystemClock()) {
    last_progress_ = leg_.trace.started();
  }

  void Wait() {
    std::optional<WorkloadEnd> end;
    while (!(end = workload_.WaitUntil(clock_->Monotonic() + kLook))) Look(clock_->Monotonic());
    leg_.end = *end;
    WaitForTheRest();
    leg_.leftovers = workload_.EndLeftovers();
    leg_.ended = clock_->Monotonic();
    output_.progress.Finish();
    for (int i = 0; i < kLastPolls; ++i) SeeWork(leg_.ended);
    if (spec_.files != nullptr) LookAtFiles(leg_.ended + kFileLook, std::numeric_limits<std::int64_t>::max());
    leg_.last_line = output_.LastLine();
  }

 private:
  // A wrapper may end at once while what it has started still saves its state: the grace is for all of them.
  void WaitForTheRest() {
    if (!leg_.told || spec_.interruption.signal == SIGKILL) return;
    while (!leg_.interrupted && clock_->Monotonic() - *leg_.told < spec_.interruption.grace) {
      if (workload_.Processes().empty()) return;
      leg_.interrupted = workload_.EndedBefore();
      std::this_thread::sleep_for(kLook);
    }
    leg_.killed = leg_.killed || !leg_.interrupted;
    workload_.Signal(SIGKILL, false);
  }

  void SeeWork(Nanos now) {
    constexpr std::int32_t kLines = -1;  // no rank
    markers_.Poll([&](const Marker& marker) { leg_.trace.Take(marker, now); });
    const WorkCount lines = output_.progress.done();
    leg_.trace.TakeLines(lines, output_.progress.printed(), now);
    std::map<std::int32_t, WorkCount> work = markers_.ranks();
    work[kLines] = lines;
    const std::size_t checkpoints = leg_.trace.checkpoints().size();
    if (work == work_ && checkpoints == checkpoints_) return;
    work_ = std::move(work);
    checkpoints_ = checkpoints;
    last_progress_ = now;
    const bool worked = std::any_of(work_.begin(), work_.end(), [](const auto& rank) { return AnyDone(rank.second); });
    if (worked && !first_progress_) first_progress_ = now;
    leg_.progressed = first_progress_.has_value();
  }

  void LookAtFiles(Nanos now, std::int64_t until) {
    if (now < next_files_) return;
    next_files_ = now + kFileLook;
    const std::int64_t wall = clock_->Read().wall.nanos();
    spec_.files->Look(Nanos(wall));
    for (const CheckpointWrite& write : spec_.files->Take(Nanos(std::max(wall, until)))) leg_.writes.push_back(write);
    leg_.files_changed = spec_.files->any();
  }

  void Look(Nanos now) {
    SeeWork(now);
    if (spec_.files != nullptr) LookAtFiles(now, 0);
    if (!workload_.end_signals().empty()) {
      if (!leg_.interrupted) user_told_ = now;
      leg_.interrupted = workload_.end_signals().back();
      const bool again = workload_.end_signals().size() > 1;
      if (again || now - user_told_ >= spec_.interruption.grace) workload_.Signal(SIGKILL, false);
    } else if (leg_.told) {
      if (leg_.stalled || now - *leg_.told < spec_.interruption.grace) return;
      leg_.killed = spec_.interruption.signal != SIGKILL;
      workload_.Signal(SIGKILL, false);
    } else if (Due(now)) {
      Tell(now, spec_.interruption.signal);
    } else if (now - last_progress_ >= spec_.timeout) {
      leg_.stalled = true;
      Tell(now, SIGKILL);
    }
  }

  void Tell(Nanos now, int signal) {
    leg_.told = now;
    workload_.Signal(signal, false);
  }

  bool Due(Nanos now) {
    if (!first_progress_) return false;
    const LegGoal& goal = spec_.goal;
    const bool reached =
        (goal.time && now - *first_progress_ >= *goal.time) || (goal.steps && leg_.trace.steps() >= *goal.steps);
    if (!reached || !goal.mid_checkpoint) return reached;
    if (!armed_) armed_ = now;
    const std::vector<CheckpointSeen>& checkpoints = leg_.trace.checkpoints();
    // Who never says that it begins one is interrupted all the same.
    return (!checkpoints.empty() && !checkpoints.back().end) || now - *armed_ >= spec_.timeout;
  }

  Workload& workload_;
  const LegSpec& spec_;
  MarkerFile& markers_;
  OutputReader& output_;
  Leg& leg_;
  std::shared_ptr<RunClock> clock_;
  std::map<std::int32_t, WorkCount> work_;
  std::size_t checkpoints_ = 0;
  Nanos last_progress_{0};
  std::optional<Nanos> first_progress_;
  std::optional<Nanos> armed_;
  Nanos user_told_{0};
  Nanos next_files_{0};
};

}  // namespace

tl::expected<Leg, StartFailure> RunLeg(Workload& workload, const LegSpec& spec) {
  OutputReader output;
  Result<MarkerFile> markers = MarkerFile::Create();
  if (!markers) return tl::unexpected<StartFailure>(StartFailure{markers.error(), 1});
  WorkloadSpec run;
  run.command = spec.command;
  run.environment = spec.environment;
  run.environment.emplace_back("IDLEBURN_RUN_ID", RandomIdText());
  run.environment.emplace_back("IDLEBURN_MARKERS", markers->path());
  run.environment.emplace_back("IDLEBURN_MARKERS_PERIOD", "0");
  run.watcher = &output;
  run.output = spec.output;
  run.folder = spec.folder;
  Leg leg(SystemClock()->Monotonic());
  if (const auto started = workload.Start(run); !started) return tl::unexpected<StartFailure>(started.error());
  LegWatch(workload, spec, *markers, output, leg).Wait();
  return leg;
}

}  // namespace idleburn
