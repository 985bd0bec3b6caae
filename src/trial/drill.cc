#include "trial/drill.h"

#include <fmt/format.h>

#include "stats/random.h"
#include "text/number.h"

namespace idleburn {
namespace {

std::string LastWords(const Leg& leg) { return leg.last_line.empty() ? "" : "; the last it printed: " + leg.last_line; }

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

  // One leg more. Fails if it cannot be started.
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

  // Without progress there is nothing that an interruption could be judged by.
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
    // One that the user ended says nothing if it had not come far enough.
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

  // Whether the resumed leg works at all; if not, it is the last one.
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

}  // namespace

Result<DrillResult> RunDrill(const DrillSpec& spec, const DrillWorld& world) { return Drill(spec, world).Run(); }

}  // namespace idleburn
