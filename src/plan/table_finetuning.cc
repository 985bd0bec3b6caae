#include <algorithm>
#include <array>
#include <cmath>

#include "plan/framework_habits.h"
#include "plan/gpu_rate.h"
#include "plan/memory.h"
#include "plan/table_formats.h"
#include "text/strings.h"

namespace idleburn {
namespace {

constexpr double kNf4 = 0.5625;          // 4 bits and a fp32 scale a block of 64 (QLoRA paper)
constexpr double kNf4Double = 0.515875;  // the scales quantised too
constexpr double kGptq = 0.52;           // int4, groups of 128

constexpr std::array kAllLinear = {LoraTarget::kFusedQkv, LoraTarget::kOutput, LoraTarget::kGate, LoraTarget::kUp,
                                   LoraTarget::kDown};
constexpr std::array kAllButOutput = {LoraTarget::kFusedQkv, LoraTarget::kGate, LoraTarget::kUp, LoraTarget::kDown};

std::optional<double> Gib(std::optional<double> gib) {
  if (gib) *gib *= kGib;
  return gib;
}

double Layers(const ModelFacts& facts) { return static_cast<double>(facts.layers); }

// Widths of all linear layers of all layers, at their inputs or their outputs.
double Widths(const ModelFacts& facts, double LinearShape::*side) {
  double sum = 0;
  for (const LoraTarget target : kAllLinear) sum += ShapeOf(facts, target).*side;
  return sum * Layers(facts);
}

// Mean tokens of a sequence of the Alpaca data set with its prompt where batches are padded to their own longest
// sample: the more samples, the longer that is.
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

struct AdapterRow {
  std::string_view method;
  AdapterCost cost;
};

// Those that are not like LoRA, by how their authors define them.
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

AdapterCost CostOf(std::string_view method) {
  for (const AdapterRow& row : kAdapters) {
    if (row.method == method) return row.cost;
  }
  return AdapterCost::kInput;
}

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

void SetAdapterCost(RunRow& row, std::string_view method, std::string_view target_list, double bytes) {
  constexpr double kDeltaBytes = 8;  // the matrix and its gradient, fp32
  const AdapterCost cost = CostOf(method);
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

bool FitsItsGpu(const RunRow& row) {
  const std::optional<GpuRate> gpu = RateOf(row.run.gpu);
  return !gpu || PeakOf(PartsOf(row.facts, row.run), MemoryCoefficients{}).total() < gpu->memory_gib * kGib;
}

void AssumeUntilFits(RunRow& row, const std::optional<bool>& checkpointing, bool optimizer_stated) {
  if (!checkpointing && !FitsItsGpu(row)) row.run.checkpointing = Checkpointing::kWholeLayers;
  if (!optimizer_stated && row.run.method == TuneMethod::kAllWeights && !FitsItsGpu(row)) {
    row.run.bytes.optimizer = kEightBitStates;
    row.run.optimizer_in_backward = true;
  }
}

// Qwen's fine-tuning study: HF Trainer with DeepSpeed, checkpointing, LoRA of rank 64 on all linear layers.
RunRow ReadQwenRow(RowReader& reader) {
  constexpr double kRank = 64;
  constexpr double kUsualPasses = 8;
  RunRow row;
  row.facts = reader.Model(reader.Text("model"));
  RunConfig& run = row.run;
  run.gpu = reader.Text("gpu");
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
    run.trained = LoraParams(row.facts, kRank, kAllLinear);
  }
  const ParamCounts counts = CountParams(row.facts);
  if (method == "loraemb") run.trained_copy = counts.embedding + counts.head;
  if (run.method == TuneMethod::kQlora) {
    run.bytes.frozen = kGptq;
    run.bytes.frozen_vocab = 4;  // PEFT raises embedding and head to fp32 for k-bit training
  }
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
  RunRow row;
  row.facts = reader.Model(reader.Text("model"));
  RunConfig& run = row.run;
  run.gpu = reader.Text("gpu");
  run.sequence = reader.Count("max_seq_len", 768);
  run.micro_batch = reader.Count("batch_size", kUsualBatch);
  run.checkpointing = reader.Switch("grad_ckpt").value_or(false) ? Checkpointing::kWholeLayers : Checkpointing::kNone;
  run.compile = reader.Switch("compile").value_or(false);
  const std::string method = reader.Word("method");
  const bool wide = reader.Switch("adapter_fp32").value_or(true);
  const FrameworkHabits& habits = *HabitsOf("peft");
  run.bytes = habits.all;
  if (method == "full") {
  } else {
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
  if (section.find("v2") != std::string::npos) {
    run.adapter_inputs = 2 * Widths(row.facts, &LinearShape::out);  // every layer's output is scaled
  } else if (section.find("lora") != std::string::npos) {
    run.adapter_inputs = 2 * qkv * Layers(row.facts);  // padded to the fused projection
  }
  const std::string quantization = reader.Word("quantization");
  if (quantization.find("nf4") != std::string::npos) {
    run.method = TuneMethod::kQlora;
    run.bytes.frozen = quantization.find("dq") != std::string::npos ? kNf4Double : kNf4;
    run.adapter_inputs += 2 * Widths(row.facts, &LinearShape::in);  // 4-bit layers keep their inputs
  } else if (quantization.find("int8") != std::string::npos) {
    run.bytes.frozen = 1;
  }
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
  RunRow row;
  row.facts = reader.Model(reader.Text("model"));
  RunConfig& run = row.run;
  run.gpu = reader.Text("gpu");
  run.gpus = reader.Count("n_gpus");
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
  RunRow row;
  row.facts = reader.Model(reader.Text("model"));
  RunConfig& run = row.run;
  run.gpu = reader.Text("gpu");
  run.gpus = reader.Count("n_gpus");
  run.micro_batch = reader.Count("batch");
  run.accumulation = 8;  // gradients persist: its recipes accumulate
  run.sequence = reader.Count("seq_len");
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
    run.trained = LoraParams(row.facts, kRank, kAllLinear);
    run.adapter_rank = kRank;
    if (run.method == TuneMethod::kQlora) run.bytes.frozen = kNf4Double;
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

}  // namespace idleburn
