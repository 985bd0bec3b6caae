#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "run/markers.h"
#include "run/progress_lines.h"

namespace idleburn {

// One leg of a drill is one process of the job, from its start to its end. Times are of CLOCK_MONOTONIC.

// What a drill knows of a job's training: LegTrace holds what one leg said, and Lineage joins the legs into the one
// training that survives their interruptions. Neither starts a process, so tests play legs of any kind.
//
// One leg of a drill is one process of the job, from its start to its end. Times are of CLOCK_MONOTONIC.

// The job said that it had done so many steps since the leg began.
struct StepSeen {
  Nanos at{0};
  std::int64_t steps = 0;
  // The position after the samples that it had taken by then.
  std::optional<std::int64_t> next;
  // A number that stands for the samples of its line: another order gives another number.
  std::optional<std::int64_t> order;
};

// What one rank said, in the order in which it did.
struct RankTrace {
  // The numbers of steps rise.
  std::vector<StepSeen> seen;
  // The step of the whole training that it says it goes on from.
  std::optional<std::int64_t> resumed;
  // The position of its first sample.
  std::optional<std::int64_t> first_sample;
};

// One checkpoint, or one rank's shard of it.
struct CheckpointSeen {
  std::int32_t rank = 0;
  // Of the whole training.
  std::int64_t step = 0;
  Nanos begin{0};
  // Absent: it was not whole when the leg ended.
  std::optional<Nanos> end;
  std::optional<std::int64_t> bytes;
  // The job went on with its steps while it was written, so its time cost none.
  bool steps_went_on = false;
};

// What a leg said by markers, and by the lines it printed. Markers go before lines, which only tell of steps.
class LegTrace {
 public:
  // `started`: when the command was started.
  explicit LegTrace(Nanos started) : started_(started) {}
  // Takes a marker that was read at `now`. Its own stamp counts, unless it is of another clock.
  void Take(const Marker& marker, Nanos now);
  // Takes the steps that lines tell. They count only where no marker told any.
  void TakeLines(const WorkCount& done, const std::optional<PrintedSteps>& printed, Nanos now);

  // The three below are what was taken; `printed` is absent where no line told of steps.
  [[nodiscard]] Nanos started() const { return started_; }
  [[nodiscard]] const std::map<std::int32_t, RankTrace>& ranks() const { return ranks_; }
  [[nodiscard]] const std::vector<CheckpointSeen>& checkpoints() const { return checkpoints_; }
  [[nodiscard]] const std::optional<PrintedSteps>& printed() const { return printed_; }
  // The step it went on from, as any rank said it.
  [[nodiscard]] std::optional<std::int64_t> resumed() const;
  // Steps done, of the rank that is furthest; 0: none was told.
  [[nodiscard]] std::int64_t steps() const { return steps_; }
  // When the first of them was told.
  [[nodiscard]] std::optional<Nanos> first_step() const { return first_step_; }
  // Seconds a step from there to the latest one. Time in which a checkpoint kept the steps waiting is left out. Absent
  // for fewer than two steps.
  [[nodiscard]] std::optional<double> SecondsPerStep() const;
  // Whether markers told the steps. A job whose markers speak of checkpoints alone says its steps by lines.
  [[nodiscard]] bool from_markers() const { return from_markers_; }

 private:
  // One rank may be several processes, one after the other. Each counts its own steps from 0.
  struct Writer {
    std::int64_t pid = 0;
    // Steps of this process, and of those that had its rank before it.
    std::int64_t steps = 0;
    std::int64_t before = 0;
  };
  void TakeSteps(const Marker& marker, Nanos at);
  void TakeCheckpoint(const Marker& marker, Nanos at);
  // Notes that the leg has come so far.
  void Reach(std::int64_t steps, Nanos at);

  Nanos started_;
  std::map<std::int32_t, RankTrace> ranks_;
  std::map<std::int32_t, Writer> writers_;
  std::vector<CheckpointSeen> checkpoints_;
  std::optional<PrintedSteps> printed_;
  bool from_markers_ = false;
  std::int64_t steps_ = 0;
  std::int64_t first_steps_ = 0;
  std::optional<Nanos> first_step_;
  Nanos last_step_{0};
};

// What speaks against a job on capacity that may be taken away, and what keeps us from saying. The order is that of
// kDrillReasons.
enum class DrillReason : std::uint8_t {
  kResumeFailed,
  kNoProgress,
  kHangs,
  kRestartsFromZero,
  kOlderCheckpoint,
  kAheadOfCheckpoint,
  kSkips,
  kRepeats,
  kOrderChanges,
  kDoesNotStop,
  // From here on: cannot tell.
  kNoCheckpointYet,
  kStepUnknown,
  kSamplesUnknown,
};
// A reason in words.
struct DrillReasonInfo {
  // For programs; it does not change.
  std::string_view id;
  // The verdict is FAIL; else it cannot be told.
  bool fails;
  std::string_view means;
  // What to do about it.
  std::string_view next;
};
inline constexpr std::array<DrillReasonInfo, 13> kDrillReasons = {{
    {"resume_failed", true, "the resume command ends with an error", "read what it printed last, with --show-output"},
    {"no_progress", true, "the resume command ends without a step", "make it continue at the step of the checkpoint"},
    {"hangs", true, "the resumed job makes no progress", "find what it waits for: locks, ports, peers, a stale file"},
    {"restarts_from_zero", true, "all work is done again",
     "load the newest checkpoint at the start; raise --after if it had not written one by then"},
    {"older_checkpoint", true, "it resumes from an older checkpoint than its newest complete one",
     "rename a checkpoint into place when it is complete, and load the newest"},
    {"ahead_of_checkpoint", true, "it reports resuming from a step that it had not saved",
     "save the step with the state, and resume from that step"},
    {"skips", true, "samples are never trained on",
     "save the position of the data iterator after the steps in the state, not its prefetch position"},
    {"repeats", true, "samples are trained on twice", "save the position of the data iterator with the state"},
    {"order_changes", true, "the samples come in another order after a restart",
     "save the state of the random generator, or derive the order from seed and epoch"},
    {"does_not_stop", true, "it was killed at the end of the grace time", "end on SIGTERM after a last checkpoint"},
    {"no_checkpoint_yet", false, "it was interrupted before its first checkpoint", "raise --after"},
    {"step_unknown", false, "the step at which it resumed is not known",
     "call idleburn.resumed(step), see docs/drill.md"},
    {"samples_unknown", false, "whether samples are repeated or skipped is not known",
     "give idleburn.step(first=POSITION) and call idleburn.resumed(step), see docs/drill.md"},
}};
inline const DrillReasonInfo& InfoOf(DrillReason reason) { return kDrillReasons[static_cast<std::size_t>(reason)]; }

// One reason, as a round showed it.
struct DrillFault {
  DrillReason reason;
  // In words, with its figures.
  std::string text;
};

// What one interruption cost, and whether the job went on where it should. Absent: not known.
struct RoundReading {
  // The step that it had reached.
  std::optional<std::int64_t> stopped_at;
  // The step of its newest whole checkpoint.
  std::optional<std::int64_t> checkpoint_at;
  // The step it went on from.
  std::optional<std::int64_t> resumed_at;
  // Steps to be done again, and the samples of them.
  std::optional<std::int64_t> lost_steps;
  std::optional<std::int64_t> lost_samples;
  // Those of these steps that its newest checkpoint held.
  std::optional<std::int64_t> lost_beyond_checkpoint;
  // Samples that the training never saw, and those that it saw twice.
  std::optional<std::int64_t> skipped;
  std::optional<std::int64_t> repeated;
  // Whether samples that were taken again came in the same order as before.
  std::optional<bool> order_kept;
  std::vector<DrillFault> faults;

  // Nothing is wrong, and nothing is unknown that a verdict needs.
  [[nodiscard]] bool clean() const { return faults.empty(); }
  void Add(DrillReason reason, std::string text) { faults.push_back({reason, std::move(text)}); }
};

// The training that survives: the steps whose result is in the state, over all restarts, and the samples they took.
//
//   the state after step R has taken the positions before P(R), which the steps up to R told
//   a leg that resumes at R and begins with position F  skips    F - P(R) samples, if that is more than 0
//                                                       repeats  P(R) - F samples, if that is more than 0
//
// Samples of steps that were lost come again. They are not repeated, because the state has forgotten them.
class Lineage {
 public:
  // The leg that begins the drill; it may itself go on from an earlier training.
  explicit Lineage(const LegTrace& first);
  // Takes the leg that was started after the last one had been interrupted, and says what the interruption did.
  // `had_checkpoint`: whether files of a checkpoint had been seen to change by then; absent: nobody looked.
  RoundReading Continue(const LegTrace& next, std::optional<bool> had_checkpoint);
  // The step it had reached last, of the whole training.
  [[nodiscard]] std::int64_t reached() const { return reached_; }

 private:
  struct Rank {
    // The position at start_, and after each step that told one.
    std::optional<std::int64_t> start;
    std::map<std::int64_t, std::int64_t> next;
    // By step, as StepSeen::order.
    std::map<std::int64_t, std::optional<std::int64_t>> orders;
  };
  // `base`: the step that the leg goes on from.
  void Append(const LegTrace& leg, std::int64_t base);
  // The job says it; else the position of a first sample tells, which is that of one step; else the printed steps do.
  void FindStep(const LegTrace& next, RoundReading& reading) const;
  // False if it claims a step that it cannot have saved: its samples have nothing to be compared with.
  bool JudgeStep(const LegTrace& next, std::optional<bool> had_checkpoint, RoundReading& reading) const;
  void JudgeSamples(const LegTrace& next, RoundReading& reading) const;
  void JudgeOrder(const LegTrace& next, RoundReading& reading) const;
  [[nodiscard]] std::optional<std::int64_t> PositionAfter(const Rank& rank, std::int64_t step) const;
  // Drops what is known of steps after that one: no state holds them any more.
  void Forget(std::int64_t after);

  std::map<std::int32_t, Rank> ranks_;
  std::int64_t start_ = 0;    // step
  std::int64_t reached_ = 0;  // step
  // Printed steps are this far apart, and what is known of them is no finer.
  std::int64_t stride_ = 1;
  // Steps with a begun checkpoint, and steps with a complete one.
  std::set<std::int64_t> whole_;
  std::set<std::int64_t> begun_;
};

}  // namespace idleburn
