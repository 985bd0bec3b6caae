#include <algorithm>
#include <cmath>

#include "plan/framework_habits.h"
#include "plan/gpu_rate.h"
#include "plan/table_formats.h"
#include "text/number.h"

namespace idleburn {
namespace {

constexpr double kNodeGpus = 8;

double NodesFor(double gpus, double per_node) { return std::max(1.0, std::ceil(gpus / per_node)); }

}  // namespace

double GpusOfNode(std::string_view gpu) {
  constexpr double kRackGpus = 72;  // GB200 and GB300 NVL72: one NVLink domain
  const std::optional<GpuRate> rate = RateOf(gpu);
  return rate && rate->gpu.starts_with("GB") ? kRackGpus : kNodeGpus;
}

double DegreeIn(const std::string& parallelism, std::string_view name) {
  const std::size_t at = parallelism.find(name);
  if (at == std::string::npos) return 1;
  std::string digits;
  for (std::size_t i = at + name.size(); i < parallelism.size() && parallelism[i] >= '0' && parallelism[i] <= '9'; ++i)
    digits += parallelism[i];
  return static_cast<double>(std::max<std::int64_t>(1, ParseInteger(digits).value_or(1)));
}

// MPT, full training; the shape stands in the row.
RunRow ReadLlmFoundryRow(RowReader& reader) {
  RunRow row;
  row.facts = reader.Model(reader.Text("model"));
  RunConfig& run = row.run;
  run.gpu = reader.Text("gpu");
  run.gpus = reader.Count("n_gpus");
  run.nodes = NodesFor(run.gpus, kNodeGpus);
  run.micro_batch = reader.Count("micro_batch");
  run.accumulation = reader.Count("grad_accum", 1);
  run.sequence = reader.Count("seq_len");
  run.sharding = reader.Word("sharding").find("grad") != std::string::npos ? Sharding::kGathered : Sharding::kZero3;
  run.checkpointing = reader.Switch("act_ckpt").value_or(false) ? Checkpointing::kWholeLayers : Checkpointing::kNone;
  run.fp8 = reader.Word("precision").find("fp8") != std::string::npos;
  run.bytes = HabitsOf("llm-foundry")->all;
  row.tokens_s_per_gpu = reader.Measured("tokens_s_gpu");
  return row;
}

// Megatron-Bridge: the distributed optimizer unless FSDP is named.
RunRow ReadMegatronBridgeRow(RowReader& reader) {
  RunRow row;
  row.facts = reader.Model(reader.Text("model"));
  RunConfig& run = row.run;
  run.gpu = reader.Text("system");
  run.gpus = reader.Count("n_gpus");
  run.nodes = NodesFor(run.gpus, GpusOfNode(run.gpu));
  run.tensor_parallel = reader.Count("tp", 1);
  run.pipeline_parallel = reader.Count("pp", 1);
  run.context_parallel = reader.Count("cp", 1);
  run.virtual_stages = reader.Count("vp", 1);
  run.expert_parallel = reader.Count("ep", 1);
  run.micro_batch = reader.Count("mbs");
  constexpr double kUsualPasses = 16;
  const double replicas = std::max(1.0, run.DataParallel());
  run.accumulation =
      std::max(1.0, reader.Count("gbs", kUsualPasses * run.micro_batch * replicas) / run.micro_batch / replicas);
  run.sequence = reader.Count("seq_len");
  const std::string precision = reader.Word("precision");
  run.fp4 = precision.find("fp4") != std::string::npos;
  run.fp8 = !run.fp4 && precision.find("fp8") != std::string::npos;
  const FrameworkHabits& habits = *HabitsOf("megatron-bridge");
  run.sharding = reader.Number("fsdp", 0) > 1 ? Sharding::kZero3 : habits.shares;
  run.bytes = habits.all;
  if (reader.Word("kind") == "lora") run.method = TuneMethod::kLora;
  row.tokens_s_per_gpu = reader.Measured("tokens_s_gpu");
  return row;
}

// torchtitan: FSDP2 with fp32 parameters, tensor parallelism with sequence parallelism.
RunRow ReadTorchtitanRow(RowReader& reader) {
  RunRow row;
  row.facts = reader.Model(reader.Text("model"));
  RunConfig& run = row.run;
  run.gpu = reader.Text("gpu");
  run.gpus = reader.Count("n_gpus");
  run.nodes = NodesFor(run.gpus, kNodeGpus);
  const std::string parallelism = reader.Word("parallelism");
  run.tensor_parallel = DegreeIn(parallelism, "tp");
  run.micro_batch = reader.Count("local_batch");
  run.sequence = reader.Count("seq_len");
  const FrameworkHabits& habits = *HabitsOf("torchtitan");
  run.sharding = habits.shares;
  const std::string checkpointing = reader.Word("act_ckpt");
  run.checkpointing = checkpointing == "full"                  ? Checkpointing::kWholeLayers
                      : checkpointing.starts_with("selective") ? Checkpointing::kSelective
                                                               : Checkpointing::kNone;
  run.compile = reader.Switch("compile").value_or(false);
  run.fp8 = reader.Switch("float8").value_or(false);
  run.bytes = habits.all;
  if (checkpointing.empty()) AssumeUntilFits(row, std::nullopt, true);
  run.metric = MemoryMetric::kReserved;
  if (const std::optional<double> gib = reader.Measured("peak_mem_gib")) row.peak_bytes = *gib * 1024 * 1024 * 1024;
  row.tokens_s_per_gpu = reader.Measured("tokens_s_gpu");
  return row;
}

}  // namespace idleburn
