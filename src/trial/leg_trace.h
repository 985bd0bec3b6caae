#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/time.h"
#include "run/markers.h"
#include "run/progress_lines.h"

namespace idleburn {

// One leg of a drill is one process of the job, from its start to its end. Times are of CLOCK_MONOTONIC.

// The job said that it had done so many steps since the leg began.
struct StepSeen {
  Nanos at{0};
  std::int64_t steps = 0;
  std::optional<std::int64_t> next;   // the position after the samples it had taken by then
  std::optional<std::int64_t> order;  // what the samples of its line were
};

// What one rank said.
struct RankTrace {
  std::vector<StepSeen> seen;  // steps rise
  std::optional<std::int64_t> resumed;
  std::optional<std::int64_t> first_sample;
};

struct CheckpointSeen {
  std::int32_t rank = 0;
  std::int64_t step = 0;  // of the whole training
  Nanos begin{0};
  std::optional<Nanos> end;  // absent: it was not whole when the leg ended
  std::optional<std::int64_t> bytes;
  bool steps_went_on = false;  // while it was written
};

// What a leg said by markers, and by the lines it printed.
class LegTrace {
 public:
  explicit LegTrace(Nanos started) : started_(started) {}
  // A marker that was read at `now`.
  void Take(const Marker& marker, Nanos now);
  // Steps as lines tell them; only where no marker told any.
  void TakeLines(const WorkCount& done, const std::optional<PrintedSteps>& printed, Nanos now);

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
  // Seconds a step from there to the latest, without the time that checkpoints stood in the way; absent for one step.
  [[nodiscard]] std::optional<double> SecondsPerStep() const;
  // Whether markers told the steps: one that speaks of checkpoints alone does not.
  [[nodiscard]] bool from_markers() const { return from_markers_; }

 private:
  struct Writer {
    std::int64_t pid = 0;
    std::int64_t steps = 0;   // of this process
    std::int64_t before = 0;  // of those that had its rank before it
  };
  void TakeSteps(const Marker& marker, Nanos at);
  void TakeCheckpoint(const Marker& marker, Nanos at);
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

}  // namespace idleburn
