#pragma once

#include <csignal>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

#include "run/workload.h"
#include "trial/checkpoint_watch.h"
#include "trial/leg_trace.h"

namespace idleburn {

// What is done to the job.
struct Interruption {
  int signal = SIGTERM;
  Nanos grace{30 * kNanosPerSecond};  // from it to SIGKILL
};

// When. Counted from the first progress of a leg, so that the time a job needs to start does not matter.
struct LegGoal {
  std::optional<Nanos> time;
  std::optional<std::int64_t> steps;
  bool mid_checkpoint = false;  // once that is reached: as soon as a checkpoint begins
};

struct LegSpec {
  std::vector<std::string> command;
  std::vector<std::pair<std::string, std::string>> environment;
  std::string folder;  // its working directory; empty: ours
  int output = -1;     // where its output goes
  Interruption interruption;
  LegGoal goal;
  Nanos timeout{0};                  // without any progress
  CheckpointWatch* files = nullptr;  // null: nobody looks at files
};

// One process of the job, from its start to its end.
struct Leg {
  explicit Leg(Nanos started) : trace(started) {}
  LegTrace trace;
  bool progressed = false;         // it did work, of whatever kind
  std::optional<Nanos> told;       // when it was interrupted; absent: it ended before
  Nanos ended{0};                  // the last of its processes
  bool killed = false;             // its grace was over
  bool stalled = false;            // it made no progress, and was killed for that
  std::optional<int> interrupted;  // the user's signal that ended it
  bool files_changed = false;      // of a checkpoint, by its end
  std::vector<CheckpointWrite> writes;
  WorkloadEnd end;
  std::string last_line;      // that it printed
  std::size_t leftovers = 0;  // processes that could not be ended
};

// Runs the command until its goal, interrupts every process of it, and waits until none of them is left. By the thread
// that prepared the workload.
tl::expected<Leg, StartFailure> RunLeg(Workload& workload, const LegSpec& spec);

}  // namespace idleburn
