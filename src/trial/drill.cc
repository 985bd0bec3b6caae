#include "trial/drill.h"

#include <fmt/format.h>

#include <algorithm>

#include "config/flag_values.h"
#include "stats/random.h"
#include "text/command_line.h"
#include "text/number.h"

namespace idleburn {
namespace {

// The end of a message: what the command printed last often says why.
std::string LastWords(const Leg& leg) { return leg.last_line.empty() ? "" : "; the last it printed: " + leg.last_line; }

// The course of one drill. A round is an interruption and the leg that resumes after it: so the leg of one round is the
// leg that the next round interrupts.
class Drill {
 public:
  Drill(const DrillSpec& spec, const DrillWorld& world) : spec_(spec), world_(world), random_(spec.seed) {}

  Result<DrillResult> Run() {
    world_.tell("the command runs until its first interruption");
    TRY(RunOnce(spec_.leg.command, "the command"));
    if (result_.interrupted) return std::move(result_);
    TRY(JudgeFirst(result_.legs.back()));
    Lineage lineage(result_.legs.back().trace);
    while (!result_.interrupted && result_.ended.empty() &&
           result_.rounds.size() < static_cast<std::size_t>(spec_.rounds)) {
      TRY(RunRound(lineage));
    }
    return std::move(result_);
  }

 private:
  // Uniform over the whole span, both ends included.
  LegGoal DrawGoal() {
    LegGoal goal;
    goal.mid_checkpoint = spec_.mid_checkpoint;
    const auto draw = [this](std::int64_t low, std::int64_t high) {
      return low + static_cast<std::int64_t>(random_.Uniform() * static_cast<double>(high - low + 1));
    };
    if (spec_.after) goal.time = Nanos(draw(spec_.after->low.count(), spec_.after->high.count()));
    if (spec_.after_steps) goal.steps = draw(spec_.after_steps->low, spec_.after_steps->high);
    return goal;
  }

  // Runs one leg more, unless the user ended the drill. Fails if the command cannot be started.
  Result<void> RunOnce(const std::vector<std::string>& command, const char* name) {
    result_.interrupted = world_.interrupted();
    if (result_.interrupted) return {};
    LegSpec leg = spec_.leg;
    leg.command = command;
    leg.goal = goal_ = DrawGoal();
    tl::expected<Leg, StartFailure> ran = world_.run(leg);
    if (!ran) {
      if (ran.error().exit_code > 128) {
        result_.interrupted = ran.error().exit_code - 128;
        return {};
      }
      return Fail(fmt::format("{} could not be started: {}", name, ran.error().error.message));
    }
    result_.legs.push_back(std::move(*ran));
    result_.interrupted = result_.legs.back().interrupted;
    if (const std::size_t left = result_.legs.back().leftovers; left > 0) {
      world_.tell(fmt::format("{} processes of the command do not end, not even when killed", left));
    }
    return {};
  }

  // Fails where the first leg made no progress or ended by itself. Nothing is there to judge an interruption by then.
  Result<void> JudgeFirst(const Leg& leg) const {
    constexpr const char* kSayWork = "; print steps (\"step 10/100\") or call idleburn.step(), see docs/drill.md";
    if (leg.stalled && !leg.progressed) {
      return Fail(fmt::format("the command said nothing of its progress for {}; --timeout waits longer{}{}",
                              SecondsText(spec_.leg.timeout), kSayWork, LastWords(leg)));
    }
    if (leg.stalled) {
      return Fail(fmt::format("the command made {} steps and then none for {}; --timeout waits longer{}",
                              leg.trace.steps(), SecondsText(spec_.leg.timeout), LastWords(leg)));
    }
    if (leg.told) return {};
    if (!leg.progressed) {
      return Fail(fmt::format("the command ended with {} and said nothing of its progress{}{}", Describe(leg.end),
                              leg.end.exit_code == 0 ? kSayWork : "", LastWords(leg)));
    }
    return Fail(
        fmt::format("the command ended with {} after {} steps, before it was interrupted; lower --after or "
                    "give it more to do{}",
                    Describe(leg.end), leg.trace.steps(), LastWords(leg)));
  }

  // Resumes after the last leg and enters what it shows as one round, unless the user ended it before it showed
  // anything.
  Result<void> RunRound(Lineage& lineage) {
    DrillRound round;
    round.goal = goal_;
    const std::size_t before = result_.legs.size() - 1;
    const Interruption& how = spec_.leg.interruption;
    round.stop = result_.legs[before].ended - *result_.legs[before].told;
    world_.tell(fmt::format("round {} of {}: interrupted at step {}, ended {} later; resumes",
                            result_.rounds.size() + 1, spec_.rounds, lineage.reached(), SecondsText(*round.stop)));
    TRY(RunOnce(spec_.resume, "the resume command"));
    if (result_.legs.size() == before + 1) return {};
    const Leg& leg = result_.legs.back();
    // A leg that the user ended before it made progress says nothing.
    if (result_.interrupted && !leg.progressed) return {};
    if (const std::optional<Nanos> first = leg.trace.first_step()) round.restart = *first - leg.trace.started();
    JudgeResumed(leg, round);
    if (leg.progressed) {
      const std::optional<bool> files =
          spec_.leg.files == nullptr ? std::nullopt : std::optional(result_.legs[before].files_changed);
      RoundReading reading = lineage.Continue(leg.trace, files);
      reading.faults.insert(reading.faults.begin(), round.reading.faults.begin(), round.reading.faults.end());
      round.reading = std::move(reading);
    } else {
      round.reading.stopped_at = lineage.reached();
    }
    if (result_.legs[before].killed) {
      round.reading.Add(DrillReason::kDoesNotStop,
                        fmt::format("it had not ended {} after the signal", SecondsText(how.grace)));
    }
    result_.rounds.push_back(std::move(round));
    return {};
  }

  // Judges whether the resumed leg works at all. If it does not, it is the last leg.
  void JudgeResumed(const Leg& leg, DrillRound& round) {
    if (leg.stalled) {
      result_.ended = "the resumed job hung";
      round.reading.Add(DrillReason::kHangs, fmt::format("after {} steps it made none for {}{}", leg.trace.steps(),
                                                         SecondsText(spec_.leg.timeout), LastWords(leg)));
    } else if (!leg.told && !leg.interrupted) {
      result_.ended = fmt::format("the resumed job ended with {} after {} steps", Describe(leg.end), leg.trace.steps());
      if (leg.end.exit_code != 0) {
        round.reading.Add(
            DrillReason::kResumeFailed,
            fmt::format("it ended with {} after {} steps{}", Describe(leg.end), leg.trace.steps(), LastWords(leg)));
      } else if (!leg.progressed) {
        round.reading.Add(DrillReason::kNoProgress, "it ended with exit 0 without a step" + LastWords(leg));
      }
    }
  }

  const DrillSpec& spec_;
  const DrillWorld& world_;
  Random random_;
  LegGoal goal_;
  DrillResult result_;
};

// More rounds than anybody waits for; the request is cut to it without a word.
constexpr std::int64_t kMostRounds = 1000;
// Those that end a process by default and that somebody may send to a job.
constexpr std::array<int, 7> kInterruptionSignals = {SIGTERM, SIGKILL, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

// How a leg is interrupted: as the cloud of --as does it, changed by --signal and --grace.
Result<Interruption> HowOf(const DrillRequest& request) {
  Interruption how;
  if (!request.cloud.empty()) {
    const auto cloud = std::find_if(kCloudNotices.begin(), kCloudNotices.end(),
                                    [&](const CloudNotice& c) { return c.id == request.cloud; });
    if (cloud == kCloudNotices.end()) {
      return FailUsage("drill: --as: '" + request.cloud.substr(0, 20) + "' is none of aws, gcp, azure");
    }
    how.grace = cloud->grace;
  }
  if (!request.signal.empty()) {
    how.signal = TRY(FlagSignal("drill: --signal", request.signal, kInterruptionSignals));
  }
  if (how.signal == SIGKILL && !request.grace.empty()) {
    return FailUsage("drill: --grace: SIGKILL ends at once; give --grace with another signal");
  }
  how.grace = TRY(FlagSpan("drill", "--grace", request.grace, how.grace));
  return how;
}

// "20s" or "10s..30s".
template <typename T, typename Parse>
Result<std::optional<Drawn<T>>> ParseDrawn(const char* flag, const std::string& text, Parse parse) {
  if (text.empty()) return std::optional<Drawn<T>>();
  const std::size_t dots = text.find("..");
  const T low = TRY(parse(text.substr(0, dots)));
  const T high = TRY(dots == std::string::npos ? low : parse(text.substr(dots + 2)));
  if (high < low) {
    return FailUsage(fmt::format("drill: {}: '{}' ends before it begins", flag, text.substr(0, 40)));
  }
  return std::optional(Drawn<T>{low, high});
}

}  // namespace

Result<DrillResult> RunDrill(const DrillSpec& spec, const DrillWorld& world) { return Drill(spec, world).Run(); }

void DrillRequest::AddTo(CommandFlags& flags) {
  flags.Add("--resume", "\"CMD\"", "the command that goes on (default: the same command)").text = &resume;
  flags.Add("--rounds", "N", "interruptions, each followed by a restart (default 3)").text = &rounds;
  flags.Add("--as", "CLOUD", "the notice of aws (2 min), gcp or azure (30 s)").text = &cloud;
  flags.Add("--signal", "NAME", "what every process of the command gets: TERM (default), KILL, INT, HUP, ...").text =
      &signal;
  flags.Add("--grace", "TIME", "from the signal to SIGKILL (default 30s)").text = &grace;
  flags.Add("--after", "TIME", "interrupt so long after the first progress; 10s..30s (default) draws each time").text =
      &after;
  flags.Add("--after-steps", "N", "interrupt after so many steps of a start, or within N..M").text = &after_steps;
  flags.Add("--mid-checkpoint", "", "then wait until a checkpoint is being written, and interrupt that").on =
      &mid_checkpoint;
  flags.Add("--seed", "N", "draw the same times again").text = &seed;
  flags.Add("--timeout", "TIME", "a job without progress for so long hangs (default 5m)").text = &timeout;
  flags.Add("--checkpoint", "PATH", "a file, folder or 'pattern*' of checkpoints to watch, where no marker says them")
      .text = &checkpoint;
  flags.Add("--scratch", "", "run in a new folder, also IDLEBURN_SCRATCH, that is removed at the end").on = &scratch;
  flags.Add("--copy", "FOLDER", "a copy of that folder as the scratch folder").text = &copy;
  flags.Add("--uptime", "TIME", "what it would cost where a node is lost every so often on the mean").text = &uptime;
  flags.Add("--nodes", "N", "of the job: one loss interrupts all of them (default 1)").text = &nodes;
  flags.Add("--fail-on", "fail", "exit with 3 where the verdict is FAIL").text = &fail_on;
  flags.Add("--show-output", "", "show what the command prints, on standard error").on = &show_output;
  flags.Add("--quiet", "", "say nothing while it runs").on = &quiet;
  flags.Add("--output", "FILE", "write the report to FILE instead of standard output").text = &output;
}

Result<DrillSpec> DrillRequest::Spec(const std::vector<std::string>& command, std::uint64_t drawn_seed) const {
  DrillSpec spec;
  spec.leg.command = spec.resume = command;
  if (!resume.empty()) {
    Result<std::vector<std::string>> words = SplitCommand(resume);
    if (!words) return FailUsage("drill: --resume: " + words.error().message);
    spec.resume = std::move(*words);
  }
  const std::int64_t count = TRY(FlagCount("drill", "--rounds", rounds, 1, 3));
  spec.rounds = static_cast<int>(std::min(count, kMostRounds));
  spec.leg.interruption = TRY(HowOf(*this));
  const auto time = TRY(ParseDrawn<Nanos>("--after", after, [](const std::string& text) {
    return FlagSpan("drill", "--after", text.empty() ? "nothing" : text, Nanos(0));
  }));
  spec.after = time;
  const auto steps = TRY(ParseDrawn<std::int64_t>("--after-steps", after_steps, [](const std::string& text) {
    return FlagCount("drill", "--after-steps", text.empty() ? "none" : text, 1, 1);
  }));
  spec.after_steps = steps;
  if (!spec.after && !spec.after_steps) {
    // An interruption at one fixed time would always find the job at the same place between two checkpoints.
    spec.after = Drawn<Nanos>{Nanos(10 * kNanosPerSecond), Nanos(30 * kNanosPerSecond)};
  }
  spec.mid_checkpoint = mid_checkpoint;
  const std::int64_t number =
      TRY(FlagCount("drill", "--seed", seed, 0, static_cast<std::int64_t>(drawn_seed % 1'000'000)));
  spec.seed = static_cast<std::uint64_t>(number);
  spec.leg.timeout = TRY(FlagSpan("drill", "--timeout", timeout, Nanos(300 * kNanosPerSecond)));
  return spec;
}

Result<std::optional<Nanos>> DrillRequest::Uptime() const {
  const Nanos span = TRY(FlagSpan("drill", "--uptime", uptime, Nanos(0)));
  return uptime.empty() ? std::nullopt : std::optional(span);
}

Result<std::int64_t> DrillRequest::Nodes() const { return FlagCount("drill", "--nodes", nodes, 1, 1); }

Result<bool> DrillRequest::FailsOnFail() const {
  if (fail_on.empty() || fail_on == "fail") return !fail_on.empty();
  return FailUsage("drill: --fail-on: '" + fail_on.substr(0, 20) + "' is not fail");
}

}  // namespace idleburn
