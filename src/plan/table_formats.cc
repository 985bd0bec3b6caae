#include "plan/table_formats.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>

#include "plan/gpu_rate.h"
#include "plan/memory.h"
#include "plan/parallel_words.h"
#include "plan/plan_words.h"
#include "plan/run_config.h"
#include "plan/value_words.h"
#include "text/number.h"
#include "text/strings.h"

namespace idleburn {

// Eight tables and a reader for all others. Every number that a reader sets by itself is a published default of the
// program that made the table, or the value that its authors name in the text around it; the comment says which.

namespace {

// GPUs of a usual machine.
constexpr double kNodeGpus = 8;

// Machines that hold so many GPUs.
double NodesFor(double gpus, double per_node) { return std::max(1.0, std::ceil(gpus / per_node)); }

// Whether the run fits its GPU by the formulas alone. A GPU that is not known holds anything.
bool FitsItsGpu(const RunRow& row) {
  const std::optional<GpuRate> gpu = RateOf(row.run.gpu);
  return !gpu || PeakOf(PartsOf(row.facts, row.run), MemoryCoefficients{}).total() < gpu->memory_gib * kGib;
}

// Takes full training to step an 8-bit optimizer in the backward pass, if the run does not fit otherwise.
void AssumeSmallStates(RunRow& row) {
  if (row.run.method != TuneMethod::kAllWeights || FitsItsGpu(row)) return;
  row.run.bytes.optimizer = kEightBitStates;
  row.run.optimizer_in_backward = true;
}

// Sets levers that the table does not state, as far as the run needs them to fit its GPU: it did run.
void AssumeUntilFits(RunRow& row, const std::optional<bool>& checkpointing, bool optimizer_stated) {
  if (!checkpointing && !FitsItsGpu(row)) row.run.checkpointing = Checkpointing::kWholeLayers;
  if (!optimizer_stated) AssumeSmallStates(row);
}

// The start of every row: the model, and the GPU in the column `gpu`.
RunRow BeginRow(RowReader& reader, const char* gpu = "gpu") {
  RunRow row;
  row.facts = reader.Model(reader.Text("model"));
  row.run.gpu = reader.Text(gpu);
  return row;
}

// The same for a table with the number of GPUs.
RunRow BeginCountedRow(RowReader& reader, const char* gpu = "gpu") {
  RunRow row = BeginRow(reader, gpu);
  row.run.gpus = reader.Count("n_gpus");
  return row;
}

// Bytes of so many GiB.
std::optional<double> Gib(std::optional<double> gib) {
  if (gib) *gib *= kGib;
  return gib;
}

}  // namespace

// llm-foundry's table: MPT, full training, with the shape in the row.
RunRow ReadLlmFoundryRow(RowReader& reader) {
  RunRow row = BeginCountedRow(reader);
  RunConfig& run = row.run;
  run.nodes = NodesFor(run.gpus, kNodeGpus);
  run.micro_batch = reader.Count("micro_batch");
  run.accumulation = reader.Count("grad_accum", 1);
  run.sequence = reader.Count("seq_len");
  // SHARD_GRAD_OP gathers whole weights once a pass; FULL_SHARD does so layer by layer.
  run.sharding = reader.Word("sharding").find("grad") != std::string::npos ? Sharding::kGathered : Sharding::kZero3;
  run.checkpointing = reader.Switch("act_ckpt").value_or(false) ? Checkpointing::kWholeLayers : Checkpointing::kNone;
  run.fp8 = reader.Word("precision").find("fp8") != std::string::npos;
  run.bytes = HabitsOf("llm-foundry")->all;
  row.tokens_s_per_gpu = reader.Measured("tokens_s_gpu");
  return row;
}

// Megatron-Bridge's table: its distributed optimizer, unless the row names FSDP.
RunRow ReadMegatronBridgeRow(RowReader& reader) {
  RunRow row = BeginCountedRow(reader, "system");
  RunConfig& run = row.run;
  run.nodes = NodesFor(run.gpus, UsualGpusOfNode(run.gpu));
  run.tensor_parallel = reader.Count("tp", 1);
  run.pipeline_parallel = reader.Count("pp", 1);
  run.context_parallel = reader.Count("cp", 1);
  run.virtual_stages = reader.Count("vp", 1);
  run.expert_parallel = reader.Count("ep", 1);
  run.micro_batch = reader.Count("mbs");
  // Passes of a step where the row states no global batch.
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

// torchtitan's table: FSDP2 with fp32 parameters, and tensor with sequence parallelism.
RunRow ReadTorchtitanRow(RowReader& reader) {
  RunRow row = BeginCountedRow(reader);
  RunConfig& run = row.run;
  run.nodes = NodesFor(run.gpus, kNodeGpus);
  const Result<ParallelWords> parallelism = ReadParallelWords(reader.Text("parallelism"));
  if (!parallelism) reader.Complain(parallelism.error().message);
  const ParallelWords said = parallelism.value_or(ParallelWords{});
  run.tensor_parallel = said.tensor.value_or(1);
  run.pipeline_parallel = said.pipeline.value_or(1);
  run.context_parallel = said.context.value_or(1);
  run.virtual_stages = said.virtual_stages.value_or(1);
  run.micro_batch = reader.Count("local_batch");
  if (said.shards && *said.shards < run.DataParallel()) run.shard_group = *said.shards * run.context_parallel;
  // A pipeline passes on as many micro-batches as it has stages.
  const double parts = std::min(run.micro_batch, run.pipeline_parallel * run.virtual_stages);
  run.accumulation = run.pipeline_parallel > 1 ? parts : 1;
  run.micro_batch /= run.accumulation;
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
  // The table leaves the column empty for some runs that did need it.
  if (checkpointing.empty()) AssumeUntilFits(row, std::nullopt, true);
  run.metric = MemoryMetric::kReserved;
  row.peak_bytes = Gib(reader.Measured("peak_mem_gib"));
  row.tokens_s_per_gpu = reader.Measured("tokens_s_gpu");
  return row;
}

namespace {

constexpr double kNf4 = 0.5625;  // 4 bits and a fp32 scale a block of 64 (QLoRA paper)
constexpr double kGptq = 0.52;   // int4, groups of 128

// What fsdp_qlora trains by default.
constexpr std::array kAllButOutput = {LoraTarget::kFusedQkv, LoraTarget::kGate, LoraTarget::kUp, LoraTarget::kDown};

// Layers as a factor.
double Layers(const ModelFacts& facts) { return static_cast<double>(facts.layers); }

// Widths of all linear layers of all layers, at their inputs or their outputs.
double Widths(const ModelFacts& facts, double LinearShape::*side) {
  double sum = 0;
  for (const LoraTarget target : kFusedLayers) sum += ShapeOf(facts, target).*side;
  return sum * Layers(facts);
}

// Mean tokens of a sequence of the Alpaca data set with its prompt, where each batch is padded to its own longest
// sample. The more samples there are, the longer that is.
double AlpacaTokens(double micro_batch) {
  constexpr double kOne = 160;
  constexpr double kPerDoubling = 0.35;
  return kOne * (1 + kPerDoubling * std::log2(micro_batch));
}

// How an adapter method costs memory in a pass, beyond its own parameters.
enum class AdapterCost {
  kInput,      // keeps a copy of its layer's input, in its own precision
  kTwoInputs,  // and one after its own non-linearity
  kDelta,      // builds a matrix of its layer's size
  kScale,      // keeps what it scales
  kPrompt,     // adds virtual tokens
  kNone,
};

// What one method costs.
struct AdapterRow {
  std::string_view method;
  AdapterCost cost;
};

// Methods that are not like LoRA, by how their authors define them.
constexpr std::array<AdapterRow, 22> kAdapters = {{
    {"beft", AdapterCost::kNone},         {"boft", AdapterCost::kDelta},
    {"fourierft", AdapterCost::kDelta},   {"frod", AdapterCost::kDelta},
    {"hira", AdapterCost::kDelta},        {"ia3", AdapterCost::kScale},
    {"lntuning", AdapterCost::kNone},     {"loha", AdapterCost::kDelta},
    {"lokr", AdapterCost::kDelta},        {"miss", AdapterCost::kNone},
    {"prefixtuning", AdapterCost::kNone}, {"prompttuning", AdapterCost::kPrompt},
    {"ptuning", AdapterCost::kNone},      {"road", AdapterCost::kScale},
    {"tinylora", AdapterCost::kNone},     {"trainabletokens", AdapterCost::kNone},
    {"waveft", AdapterCost::kDelta},      {"adamss", AdapterCost::kNone},
    {"shira", AdapterCost::kDelta},       {"osf", AdapterCost::kDelta},
    {"glora", AdapterCost::kInput},       {"peanut", AdapterCost::kTwoInputs},
}};

// A method that is not listed is taken for a kind of LoRA.
AdapterCost AdapterCostOf(std::string_view method) {
  for (const AdapterRow& row : kAdapters) {
    if (row.method == method) return row.cost;
  }
  return AdapterCost::kInput;
}

// The linear layers named in a list, however it is punctuated. Names of other layers are left out.
std::vector<LoraTarget> TargetsIn(std::string_view list) {
  std::vector<LoraTarget> targets;
  constexpr std::string_view kBetween = ";, []()'\"";
  while (!list.empty()) {
    const std::size_t end = std::min(list.find_first_of(kBetween), list.size());
    if (const std::optional<LoraTarget> target = TargetNamed(list.substr(0, end))) targets.push_back(*target);
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return targets;
}

// Sets what adapters on those layers keep in a pass; `bytes` is what each of their numbers takes.
void SetAdapterCost(RunRow& row, std::string_view method, std::string_view target_list, double bytes) {
  constexpr double kDeltaBytes = 8;  // the matrix and its gradient, fp32
  const AdapterCost cost = AdapterCostOf(method);
  if (cost == AdapterCost::kPrompt) row.run.extra_tokens = row.run.trained / static_cast<double>(row.facts.hidden);
  for (const LoraTarget target : TargetsIn(target_list)) {
    const LinearShape shape = ShapeOf(row.facts, target);
    if (cost == AdapterCost::kInput) row.run.adapter_inputs += bytes * shape.in * Layers(row.facts);
    if (cost == AdapterCost::kDelta) row.run.adapter_deltas += kDeltaBytes * shape.in * shape.out * Layers(row.facts);
    if (cost == AdapterCost::kTwoInputs) row.run.adapter_inputs += 2 * bytes * shape.in * Layers(row.facts);
    if (cost == AdapterCost::kScale) {
      row.run.adapter_inputs += 2 * (target == LoraTarget::kDown ? shape.in : shape.out) * Layers(row.facts);
    }
  }
}

}  // namespace

// Qwen's fine-tuning study: HF Trainer with DeepSpeed, checkpointing, LoRA of rank 64 on all linear layers.
RunRow ReadQwenRow(RowReader& reader) {
  constexpr double kRank = 64;
  constexpr double kUsualPasses = 8;
  RunRow row = BeginRow(reader);
  RunConfig& run = row.run;
  run.nodes = reader.Count("nodes", 1);
  run.gpus = run.nodes * reader.Count("gpus_per_node", 1);
  run.sequence = reader.Count("seq_len");
  run.micro_batch = reader.Count("micro_batch", 1);
  run.accumulation = reader.Count("grad_accum", kUsualPasses);
  const FrameworkHabits& habits = *HabitsOf("qwen");
  run.checkpointing = habits.checkpointing;
  run.bytes = habits.all;
  run.step_group = 1e9;  // DeepSpeed's sub_group_size
  const std::string method = reader.Word("method");
  if (!method.starts_with("full")) {
    run.bytes = habits.adapters;  // copies too
    run.gradients_persist = false;
    run.adapter_rank = kRank;
    run.logit_bytes = method == "loraemb" ? 12 : method == "qlora" ? habits.qlora_logits : habits.lora_logits;
    run.method = method.starts_with("qlora") ? TuneMethod::kQlora : TuneMethod::kLora;
    if (run.method == TuneMethod::kLora && !method.starts_with("lora"))
      reader.Complain("method '" + method + "' is not known");
    run.trained = LoraParams(row.facts, kRank, kFusedLayers);
  }
  const ParamCounts counts = CountParams(row.facts);
  if (method == "loraemb") run.trained_copy = counts.embedding + counts.head;
  if (run.method == TuneMethod::kQlora) {
    run.bytes.frozen = kGptq;
    run.bytes.frozen_vocab = 4;  // PEFT raises embedding and head to fp32 for k-bit training
  }
  // The study shards full training, and LoRA only where the method's name says zero3.
  const bool shards = method.starts_with("full") || method.ends_with("zero3");
  if (shards) run.sharding = Sharding::kZero3;
  run.live_parameters = 2e9;  // DeepSpeed's stage3_max_live_parameters and stage3_max_reuse_distance
  row.peak_bytes = Gib(reader.Measured("mem_per_gpu_g"));
  row.s_per_iter = reader.Measured("s_per_iter");
  row.tokens_s_per_gpu = reader.Measured("tokens_s_per_gpu");
  return row;
}

// PEFT's method comparison: one model, dynamic padding up to max_seq_len, memory reserved by the allocator.
RunRow ReadPeftRow(RowReader& reader) {
  constexpr double kUsualTokens = 840;       // of a batch of its data set
  constexpr double kUsualTrained = 9175040;  // LoRA of rank 32 on queries and values
  constexpr double kUsualBatch = 4;
  RunRow row = BeginRow(reader);
  RunConfig& run = row.run;
  run.sequence = reader.Count("max_seq_len", 768);
  run.micro_batch = reader.Count("batch_size", kUsualBatch);
  run.checkpointing = reader.Switch("grad_ckpt").value_or(false) ? Checkpointing::kWholeLayers : Checkpointing::kNone;
  run.compile = reader.Switch("compile").value_or(false);
  const std::string method = reader.Word("method");
  const bool wide = reader.Switch("adapter_fp32").value_or(true);
  const FrameworkHabits& habits = *HabitsOf("peft");
  run.bytes = habits.all;
  if (method != "full") {
    run.method = TuneMethod::kLora;
    run.trained = reader.Number("trainable_params", kUsualTrained);
    run.adapter_rank = reader.Number("rank", 0);
    if (wide) run.bytes = habits.adapters;
    SetAdapterCost(row, method, reader.Text("target_modules"), wide ? 4 : 2);
    if (reader.Switch("dora").value_or(false)) run.adapter_inputs *= 2;  // the direction is normed apart
  }
  run.metric = MemoryMetric::kReserved;
  row.peak_bytes = reader.Measured("mem_reserved_max_bytes");
  const std::optional<double> tokens = reader.Measured("train_tokens");
  const std::optional<double> seconds = reader.Measured("train_time_s");
  if (tokens && seconds) row.tokens_s_per_gpu = *tokens / *seconds;
  const double steps = reader.Count("steps", 5000);
  row.tokens_per_iter = tokens ? *tokens / steps : kUsualTokens;
  run.mean_sequence = row.tokens_per_iter / run.micro_batch;
  if (seconds) row.s_per_iter = *seconds / steps;
  return row;
}

// litgpt's resource tables: 16-bit throughout; several GPUs shard with FSDP and checkpoint every block.
RunRow ReadLitgptRow(RowReader& reader) {
  constexpr double kLongestOfSmallVocabulary = 1304;  // tokens of the longest sample of its data set
  constexpr double kLongest = 1034;
  constexpr std::int64_t kSmallVocabulary = 40000;
  RunRow row;
  std::string name = reader.Text("model");
  const std::string size = reader.Text("size");
  // Phi's name holds its size; other names need the column.
  row.facts = reader.Model(Squash(name).find("phi") != std::string::npos ? name : name + " " + size);
  RunConfig& run = row.run;
  run.gpu = reader.Text("gpu");
  run.gpus = reader.Count("n_gpus", 1);
  run.micro_batch = reader.Count("micro_batch", 1);
  run.sequence = row.facts.vocab < kSmallVocabulary ? kLongestOfSmallVocabulary : kLongest;
  run.accumulation = 8;  // a global batch far above the micro-batch
  run.method = TuneMethod::kLora;
  constexpr std::array kQueryValue = {LoraTarget::kQuery, LoraTarget::kValue};
  constexpr double kRank = 8;
  run.trained = reader.Number("trainable_params", LoraParams(row.facts, kRank, kQueryValue));
  const FrameworkHabits& habits = *HabitsOf("litgpt");
  run.bytes = habits.adapters;
  run.logit_bytes = habits.lora_logits;
  const std::string section = reader.Word("section");
  const double qkv = ShapeOf(row.facts, LoraTarget::kFusedQkv).out;
  // Each section of the table is one method.
  if (section.find("v2") != std::string::npos) {
    run.adapter_inputs = 2 * Widths(row.facts, &LinearShape::out);  // every layer's output is scaled
  } else if (section.find("lora") != std::string::npos) {
    run.adapter_inputs = 2 * qkv * Layers(row.facts);  // padded to the fused projection
  }
  const std::string quantization = reader.Word("quantization");
  if (quantization.find("nf4") != std::string::npos) {
    run.method = TuneMethod::kQlora;
    run.bytes.frozen = quantization.find("dq") != std::string::npos ? kDoubleQuantised : kNf4;
    run.adapter_inputs += 2 * Widths(row.facts, &LinearShape::in);  // 4-bit layers keep their inputs
  } else if (quantization.find("int8") != std::string::npos) {
    run.bytes.frozen = 1;
  }
  // Its recipe for several GPUs is FSDP with checkpointing.
  if (run.gpus > 1) {
    run.sharding = habits.lora_shares;
    run.checkpointing = Checkpointing::kWholeLayers;
  }
  run.metric = MemoryMetric::kAllocated;
  if (const std::optional<double> gb = reader.Measured("peak_mem_gb")) row.peak_bytes = *gb * 1e9;
  run.mean_sequence = std::min(run.sequence, AlpacaTokens(run.micro_batch));
  row.tokens_per_iter = run.micro_batch * run.mean_sequence;
  if (const std::optional<double> minutes = reader.Measured("minutes_per_1k_iters")) row.s_per_iter = *minutes * 0.06;
  return row;
}

// Answer.AI's FSDP + QLoRA: 16-bit adapters of rank 64, checkpointing.
RunRow ReadFsdpQloraRow(RowReader& reader) {
  constexpr double kRank = 64;
  constexpr double kSamples = 1024;
  RunRow row = BeginCountedRow(reader);
  RunConfig& run = row.run;
  run.micro_batch = reader.Count("batch_per_gpu");
  run.sequence = reader.Count("context");
  run.offload = reader.Switch("cpu_offload").value_or(false);
  const FrameworkHabits& habits = *HabitsOf("fsdp_qlora");
  run.checkpointing = habits.checkpointing;
  run.method = Squash(reader.Stated("method")) == "qlora" ? TuneMethod::kQlora : TuneMethod::kLora;
  run.trained = LoraParams(row.facts, kRank, kAllButOutput);
  run.adapter_rank = kRank;
  run.bytes = habits.adapters;
  if (run.method == TuneMethod::kQlora) run.bytes.frozen = kNf4;
  if (reader.Word("sharding") == "fsdp") run.sharding = habits.lora_shares;
  run.metric = MemoryMetric::kReserved;
  row.peak_bytes = Gib(reader.Measured("peak_mem_gib"));
  row.tokens_per_iter = run.micro_batch * run.sequence;
  if (const std::optional<double> seconds = reader.Measured("time_s_1024_samples")) {
    row.tokens_s_per_gpu = kSamples * run.sequence / *seconds / run.gpus;
    row.s_per_iter = *seconds * run.micro_batch * run.gpus / kSamples;
  }
  return row;
}

// torchtune's recipes: 16-bit throughout. Its tables leave flags out; see AssumeUntilFits.
RunRow ReadTorchtuneRow(RowReader& reader) {
  constexpr double kUnpacked = 512;  // tokens of a batch whose samples are not packed to seq_len
  constexpr double kRank = 8;
  RunRow row = BeginCountedRow(reader);
  RunConfig& run = row.run;
  run.micro_batch = reader.Count("batch");
  run.accumulation = 8;  // gradients persist: its recipes accumulate
  run.sequence = reader.Count("seq_len");
  // Samples that are not packed are padded to the longest of their batch.
  if (!reader.Switch("packed").value_or(true)) {
    run.sequence = std::min(run.sequence, kUnpacked);
    run.mean_sequence = std::min(run.sequence, AlpacaTokens(run.micro_batch));
  }
  run.compile = reader.Switch("compile").value_or(false);
  run.compile_loss = run.compile;
  const FrameworkHabits& habits = *HabitsOf("torchtune");
  run.logit_bytes = habits.logits;
  run.chunked_loss = reader.Switch("chunked_ce").value_or(habits.chunked_loss);
  run.offload_activations = reader.Switch("act_offload").value_or(false);
  run.optimizer_in_backward = reader.Switch("optim_in_bwd").value_or(false);
  run.bytes = habits.all;
  const std::string method = Squash(reader.Stated("method"));
  if (!method.starts_with("full")) {
    run.method = method == "qlora" ? TuneMethod::kQlora : TuneMethod::kLora;
    run.trained = LoraParams(row.facts, kRank, kFusedLayers);
    run.adapter_rank = kRank;
    if (run.method == TuneMethod::kQlora) run.bytes.frozen = kDoubleQuantised;
  }
  if (run.gpus > 1) run.sharding = habits.shares;
  std::optional<bool> checkpointing = reader.Switch("act_ckpt");
  if (!checkpointing && run.method == TuneMethod::kQlora) checkpointing = true;  // as its recipes are published
  if (checkpointing.value_or(false)) run.checkpointing = Checkpointing::kWholeLayers;
  AssumeUntilFits(row, checkpointing, !reader.Text("optimizer").empty());
  run.metric = MemoryMetric::kAllocated;
  row.peak_bytes = Gib(reader.Measured("peak_mem_gib"));
  if (const std::optional<double> total = reader.Measured("tokens_s")) row.tokens_s_per_gpu = *total / run.gpus;
  return row;
}

namespace {

// A column of a table, the key of a plan for it, and what its cells are.
struct ColumnKey {
  std::string_view column;
  std::string_view key;
  enum class Cell : std::uint8_t { kText, kCount, kSwitch } cell = Cell::kText;
};

constexpr auto kCount = ColumnKey::Cell::kCount;
constexpr auto kSwitch = ColumnKey::Cell::kSwitch;

// Columns that say the same as a key of a plan. What they leave open has the defaults of a plan.
constexpr auto kColumnKeys = std::to_array<ColumnKey>({
    {"framework", "framework"},
    {"gpu", "gpu"},
    {"n_gpus", "gpus", kCount},
    {"nodes", "nodes", kCount},
    {"gpus_per_node", "gpus_per_node", kCount},
    {"tp", "tp", kCount},
    {"pp", "pp", kCount},
    {"cp", "cp", kCount},
    {"ep", "ep", kCount},
    {"vp", "vp", kCount},
    {"shards", "shards", kCount},
    {"micro_batches", "micro_batches", kCount},
    {"micro_batch", "micro_batch", kCount},
    {"grad_accum", "accumulation", kCount},
    {"global_batch", "global_batch", kCount},
    {"seq_len", "seq_len", kCount},
    {"rank", "rank", kCount},
    {"precision", "precision"},
    {"act_ckpt", "checkpointing"},
    {"sharding", "sharding"},
    {"attention", "flash_attention"},
    {"chunked_ce", "chunked_loss"},
    {"compile", "compile", kSwitch},
    {"cpu_offload", "offload", kSwitch},
    {"act_offload", "offload_activations", kSwitch},
    {"optim_in_bwd", "optimizer_in_backward", kSwitch},
});

// The row in the words of a plan, as far as its columns are keys.
PlanWords KeysOfRow(RowReader& reader) {
  PlanWords words;
  for (const ColumnKey& column : kColumnKeys) {
    std::string text = reader.Text(column.column);
    if (text.empty()) continue;
    // Zero stands for "not used" where people fill every cell.
    if (column.cell == kCount) {
      const double count = reader.Number(column.column, 0);
      text = count > 0 ? fmt::format("{:.15g}", count) : "";
    }
    if (column.cell == kSwitch) text = reader.Switch(column.column).value_or(false) ? "yes" : "no";
    if (!text.empty()) words[std::string(column.key)] = text;
  }
  return words;
}

// The text from a word on: "zero3" of "lorazero3".
std::string Part(const std::string& text, std::string_view from) {
  const std::size_t at = text.find(from);
  return at == std::string::npos ? std::string() : text.substr(at);
}

// What is trained: by the method's name, else by how many parameters are trained.
TuneMethod MethodOf(RowReader& reader, const ModelFacts& facts) {
  const std::optional<TuneMethod> named = MethodNamed(reader.Text("method"));
  if (named) return *named;
  // Tables name many kinds of adapters.
  if (!reader.Text("method").empty()) return TuneMethod::kLora;
  const double trained = reader.Number("trainable_params", 0);
  // Without a method's name, training less than half of the parameters is a LoRA.
  const bool few = trained > 0 && trained < CountParams(facts).total() / 2;
  return few || reader.Number("rank", 0) > 0 ? TuneMethod::kLora : TuneMethod::kAllWeights;
}

// Method and quantization, which columns and names of methods say in several ways.
void SetMethodWords(RowReader& reader, const ModelFacts& facts, PlanWords& words) {
  constexpr std::array<std::string_view, 3> kNames = {"full", "lora", "qlora"};
  TuneMethod method = MethodOf(reader, facts);
  const std::optional<BaseFormat> base = BaseFormatNamed(reader.Text("quantization"));
  if (!base && !reader.Text("quantization").empty()) {
    reader.Complain("quantization '" + reader.Text("quantization").substr(0, 20) + "' is not known");
  }
  const bool eight = base == BaseFormat::kInt8 || reader.Switch("load_in_8bit").value_or(false);
  if (eight) words["quantization"] = "int8";
  if (!eight && base == BaseFormat::kNf4) method = TuneMethod::kQlora;
  if (eight && method == TuneMethod::kAllWeights) method = TuneMethod::kLora;
  words["method"] = kNames[static_cast<std::size_t>(method)];
  if (method == TuneMethod::kAllWeights) words.erase("rank");
  // A method's name may say how states are shared out: "lora_zero3".
  const std::string part = Part(reader.Word("method"), "zero");
  if (words.count("sharding") == 0 && !part.empty()) words["sharding"] = part;
  // A column `fsdp` may be a switch. A column of a stage never is.
  if (words.count("sharding") != 0 && reader.Says("fsdp") && words["sharding"] == "1") words["sharding"] = "fsdp";
}

// How many GPUs, where the row says by how many the work is divided instead.
void SetCountWords(RowReader& reader, PlanWords& words) {
  const double replicas = reader.Count("dp", 1);
  if (words.count("gpus") != 0 || replicas <= 1) return;
  const double model = reader.Count("tp", 1) * reader.Count("pp", 1) * reader.Count("cp", 1);
  words["gpus"] = fmt::format("{:.15g}", model * replicas);
}

// What is known of the batch. Where the row says neither a pass nor a step, it cannot be predicted.
void SetBatchWords(RowReader& reader, RunRow& row, PlanWords& words) {
  const double tokens = reader.Number("global_batch_tokens", 0);
  const double sequence = reader.Count("seq_len");
  if (tokens > 0 && words.count("global_batch") == 0) {
    words["global_batch"] = fmt::format("{:.15g}", std::max(1.0, std::round(tokens / sequence)));
  }
  const bool pass = words.count("micro_batch") != 0;
  if (!pass && words.count("global_batch") == 0) reader.Complain("no micro_batch");
  row.guessed = !pass && words.count("accumulation") == 0;
}

}  // namespace

// A table of any framework, by the usual names of columns. It becomes the words of a plan, so that a row and a plan of
// one run get one answer.
RunRow ReadAnyRow(RowReader& reader) {
  RunRow row = BeginRow(reader);
  PlanWords words = KeysOfRow(reader);
  SetMethodWords(reader, row.facts, words);
  SetCountWords(reader, words);
  SetBatchWords(reader, row, words);
  // Outside torchtune, a column for it stands for a loss that is fused with the head.
  const bool fuses = SwitchNamed(reader.Text("chunked_ce")).value_or(false) && !reader.Says("chunked_loss");
  if (fuses && FrameworkNamed(reader.Text("framework")) != "torchtune") words["chunked_loss"] = "fused";
  // An unknown optimizer has states of unknown size.
  const std::string optimizer = reader.Text("optimizer");
  if (OptimizerNamed(optimizer)) {
    words["optimizer"] = optimizer;
  } else {
    row.guessed = row.guessed || !optimizer.empty();
  }
  if (!reader.complaint().empty()) return row;
  Result<RunRow> read = ReadRunOf(row.facts, words);
  if (!read) {
    reader.Complain(read.error().message);
    return row;
  }
  read->guessed = read->guessed || row.guessed;
  row = std::move(*read);
  RunConfig& run = row.run;
  if (run.method != TuneMethod::kAllWeights) {
    run.trained = reader.Number("trainable_params", run.trained);
    const ParamCounts counts = CountParams(row.facts);
    if (reader.Word("method").find("emb") != std::string::npos) run.trained_copy = counts.embedding + counts.head;
  }
  // Samples that are padded to their batch's longest are shorter than the sequence allows.
  const double tokens = reader.Number("train_tokens", 0);
  const double steps = reader.Number("steps", 0);
  const double replicas = std::max(1.0, run.DataParallel());
  if (tokens > 0 && steps > 0) {
    row.tokens_per_iter = tokens / steps / run.gpus;
    run.mean_sequence = std::min(run.sequence, tokens / steps / (run.micro_batch * run.accumulation * replicas));
  }
  return row;
}

}  // namespace idleburn
