#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "plan/run_row.h"

namespace idleburn {

// A run as it was written down, by the names of PlanKeys: from flags, a TOML file, a training YAML or a config.json.
using PlanWords = std::map<std::string, std::string, std::less<>>;

struct PlanKey {
  std::string_view name;   // in a TOML file; as a flag with dashes: --seq-len
  std::string_view value;  // what stands for its value in the help
  std::string_view help;
};
std::span<const PlanKey> PlanKeys();

// A run to be planned.
struct PlannedRun {
  RunRow run;                     // facts and configuration
  std::optional<double> samples;  // of one epoch
  double epochs = 1;
  std::optional<double> samples_per_min;       // stated throughput of the whole run
  std::optional<double> tokens_per_s_per_gpu;  // stated
  std::optional<double> budget_gpu_hours;
  std::vector<std::string> assumed;  // what was not given, and what was taken instead
};

// Errors name the key, what it says, and what to write: an unknown key, method or optimizer with the nearest one, no
// GPU, a negative value, a unit forgotten ("params 7": 7B?), facts that contradict each other by more than 2 %.
Result<PlannedRun> ReadPlan(const PlanWords& words);

// "7B", "1.5M", "4096": a count above 0.
Result<double> ParseCount(std::string_view key, std::string_view text);

}  // namespace idleburn
