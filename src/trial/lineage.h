#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "trial/leg_trace.h"

namespace idleburn {

// What speaks against a job on capacity that may be taken away, and what keeps us from saying.
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
struct DrillReasonInfo {
  std::string_view id;  // for programs; does not change
  bool fails;
  std::string_view means;
  std::string_view next;  // what to do
};
inline constexpr std::array<DrillReasonInfo, 13> kDrillReasons = {{
    {"resume_failed", true, "the resume command ends with an error", "read what it printed last, with --show-output"},
    {"no_progress", true, "the resume command ends without a step", "let it go on where the checkpoint stands"},
    {"hangs", true, "the resumed job makes no progress", "look what it waits for: locks, ports, peers, a stale file"},
    {"restarts_from_zero", true, "all work is done again",
     "load the newest checkpoint at the start; raise --after if it had not written one by then"},
    {"older_checkpoint", true, "it goes on from an older checkpoint than its newest whole one",
     "rename a checkpoint into place when it is whole, and load the newest"},
    {"ahead_of_checkpoint", true, "it says it goes on from a step that it had not saved",
     "save the step with the state, and go on from that one"},
    {"skips", true, "samples are never trained on",
     "save where the data iterator stood after the steps that the state holds, not how far it had read ahead"},
    {"repeats", true, "samples are trained on twice", "save the position of the data iterator with the state"},
    {"order_changes", true, "the samples come in another order after a restart",
     "save the state of the random generator, or derive the order from seed and epoch"},
    {"does_not_stop", true, "it was killed when the grace was over", "end on SIGTERM after a last checkpoint"},
    {"no_checkpoint_yet", false, "it was interrupted before its first checkpoint", "raise --after"},
    {"step_unknown", false, "the step it went on from is not known", "call idleburn.resumed(step), see docs/drill.md"},
    {"samples_unknown", false, "whether samples are repeated or skipped is not known",
     "give idleburn.step(first=POSITION) and call idleburn.resumed(step), see docs/drill.md"},
}};
inline const DrillReasonInfo& InfoOf(DrillReason reason) { return kDrillReasons[static_cast<std::size_t>(reason)]; }

struct DrillFault {
  DrillReason reason;
  std::string text;  // with its figures
};

// What one interruption cost, and whether the job went on where it should. Absent: not known.
struct RoundReading {
  std::optional<std::int64_t> stopped_at;     // step that it had reached
  std::optional<std::int64_t> checkpoint_at;  // step of the newest whole checkpoint
  std::optional<std::int64_t> resumed_at;     // step it went on from
  std::optional<std::int64_t> lost_steps;     // to be done again
  std::optional<std::int64_t> lost_samples;
  std::optional<std::int64_t> lost_beyond_checkpoint;  // of these steps, those that its newest checkpoint held
  std::optional<std::int64_t> skipped;                 // samples
  std::optional<std::int64_t> repeated;
  std::optional<bool> order_kept;  // of the samples that were taken again
  std::vector<DrillFault> faults;

  [[nodiscard]] bool clean() const { return faults.empty(); }
  void Add(DrillReason reason, std::string text) { faults.push_back({reason, std::move(text)}); }
};

// The training that survives: the steps whose result is in the state, over all restarts, and the samples they took.
//
//   the state after step R has taken the positions before P(R), which the steps up to R told
//   a leg that resumes at R and begins with position F  skips    F - P(R) samples, if that is more than 0
//                                                       repeats  P(R) - F samples, if that is more than 0
//
// Samples of steps that were lost come again, and are not repeated: the state has forgotten them.
class Lineage {
 public:
  explicit Lineage(const LegTrace& first);
  // The leg that was started after the last one had been interrupted. `had_checkpoint`: whether files of a checkpoint
  // had been seen to change by then; absent: nobody looked.
  RoundReading Continue(const LegTrace& next, std::optional<bool> had_checkpoint);
  // The step it had reached last.
  [[nodiscard]] std::int64_t reached() const { return reached_; }

 private:
  struct Rank {
    std::optional<std::int64_t> start;                           // position at start_
    std::map<std::int64_t, std::int64_t> next;                   // position after a step
    std::map<std::int64_t, std::optional<std::int64_t>> orders;  // of the samples of a step
  };
  void Append(const LegTrace& leg, std::int64_t base);
  void FindStep(const LegTrace& next, RoundReading& reading) const;
  // False if it claims a step that it cannot have saved: its samples have nothing to be compared with.
  bool JudgeStep(const LegTrace& next, std::optional<bool> had_checkpoint, RoundReading& reading) const;
  void JudgeSamples(const LegTrace& next, RoundReading& reading) const;
  void JudgeOrder(const LegTrace& next, RoundReading& reading) const;
  [[nodiscard]] std::optional<std::int64_t> PositionAfter(const Rank& rank, std::int64_t step) const;
  void Forget(std::int64_t after);

  std::map<std::int32_t, Rank> ranks_;
  std::int64_t start_ = 0;        // step
  std::int64_t reached_ = 0;      // step
  std::int64_t stride_ = 1;       // of steps that are printed; what is known of them is no finer
  std::set<std::int64_t> whole_;  // checkpoints, by step
  std::set<std::int64_t> begun_;
};

}  // namespace idleburn
