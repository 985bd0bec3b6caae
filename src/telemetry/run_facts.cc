#include "telemetry/run_facts.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "text/json.h"
#include "text/number.h"
#include "text/secrets.h"
#include "text/strings.h"

namespace idleburn {
namespace {

// Keys of the facts.
constexpr const char* kDevices = "gpus.hidden";
constexpr const char* kBecause = "gpus.hidden_by";
constexpr const char* kDoubt = "gpus.hidden_doubt";

// A name for a device that is valid in every table, as a DeviceId is not: its UUID, else its bus id, else its index.
// A MIG instance has its id behind it.
std::string LastingName(const Device& device) {
  std::string name = !device.uuid.empty() ? device.uuid : device.bus_id;
  if (name.empty()) name = "index " + std::to_string(device.index.value_or(-1));
  return device.mig ? name + "/" + device.mig->id : name;
}

}  // namespace

std::vector<RunFact> HiddenGpus::Facts(const DeviceTable& table) const {
  std::vector<RunFact> facts;
  const std::string names = ListText(devices, ",", [&](DeviceId id) { return LastingName(table[id]); });
  if (!names.empty()) facts.push_back({kDevices, names});
  if (!names.empty()) facts.push_back({kBecause, because});
  if (!doubt.empty()) facts.push_back({kDoubt, doubt});
  return facts;
}

// Names that no device of the table has are ignored.
HiddenGpus HiddenGpus::From(const RunFacts& facts, const DeviceTable& table) {
  HiddenGpus hidden;
  hidden.because = FactIn(facts, kBecause);
  hidden.doubt = FactIn(facts, kDoubt);
  const std::string names = "," + FactIn(facts, kDevices) + ",";
  for (DeviceId id = 0; id < table.size(); ++id) {
    if (names.find("," + LastingName(table[id]) + ",") != std::string::npos) hidden.devices.push_back(id);
  }
  return hidden;
}

void RunWindow::Take(const RunFact& fact) {
  std::optional<Instant>* const end_of = fact.key == kStartFact ? &start : fact.key == kEndFact ? &end : nullptr;
  if (end_of == nullptr) return;
  if (const std::optional<std::int64_t> ns = ParseInteger(fact.value)) *end_of = Instant::FromNanos(*ns);
}

void WindowFilter::See(Instant time) {
  first_ = std::min(first_.value_or(time), time);
  last_ = std::max(last_.value_or(time), time);
}

void WindowFilter::OnSamples(std::span<const Sample> samples) {
  within_.clear();
  for (const Sample& sample : samples) {
    See(sample.time);
    if (sample.time >= *window_.start && sample.time <= *window_.end) {
      within_.push_back(sample);
    } else {
      ++outside_;
    }
  }
  if (!within_.empty()) next_.OnSamples(within_);
}

// Columns that lie inside the window pass unchanged. Only columns that cross its border are converted to rows.
void WindowFilter::OnColumns(const SampleColumns& columns) {
  if (columns.rows == 0) return;
  const auto [first, last] = std::minmax_element(columns.times, columns.times + columns.rows);
  if (*first < *window_.start || *last > *window_.end) return SampleSink::OnColumns(columns);
  See(*first);
  See(*last);
  next_.OnColumns(columns);
}

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
