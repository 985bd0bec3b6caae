#include "measure/experiment.h"

#include <array>
#include <cstdint>

namespace idleburn {
namespace {

constexpr std::size_t kLongestValue = 256;

enum class Form : std::uint8_t { kText, kAddress };
struct NameRow {
  std::string_view name;
  Form form = Form::kText;
};

constexpr std::array<NameRow, 58> kNames = {{
    // Slurm
    {"SLURM_JOB_ID"},
    {"SLURM_ARRAY_JOB_ID"},
    {"SLURM_ARRAY_TASK_ID"},
    {"SLURM_STEP_ID"},
    {"SLURM_JOB_NAME"},
    {"SLURM_JOB_USER"},
    {"SLURM_JOB_ACCOUNT"},
    {"SLURM_JOB_PARTITION"},
    {"SLURM_CLUSTER_NAME"},
    {"SLURM_PROCID"},
    {"SLURM_NTASKS"},
    {"SLURM_JOB_NUM_NODES"},
    {"SLURM_JOB_GPUS"},
    {"SLURM_STEP_GPUS"},
    {"SLURM_SHARDS_ON_NODE"},
    // Kubernetes, as pods commonly name what the downward API gives them
    {"KUBERNETES_NAMESPACE"},
    {"POD_NAME"},
    {"POD_NAMESPACE"},
    {"POD_UID"},
    {"NODE_NAME"},
    {"JOB_NAME"},
    {"JOB_COMPLETION_INDEX"},
    // torchrun and MPI
    {"RANK"},
    {"WORLD_SIZE"},
    {"LOCAL_RANK"},
    {"LOCAL_WORLD_SIZE"},
    {"GROUP_RANK"},
    {"TORCHELASTIC_RUN_ID"},
    {"TORCHELASTIC_RESTART_COUNT"},
    {"OMPI_COMM_WORLD_RANK"},
    {"OMPI_COMM_WORLD_SIZE"},
    {"PMI_RANK"},
    {"PMIX_RANK"},
    // Ray, MLflow, Weights & Biases
    {"RAY_JOB_ID"},
    {"MLFLOW_RUN_ID"},
    {"MLFLOW_EXPERIMENT_ID"},
    {"MLFLOW_EXPERIMENT_NAME"},
    {"MLFLOW_TRACKING_URI", Form::kAddress},
    {"WANDB_RUN_ID"},
    {"WANDB_RUN_GROUP"},
    {"WANDB_PROJECT"},
    {"WANDB_ENTITY"},
    {"WANDB_NAME"},
    {"WANDB_SWEEP_ID"},
    // batch systems of the clouds
    {"AWS_BATCH_JOB_ID"},
    {"SM_TRAINING_ENV_JOB_NAME"},
    {"TRAINING_JOB_NAME"},
    {"CLOUD_ML_JOB_ID"},
    {"LSB_JOBID"},
    {"PBS_JOBID"},
    // GPUs
    {"CUDA_VISIBLE_DEVICES"},
    {"NVIDIA_VISIBLE_DEVICES"},
    {"ROCR_VISIBLE_DEVICES"},
    {"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"},
    // our own
    {"IDLEBURN_RUN_ID"},
    {"IDLEBURN_EXPERIMENT"},
    {"IDLEBURN_TEAM"},
    {"IDLEBURN_UNIT"},
}};

// "https://user:word@host:5000/path?token=x" -> "host:5000"; a path of this machine says nothing and is dropped.
std::string HostOf(std::string_view address) {
  const std::size_t scheme = address.find("://");
  if (scheme == std::string_view::npos) return {};
  std::string_view host = address.substr(scheme + 3);
  host = host.substr(0, host.find_first_of("/?#"));
  const std::size_t user = host.rfind('@');
  return std::string(user == std::string_view::npos ? host : host.substr(user + 1));
}

std::string Clean(std::string_view value) {
  std::string text(value.substr(0, kLongestValue));
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = '?';
  }
  return text;
}

}  // namespace

std::vector<RunFact> ExperimentFacts(const VariableLookup& lookup) {
  std::vector<RunFact> facts;
  for (const NameRow& row : kNames) {
    const std::optional<std::string> value = lookup(row.name);
    if (!value || value->empty()) continue;
    const std::string text = Clean(row.form == Form::kAddress ? HostOf(*value) : *value);
    if (!text.empty()) facts.push_back({"env." + std::string(row.name), text});
  }
  return facts;
}

}  // namespace idleburn
