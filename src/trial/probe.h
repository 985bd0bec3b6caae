#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "plan/evidence.h"
#include "trial/trial_flags.h"

namespace idleburn {

// The flags of probes, as they were written.
struct ProbeFlags {
  bool on = false;
  std::string vary;  // "micro_batch=8"
  std::string variable;
  bool show_output = false;
  TrialFlags bounds;

  ProbeFlags();
  void AddTo(CommandFlags& flags);
};

// A command whose words may name what a plan says: "{micro_batch}" stands for the number of sequences of a pass.
struct PlannedCommand {
  std::vector<std::string> words;
  std::vector<std::pair<std::string, std::string>> environment;
};
// With what stands in `words` put in; `variable`, if any, takes the value of `varied`.
PlannedCommand CommandFor(const std::vector<std::string>& command, const PlanWords& words, const std::string& varied,
                          const std::string& variable);

// What the second probe changes.
struct ProbeChange {
  std::string key;  // "micro_batch" or "seq_len"; empty: nothing, it repeats the first
  std::string value;
};
// As asked for with --probe-vary, else what the command has a place for: half of it, or 2 for 1.
Result<ProbeChange> ChangeOfProbe(const ProbeFlags& flags, const PlanWords& words,
                                  const std::vector<std::string>& command);

struct ProbeResult {
  std::vector<RunReading> readings;  // the first as planned
  std::vector<std::string> warnings;
  std::string gpu;                 // the one GPU that was measured, as the table of rates calls it; empty: none known
  std::optional<int> interrupted;  // by that signal
};
// Runs the command twice, each time until enough steps were seen, then ends it. An error says why it tells nothing of
// the command's speed; of a second probe that is a warning.
Result<ProbeResult> RunProbes(const ProbeFlags& flags, const PlanWords& words, const std::vector<std::string>& command);

}  // namespace idleburn
