#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "plan/measured_steps.h"
#include "plan/run_row.h"

namespace idleburn {

// A planned run as a person writes it. Flags, a TOML file, a training YAML and a config.json all become the same words
// first, so that a key means one thing wherever it stands and one place complains about it.

// A run as it was written down, by the names of PlanKeys: from flags, a TOML file, a training YAML or a config.json.
using PlanWords = std::map<std::string, std::string, std::less<>>;

// One word that a plan may say, with its help.
struct PlanKey {
  // The name in a TOML file. As a flag it has dashes: --seq-len.
  std::string_view name;
  // What stands for its value in the help.
  std::string_view value;
  std::string_view help;
};

// Every key, in the order of the help.
std::span<const PlanKey> PlanKeys();

// A run to be planned: its configuration, how much work it is, and what its owner says of its speed and its cap.
struct PlannedRun {
  // Facts of the model and configuration of the run.
  RunRow run;
  // Samples of one epoch.
  std::optional<double> samples;
  double epochs = 1;
  // Throughput that the plan states: of the whole run, or of one GPU.
  std::optional<double> samples_per_min;
  std::optional<double> tokens_per_s_per_gpu;
  // Where measured steps state the throughput: the step that they forecast.
  std::optional<StepForecast> measured;
  std::optional<double> budget_gpu_hours;
  // Whether the work and its rate are all that is known. A sample then counts as one token, memory is not planned, and
  // no speed can be checked.
  bool no_model = false;
  // What was not given, and what was taken instead, in words.
  std::vector<std::string> assumed;
};

// Understands the words. Without a model, a measured rate and an amount of work are a plan too. The error names the
// key, what it says and what to write: an unknown key, method or optimizer with the nearest one, no GPU, a negative
// value, a forgotten unit ("params 7": 7B?), or facts that contradict each other by more than 2 %.
Result<PlannedRun> ReadPlan(const PlanWords& words);

// Reads a run of a model that is already known, as a row of a table has it. Errors as ReadPlan's.
Result<RunRow> ReadRunOf(const ModelFacts& facts, const PlanWords& words);

// How many GPUs one machine of that kind has as a rule: those that a fast link joins.
double UsualGpusOfNode(std::string_view gpu);

// Reads a count above 0: "7B", "1.5M", "4096". `key` is what the error calls it; a "k" of seq_len is 1024.
Result<double> ParseCount(std::string_view key, std::string_view text);

}  // namespace idleburn
