#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "plan/node_events.h"
#include "plan/spot_formulas.h"
#include "plan/spot_run.h"

namespace idleburn {

// How long machines stayed, and how long a replacement took, in order of time.
struct RunLengths {
  std::vector<Hours> up;
  std::vector<Hours> down;
};

// One machine's life for replay: up, down, up, ... and after `length` the same again, without end.
class SpotTrace {
 public:
  struct Stay {
    Hours start{};
    Hours end{};
  };

  // `count` seats of a history from `first` on, laid end to end. A machine that was still there when its seat's history
  // ends goes on as the one that begins the next: the end of a record is no loss. Absent if nothing was ever lost.
  static std::optional<SpotTrace> EndToEnd(const InterruptionHistory& history, std::size_t first, std::size_t count);
  static std::optional<SpotTrace> EndToEnd(const InterruptionHistory& history);

  [[nodiscard]] Hours mean_uptime() const;  // time up by losses
  [[nodiscard]] double up_fraction() const;
  [[nodiscard]] std::size_t losses() const { return stays_.size(); }
  [[nodiscard]] Hours length() const { return length_; }
  [[nodiscard]] RunLengths Lengths() const;

  // Mean hours billed to a job that is started at `starts` times spread evenly over the trace; absent if one of them
  // does not finish (kMostStays machines were lost on it).
  [[nodiscard]] std::optional<Hours> MeanBilled(const CheckpointedWork& job, Hours unbilled, int starts) const;

 private:
  std::vector<Stay> stays_;  // each ends by a loss; the last may end after `length_`, when the first comes round again
  Hours length_{};
};

// A run that has lost so many machines is given up: it gets nowhere.
inline constexpr std::int64_t kMostStays = 20'000;

// A checkpoint interval by Young's formula and by trial.
struct IntervalChoice {
  Hours young{};
  Hours billed_young{};
  Hours best{};  // of those tried: Young's, and a minute upward in steps of a tenth
  Hours billed_best{};
  double regret = 0;  // billed_young / billed_best - 1; with few losses `best` fits their accidents
  int tried = 0;
};
// Tries intervals on the trace; job.interval is not looked at. Absent if the job does not finish with Young's.
std::optional<IntervalChoice> ChooseInterval(const SpotTrace& trace, CheckpointedWork job, Hours unbilled, int starts);

}  // namespace idleburn
