#include "telemetry/run_ids.h"

#include <array>
#include <cstdint>
#include <utility>

#include "text/json.h"
#include "text/secrets.h"

namespace idleburn {
namespace {

// What a variable names: the job, the experiment, or something else that is worth showing.
enum class Tells : std::uint8_t { kJob, kExperiment, kMore };
struct IdName {
  std::string_view name;
  Tells tells;
};
// The variables of ids. Of several that name a job, the first that is set counts, and so for experiments. Other
// variables of a run's environment only say which part of a job it is.
constexpr auto kIdNames = std::to_array<IdName>({
    {"SLURM_JOB_ID", Tells::kJob},
    {"PBS_JOBID", Tells::kJob},
    {"LSB_JOBID", Tells::kJob},
    {"AWS_BATCH_JOB_ID", Tells::kJob},
    {"SM_TRAINING_ENV_JOB_NAME", Tells::kJob},
    {"TRAINING_JOB_NAME", Tells::kJob},
    {"CLOUD_ML_JOB_ID", Tells::kJob},
    {"RAY_JOB_ID", Tells::kJob},
    {"JOB_NAME", Tells::kJob},
    {"POD_NAME", Tells::kJob},
    {"TORCHELASTIC_RUN_ID", Tells::kJob},
    {"SLURM_ARRAY_JOB_ID", Tells::kMore},
    {"SLURM_JOB_NAME", Tells::kMore},
    {"IDLEBURN_EXPERIMENT", Tells::kExperiment},
    {"MLFLOW_EXPERIMENT_NAME", Tells::kExperiment},
    {"MLFLOW_EXPERIMENT_ID", Tells::kExperiment},
    {"WANDB_RUN_GROUP", Tells::kExperiment},
    {"WANDB_SWEEP_ID", Tells::kExperiment},
    {"WANDB_PROJECT", Tells::kExperiment},
    {"MLFLOW_RUN_ID", Tells::kMore},
    {"WANDB_RUN_ID", Tells::kMore},
    {"WANDB_NAME", Tells::kMore},
    {"IDLEBURN_TEAM", Tells::kMore},
});

}  // namespace

RunIds IdsOf(const RunFacts& facts) {
  RunIds ids;
  ids.run = FactIn(facts, std::string(kRunIdFact));
  for (const IdName& id : kIdNames) {
    const std::string value = WithoutSecrets(FactIn(facts, "env." + std::string(id.name)));
    if (value.empty()) continue;
    ids.named[std::string(id.name)] = value;
    if (id.tells == Tells::kJob && ids.job.empty()) ids.job = value;
    if (id.tells == Tells::kExperiment && ids.experiment.empty()) ids.experiment = value;
  }
  return ids;
}

RunIds SharedIds(std::span<const RunIds> runs) {
  if (runs.empty()) return {};
  RunIds shared = runs.front();
  for (const RunIds& run : runs.subspan(1)) {
    for (const auto& [key, id] : kIdKeys) {
      if (run.*id == shared.*id) continue;
      shared.not_shared.insert(key);
    }
    std::erase_if(shared.named, [&](const auto& entry) {
      const auto same = run.named.find(entry.first);
      return same == run.named.end() || same->second != entry.second;
    });
  }
  for (const auto& [key, id] : kIdKeys) {
    if (shared.not_shared.contains(key)) (shared.*id).clear();
  }
  return shared;
}

std::string IdsText(const RunIds& ids) {
  std::string text;
  for (auto row = kIdKeys.rbegin(); row != kIdKeys.rend(); ++row) {
    const std::string& id = ids.*row->second;
    if (!id.empty()) text += (text.empty() ? "" : ", ") + std::string(row->first) + " " + id;
  }
  return text;
}

std::string IdsLine(const RunIds& ids) {
  const std::string text = IdsText(ids);
  return text.empty() ? "" : "Ids: " + Printable(text) + "\n";
}

std::string TitleAndIds(std::string title, const RunIds& ids) {
  const std::string text = IdsText(ids);
  return text.empty() ? title : std::move(title) + "; " + text;
}

}  // namespace idleburn
