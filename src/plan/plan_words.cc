#include "plan/plan_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "plan/gpu_rate.h"
#include "plan/model_facts.h"
#include "plan/run_config.h"
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
    {"tied", "yes|no", "the head is the embedding (no)"},
    {"gated", "yes|no", "three matrices an MLP: SwiGLU (yes)"},
    {"method", "full|lora|qlora", "what is trained (full)"},
    {"quantization", "none|int8|nf4", "quantization of the weights under a LoRA (none; qlora: nf4)"},
    {"rank", "R", "rank of the LoRA (16)"},
    {"targets", "A,B", "linear layers with a LoRA (all)"},
    {"precision", "amp|bf16|fp32", "mixed with fp32 masters, pure 16-bit, or fp32 (amp; LoRA: bf16)"},
    {"optimizer", "NAME", "adamw, adamw_8bit, sgd, lion, adafactor, ... (adamw)"},
    {"seq_len", "N", "tokens of a sequence (2048)"},
    {"micro_batch", "N", "sequences per GPU and pass (1)"},
    {"accumulation", "N", "passes per optimizer step (1)"},
    {"checkpointing", "none|selective|full", "checkpointing of activations (none)"},
    {"sharding", "none|zero1|zero2|zero3|fsdp", "states that data-parallel GPUs shard (none; fsdp = zero3)"},
    {"offload", "yes|no", "weights and states in host memory (no)"},
    {"compile", "yes|no", "torch.compile (no)"},
    {"chunked_loss", "yes|no", "loss in chunks (no)"},
    {"flash_attention", "yes|no", "FlashAttention (yes)"},
    {"tp", "N", "tensor parallelism (1)"},
    {"pp", "N", "pipeline parallelism (1)"},
    {"framework", "NAME", "qwen, peft, litgpt, torchtune, torchtitan, fsdp_qlora, llm-foundry, megatron-bridge"},
    {"gpu", "NAME", "GPU, by the name of the driver or price catalogue: H100-80GB-SXM, rtx4090"},
    {"gpus", "N", "number of GPUs (1)"},
    {"gpus_per_node", "N", "GPUs per machine (8)"},
    {"samples", "N", "samples of one epoch"},
    {"epochs", "N", "number of epochs (1)"},
    {"samples_per_min", "X", "stated throughput of the whole run, checked for plausibility"},
    {"tokens_per_s", "X", "stated throughput of one GPU, checked for plausibility"},
    {"budget_gpu_hours", "H", "a cap"},
});

// The words that each key of a choice takes, in the order of the enum or array that they index.
constexpr std::array<std::string_view, 3> kMethods = {"full", "lora", "qlora"};
constexpr std::array<std::string_view, 3> kBases = {"none", "int8", "nf4"};
constexpr std::array<std::string_view, 3> kPrecisions = {"amp", "bf16", "fp32"};
constexpr std::array<std::string_view, 3> kCheckpointing = {"none", "selective", "full"};
constexpr std::array<std::string_view, 6> kSharding = {"none", "zero1", "zero2", "zero3", "fsdp", "gathered"};

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

// Suggests a model. Where several names start so, all of them are named: llama-3.1 has no size.
std::string SuggestedModel(std::string_view text) {
  const std::vector<std::string> names = ModelNames();
  const std::string word = Squash(text.substr(0, 40));
  std::string those;
  for (const std::string& name : names) {
    if (word.size() > 2 && Squash(name).starts_with(word)) those += (those.empty() ? "" : ", ") + name;
  }
  if (!those.empty()) return "did you mean " + those + "?";
  // Dashes and dots are left out of the comparison, as where a model is found.
  std::vector<std::string> plain;
  for (const std::string& name : names) plain.push_back(Squash(name));
  const std::string meant = MeantBy(word, plain);
  const auto found = std::find(plain.begin(), plain.end(), meant);
  if (meant.empty() || found == plain.end()) return "give one of " + ListText(names) + ".";
  return "did you mean " + names[static_cast<std::size_t>(found - plain.begin())] + "?";
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
    for (const std::string_view yes : {"yes", "true", "1", "on"}) {
      if (EqualsIgnoreCase(text, yes)) return true;
    }
    for (const std::string_view no : {"no", "false", "0", "off"}) {
      if (EqualsIgnoreCase(text, no)) return false;
    }
    Complain(fmt::format("{} '{}' is neither yes nor no", key, text.substr(0, 20)));
    return otherwise;
  }
  // The index of the word in `among`; a complaint with the nearest one.
  std::size_t OneOf(std::string_view key, std::span<const std::string_view> among, std::size_t otherwise) {
    const std::string text = Text(key);
    if (text.empty()) return otherwise;
    const auto found = std::find(among.begin(), among.end(), text);
    if (found != among.end()) return static_cast<std::size_t>(found - among.begin());
    const std::vector<std::string> names(among.begin(), among.end());
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
  constexpr double kMost = 1e8;
  ModelFacts facts;
  if (words.Has("model")) {
    const std::optional<ModelFacts> known = FindModel(words.Text("model"));
    if (known) {
      facts = *known;
    } else if (!words.Has("layers")) {
      words.Complain(
          fmt::format("model '{}' is not in the built-in table; {} Or give its config.json, or "
                      "layers, hidden, heads, ffn, vocab",
                      words.Text("model").substr(0, 40), SuggestedModel(words.Text("model"))));
    }
    facts.name = words.Text("model");
  }
  const auto take = [&](std::string_view key, std::int64_t& into) {
    if (words.Has(key)) into = static_cast<std::int64_t>(words.Whole(key, 0, kMost));
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

// How the frozen weights are stored. A QLoRA has 4 bits unless it says otherwise, and what is quantised is not trained.
BaseFormat BaseInWords(WordReader& words, TuneMethod method) {
  constexpr std::array<BaseFormat, 3> kFormats = {BaseFormat::kAsIs, BaseFormat::kInt8, BaseFormat::kNf4};
  // QLoRA means 4 bits unless it is told otherwise.
  const bool quantizes = method == TuneMethod::kQlora;
  const BaseFormat format = kFormats[words.OneOf("quantization", kBases, quantizes ? 2 : 0)];
  // Quantised weights cannot be trained, so full training contradicts them.
  if (words.Has("method") && method == TuneMethod::kAllWeights && format != BaseFormat::kAsIs) {
    words.Complain("quantization " + words.Text("quantization") +
                   " needs untrained weights, but full training trains all; write method lora");
  }
  if (quantizes && format == BaseFormat::kAsIs) {
    words.Complain("method qlora with quantization none contradicts itself; write method lora");
  }
  return format;
}

// What numbers are stored in: by the stated precision, else by the framework's habit, then by quantisation and
// optimizer.
void SetBytes(WordReader& words, RunConfig& run) {
  const BaseFormat base = BaseInWords(words, run.method);
  if (base != BaseFormat::kAsIs && run.method == TuneMethod::kAllWeights) run.method = TuneMethod::kLora;
  // Full training is mixed precision as a rule, a LoRA pure 16 bits.
  const std::size_t usual = run.method == TuneMethod::kAllWeights ? 0 : 1;
  switch (words.OneOf("precision", kPrecisions, usual)) {
    case 0:
      run.bytes = kMixedBytes;
      break;
    case 1:
      run.bytes = kHalfBytes;
      break;
    default:
      run.bytes = kWideBytes;
      run.wide = true;
  }
  const FrameworkHabits* habits = HabitsOf(run.framework);
  // What is known of the framework is nearer than the rule.
  if (habits != nullptr && !words.Has("precision")) {
    run.bytes = run.method == TuneMethod::kAllWeights ? habits->all : habits->adapters;
  }
  StoreBaseIn(base, run);
  if (!words.Has("optimizer")) return;
  const Result<OptimizerFacts> optimizer = OptimizerNamed(words.Text("optimizer"));
  if (!optimizer) {
    words.Complain(optimizer.error().message);
    return;
  }
  run.bytes.optimizer = optimizer->wide_bytes;
  if (run.bytes.master == 0 && run.bytes.weight <= 2) run.bytes.optimizer = optimizer->half_bytes;
}

// Sets what the framework does where the plan says nothing.
void SetHabits(const WordReader& words, PlannedRun& plan) {
  RunConfig& run = plan.run.run;
  const FrameworkHabits* habits = HabitsOf(run.framework);
  if (habits == nullptr) return;
  const bool full = run.method == TuneMethod::kAllWeights;
  run.logit_bytes = full                               ? habits->logits
                    : run.method == TuneMethod::kQlora ? habits->qlora_logits
                                                       : habits->lora_logits;
  if (!words.Has("chunked_loss")) run.chunked_loss = habits->chunked_loss;
  if (!words.Has("checkpointing")) run.checkpointing = habits->checkpointing;
  if (!words.Has("sharding") && run.DataParallel() > 1) run.sharding = full ? habits->shares : habits->lora_shares;
  plan.assumed.push_back(fmt::format("{} by default: {}", habits->framework, habits->words));
}

// The adapters of a LoRA; nothing for full training.
void SetTrained(WordReader& words, PlannedRun& plan) {
  RunConfig& run = plan.run.run;
  if (run.method == TuneMethod::kAllWeights) return;
  // Where most recipes start.
  constexpr double kUsualRank = 16;
  run.adapter_rank = words.Whole("rank", kUsualRank, 1e5);
  if (!words.Has("rank")) plan.assumed.push_back("LoRA of rank 16");
  std::vector<LoraTarget> targets(kLinearLayers.begin(), kLinearLayers.end());
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
  if (plan.run.run.method == TuneMethod::kAllWeights) tell("method", "training of all weights", "--method");
  tell("seq_len", fmt::format("sequence length {:.0f}", plan.run.run.sequence), "--seq-len");
  tell("micro_batch", fmt::format("micro-batch {:.0f}", plan.run.run.micro_batch), "--micro-batch");
}

void SetRun(WordReader& words, PlannedRun& plan) {
  RunConfig& run = plan.run.run;
  run.framework = FrameworkNamed(words.Text("framework"));
  run.method = static_cast<TuneMethod>(words.OneOf("method", kMethods, 0));
  run.gpu = words.Text("gpu");
  run.gpus = words.Whole("gpus", 1, kMostGpus);
  constexpr double kUsualNode = 8;
  run.nodes = std::max(1.0, std::ceil(run.gpus / words.Whole("gpus_per_node", kUsualNode, 1000)));
  run.tensor_parallel = words.Whole("tp", 1, 1024);
  run.pipeline_parallel = words.Whole("pp", 1, 1024);
  run.micro_batch = words.Whole("micro_batch", 1, 1e6);
  run.accumulation = words.Whole("accumulation", 1, 1e6);
  run.sequence = words.Whole("seq_len", kUsualSequence, kMostSequence);
  constexpr std::array<Checkpointing, 3> kStored = {Checkpointing::kNone, Checkpointing::kSelective,
                                                    Checkpointing::kWholeLayers};
  run.checkpointing = kStored[words.OneOf("checkpointing", kCheckpointing, 0)];
  constexpr std::array<Sharding, 6> kShared = {Sharding::kNone,  Sharding::kZero1, Sharding::kZero2,
                                               Sharding::kZero3, Sharding::kZero3, Sharding::kGathered};
  const std::string shared = Squash(words.Text("sharding"));
  if (shared.find("hybrid") != std::string::npos || shared.find("hsdp") != std::string::npos) {
    words.Complain("sharding '" + words.Text("sharding").substr(0, 30) +
                   "': hybrid sharding (HSDP) is not modelled; for its memory use --sharding fsdp with the GPUs of one "
                   "shard group; its time is not known");
  }
  run.sharding = kShared[words.OneOf("sharding", kSharding, 0)];
  run.offload = words.Switch("offload", false);
  run.compile = words.Switch("compile", false);
  // torch.compile takes the loss with it.
  run.compile_loss = run.compile;
  run.chunked_loss = words.Switch("chunked_loss", false);
  run.flash_attention = words.Switch("flash_attention", true);
  const double model = run.tensor_parallel * run.pipeline_parallel;
  if (run.gpus < model || std::fmod(run.gpus, model) != 0) {
    words.Complain(
        fmt::format("{:.0f} GPUs cannot hold tp x pp = {:.0f}; give a multiple of that product", run.gpus, model));
  }
  // "8xH100" as a GPU would be eight GPUs to a person and one to the formulas.
  if (const CountedGpu counted = CountedGpuOf(run.gpu); counted.count > 0 && RateOf(counted.gpu)) {
    words.Complain(fmt::format("gpu '{}' includes a number; write --gpu '{}' --gpus {:.0f}", run.gpu.substr(0, 40),
                               counted.gpu.substr(0, 40), counted.count));
  }
  if (words.Has("gpu") && !RateOf(run.gpu)) {
    words.Complain(
        fmt::format("GPU '{}' is not in the table of rates; {}", run.gpu.substr(0, 40), SuggestedGpu(run.gpu)));
  }
}

}  // namespace

std::span<const PlanKey> PlanKeys() { return kKeys; }

Result<double> ParseCount(std::string_view key, std::string_view text) {
  std::string_view digits = Trim(text);
  const double unit = TakeCountUnit(key, digits);
  const ScaledNumber number = ParseScaled(Trim(digits), kCountDecimals);
  if (number.fault != NumberFault::kNone) {
    return FailUsage(fmt::format("{} '{}' is not a number; write 8, 4096 or 7B", key, text.substr(0, 20)));
  }
  if (number.value <= 0) return FailUsage(fmt::format("{} {} is not above 0", key, text.substr(0, 20)));
  return static_cast<double>(number.value) / 1e6 * unit;
}

Result<PlannedRun> ReadPlan(const PlanWords& words) {
  TRY(CheckKeys(words));
  WordReader reader(words);
  PlannedRun plan;
  plan.run.facts = FactsFrom(reader);
  plan.run.defaults_unknown = true;  // a plan says less than a framework decides
  if (!reader.complaint().empty()) return FailUsage(reader.complaint());
  TRY(CheckFacts(plan.run.facts));
  SetRun(reader, plan);
  SetBytes(reader, plan.run.run);
  SetHabits(reader, plan);
  SetTrained(reader, plan);
  TellDefaults(reader, plan);
  plan.samples = reader.Count("samples", 1e15);
  plan.epochs = reader.Count("epochs", 1e6).value_or(1);
  plan.samples_per_min = reader.Count("samples_per_min", 1e12);
  plan.tokens_per_s_per_gpu = reader.Count("tokens_per_s", 1e12);
  plan.budget_gpu_hours = reader.Count("budget_gpu_hours", 1e12);
  if (!reader.complaint().empty()) return FailUsage(reader.complaint());
  plan.run.tokens_per_iter = plan.run.run.micro_batch * plan.run.run.accumulation * plan.run.run.sequence;
  return plan;
}

}  // namespace idleburn
