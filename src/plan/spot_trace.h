#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/byte_source.h"
#include "base/time.h"
#include "plan/spot_formulas.h"

namespace idleburn {

// Machines that come and go: a recorded history of them, its replay, and simulation from its lengths. A history is kept
// by seats in a fleet and not by names of machines, because a replacement has a new name and a name has no down time. A
// replay and a simulated run use the same step, UseMachine, so that they differ only in where the turns come from.

// A stay of one machine, from its `start` until it was taken away. If it was not `lost`, the history ended first. Times
// count from the start of the history.
struct UpPeriod {
  Nanos start{};
  Nanos end{};
  bool lost = false;
};

// The stays that filled one place of a fleet, in order of time.
using SeatHistory = std::vector<UpPeriod>;

// One recorded fleet. Spans count from its start.
struct InterruptionHistory {
  // The name in the file. Without such a column it is the file's name.
  std::string trace;
  // The time of its last event.
  Nanos end{};
  std::vector<SeatHistory> seats;
};

// Rows that contradict what came before them. They were left out.
struct EventDoubt {
  std::int64_t rows = 0;
  // "file:line" of the first such row; empty if there is none.
  std::string first;
};

// All that a file of events holds, and how far it contradicts itself.
struct NodeEvents {
  // In the order in which the file begins them; at least one.
  std::vector<InterruptionHistory> histories;
  // Rows that add a node which is there, and rows that remove one which is not.
  EventDoubt added_twice;
  EventDoubt removed_unknown;
};

// Reads a table with the columns t_s (seconds from the start), event (add or remove), node and, if the file holds
// several histories, trace. An added node takes the seat that it had before if that is empty, else the one that is
// empty longest, else a new one. A cell that means nothing is an error that names file and line; so is time that goes
// back within a trace. Memory grows with the periods, not with the rows.
Result<NodeEvents> ReadNodeEvents(ByteSource& in);

// What a history says of one machine.
struct UptimeFacts {
  std::int64_t losses = 0;
  // Time up of all machines.
  Hours up{};
  // M, time up by losses. Absent if nothing was lost.
  std::optional<Hours> mean_uptime;
  // The share of the time since a seat was first filled.
  double up_fraction = 0;
};

// Sums up the seats of a history.
UptimeFacts FactsOf(const InterruptionHistory& history);

// What an interrupted job has to show: the work that a completed checkpoint holds, and what it cost.
struct JobProgress {
  Hours kept{};
  Hours billed{};
  std::int64_t interruptions = 0;
};

// Spends one stay of a machine, which is there for `available`. The job starts on it (R, of which the first `unbilled`
// costs nothing), works and writes a checkpoint after every interval, but none when all is done. Returns how much of
// the stay it took to finish. Absent if the machine went first, with all work since the last completed checkpoint.
std::optional<Hours> UseMachine(const CheckpointedWork& job, Hours unbilled, Hours available, JobProgress& progress);

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

  // Time up by losses, and time up by all time.
  [[nodiscard]] Hours mean_uptime() const;
  [[nodiscard]] double up_fraction() const;
  [[nodiscard]] std::size_t losses() const { return stays_.size(); }
  [[nodiscard]] Hours length() const { return length_; }
  [[nodiscard]] RunLengths Lengths() const;

  // Mean hours billed to a job that is started at `starts` times, spread evenly over the trace. Absent if one of these
  // jobs loses so many machines that it is given up.
  [[nodiscard]] std::optional<Hours> MeanBilled(const CheckpointedWork& job, Hours unbilled, int starts) const;

 private:
  // Each stay ends by a loss. The last may end after `length_`, when the first comes round again.
  std::vector<Stay> stays_;
  Hours length_{};
};

// A checkpoint interval by Young's formula and by trial.
struct IntervalChoice {
  Hours young{};
  Hours billed_young{};
  // The best of those tried: Young's, and from a minute upward in steps of a tenth.
  Hours best{};
  Hours billed_best{};
  // billed_young / billed_best - 1. With few losses `best` fits their accidents.
  double regret = 0;
  int tried = 0;
};
// Tries intervals on the trace, whatever job.interval is. Absent if the job does not finish with Young's.
std::optional<IntervalChoice> ChooseInterval(const SpotTrace& trace, CheckpointedWork job, Hours unbilled, int starts);

// Hours of work, as an estimate with its 90 % interval; the three are equal where the work is known.
struct WorkHours {
  Hours low{};
  Hours likely{};
  Hours high{};
};

// Machines that are by turns there and gone. Lengths are drawn from `lengths`, each as often as it was seen; without
// any they are exponential with the two means.
struct UpAndDown {
  // M.
  Hours mean_up{};
  // 0 where a replacement is there at once.
  Hours mean_down{};
  // Empty if none were supplied.
  RunLengths lengths;
};

// The turns of a trace: its lengths, and the means that go with them.
UpAndDown UpAndDownOf(const SpotTrace& trace);

// The turns of a job on n machines, from those of one. The job is up until the first of them is lost, and then waits
// for its replacement.
UpAndDown OfJob(UpAndDown of_node, int nodes);

// How often to simulate, from which seed, and against which deadline.
struct SimulationSpec {
  int runs = 2000;
  std::uint64_t seed = 1;
  // A limit on the wall-clock.
  std::optional<Hours> deadline;
};

// What simulated runs came to. Figures that depend on runs which got nowhere are absent: those lost so many machines
// that they were given up.
struct SpotOutlook {
  int runs = 0;
  int unfinished = 0;
  std::optional<Hours> wall_p50, wall_p90, wall_p95;
  std::optional<Hours> billed_mean, billed_p05, billed_p95;
  std::optional<double> interruptions_mean;
  // The share of runs in time. Absent without a deadline.
  std::optional<double> deadline_met;
};

// Runs a job again and again. Work is drawn for each run so that 5 % lie below `low` and 5 % above `high` (log-normal
// on either side of `likely`). A job starts at a random moment, and waits if nothing is there. Equal seeds give equal
// results.
SpotOutlook SimulateSpot(const WorkHours& work, const CheckpointedWork& job, Hours unbilled, const UpAndDown& machines,
                         const SimulationSpec& spec);

}  // namespace idleburn
