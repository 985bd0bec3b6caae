#include "owners/environ_keys.h"

#include <algorithm>
#include <array>

#include "owners/node_gpu.h"
#include "text/command_line.h"
#include "text/strings.h"

namespace idleburn {
namespace {

// A key that names a run, and the word that stands before the id. The order is that of preference: the outermost
// launcher first, because it covers all ranks.
struct RunKey {
  std::string_view key;
  std::string_view kind;
};
constexpr auto kRunKeys = std::to_array<RunKey>({{"IDLEBURN_RUN_ID", "idleburn"},
                                                 {"RAY_SUBMISSION_ID", "ray"},
                                                 {"RAY_JOB_ID", "ray"},
                                                 {"TORCHELASTIC_RUN_ID", "torchrun"},
                                                 {"MLFLOW_RUN_ID", "mlflow"},
                                                 {"WANDB_RUN_ID", "wandb"}});

// Keys that name an experiment, the most deliberate one first.
constexpr auto kExperimentKeys =
    std::to_array<std::string_view>({"IDLEBURN_EXPERIMENT", "MLFLOW_EXPERIMENT_NAME", "MLFLOW_EXPERIMENT_ID",
                                     "WANDB_SWEEP_ID", "WANDB_PROJECT", "WANDB_RUN_GROUP"});

// Keys that tell the job and its devices.
constexpr auto kJobKeys = std::to_array<std::string_view>(
    {"SLURM_JOB_ID", "SLURM_ARRAY_JOB_ID", "SLURM_ARRAY_TASK_ID", "SLURM_JOB_NAME", "SLURM_JOB_USER",
     "SLURM_JOB_ACCOUNT", "SLURM_JOB_GPUS", "SLURM_STEP_GPUS", "SLURM_CLUSTER_NAME", "CUDA_VISIBLE_DEVICES",
     "NVIDIA_VISIBLE_DEVICES", "IDLEBURN_TEAM"});

// What a name of a secret contains.
constexpr auto kSecretParts =
    std::to_array<std::string_view>({"key", "token", "secret", "passw", "cred", "auth", "cookie", "dsn"});

bool LooksSecret(std::string_view key) {
  return std::any_of(kSecretParts.begin(), kSecretParts.end(),
                     [&](std::string_view part) { return Mentions(key, part); });
}

bool IsVariableName(std::string_view key) {
  return !key.empty() && key.size() <= 128 && !IsDigit(key[0]) &&
         std::all_of(key.begin(), key.end(), [](char c) { return IsAlnum(c) || c == '_'; });
}

const std::string* ValueOf(const EnvironValues& values, std::string_view key) {
  const auto found = values.find(key);
  return found == values.end() || found->second.empty() ? nullptr : &found->second;
}

}  // namespace

EnvironKeys::EnvironKeys() : experiments_(kExperimentKeys.begin(), kExperimentKeys.end()) {
  read_.assign(kExperimentKeys.begin(), kExperimentKeys.end());
  read_.insert(read_.end(), kJobKeys.begin(), kJobKeys.end());
  for (const RunKey& row : kRunKeys) read_.emplace_back(row.key);
  std::sort(read_.begin(), read_.end());
}

Result<EnvironKeys> EnvironKeys::Make(const std::vector<std::string>& experiment_keys) {
  EnvironKeys keys;
  for (const std::string& key : experiment_keys) {
    if (!IsVariableName(key)) return FailUsage("'" + SafeName(key) + "' is no name of an environment variable");
    if (LooksSecret(key)) {
      return FailUsage(key + " may hold a secret by its name, so it is never read; export the experiment under " +
                       "another name, such as IDLEBURN_EXPERIMENT");
    }
  }
  keys.experiments_.insert(keys.experiments_.begin(), experiment_keys.begin(), experiment_keys.end());
  keys.read_.insert(keys.read_.end(), experiment_keys.begin(), experiment_keys.end());
  std::sort(keys.read_.begin(), keys.read_.end());
  return keys;
}

EnvironValues EnvironKeys::ValuesIn(std::string_view environ) const {
  EnvironValues values;
  environ = environ.substr(0, kMostEnviron);
  while (!environ.empty()) {
    const std::string_view entry = environ.substr(0, environ.find('\0'));
    environ.remove_prefix(std::min(environ.size(), entry.size() + 1));
    const std::size_t equals = entry.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view key = entry.substr(0, equals);
    if (!std::binary_search(read_.begin(), read_.end(), key)) continue;
    // As getenv does, the first of two entries counts.
    values.try_emplace(std::string(key), SafeName(entry.substr(equals + 1)));
  }
  return values;
}

std::string EnvironKeys::ExperimentOf(const EnvironValues& values) const {
  for (const std::string& key : experiments_) {
    if (const std::string* value = ValueOf(values, key)) return *value;
  }
  return "";
}

std::string EnvironKeys::RunOf(const EnvironValues& values) {
  for (const RunKey& row : kRunKeys) {
    const std::string* value = ValueOf(values, row.key);
    // torchrun calls a run without a rendezvous id "none".
    if (value != nullptr && *value != "none") return SafeName(std::string(row.kind) + ":" + *value);
  }
  return "";
}

}  // namespace idleburn
