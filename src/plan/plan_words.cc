#include "plan/plan_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "plan/gpu_rate.h"
#include "plan/model_facts.h"
#include "plan/model_table.h"
#include "plan/parallel_words.h"
#include "plan/run_config.h"
#include "plan/training_time.h"
#include "plan/value_words.h"
#include "text/command_line.h"
#include "text/number.h"
#include "text/strings.h"

namespace idleburn {

// Reads the words of a plan into a run. The reader remembers the first complaint and goes on with a default, so that
// the code below reads like a list of fields instead of a ladder of error checks; one test at the end refuses the plan.

namespace {

constexpr double kLeastParams = 1e5;   // fewer are a unit forgotten
constexpr double kMostSequence = 1e8;  // tokens
constexpr double kMostGpus = 1e6;
constexpr double kMostSizeSaid = 1e8;  // of a width or a count of a model
constexpr double kMostDegree = 1024;   // of a kind of parallelism
constexpr double kUsualRank = 16;      // of a LoRA: where most recipes start
// What QLoRA recipes store of the activations: PEFT's prepare_model_for_kbit_training, LLaMA-Factory, Unsloth, axolotl
// and torchtune all checkpoint.
constexpr Checkpointing kQloraStores = Checkpointing::kWholeLayers;
constexpr const char* kQloraCheckpoints = "checkpointing full (the default of QLoRA recipes; --checkpointing)";
// Tokens of a sequence where the plan does not say. Recipes of fine-tuning use 512 to 8,192; memory and time follow the
// number, so the plan states what it took.
constexpr double kUsualSequence = 2048;

// Every key with the value and the help that --help prints, defaults in brackets.
constexpr auto kKeys = std::to_array<PlanKey>({
    {"model", "NAME", "a well-known model: llama-3.1-8b, qwen2.5-7b, mistral-7b"},
    {"params", "N", "its parameters, 7B; checked against its shape"},
    {"layers", "N", "layers of the model"},
    {"hidden", "N", "hidden size"},
    {"heads", "N", "attention heads"},
    {"kv_heads", "N", "key and value heads (all)"},
    {"head_dim", "N", "width of a head (hidden / heads)"},
    {"ffn", "N", "width of the MLP"},
    {"vocab", "N", "size of the vocabulary"},
    {"experts", "N", "experts of a mixture"},
    {"experts_per_token", "N", "experts that each token passes"},
    {"expert_ffn", "N", "width of an expert"},
    {"shared_ffn", "N", "width of the experts that every token passes (0)"},
    {"dense_layers", "N", "layers of a mixture without experts (0)"},
    {"attention_params", "N", "parameters of a layer's attention, where it is latent (by the widths)"},
    {"cache_width", "N", "numbers cached per token and layer, where attention is latent"},
    {"other_params", "N", "norms, biases, positions, a vision tower (0)"},
    {"tied", "yes|no", "the head is the embedding (no)"},
    {"gated", "yes|no", "three matrices an MLP: SwiGLU (yes)"},
    {"method", "full|lora|qlora", "what is trained (full)"},
    {"quantization", "none|int8|nf4", "quantization of the weights under a LoRA (none; qlora: nf4)"},
    {"rank", "R", "rank of the LoRA (16, or the framework's)"},
    {"targets", "A,B", "linear layers with a LoRA (all)"},
    {"precision", "amp|bf16|fp32|fp8", "mixed with fp32 masters, pure 16-bit, fp32, fp8 matmuls (amp; LoRA: bf16)"},
    {"optimizer", "NAME", "adamw, adamw_8bit, paged_adamw_8bit, sgd, lion, adafactor, ... (adamw)"},
    {"seq_len", "N", "tokens of a sequence (2048)"},
    {"micro_batch", "N", "sequences per GPU and pass (1)"},
    {"accumulation", "N", "passes per optimizer step (1)"},
    {"global_batch", "N", "sequences of an optimizer step, instead of accumulation"},
    {"micro_batches", "N", "parts of a local batch that a pipeline passes on one by one (1)"},
    {"checkpointing", "none|selective|full|unsloth", "checkpointing of activations (none; qlora: full)"},
    {"sharding", "none|zero1|zero2|zero3|fsdp|hybrid", "what data-parallel GPUs shard (full on several: fsdp)"},
    {"shards", "N", "GPUs of a shard group under hybrid sharding (those of a machine)"},
    {"offload", "yes|no", "weights and states in host memory (no)"},
    {"offload_activations", "yes|no", "checkpoints in host memory (no)"},
    {"optimizer_in_backward", "yes|no", "step each layer in the backward pass, so gradients are freed (no)"},
    {"compile", "yes|no", "torch.compile (no)"},
    {"chunked_loss", "yes|no|fused", "loss in chunks, or fused with the head: Liger, cut cross-entropy (no)"},
    {"flash_attention", "yes|no", "FlashAttention (yes)"},
    {"tp", "N", "tensor parallelism (1)"},
    {"pp", "N", "pipeline parallelism (1)"},
    {"vp", "N", "virtual stages of a pipeline rank (1)"},
    {"cp", "N", "context parallelism (1)"},
    {"ep", "N", "expert parallelism (1)"},
    {"framework", "NAME",
     "hf, trl, axolotl, llama-factory, unsloth, torchtune, torchtitan, litgpt, megatron-bridge, ..."},
    {"gpu", "NAME", "GPU, by the name of the driver or price catalogue: H100-80GB-SXM, rtx4090"},
    {"gpus", "N", "number of GPUs (1)"},
    {"nodes", "N", "machines (as many as the GPUs fill)"},
    {"gpus_per_node", "N", "GPUs per machine (8; 72 of GB200 and GB300)"},
    {"network", "GBIT/S", "network of a machine, for GPUs on several (1600)"},
    {"samples", "N", "samples of one epoch"},
    {"epochs", "N", "number of epochs (1)"},
    {"tokens", "N", "tokens of all epochs together, instead of samples"},
    {"optimizer_steps", "N", "optimizer steps of the run, instead of samples"},
    {"samples_per_min", "X", "stated throughput of the whole run, checked for plausibility"},
    {"step_time", "TIME", "a measured optimizer step, 450ms or 2.5s; a rate alone needs no model"},
    {"measured", "SIZE=TIME,...", "measured steps of two sizes predict another: 512=182ms,4096=911ms"},
    {"measured_by", "seq_len|micro_batch|global_batch|step_tokens", "what these sizes are (seq_len)"},
    {"tokens_per_s", "X", "stated throughput of one GPU, checked for plausibility"},
    {"budget_gpu_hours", "H", "a cap"},
});

// Suggests a GPU. A name is a model and more, so H1000 is nearer to all H100s than to any one of them.
std::string SuggestedGpu(std::string_view text) {
  std::vector<std::string> names;
  for (const GpuRate& gpu : AllGpuRates()) names.emplace_back(gpu.gpu);
  std::string word(text.substr(0, 40));
  std::transform(word.begin(), word.end(), word.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  std::vector<std::string> models = names;
  for (const std::string& name : names) models.push_back(name.substr(0, name.find('-')));
  // The nearest model, then all its variants.
  const std::string meant = MeantBy(word, models);
  if (meant.empty()) return SuggestionFor(word, names);
  std::string those;
  for (const std::string& name : names) {
    if (name == meant || name.starts_with(meant + "-")) those += (those.empty() ? "" : ", ") + name;
  }
  return "did you mean " + those + "?";
}

// Reads words by key and remembers the first thing that is wrong, and what was taken for granted.
class WordReader {
 public:
  explicit WordReader(const PlanWords& words) : words_(words) {}

  [[nodiscard]] std::string Text(std::string_view key) const {
    const auto word = words_.find(key);
    return word == words_.end() ? std::string() : word->second;
  }
  [[nodiscard]] bool Has(std::string_view key) const { return !Text(key).empty(); }

  std::optional<double> Count(std::string_view key, double most) {
    if (!Has(key)) return std::nullopt;
    const Result<double> count = ParseCount(key, Text(key));
    if (!count) return Complain(count.error().message);
    if (*count > most)
      return Complain(fmt::format("{} {:.0f} is more than {:.0f}; is its unit right?", key, *count, most));
    return *count;
  }
  double Whole(std::string_view key, double otherwise, double most) {
    const std::optional<double> count = Count(key, most);
    if (!count) return otherwise;
    if (*count != std::floor(*count)) Complain(fmt::format("{} {} is not a whole number", key, Text(key)));
    return *count;
  }
  bool Switch(std::string_view key, bool otherwise) {
    const std::string text = Text(key);
    if (text.empty()) return otherwise;
    if (const std::optional<bool> on = SwitchNamed(text)) return *on;
    Complain(fmt::format("{} '{}' is neither yes nor no", key, text.substr(0, 20)));
    return otherwise;
  }
  // The value that `named` reads; a complaint that lists `known` where it reads none, and `otherwise` where nothing is
  // said.
  template <typename Value>
  Value OneOf(std::string_view key, std::optional<Value> (*named)(std::string_view), std::string_view known,
              Value otherwise) {
    const std::string text = Text(key);
    if (text.empty()) return otherwise;
    const std::optional<Value> value = named(text);
    if (value) return *value;
    std::vector<std::string> names;
    for (const std::string_view name : Split(known, '|')) names.emplace_back(name);
    Complain(fmt::format("{} '{}' is not known; {}", key, text.substr(0, 30), SuggestionFor(text, names)));
    return otherwise;
  }
  std::nullopt_t Complain(std::string message) {
    if (complaint_.empty()) complaint_ = std::move(message);
    return std::nullopt;
  }
  [[nodiscard]] const std::string& complaint() const { return complaint_; }

 private:
  const PlanWords& words_;
  std::string complaint_;
};

// Refuses a key that no plan knows, and suggests the nearest one.
Result<void> CheckKeys(const PlanWords& words) {
  for (const auto& word : words) {
    std::vector<std::string> names;
    for (const PlanKey& key : kKeys) names.emplace_back(key.name);
    if (std::find(names.begin(), names.end(), word.first) != names.end()) continue;
    return FailUsage(fmt::format("unknown key '{}'; {}", word.first.substr(0, 40), SuggestionFor(word.first, names)));
  }
  return {};
}

// The model from its name, each stated size replacing the one of the table.
ModelFacts FactsFrom(WordReader& words) {
  ModelFacts facts;
  if (words.Has("model")) {
    const std::optional<ModelFacts> known = FindModel(words.Text("model"));
    if (known) {
      facts = *known;
    } else if (!words.Has("layers")) {
      words.Complain(
          fmt::format("model '{}' is not in the built-in table; did you mean {}? Or give its config.json, or layers, "
                      "hidden, heads, ffn, vocab",
                      words.Text("model").substr(0, 40), ListText(NearestModels(words.Text("model")))));
    }
    facts.name = words.Text("model");
  }
  const auto take = [&](std::string_view key, std::int64_t& into, double most = kMostSizeSaid) {
    if (!words.Has(key)) return;
    const auto said = static_cast<std::int64_t>(words.Whole(key, 0, most));
    // A known model of another size is another model, of which no more is known than what is said.
    if (said != into) facts.other_params = 0;
    into = said;
  };
  take("layers", facts.layers);
  take("hidden", facts.hidden);
  take("heads", facts.heads);
  take("kv_heads", facts.kv_heads);
  take("head_dim", facts.head_dim);
  take("ffn", facts.ffn);
  take("vocab", facts.vocab);
  take("experts", facts.experts);
  take("experts_per_token", facts.experts_per_token);
  take("expert_ffn", facts.expert_ffn);
  take("shared_ffn", facts.shared_ffn);
  take("dense_layers", facts.dense_layers);
  take("attention_params", facts.attention_params, 1e12);
  take("cache_width", facts.cache_width);
  take("other_params", facts.other_params, 1e12);
  if (facts.experts == 0 && NamesExperts(words.Text("model"))) {
    words.Complain(
        "model '" + words.Text("model").substr(0, 60) +
        "' is a mixture of experts by its name, but no experts are given; give experts, experts_per_token and "
        "expert_ffn, or its config.json");
  }
  facts.tied = words.Switch("tied", facts.tied);
  facts.gated = words.Switch("gated", facts.gated);
  if (const std::optional<double> params = words.Count("params", 1e14)) {
    if (*params < kLeastParams) {
      words.Complain(fmt::format("params {} is {:.0f} parameters; write {}B or {}M", words.Text("params"), *params,
                                 words.Text("params"), words.Text("params")));
    }
    facts.stated_params = static_cast<std::int64_t>(*params);
  }
  return facts;
}

// How the frozen weights are stored: as it is said, else as the model's name says, else in 4 bits for a QLoRA. What is
// quantised is not trained.
BaseFormat BaseInWords(WordReader& words, TuneMethod method, PlannedRun& plan) {
  const bool quantizes = method == TuneMethod::kQlora;
  BaseFormat usual = quantizes ? BaseFormat::kNf4 : BaseFormat::kAsIs;
  const NamedFormat named = FormatInName(words.Text("model"));
  if (named == NamedFormat::kInferenceOnly) {
    words.Complain("model '" + words.Text("model").substr(0, 60) +
                   "' is quantised for inference (GGUF); nothing trains from it: name the model without it");
  }
  const bool by_name = named != NamedFormat::kNone && !words.Has("quantization");
  if (by_name) usual = named == NamedFormat::kFourBits ? BaseFormat::kNf4 : BaseFormat::kInt8;
  const BaseFormat format = words.OneOf("quantization", BaseFormatNamed, "none|int8|nf4", usual);
  const std::string stored = by_name ? "model '" + words.Text("model").substr(0, 60) + "' is quantised and"
                                     : "quantization " + words.Text("quantization").substr(0, 20);
  if (words.Has("method") && method == TuneMethod::kAllWeights && format != BaseFormat::kAsIs) {
    words.Complain(stored + " needs untrained weights, but full training trains all; write method lora");
  }
  if (quantizes && format == BaseFormat::kAsIs) {
    words.Complain("method qlora with quantization none contradicts itself; write method lora");
  }
  if (by_name && words.complaint().empty()) {
    plan.assumed.push_back(
        fmt::format("weights in {} bits (by the model's name; --quantization)", format == BaseFormat::kNf4 ? 4 : 8));
  }
  return format;
}

// What numbers are stored in: by the stated precision, else by the framework's habit, then by quantisation and
// optimizer.
void SetBytes(WordReader& words, PlannedRun& plan) {
  RunConfig& run = plan.run.run;
  const BaseFormat base = BaseInWords(words, run.method, plan);
  if (base != BaseFormat::kAsIs && run.method == TuneMethod::kAllWeights) run.method = TuneMethod::kLora;
  const bool full = run.method == TuneMethod::kAllWeights;
  const NumberFormat usual = {full ? kMixedBytes : kHalfBytes};
  const NumberFormat said = words.OneOf("precision", NumberFormatNamed, "amp|bf16|fp32|fp8|fp4", usual);
  run.bytes = said.bytes;
  run.wide = said.wide;
  run.fp8 = said.fp8;
  run.fp4 = said.fp4;
  // Adapters are in fp32 over whatever the weights are in, as PEFT casts them.
  if (!full) run.bytes = {4, 0, 4, 8, 4, said.bytes.frozen, said.bytes.frozen_vocab};
  const FrameworkHabits* habits = HabitsOf(run.framework);
  // What is known of the framework is nearer than the rule.
  if (habits != nullptr && !words.Has("precision")) run.bytes = full ? habits->all : habits->adapters;
  StoreBaseIn(base, run);
  if (!words.Has("optimizer")) return;
  const Result<OptimizerFacts> optimizer = OptimizerNamed(words.Text("optimizer"));
  if (!optimizer) {
    words.Complain(optimizer.error().message);
    return;
  }
  run.paged_optimizer = optimizer->paged();
  run.bytes.optimizer = optimizer->wide_bytes;
  if (run.bytes.master == 0 && run.bytes.weight <= 2) run.bytes.optimizer = optimizer->half_bytes;
}

// Sets what the framework does where the plan says nothing.
void SetHabits(const WordReader& words, PlannedRun& plan) {
  RunConfig& run = plan.run.run;
  const FrameworkHabits* habits = HabitsOf(run.framework);
  const bool full = run.method == TuneMethod::kAllWeights;
  const bool qlora = run.method == TuneMethod::kQlora;
  if (habits == nullptr) {
    if (qlora && !words.Has("checkpointing")) {
      run.checkpointing = kQloraStores;
      plan.assumed.emplace_back(kQloraCheckpoints);
    }
    // Training of all weights on several GPUs is sharded as a rule. Where the model is divided too, only the optimizer
    // is shared out.
    if (words.Has("sharding") || run.ShardRanks() <= 1 || !full) return;
    const bool divided = run.tensor_parallel * run.pipeline_parallel > 1;
    run.sharding = divided ? Sharding::kZero1 : Sharding::kZero3;
    plan.assumed.push_back(
        fmt::format("sharding {} on several GPUs (default; --sharding)", divided ? "zero1" : "fsdp"));
    return;
  }
  run.logit_bytes = full ? habits->logits : qlora ? habits->qlora_logits : habits->lora_logits;
  if (!words.Has("chunked_loss")) run.chunked_loss = habits->chunked_loss;
  if (!words.Has("checkpointing")) {
    run.checkpointing = qlora ? habits->qlora_checkpointing : habits->checkpointing;
    run.offload_activations = run.offload_activations || habits->offload_activations;
  }
  if (!words.Has("sharding") && run.ShardRanks() > 1) run.sharding = full ? habits->shares : habits->lora_shares;
  if (!full) run.gradients_persist = habits->adapters_persist;
  run.live_parameters = habits->live_parameters;
  run.step_group = habits->step_group;
  plan.assumed.push_back(fmt::format("{} by default: {}", habits->framework, habits->words));
  if (qlora && !words.Has("checkpointing") && run.checkpointing == kQloraStores) {
    plan.assumed.emplace_back(kQloraCheckpoints);
  }
}

// The adapters of a LoRA; nothing for full training.
void SetTrained(WordReader& words, PlannedRun& plan) {
  RunConfig& run = plan.run.run;
  if (run.method == TuneMethod::kAllWeights) {
    if (words.Has("method") && words.Has("rank") && words.Text("rank") != "0") {
      words.Complain("rank " + words.Text("rank").substr(0, 20) +
                     " belongs to a LoRA, but method full trains all "
                     "weights; write method lora, or leave the rank out");
    }
    return;
  }
  const FrameworkHabits* habits = HabitsOf(run.framework);
  const double usual = habits != nullptr ? habits->rank : kUsualRank;
  run.adapter_rank = words.Whole("rank", usual, 1e5);
  if (!words.Has("rank")) plan.assumed.push_back(fmt::format("LoRA of rank {}", usual));
  std::vector<LoraTarget> targets(kLinearLayers.begin(), kLinearLayers.end());
  if (habits != nullptr && habits->fused_qkv) targets.assign(kFusedLayers.begin(), kFusedLayers.end());
  std::string list = words.Text("targets");
  if (!list.empty() && list != "all") targets.clear();
  while (!list.empty() && list != "all") {
    const std::size_t end = std::min(list.find(','), list.size());
    const std::string name(Trim(std::string_view(list).substr(0, end)));
    const std::optional<LoraTarget> target = TargetNamed(name);
    if (!target)
      words.Complain("targets: '" + name.substr(0, 30) + "' is not a known linear layer; write q_proj,v_proj");
    if (target) targets.push_back(*target);
    list.erase(0, std::min(end + 1, list.size()));
  }
  run.trained = LoraParams(plan.run.facts, run.adapter_rank, targets);
  for (const LoraTarget target : targets) {
    run.adapter_inputs += 2 * ShapeOf(plan.run.facts, target).in * static_cast<double>(plan.run.facts.layers);
  }
}

// States the defaults that decide memory and time most.
void TellDefaults(const WordReader& words, PlannedRun& plan) {
  const auto tell = [&](std::string_view key, const std::string& taken, std::string_view flag) {
    if (!words.Has(key)) plan.assumed.push_back(fmt::format("{} (default; {})", taken, flag));
  };
  constexpr std::array<const char*, 3> kTrains = {"training of all weights", "training of a LoRA",
                                                  "training of a LoRA on weights in 4 bits"};
  tell("method", kTrains[static_cast<std::size_t>(plan.run.run.method)], "--method");
  // Where no framework decides them, they are guesses, and times with them are less sure.
  if (HabitsOf(plan.run.run.framework) == nullptr) {
    const bool full = plan.run.run.method == TuneMethod::kAllWeights;
    const bool stores = plan.run.run.method != TuneMethod::kQlora && !words.Has("checkpointing");
    plan.run.guessed = stores || (full && !words.Has("precision"));
    if (stores) tell("checkpointing", "no checkpointing", "--checkpointing");
    if (full) tell("precision", "fp32 masters", "--precision");
  }
  if (plan.run.facts.tokens == 0) {
    tell("seq_len", fmt::format("sequence length {:.0f}", plan.run.run.sequence), "--seq-len");
  }
  tell("micro_batch", fmt::format("micro-batch {:.0f}", plan.run.run.micro_batch), "--micro-batch");
}

// How the GPUs divide the model and its states. What is not said follows from n = replicas x shards x tp x pp x cp.
void SetGpus(WordReader& words, RunConfig& run) {
  ParallelWords said;
  if (const Result<ParallelWords> read = ReadParallelWords(words.Text("sharding")); read) {
    said = *read;
  } else {
    words.Complain(read.error().message);
  }
  run.tensor_parallel = words.Whole("tp", said.tensor.value_or(1), kMostDegree);
  run.pipeline_parallel = words.Whole("pp", said.pipeline.value_or(1), kMostDegree);
  run.context_parallel = words.Whole("cp", said.context.value_or(1), kMostDegree);
  run.expert_parallel = words.Whole("ep", said.expert.value_or(1), kMostDegree);
  run.virtual_stages = words.Whole("vp", said.virtual_stages.value_or(1), kMostDegree);
  const double model = run.tensor_parallel * run.pipeline_parallel * run.context_parallel;
  const double node = words.Whole("gpus_per_node", UsualGpusOfNode(run.gpu), 1000);
  const bool machines = words.Has("nodes") && words.Has("gpus_per_node");
  const double stated_shards = said.shards.value_or(1) * said.replicas.value_or(1) * model;
  run.gpus = words.Whole("gpus", machines ? words.Whole("nodes", 1, kMostGpus) * node : stated_shards, kMostGpus);
  run.nodes = words.Whole("nodes", std::max(1.0, std::ceil(run.gpus / node)), kMostGpus);
  constexpr double kBits = 8;  // of a byte
  run.network_gbs = words.Count("network", 1e6).value_or(0) / kBits;
  if (run.gpus < model || std::fmod(run.gpus, model) != 0) {
    const std::string cp = run.context_parallel > 1 ? " x cp" : "";
    return words.Complain(fmt::format("{:.0f} GPUs cannot hold tp x pp{} = {:.0f}; give a multiple of that product",
                                      run.gpus, cp, model)),
           void();
  }
  if (said.sharding) run.sharding = *said.sharding;
  if (said.offload) run.offload = true;
  // Shards of torchtitan's fsdp8 leave context ranks out.
  const double ranks = run.DataParallel();
  if (said.shards && std::fmod(ranks, *said.shards) != 0) {
    return words.Complain(
               fmt::format("sharding '{}': {:.0f} shards x {:.0f} of a model are {:.0f} GPUs, but {:.0f} are "
                           "stated; one of them is wrong",
                           words.Text("sharding").substr(0, 40), *said.shards, model, *said.shards * model, run.gpus)),
           void();
  }
  if (said.hybrid || words.Has("shards") || (said.shards && *said.shards < ranks)) {
    const double usual = said.shards.value_or(std::min(ranks, std::max(1.0, node / model)));
    run.shard_group = words.Whole("shards", usual, kMostGpus) * run.context_parallel;
    if (run.sharding == Sharding::kNone) run.sharding = Sharding::kZero3;
    if (std::fmod(ranks * run.context_parallel, run.shard_group) != 0) {
      words.Complain(fmt::format("shards {:.0f} do not divide the {:.0f} data-parallel GPUs; give a divisor",
                                 run.shard_group / run.context_parallel, ranks));
    }
  }
}

// Sequences of a pass and passes of a step. A pipeline splits its local batch into micro-batches.
void SetBatch(WordReader& words, const ModelFacts& facts, RunConfig& run) {
  run.micro_batch = words.Whole("micro_batch", 1, 1e6);
  run.accumulation = words.Whole("accumulation", 1, 1e6);
  if (const std::optional<double> batch = words.Count("global_batch", 1e9); batch && !words.Has("accumulation")) {
    const double replicas = std::max(1.0, run.DataParallel());
    if (!words.Has("micro_batch")) run.micro_batch = std::max(1.0, *batch / replicas);
    run.accumulation = std::max(1.0, *batch / run.micro_batch / replicas);
  } else if (batch && !words.Has("micro_batch")) {
    run.micro_batch = std::max(1.0, *batch / std::max(1.0, run.DataParallel()) / run.accumulation);
  }
  // torchtitan takes as many micro-batches as there are stages; others count micro-batches themselves.
  const bool splits = run.framework == "torchtitan" && run.pipeline_parallel > 1;
  const double stages = run.pipeline_parallel * run.virtual_stages;
  const double parts = words.Whole("micro_batches", splits ? std::min(stages, run.micro_batch) : 1, 1e6);
  if (std::fmod(run.micro_batch, parts) != 0) {
    words.Complain(
        fmt::format("micro_batches {:.0f} do not divide micro_batch {:.0f}; give a divisor", parts, run.micro_batch));
  }
  run.micro_batch /= parts;
  run.accumulation *= parts;
  const double fixed = facts.tokens > 0 ? static_cast<double>(facts.tokens) : kUsualSequence;
  run.sequence = words.Whole("seq_len", fixed, kMostSequence);
}

// Refuses words that contradict each other: one of them is a mistake, and nobody can tell which.
void CheckContradictions(WordReader& words, const PlannedRun& plan) {
  const RunConfig& run = plan.run.run;
  if (run.expert_parallel > 1 && plan.run.facts.experts == 0) {
    words.Complain(
        fmt::format("ep {:.0f} shares out experts, but the model has none; leave it out", run.expert_parallel));
  }
  if (run.virtual_stages > 1 && run.pipeline_parallel <= 1) {
    words.Complain("vp belongs to a pipeline; give pp, or leave it out");
  }
  if (run.optimizer_in_backward && words.Whole("accumulation", 1, 1e6) > 1) {
    words.Complain("optimizer_in_backward needs accumulation 1, because gradients are freed at once; give one of them");
  }
}

void SetRun(WordReader& words, PlannedRun& plan) {
  RunConfig& run = plan.run.run;
  run.framework = FrameworkNamed(words.Text("framework"));
  // A rank or its layers say that adapters are trained.
  const bool adapters = words.Has("rank") || words.Has("targets");
  const TuneMethod usual = adapters ? TuneMethod::kLora : TuneMethod::kAllWeights;
  run.method = words.OneOf("method", MethodNamed, "full|lora|qlora", usual);
  run.gpu = words.Text("gpu");
  run.offload = words.Switch("offload", false);
  SetGpus(words, run);
  SetBatch(words, plan.run.facts, run);
  const StoredActivations stored =
      words.OneOf("checkpointing", StoredNamed, "none|selective|full|unsloth", StoredActivations{});
  run.checkpointing = stored.checkpointing;
  run.offload_activations = words.Switch("offload_activations", stored.on_host);
  run.optimizer_in_backward = words.Switch("optimizer_in_backward", false);
  run.compile = words.Switch("compile", false);
  // torch.compile takes the loss with it.
  run.compile_loss = run.compile;
  const LossKind loss = words.OneOf("chunked_loss", LossNamed, "no|yes|fused", LossKind::kWhole);
  run.chunked_loss = loss == LossKind::kChunked;
  run.fused_loss = loss == LossKind::kFused;
  run.flash_attention = words.OneOf("flash_attention", FusedAttentionNamed, "yes|no|eager|sdpa", true);
}

// Refuses a GPU that the table of rates lacks, or a number in its name: "8xH100" would be eight GPUs to a person and
// one to the formulas.
void CheckGpu(WordReader& words, const std::string& gpu) {
  if (const CountedGpu counted = CountedGpuOf(gpu); counted.count > 0 && RateOf(counted.gpu)) {
    words.Complain(fmt::format("gpu '{}' includes a number; write --gpu '{}' --gpus {:.0f}", gpu.substr(0, 40),
                               counted.gpu.substr(0, 40), counted.count));
  }
  if (words.Has("gpu") && !RateOf(gpu)) {
    words.Complain(fmt::format("GPU '{}' is not in the table of rates; {}", gpu.substr(0, 40), SuggestedGpu(gpu)));
  }
}

// Seconds of "450ms", "2.5s" or "2.5"; a complaint otherwise.
std::optional<double> StepSeconds(WordReader& words) {
  const std::string text = words.Text("step_time");
  if (text.empty()) return std::nullopt;
  std::string_view digits = Trim(text);
  double unit = 1;
  if (digits.ends_with("ms")) {
    unit = 1e-3;
    digits.remove_suffix(2);
  } else if (digits.ends_with('s')) {
    digits.remove_suffix(1);
  }
  const Result<double> seconds = ParseCount("step_time", digits);
  if (seconds) return *seconds * unit;
  return words.Complain(fmt::format("step_time '{}' is not a time; write 450ms or 2.5s", text.substr(0, 20)));
}

// The size of the planned step, by what the measured sizes count; 0 with a complaint where the plan does not say it.
double PlannedSize(WordReader& words, std::string_view by, double batch, const PlannedRun& plan) {
  const bool batch_said = !plan.no_model || words.Has("micro_batch") || words.Has("global_batch");
  const bool length_said = !plan.no_model || words.Has("seq_len");
  const bool of_length = by == "seq_len" || by == "step_tokens";
  if (of_length && !length_said) {
    words.Complain("measured steps predict another length: give that length, like seq_len 2048");
    return 0;
  }
  if (by != "seq_len" && !batch_said) {
    words.Complain("measured steps predict another batch: give that batch, like micro_batch 4 or global_batch 64");
    return 0;
  }
  const RunConfig& run = plan.run.run;
  if (by == "seq_len") return run.sequence;
  if (by == "micro_batch") return run.micro_batch;
  return by == "global_batch" ? batch : batch * run.sequence;
}

// The step that measured steps forecast; absent without them, or with a complaint.
std::optional<StepForecast> MeasuredForecast(WordReader& words, double batch, const PlannedRun& plan) {
  std::string by = words.Has("measured_by") ? words.Text("measured_by") : "seq_len";
  std::replace(by.begin(), by.end(), '-', '_');
  if (!words.Has("measured")) {
    if (words.Has("measured_by")) words.Complain("measured_by says what the sizes of measured are; give both");
    return std::nullopt;
  }
  StepForecast forecast;
  for (const std::string_view name : Split(kStepSizes, '|')) {
    if (name == by) forecast.by = name;
  }
  if (forecast.by.empty()) {
    return words.Complain(
        fmt::format("measured_by '{}' is not one of {}", by.substr(0, 20), ListText(Split(kStepSizes, '|'))));
  }
  Result<std::vector<MeasuredStep>> points = ReadMeasuredSteps(forecast.by, words.Text("measured"));
  if (!points) return words.Complain("measured: " + points.error().message);
  Result<StepLine> line = FitSteps(std::move(*points));
  if (!line) return words.Complain("measured: " + line.error().message);
  forecast.size = PlannedSize(words, forecast.by, batch, plan);
  if (forecast.size <= 0) return std::nullopt;
  forecast.line = std::move(*line);
  forecast.seconds = StepSecondsAt(forecast.line, forecast.size);
  return forecast;
}

// The work and the rate, as the plan states them, in samples: tokens by the length of a sequence, steps by their batch.
void SetWork(WordReader& words, double batch, double sequence, PlannedRun& plan) {
  plan.samples = words.Count("samples", 1e15);
  plan.epochs = words.Count("epochs", 1e6).value_or(1);
  const std::optional<double> tokens = words.Count("tokens", 1e18);
  const std::optional<double> steps = words.Count("optimizer_steps", 1e12);
  if ((plan.samples ? 1 : 0) + (tokens ? 1 : 0) + (steps ? 1 : 0) > 1) {
    words.Complain("samples, tokens and optimizer_steps all state the work; give one");
  }
  if ((tokens || steps) && words.Has("epochs")) {
    words.Complain("tokens and optimizer_steps are those of the whole run; leave epochs out");
  }
  if (tokens) plan.samples = *tokens / sequence;
  if (steps) plan.samples = *steps * batch;
  plan.samples_per_min = words.Count("samples_per_min", 1e12);
  plan.tokens_per_s_per_gpu = words.Count("tokens_per_s", 1e12);
  const std::optional<double> step = StepSeconds(words);
  plan.measured = MeasuredForecast(words, batch, plan);
  if ((plan.samples_per_min ? 1 : 0) + (plan.tokens_per_s_per_gpu ? 1 : 0) + (step ? 1 : 0) + (plan.measured ? 1 : 0) >
      1) {
    words.Complain("samples_per_min, tokens_per_s, step_time and measured all state the throughput; give one");
  }
  if (step) plan.samples_per_min = batch * 60 / *step;
  if (plan.measured) plan.samples_per_min = batch * 60 / plan.measured->seconds.likely;
  plan.budget_gpu_hours = words.Count("budget_gpu_hours", 1e12);
}

// The plan of a model whose facts are sound.
PlannedRun ReadRun(WordReader& reader, ModelFacts facts) {
  PlannedRun plan;
  plan.run.facts = std::move(facts);
  SetRun(reader, plan);
  // A plan says less than a framework decides.
  plan.run.defaults_unknown = HabitsOf(plan.run.run.framework) == nullptr;
  SetBytes(reader, plan);
  SetHabits(reader, plan);
  SetTrained(reader, plan);
  CheckContradictions(reader, plan);
  TellDefaults(reader, plan);
  const RunConfig& run = plan.run.run;
  plan.run.tokens_per_iter =
      run.micro_batch * run.accumulation * run.sequence * run.DataParallel() / std::max(1.0, run.gpus);
  return plan;
}

}  // namespace

std::span<const PlanKey> PlanKeys() { return kKeys; }

double UsualGpusOfNode(std::string_view gpu) {
  constexpr double kRackGpus = 72;  // GB200 and GB300 NVL72: one NVLink domain
  constexpr double kNodeGpus = 8;
  const std::optional<GpuRate> rate = RateOf(gpu);
  return rate && rate->gpu.starts_with("GB") ? kRackGpus : kNodeGpus;
}

Result<double> ParseCount(std::string_view key, std::string_view text) {
  std::string_view digits = Trim(text);
  const double unit = TakeCountUnit(key, digits);
  const ScaledNumber number = ParseScaled(Trim(digits), kCountDecimals);
  if (number.fault == NumberFault::kTooLarge) {
    return FailUsage(fmt::format("{} {} is too large; is its unit right?", key, text.substr(0, 20)));
  }
  if (number.fault != NumberFault::kNone) {
    return FailUsage(fmt::format("{} '{}' is not a number; write 8, 4096 or 7B", key, text.substr(0, 20)));
  }
  if (number.value <= 0) return FailUsage(fmt::format("{} {} is not above 0", key, text.substr(0, 20)));
  return static_cast<double>(number.value) / 1e6 * unit;
}

Result<RunRow> ReadRunOf(const ModelFacts& facts, const PlanWords& words) {
  WordReader reader(words);
  PlannedRun plan = ReadRun(reader, facts);
  if (!reader.complaint().empty()) return FailUsage(reader.complaint());
  return std::move(plan.run);
}

namespace {

// Keys of a plan that is made of work and a rate alone.
constexpr auto kWorkKeys = std::to_array<std::string_view>(
    {"gpu", "gpus", "nodes", "gpus_per_node", "samples", "epochs", "tokens", "optimizer_steps", "samples_per_min",
     "tokens_per_s", "step_time", "measured", "measured_by", "budget_gpu_hours", "micro_batch", "accumulation",
     "global_batch", "seq_len"});

// Whether nothing is said of the model, but how fast the run is.
bool IsWorkAlone(const WordReader& words) {
  for (const std::string_view key : {"model", "params", "layers", "hidden", "heads", "ffn", "vocab"}) {
    if (words.Has(key)) return false;
  }
  return words.Has("samples_per_min") || words.Has("tokens_per_s") || words.Has("step_time") || words.Has("measured");
}

// A plan of work and a rate. What needs a model is named, because it changes nothing.
PlannedRun ReadWork(WordReader& words, const PlanWords& all) {
  PlannedRun plan;
  plan.no_model = true;
  RunConfig& run = plan.run.run;
  run.gpu = words.Has("gpu") ? words.Text("gpu") : "GPU";
  run.gpus = words.Whole("gpus", 1, kMostGpus);
  run.nodes = words.Whole("nodes", std::ceil(run.gpus / words.Whole("gpus_per_node", 8, 1000)), kMostGpus);
  run.micro_batch = words.Whole("micro_batch", 1, 1e6);
  run.accumulation = words.Whole("accumulation", 1, 1e6);
  if (const std::optional<double> batch = words.Count("global_batch", 1e9)) {
    run.accumulation = std::max(1.0, *batch / run.micro_batch / run.gpus);
  }
  const bool batch_said = words.Has("micro_batch") || words.Has("global_batch");
  if (words.Has("step_time") && !words.Has("optimizer_steps") && !batch_said) {
    words.Complain("step_time needs what a step is: give optimizer_steps, or samples with global_batch");
  }
  const bool tokens = words.Has("tokens") || words.Has("tokens_per_s");
  if (tokens && words.Has("samples") && !words.Has("seq_len")) {
    words.Complain("tokens_per_s with samples needs the length of a sample: give seq_len, or tokens");
  }
  if (words.Has("measured") && words.Has("samples") && !batch_said) {
    plan.assumed.push_back(fmt::format("a step takes {} sample{}, one a GPU (default; --global-batch)", run.gpus,
                                       run.gpus == 1 ? "" : "s"));
  }
  // Without a length, what is counted is a unit of work, whatever it is called.
  const bool of_length = words.Has("samples") || words.Has("measured");
  run.sequence = of_length && words.Has("seq_len") ? words.Whole("seq_len", 1, kMostSequence) : 1;
  const bool by_step = words.Has("optimizer_steps") && !batch_said;
  SetWork(words, by_step ? 1 : run.micro_batch * run.accumulation * run.gpus, run.sequence, plan);
  if (tokens && words.Has("samples_per_min") && words.Has("tokens")) {
    words.Complain("tokens with samples_per_min needs the length of a sample: give samples, or tokens_per_s");
  }
  std::string unused;
  for (const auto& [key, value] : all) {
    if (value.empty() || std::find(kWorkKeys.begin(), kWorkKeys.end(), key) != kWorkKeys.end()) continue;
    unused += (unused.empty() ? "" : ", ") + key;
  }
  if (!unused.empty()) plan.assumed.push_back("not used without a model: " + unused);
  return plan;
}

}  // namespace

Result<PlannedRun> ReadPlan(const PlanWords& words) {
  TRY(CheckKeys(words));
  WordReader reader(words);
  if (IsWorkAlone(reader)) {
    PlannedRun work = ReadWork(reader, words);
    if (!reader.complaint().empty()) return FailUsage(reader.complaint());
    return work;
  }
  ModelFacts facts = FactsFrom(reader);
  if (!reader.complaint().empty()) return FailUsage(reader.complaint());
  TRY(CheckFacts(facts));
  PlannedRun plan = ReadRun(reader, std::move(facts));
  CheckGpu(reader, plan.run.run.gpu);
  const RunConfig& run = plan.run.run;
  SetWork(reader, EffectiveBatch(run.micro_batch, run.accumulation, run.DataParallel()), run.sequence, plan);
  if (!reader.complaint().empty()) return FailUsage(reader.complaint());
  return plan;
}

}  // namespace idleburn
