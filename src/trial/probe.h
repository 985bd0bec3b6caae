#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "plan/evidence.h"
#include "terminal/progress.h"
#include "trial/trial.h"

namespace idleburn {

// A probe runs the command that a plan is for, on this machine, and reads its speed and memory into the plan. Two
// probes run: the first as planned, the second with one number changed, so that the plan knows what that number costs.

// The flags of probes, as they were written. Empty: not given.
struct ProbeFlags {
  bool on = false;
  // What the second probe changes: "micro_batch=8".
  std::string vary;
  // The variable that tells the command of it.
  std::string variable;
  bool show_output = false;
  TrialFlags bounds;

  ProbeFlags();
  void AddTo(CommandFlags& flags);
};

// A command whose words may name what a plan says: "{micro_batch}" stands for the number of sequences of a pass. This
// is the command with the numbers put in.
struct PlannedCommand {
  std::vector<std::string> words;
  std::vector<std::pair<std::string, std::string>> environment;
};
// Puts what stands in `words` into the command. The variable named `variable`, if any, takes the value of `varied`.
PlannedCommand CommandFor(const std::vector<std::string>& command, const PlanWords& words, const std::string& varied,
                          const std::string& variable);

// What the probes saw.
struct ProbeResult {
  // The first is of the run as planned.
  std::vector<RunReading> readings;
  std::vector<std::string> warnings;
  // The GPU that was measured, as the table of rates calls it; empty: none known.
  std::string gpu;
  // The user ended a probe with this signal.
  std::optional<int> interrupted;
};
// Runs the command twice, each time until enough steps were seen, then ends it. Fails if the first probe tells nothing
// of the command's speed, and says why. Of the second that is a warning: the first stands alone then.
// Both count as runs of `progress`.
Result<ProbeResult> RunProbes(const ProbeFlags& flags, const PlanWords& words, const std::vector<std::string>& command,
                              Progress& progress);

}  // namespace idleburn
