#pragma once

#include <memory>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

#include "run/markers.h"
#include "run/workload.h"
#include "trial/control_group.h"
#include "trial/work_rate.h"

namespace idleburn {

// What one run is changed by, for as long as this lives.
struct KnobChange {
  std::vector<std::pair<std::string, std::string>> environment;
  std::vector<int> cpus;                // empty: all
  std::unique_ptr<ControlGroup> group;  // null: ours
};

struct TrialSpec {
  std::vector<std::string> command;
  TrialBounds bounds;
  int output = -1;  // where the command's output goes
};

// One bounded run of the command.
struct Trial {
  std::optional<WorkRate> rate;
  std::optional<std::int64_t> count;  // of work done in all, as last said
  WorkUnit unit = WorkUnit::kStep;
  bool stalled = false;    // it was ended because it made no progress
  bool by_itself = false;  // it ended before it was told to
  WorkloadEnd end;
  HooksSaid hooks;
  std::optional<double> read_per_second;  // bytes from storage, while it was measured
  std::optional<double> other_cpus;       // CPUs that others kept busy meanwhile
  std::string last_line;                  // that it printed
  std::optional<int> interrupted;         // the user's signal that ended it
  std::size_t leftovers = 0;              // processes that could not be ended
};

// Why a trial says nothing of the command's speed, in words that follow "the command"; empty if it does.
std::string FaultOf(const Trial& trial, const TrialBounds& bounds);

// Runs the command until its bounds are reached, then ends it and all that it has started. By the thread that prepared
// the workload.
tl::expected<Trial, StartFailure> RunTrial(Workload& workload, const TrialSpec& spec, const KnobChange& change);

}  // namespace idleburn
