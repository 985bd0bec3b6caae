#include "trial/trial.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <csignal>
#include <memory>
#include <utility>

#include "audit/watch_flags.h"
#include "config/flag_values.h"
#include "measure/host_lane.h"
#include "os/digest.h"
#include "os/run_clock.h"
#include "run/markers.h"
#include "run/run_summary.h"
#include "stats/order.h"
#include "text/figures.h"

namespace idleburn {
namespace {

// The unit that comes first is preferred: a step is the same amount of work each time, and is told most often.
constexpr std::array<WorkUnit, 4> kUnits = {WorkUnit::kStep, WorkUnit::kSample, WorkUnit::kToken, WorkUnit::kEpoch};

// With fewer stretches left than this, or more than a quarter of the time lost, the lost time is kept: what is left
// would be too little to go by. A run that lost a twentieth is better made again.
constexpr std::int64_t kFewestStretches = 3;
constexpr int kMostLostOf = 4;
constexpr int kSpoiledFromOf = 20;
// A wait is far longer than the others from two seconds on that are ten times the usual wait.
constexpr Nanos kLongWait(2 * kNanosPerSecond);
constexpr int kLongWaits = 10;

constexpr Nanos kTrialLook(20'000'000);  // at the work done
constexpr Nanos kHostLook(100'000'000);  // at what it uses of the host
// A thread that wakes up so much too late was not let run, and neither was anybody else: other work on its CPU makes it
// late by tens of milliseconds at most.
constexpr Nanos kStoodStill(250'000'000);

// One run while it is watched. It is watched by the thread that waits for it, so that a look late is seen to be late.
class Watched {
 public:
  Watched(Workload& workload, const TrialBounds& bounds, std::shared_ptr<MarkerFile> markers,
          std::shared_ptr<ProgressWatcher> lines, const std::string& run_id, std::shared_ptr<const ReapedUsage> reaped)
      : workload_(workload),
        bounds_(bounds),
        clock_(SystemClock()),
        line_(clock_->Read()),
        rate_(bounds, clock_->Monotonic()),
        work_(std::move(markers), std::move(lines)),
        host_(HostLaneSpec{"", HostWorkload{workload.pid(), getpid(), workload.helpers(), run_id, std::move(reaped)}}) {
  }

  WorkloadEnd Wait() {
    while (true) {
      const Nanos due = clock_->Monotonic() + kTrialLook;
      const std::optional<WorkloadEnd> end = workload_.WaitUntil(due);
      if (const Nanos late = clock_->Monotonic() - due; late > kStoodStill) rate_.StoodStill(late);
      if (end) {
        // What it printed last counts, unless it was told to end meanwhile.
        if (!told_) SeeWork(clock_->Monotonic());
        return *end;
      }
      Look(clock_->Monotonic());
    }
  }
  // What was seen, but for what the workload itself tells.
  void Fill(Trial& trial) const {
    trial.rate = rate_.Rate(stopped_);
    trial.count = rate_.count();
    trial.unit = rate_.unit();
    trial.stalled = stalled_;
    trial.by_itself = !told_;
    trial.other_cpus = OtherCpus();
    if (first_read_ && last_read_ && last_read_->at > first_read_->at) {
      trial.read_per_second = static_cast<double>(last_read_->bytes - first_read_->bytes) * 1e9 /
                              static_cast<double>((last_read_->at - first_read_->at).count());
    }
  }

 private:
  // The CPU time of the machine less that of the command.
  [[nodiscard]] std::optional<double> OtherCpus() const {
    const auto busy = [this](HostScope scope) -> std::optional<double> {
      const std::optional<HostUse> use = seen_.Use(scope);
      const std::optional<std::int64_t> time = use ? use->change[Index(HostSignal::kCpuTime)] : std::nullopt;
      if (!time || use->watched() <= Nanos(0)) return std::nullopt;
      return static_cast<double>(*time) / static_cast<double>(use->watched().count());
    };
    const std::optional<double> machine = busy(HostScope::kMachine);
    const std::optional<double> command = busy(HostScope::kWorkload);
    if (!machine || !command) return std::nullopt;
    return std::max(*machine - *command, 0.0);
  }

  struct Read {
    Nanos at{0};
    std::int64_t bytes = 0;
  };

  void Look(Nanos now) {
    if (now >= next_host_) {
      next_host_ = now + kHostLook;
      host_.Tick(line_.At(now), seen_);
      if (rate_.measuring() && !told_) NoteRead(now);
    }
    if (!told_) SeeWork(now);
    EndWhereDue(now);
  }

  void SeeWork(Nanos now) {
    work_.Tick(line_.At(now), seen_);
    rate_.See(now, seen_.Work());
  }

  // Reads count from the end of the warm-up on, like work.
  void NoteRead(Nanos now) {
    const std::optional<HostUse> use = seen_.Use(HostScope::kWorkload);
    const std::optional<std::int64_t> bytes = use ? use->change[Index(HostSignal::kReadBytes)] : std::nullopt;
    if (!bytes) return;
    if (!first_read_) first_read_ = Read{now, *bytes};
    last_read_ = Read{now, *bytes};
  }

  // Asks the run to end when its bounds are reached, and kills it when the grace is over or the user asks twice.
  void EndWhereDue(Nanos now) {
    const RateWatch::Verdict verdict = rate_.Judge(now);
    if (!told_ && !workload_.end_signals().empty()) {
      told_ = now;  // the user's signal went to it
    } else if (!told_ && verdict != RateWatch::Verdict::kGoOn) {
      stalled_ = verdict == RateWatch::Verdict::kStalled;
      told_ = stopped_ = now;
      kill(workload_.pid(), SIGTERM);
      kill(workload_.pid(), SIGCONT);  // one that is stopped would never hear of it
    }
    if (!told_ || (now - *told_ < bounds_.grace && workload_.end_signals().size() < 2)) return;
    workload_.Signal(SIGKILL, false);
  }

  Workload& workload_;
  const TrialBounds& bounds_;
  std::shared_ptr<RunClock> clock_;
  TimeLine line_;
  RateWatch rate_;
  WorkLane work_;
  HostLane host_;
  RunSummary seen_;
  Nanos next_host_{0};
  std::optional<Nanos> told_;     // to end, by us or by the user
  std::optional<Nanos> stopped_;  // by us, since a bound was reached
  bool stalled_ = false;
  std::optional<Read> first_read_;
  std::optional<Read> last_read_;
};

}  // namespace

std::optional<double> WorkRate::LogError(double level) const {
  if (relative_error <= 0) return std::nullopt;
  return StudentTQuantile(static_cast<double>(changes - 1), (1 + level) / 2) * relative_error;
}

void RateWatch::See(Nanos now, const WorkCount& done) {
  const auto unit = std::find_if(kUnits.begin(), kUnits.end(), [&](WorkUnit u) { return done[u].has_value(); });
  if (unit == kUnits.end()) return;
  const std::int64_t count = *done[*unit];
  if (count_ && *unit == unit_ && count == *count_) return;
  // Markers took the place of lines, or a better unit came. What was counted before counts no more.
  if (count_ && (*unit != unit_ || count < *count_)) {
    begin_.reset();
    changes_ = 0;
    longest_ = Nanos(0);
    stretches_ = {};
    lost_ = {};
  }
  const std::int64_t before = count_.value_or(0);
  const WorkCount done_before = done_;
  unit_ = *unit;
  count_ = count;
  done_ = done;
  if (count == 0) return;  // it says that it has begun
  ++changes_;
  if (begin_) {
    EndStretch(now, count - before, done.Beyond(done_before));
  } else if (unit_ == WorkUnit::kStep ? count > bounds_.skip_steps : changes_ > bounds_.skip_steps) {
    begin_ = Point{now, count, done};
  }
  last_ = now;
  still_ = Nanos(0);
}

void RateWatch::StoodStill(Nanos time) {
  if (begin_) still_ += time;
}

void RateWatch::EndStretch(Nanos now, std::int64_t work, const WorkCount& done) {
  if (still_ > Nanos(0)) {
    lost_.time += now - last_;
    lost_.work += work;
    lost_.stood_still += still_;
    for (std::size_t u = 0; u < kWorkUnitCount; ++u) {
      if (done.of[u]) lost_.done.of[u] = lost_.done.of[u].value_or(0) + *done.of[u];
    }
    return;
  }
  longest_ = std::max(longest_, now - last_);
  const double seconds = static_cast<double>((now - last_).count()) / 1e9;
  const auto counted = static_cast<double>(work);
  ++stretches_.n;
  stretches_.time_time += seconds * seconds;
  stretches_.time_work += seconds * counted;
  stretches_.work_work += counted * counted;
}

// A run is measured for as long as asked, without what is lost. But it lasts at most twice as long, since a machine may
// stand still again and again.
RateWatch::Verdict RateWatch::Judge(Nanos now) const {
  if (begin_ && bounds_.time && now - begin_->at - std::min(lost_.time, *bounds_.time) >= *bounds_.time) {
    return Verdict::kEnough;
  }
  if (begin_ && bounds_.steps && *count_ - begin_->count - std::min(lost_.work, *bounds_.steps) >= *bounds_.steps) {
    return Verdict::kEnough;
  }
  return now - last_ >= bounds_.patience ? Verdict::kStalled : Verdict::kGoOn;
}

// Each stretch should take its share of the time. The difference is noise; the whole has sqrt(n) times as much.
double RateWatch::RelativeError(double seconds, double work) const {
  if (stretches_.n < kFewestStretches || seconds <= 0) return 0;
  const double each = seconds / work;
  const double squares = stretches_.time_time - 2 * each * stretches_.time_work + each * each * stretches_.work_work;
  const auto n = static_cast<double>(stretches_.n);
  return std::sqrt(std::max(0.0, squares) / (n - 1) * n) / seconds;
}

std::optional<WorkRate> RateWatch::Rate(std::optional<Nanos> stopped) const {
  if (!begin_ || *count_ <= begin_->count) return std::nullopt;
  const Nanos watched = last_ - begin_->at;
  const bool clean = stretches_.n >= kFewestStretches && kMostLostOf * lost_.time <= watched;
  const Lost less = clean ? lost_ : Lost{};
  // A machine that stands still at the end is no stall of the job.
  const bool stalled = stopped && still_ == Nanos(0) && *stopped - last_ > longest_;
  const Nanos end = stalled ? *stopped : last_;
  WorkRate rate{unit_, *count_ - begin_->count - less.work, end - begin_->at - less.time};
  rate.done = done_.Beyond(begin_->done);
  for (std::size_t u = 0; u < kWorkUnitCount; ++u) {
    if (less.done.of[u]) *rate.done.of[u] -= *less.done.of[u];
  }
  rate.changes = stretches_.n;
  const Nanos kept = watched - lost_.time;
  rate.relative_error =
      RelativeError(static_cast<double>(kept.count()) / 1e9, static_cast<double>(*count_ - begin_->count - lost_.work));
  rate.stood_still = lost_.stood_still + still_;
  rate.spoiled = lost_.time > Nanos(0) && (!clean || kSpoiledFromOf * lost_.time > watched);
  const Nanos longest = std::max(longest_, end - last_);
  if (stretches_.n > 0 && longest > std::max(kLongWait, kLongWaits * kept / stretches_.n)) rate.longest_wait = longest;
  return rate;
}

void TrialFlags::AddTo(CommandFlags& flags, const std::string& each) {
  const auto add = [&](const char* name, const char* value, const std::string& help, std::string& text) {
    flags.Add(name, value, help).text = &text;
  };
  const std::string steps_usual = usual.steps ? fmt::format(" (default {})", *usual.steps) : "";
  const std::string time_usual = usual.time ? fmt::format(" (default {})", DurationForPeople(*usual.time)) : "";
  add("--for", "TIME", fmt::format("measure each {} for this long after its warm-up{}", each, time_usual), time);
  add("--steps", "N", fmt::format("measure each {} for this many steps after its warm-up{}", each, steps_usual), steps);
  add("--skip-steps", "N", fmt::format("the warm-up of each {}, not measured (default {})", each, usual.skip_steps),
      skip_steps);
  add("--patience", "TIME",
      fmt::format("give up a {} without progress for this long (default {})", each, DurationForPeople(usual.patience)),
      patience);
  add("--grace", "TIME",
      fmt::format("kill a {} that still runs this long after SIGTERM (default {})", each,
                  DurationForPeople(usual.grace)),
      grace);
}

Result<TrialBounds> TrialFlags::Bounds(const char* command) const {
  TrialBounds bounds = usual;
  bounds.skip_steps = TRY(FlagCount(command, "--skip-steps", skip_steps, 0, usual.skip_steps));
  const std::optional<Nanos> span = TRY(ParseFor(time));
  if (span || !steps.empty()) {
    bounds.time = span;
    bounds.steps.reset();
  }
  if (!steps.empty()) {
    bounds.steps = TRY(FlagCount(command, "--steps", steps, 1, 0));
  }
  bounds.patience = TRY(FlagSpan(command, "--patience", patience, usual.patience));
  bounds.grace = TRY(FlagSpan(command, "--grace", grace, usual.grace));
  return bounds;
}

std::string TrialFlags::Given() const {
  const std::array<std::pair<const char*, const std::string*>, 5> all = {{{"--for", &time},
                                                                          {"--steps", &steps},
                                                                          {"--skip-steps", &skip_steps},
                                                                          {"--patience", &patience},
                                                                          {"--grace", &grace}}};
  for (const auto& [name, text] : all) {
    if (!text->empty()) return name;
  }
  return "";
}

// Standard error that takes nothing was closed as we began. What is written there goes nowhere too.
CommandOutput::CommandOutput(bool shown)
    : fd_(shown && write(STDERR_FILENO, "", 0) == 0 ? dup(STDERR_FILENO) : open("/dev/null", O_WRONLY | O_CLOEXEC)) {}

CommandOutput::~CommandOutput() {
  if (fd_ >= 0) close(fd_);
}

std::string FaultOf(const Trial& trial, const TrialBounds& bounds) {
  const std::string unit(kWorkUnitPlurals[static_cast<std::size_t>(trial.unit)]);
  const std::string done = trial.count ? std::to_string(*trial.count) + " " + unit : "no progress that could be read";
  const std::string last = trial.last_line.empty() ? "" : "; its last output: " + trial.last_line;
  if (trial.by_itself && trial.end.exit_code != 0) {
    return "ended with " + Describe(trial.end) + " after " + done + last;
  }
  if (trial.rate) return {};
  constexpr const char* kSayWork = "; print steps (tqdm, \"step 10/100\") or call idleburn.step(), see docs/markers.md";
  if (!trial.count) {
    const std::string when =
        trial.by_itself ? "ended and" : "was stopped after " + DurationForPeople(bounds.patience) + " and";
    return when + " reported no progress" +
           (trial.by_itself ? kSayWork : kSayWork + std::string("; --patience waits longer"));
  }
  if (trial.stalled) {
    return "made " + done + " and then none for " + DurationForPeople(bounds.patience) + "; --patience waits longer" +
           last;
  }
  return "made " + done + ", too few to measure after a warm-up of " + std::to_string(bounds.skip_steps) +
         "; lower --skip-steps or raise --for";
}

tl::expected<Trial, StartFailure> RunTrial(Workload& workload, const TrialSpec& spec, const KnobChange& change) {
  const auto output = std::make_shared<OutputReader>();
  Result<MarkerFile> created = MarkerFile::Create();
  if (!created) return tl::unexpected<StartFailure>(StartFailure{created.error(), 1});
  const auto markers = std::make_shared<MarkerFile>(std::move(*created));
  const auto reaped = std::make_shared<ReapedUsage>();
  const std::string run_id = RandomIdText();
  WorkloadSpec run;
  run.command = spec.command;
  run.environment = change.environment;
  run.environment.emplace_back("IDLEBURN_RUN_ID", run_id);
  run.environment.emplace_back("IDLEBURN_MARKERS", markers->path());
  run.watcher = output.get();
  run.output = spec.output;
  run.reaped = reaped.get();
  run.confinement.cpus = change.cpus;
  run.confinement.group = change.group == nullptr ? -1 : change.group->procs();
  if (const auto started = workload.Start(run); !started) return tl::unexpected<StartFailure>(started.error());
  Watched watched(workload, spec.bounds, markers, {output, &output->progress}, run_id, reaped);
  Trial trial;
  trial.end = watched.Wait();
  watched.Fill(trial);
  markers->Poll();
  trial.hooks = markers->hooks();
  trial.last_line = output->LastLine();
  if (!workload.end_signals().empty()) trial.interrupted = workload.end_signals().back();
  trial.leftovers = workload.EndLeftovers();
  return trial;
}

}  // namespace idleburn
