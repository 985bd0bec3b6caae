#include "trial/drill.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "config/flag_values.h"
#include "plan/spot_formulas.h"
#include "stats/order.h"
#include "stats/random.h"
#include "text/command_line.h"
#include "text/figures.h"
#include "text/number.h"

namespace idleburn {
namespace {

// The end of a message: what the command printed last often says why.
std::string LastWords(const Leg& leg) { return leg.last_line.empty() ? "" : "; its last output: " + leg.last_line; }

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
      world_.tell(fmt::format("{} processes of the command do not end, even after SIGKILL", left));
    }
    return {};
  }

  // Fails where the first leg made no progress or ended by itself. Nothing is there to judge an interruption by then.
  Result<void> JudgeFirst(const Leg& leg) const {
    constexpr const char* kSayWork = "; print steps (\"step 10/100\") or call idleburn.step(), see docs/drill.md";
    if (leg.stalled && !leg.progressed) {
      return Fail(fmt::format("the command reported no progress for {}; --timeout waits longer{}{}",
                              DurationForPeople(spec_.leg.timeout), kSayWork, LastWords(leg)));
    }
    if (leg.stalled) {
      return Fail(fmt::format("the command made {} steps, then none for {}; --timeout waits longer{}",
                              leg.trace.steps(), DurationForPeople(spec_.leg.timeout), LastWords(leg)));
    }
    if (leg.told) return {};
    if (!leg.progressed) {
      return Fail(fmt::format("the command ended with {} and reported no progress{}{}", Describe(leg.end),
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
                            result_.rounds.size() + 1, spec_.rounds, lineage.reached(),
                            DurationForPeople(*round.stop)));
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
                        fmt::format("it had not ended {} after the signal", DurationForPeople(how.grace)));
    }
    result_.rounds.push_back(std::move(round));
    return {};
  }

  // Judges whether the resumed leg works at all. If it does not, it is the last leg.
  void JudgeResumed(const Leg& leg, DrillRound& round) {
    if (leg.stalled) {
      result_.ended = "the resumed job hung";
      round.reading.Add(DrillReason::kHangs, fmt::format("after {} steps it made none for {}{}", leg.trace.steps(),
                                                         DurationForPeople(spec_.leg.timeout), LastWords(leg)));
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
      return FailUsage("drill: --as: '" + request.cloud.substr(0, 20) + "' is not one of aws, gcp, azure");
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
    return FailUsage(fmt::format("drill: {}: '{}' has its end before its start", flag, text.substr(0, 40)));
  }
  return std::optional(Drawn<T>{low, high});
}

}  // namespace

Result<DrillResult> RunDrill(const DrillSpec& spec, const DrillWorld& world) { return Drill(spec, world).Run(); }

void DrillRequest::AddTo(CommandFlags& flags) {
  flags.Add("--resume", "\"CMD\"", "the command that resumes (default: the same command)").text = &resume;
  flags.Add("--rounds", "N", "number of interruptions, each with a restart (default 3)").text = &rounds;
  flags.Add("--as", "CLOUD", "use the notice time of aws (2 min), gcp or azure (30 s)").text = &cloud;
  flags.Add("--signal", "NAME", "signal for every process of the command: TERM (default), KILL, INT, HUP, ...").text =
      &signal;
  flags.Add("--grace", "TIME", "time from the signal to SIGKILL (default 30s)").text = &grace;
  flags
      .Add("--after", "TIME",
           "interrupt this long after the first progress; 10s..30s (default) draws each time at random")
      .text = &after;
  flags.Add("--after-steps", "N", "interrupt this many steps after each start, or after N..M steps").text =
      &after_steps;
  flags.Add("--mid-checkpoint", "", "then wait for a checkpoint, and interrupt while it is written").on =
      &mid_checkpoint;
  flags.Add("--seed", "N", "seed of the draws, to repeat a drill").text = &seed;
  flags.Add("--timeout", "TIME", "a job without progress for this long hangs (default 5m)").text = &timeout;
  flags.Add("--checkpoint", "PATH", "file, folder or 'pattern*' of checkpoints, if no marker reports them").text =
      &checkpoint;
  flags.Add("--scratch", "", "run in a new folder ($IDLEBURN_SCRATCH) and remove it at the end").on = &scratch;
  flags.Add("--copy", "FOLDER", "use a copy of FOLDER as the scratch folder").text = &copy;
  flags.Add("--uptime", "TIME", "mean time between losses of a node, to estimate the cost").text = &uptime;
  flags.Add("--nodes", "N", "nodes of the job; one loss interrupts all (default 1)").text = &nodes;
  flags.Add("--fail-on", "fail", "exit with 3 if the verdict is FAIL").text = &fail_on;
  flags.Add("--show-output", "", "show what the command prints, on standard error").on = &show_output;
  flags.Add("--full", "", "print everything, not one screen").on = &full;
  flags.Add("--quiet", "", "print nothing while it runs").on = &quiet;
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

namespace {

// What is not known is left out of a mean; it does not count as 0.
template <typename T>
void AddKnown(const std::optional<T>& value, std::vector<double>& values) {
  if (value) values.push_back(static_cast<double>(*value));
}

// One value for each checkpoint, in seconds and bytes; intervals are between two of one leg.
struct CheckpointValues {
  std::vector<double> seconds;
  std::vector<double> bytes;
  std::vector<double> intervals;
  // From one begin to the next; what the interruption made the job write is not of its own interval.
  void AddInterval(std::optional<Nanos>& last, Nanos begin) {
    if (last) intervals.push_back(InSeconds(begin - *last));
    last = begin;
  }
};

// Ranks that write shards of one step write one checkpoint. It lasts from the first begin to the last end.
CheckpointValues FromMarkers(const DrillResult& result) {
  CheckpointValues values;
  for (const Leg& leg : result.legs) {
    struct Whole {
      Nanos begin{0};
      Nanos end{0};
      std::optional<std::int64_t> bytes;
      bool all = true;
    };
    std::map<std::int64_t, Whole> steps;
    for (const CheckpointSeen& seen : leg.trace.checkpoints()) {
      Whole& whole = steps.try_emplace(seen.step, Whole{seen.begin, seen.begin, {}, true}).first->second;
      whole.begin = std::min(whole.begin, seen.begin);
      whole.all = whole.all && seen.end.has_value();
      whole.end = std::max(whole.end, seen.end.value_or(whole.end));
      if (seen.bytes) whole.bytes = whole.bytes.value_or(0) + *seen.bytes;
    }
    std::optional<Nanos> last;
    for (const auto& [step, whole] : steps) {
      if (!leg.told || whole.begin < *leg.told) values.AddInterval(last, whole.begin);
      if (!whole.all) continue;
      values.seconds.push_back(InSeconds(whole.end - whole.begin));
      AddKnown(whole.bytes, values.bytes);
    }
  }
  return values;
}

// Where no marker tells of checkpoints.
CheckpointValues FromFiles(const DrillResult& result) {
  CheckpointValues values;
  for (const Leg& leg : result.legs) {
    std::optional<Nanos> last;
    for (const CheckpointWrite& write : leg.writes) {
      values.AddInterval(last, write.begin);
      values.seconds.push_back(InSeconds(write.end - write.begin));
      values.bytes.push_back(static_cast<double>(write.bytes));
    }
  }
  return values;
}

// Markers go before files: they know what is done before the first byte and after the last one.
DrillFigures FiguresOf(const DrillResult& result) {
  DrillFigures figures;
  std::vector<double> steps;
  for (const Leg& leg : result.legs) AddKnown(leg.trace.SecondsPerStep(), steps);
  figures.step_s = FigureOf(steps);
  CheckpointValues checkpoints = FromMarkers(result);
  if (checkpoints.seconds.empty()) {
    checkpoints = FromFiles(result);
    figures.checkpoint_from_files = !checkpoints.seconds.empty();
  }
  figures.checkpoint_s = FigureOf(checkpoints.seconds);
  figures.checkpoint_bytes = FigureOf(checkpoints.bytes);
  figures.checkpoint_interval_s = FigureOf(checkpoints.intervals);
  std::vector<double> restarts;
  std::vector<double> stops;
  std::vector<double> lost_steps;
  std::vector<double> lost_samples;
  std::vector<double> lost_seconds;
  for (const DrillRound& round : result.rounds) {
    if (round.restart) restarts.push_back(InSeconds(*round.restart));
    if (round.stop) stops.push_back(InSeconds(*round.stop));
    AddKnown(round.reading.lost_steps, lost_steps);
    AddKnown(round.reading.lost_samples, lost_samples);
    if (round.reading.lost_steps && figures.step_s) {
      lost_seconds.push_back(static_cast<double>(*round.reading.lost_steps) * figures.step_s->mean);
    }
  }
  figures.restart_s = FigureOf(restarts);
  figures.stop_s = FigureOf(stops);
  figures.lost_steps = FigureOf(lost_steps);
  figures.lost_samples = FigureOf(lost_samples);
  figures.lost_s = FigureOf(lost_seconds);
  return figures;
}

}  // namespace

std::optional<DrillFigure> FigureOf(std::span<const double> values) {
  if (values.empty()) return std::nullopt;
  DrillFigure figure;
  figure.count = values.size();
  figure.mean = MeanOf(values);
  const auto [least, largest] = std::minmax_element(values.begin(), values.end());
  figure.low = *least;
  figure.high = *largest;
  if (figure.interval()) {
    const std::optional<ConfidenceInterval> interval = IntervalOfMean(values, kDrillConfidence);
    // None of these quantities can be below 0, but an interval by t can.
    figure.low = std::max(interval->low, 0.0);
    figure.high = interval->high;
  }
  return figure;
}

DrillReading ReadDrill(const DrillResult& result) {
  DrillReading reading;
  bool fails = false;
  std::array<bool, kDrillReasons.size()> met{};
  for (const DrillRound& round : result.rounds) {
    if (round.reading.clean()) ++reading.clean_rounds;
    for (const DrillFault& fault : round.reading.faults) {
      met[static_cast<std::size_t>(fault.reason)] = true;
      fails = fails || InfoOf(fault.reason).fails;
    }
  }
  for (std::size_t i = 0; i < met.size(); ++i) {
    if (met[i]) reading.reasons.push_back(static_cast<DrillReason>(i));
  }
  if (fails) {
    reading.verdict = DrillVerdict::kFail;
  } else if (reading.clean_rounds > 0) {
    reading.verdict = DrillVerdict::kPass;
  }
  reading.figures = FiguresOf(result);
  return reading;
}

DrillOutlook OutlookOf(const DrillFigures& figures, double uptime_s, std::int64_t nodes) {
  using Seconds = std::chrono::duration<double>;
  DrillOutlook outlook;
  outlook.uptime_s = uptime_s / static_cast<double>(nodes);
  if (!figures.checkpoint_s || !figures.restart_s) return outlook;
  const Hours uptime = Seconds(outlook.uptime_s);
  const Hours write = Seconds(figures.checkpoint_s->mean);
  const Hours restart = Seconds(figures.restart_s->mean);
  std::optional<Hours> now;
  if (figures.checkpoint_interval_s && figures.checkpoint_interval_s->mean > 0) {
    now = Seconds(figures.checkpoint_interval_s->mean);
  }
  // The work of the run cancels out, so an hour of it stands for any.
  const auto overhead = [&](Hours interval, Hours lost) {
    const CheckpointedWork endless{Hours(1), interval, write, Hours(0)};
    const Hours billed = FixedLossTime(UninterruptedTime(endless), uptime, restart + lost);
    return SpotOverhead(billed, endless.work, write, now);
  };
  Hours longest(0);
  if (now && figures.lost_s) {
    longest = *now;
    outlook.overhead_now = overhead(longest, Seconds(figures.lost_s->mean));
  }
  if (write.count() > 0) {
    const Hours young = YoungInterval(write, uptime);
    outlook.young_interval_s = Seconds(young).count();
    outlook.overhead_young = overhead(young, young / 2);
    longest = std::max(longest, young);
  }
  const double share = (restart + longest) / uptime;
  if (share > kFirstOrderReach) outlook.outside = share;
  return outlook;
}

}  // namespace idleburn
