#include "trial/trial.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <memory>
#include <utility>

#include "measure/host_lane.h"
#include "os/digest.h"
#include "os/run_clock.h"
#include "run/run_summary.h"
#include "run/work_lane.h"

namespace idleburn {
namespace {

constexpr Nanos kLook(20'000'000);       // at the work done
constexpr Nanos kHostLook(100'000'000);  // at what it uses of the host
// Who wakes up so much too late was not let run, and nobody else was: a CPU that others burn makes it late by tens of
// milliseconds at most.
constexpr Nanos kStoodStill(250'000'000);

// One run while it is watched.
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
      const Nanos due = clock_->Monotonic() + kLook;
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

  void NoteRead(Nanos now) {
    const std::optional<HostUse> use = seen_.Use(HostScope::kWorkload);
    const std::optional<std::int64_t> bytes = use ? use->change[Index(HostSignal::kReadBytes)] : std::nullopt;
    if (!bytes) return;
    if (!first_read_) first_read_ = Read{now, *bytes};
    last_read_ = Read{now, *bytes};
  }

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

std::string Seconds(Nanos time) {
  const std::int64_t seconds = (time.count() + kNanosPerSecond / 2) / kNanosPerSecond;
  return std::to_string(seconds) + " s";
}

}  // namespace

std::string FaultOf(const Trial& trial, const TrialBounds& bounds) {
  const std::string unit(kWorkUnitPlurals[static_cast<std::size_t>(trial.unit)]);
  const std::string done = trial.count ? std::to_string(*trial.count) + " " + unit : "no progress that could be read";
  const std::string last = trial.last_line.empty() ? "" : "; the last it printed: " + trial.last_line;
  if (trial.by_itself && trial.end.exit_code != 0) {
    return "ended with " + Describe(trial.end) + " after " + done + last;
  }
  if (trial.rate) return {};
  constexpr const char* kSayWork = "; print steps (tqdm, \"step 10/100\") or call idleburn.step(), see docs/markers.md";
  if (!trial.count) {
    const std::string when = trial.by_itself ? "ended and" : "was stopped after " + Seconds(bounds.patience) + " and";
    return when + " said nothing of its progress" +
           (trial.by_itself ? kSayWork : kSayWork + std::string("; --patience waits longer"));
  }
  if (trial.stalled) {
    return "made " + done + " and then none for " + Seconds(bounds.patience) + "; --patience waits longer" + last;
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
