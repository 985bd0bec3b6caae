#include "plan/fit_changes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "plan/memory.h"
#include "plan/run_config.h"

namespace idleburn {

// Changes are plain functions on a row, because a list of them can be tried alone and together without any search over
// their combinations. Each is judged with the high end of its interval, as the run itself is.

namespace {

// A change of a run. It returns what it did in words, or nothing if the run has the change already or cannot have it.
using Change = std::string (*)(RunRow& row);

// The cheapest change: head and loss in one kernel, which never holds all logits and costs no speed.
std::string FuseLoss(RunRow& row) {
  if (row.run.fused_loss || row.facts.vocab == 0) return {};
  row.run.fused_loss = true;
  row.run.chunked_loss = false;
  return "a loss fused with the head (Liger, cut cross-entropy)";
}

// Fused kernels keep fewer activations, and the loss is compiled too.
std::string Compile(RunRow& row) {
  if (row.run.compile) return {};
  row.run.compile = true;
  row.run.compile_loss = true;
  return "torch.compile";
}

// States in 8 bits instead of what the run has.
std::string EightBitOptimizer(RunRow& row) {
  if (row.run.bytes.optimizer <= kEightBitStates) return {};
  row.run.bytes.optimizer = kEightBitStates;
  return "an 8-bit optimizer";
}

// A fraction of the micro-batch and as many more passes: a step still learns from the same samples.
template <int kParts>
std::string SmallerMicroBatch(RunRow& row) {
  // Only whole sequences can be left out.
  if (std::fmod(row.run.micro_batch, kParts) != 0) return {};
  row.run.micro_batch /= kParts;
  row.run.accumulation *= kParts;
  return fmt::format("micro-batch {:g} with accumulation {:g}", row.run.micro_batch, row.run.accumulation);
}

// One sequence a pass, which is the least; every sequence more becomes a pass.
std::string SmallestMicroBatch(RunRow& row) {
  if (row.run.micro_batch <= 1) return {};
  row.run.accumulation *= row.run.micro_batch;
  row.run.micro_batch = 1;
  return fmt::format("micro-batch 1 with accumulation {:g}", row.run.accumulation);
}

// Recomputes all layers, which costs about a third more time.
std::string Checkpoint(RunRow& row) {
  if (row.run.checkpointing == Checkpointing::kWholeLayers) return {};
  row.run.checkpointing = Checkpointing::kWholeLayers;
  return "checkpointing full";
}

// Trains adapters instead of all weights. It changes what is learned, so it comes after what only costs time.
std::string Lora(RunRow& row) {
  if (row.run.method != TuneMethod::kAllWeights) return {};
  // A usual rank; memory hardly depends on it.
  constexpr double kRank = 16;
  row.run.method = TuneMethod::kLora;
  row.run.adapter_rank = kRank;
  row.run.trained = LoraParams(row.facts, kRank, kFusedLayers);
  row.run.bytes = {4, 0, 4, 8, 4, 2, 2};  // adapters in fp32
  return "LoRA of rank 16 instead of full training";
}

// Stores the frozen weights in 4 bits.
std::string Qlora(RunRow& row) {
  if (row.run.method != TuneMethod::kLora) return {};
  StoreBaseIn(BaseFormat::kNf4, row.run);
  return "QLoRA: frozen weights in 4 bits";
}

// Spreads the run over GPUs: those that it has, else a whole machine.
std::string Shard(RunRow& row) {
  if (row.run.sharding == Sharding::kZero3) return {};
  row.run.sharding = Sharding::kZero3;
  constexpr double kNode = 8;
  // One GPU alone has nobody to share with, so the run moves to a machine.
  if (row.run.DataParallel() > 1) return "sharding fsdp";
  row.run.gpus *= kNode;
  return fmt::format("sharding fsdp over {:g} GPUs", row.run.gpus);
}

// The slowest change, so the last.
std::string Offload(RunRow& row) {
  if (row.run.offload) return {};
  row.run.offload = true;
  return "offload of weights and states to host memory";
}

// Half of every sequence. Longer samples are cut, so less is learned.
std::string HalfSequence(RunRow& row) {
  constexpr double kShortestCut = 512;
  if (row.run.sequence < 2 * kShortestCut || row.facts.tokens > 0) return {};
  row.run.sequence = std::floor(row.run.sequence / 2);
  if (row.run.mean_sequence > 0) row.run.mean_sequence = std::min(row.run.mean_sequence, row.run.sequence);
  return fmt::format("sequences of {:g} tokens", row.run.sequence);
}

// A change, and whether what is learned stays the same.
struct ChangeRow {
  Change make;
  bool same_result;
};

// In the order in which they are tried together: what they cost in speed, then what they cost in result.
constexpr auto kChanges = std::to_array<ChangeRow>({{FuseLoss, true},
                                                    {EightBitOptimizer, true},
                                                    {SmallerMicroBatch<2>, true},
                                                    {SmallerMicroBatch<4>, true},
                                                    {SmallestMicroBatch, true},
                                                    {Compile, true},
                                                    {Checkpoint, true},
                                                    {Shard, true},
                                                    {Lora, false},
                                                    {Qlora, false},
                                                    {HalfSequence, false},
                                                    {Offload, true}});

// Whether the row fits for sure. `memory` gets its prediction either way.
bool Fits(const Calibration& calibration, const RunRow& row, double capacity, Prediction& memory) {
  const std::optional<Prediction> peak = PredictPeakBytes(calibration, row);
  if (!peak) return false;
  memory = *peak;
  return JudgeFit(*peak, capacity) == MemoryFit::kFits;
}

// Makes the marked changes, in their order.
FitChange Made(const RunRow& run, const std::array<bool, kChanges.size()>& wanted, RunRow& changed) {
  FitChange made;
  changed = run;
  for (std::size_t i = 0; i < kChanges.size(); ++i) {
    if (!wanted[i]) continue;
    std::string said = kChanges[i].make(changed);
    if (said.empty()) continue;
    made.same_result = made.same_result && kChanges[i].same_result;
    // Of several steps of one thing only the last is to be made.
    const auto thing = [](const std::string& text) { return text.substr(0, text.find(' ')); };
    if (!made.changes.empty() && thing(made.changes.back()) == thing(said)) made.changes.pop_back();
    made.changes.push_back(std::move(said));
  }
  return made;
}

// Adds changes from the cheapest on until the run fits. Then it takes back, from the dearest on, each change that is
// not needed.
std::optional<FitChange> FewestTogether(const Calibration& calibration, const RunRow& run, double capacity,
                                        bool other_gpus, RunRow& changed) {
  std::array<bool, kChanges.size()> wanted{};
  Prediction memory;
  std::size_t last = 0;
  for (; last < kChanges.size(); ++last) {
    if (kChanges[last].make == Shard && !other_gpus && run.run.gpus <= 1) continue;
    wanted[last] = true;
    Made(run, wanted, changed);
    if (Fits(calibration, changed, capacity, memory)) break;
  }
  if (last == kChanges.size()) return std::nullopt;
  for (std::size_t i = last; i-- > 0;) {
    wanted[i] = false;
    Made(run, wanted, changed);
    if (!Fits(calibration, changed, capacity, memory)) wanted[i] = true;
  }
  FitChange answer = Made(run, wanted, changed);
  Fits(calibration, changed, capacity, answer.memory);
  return answer;
}

// GPU-time of a sample after a change, by what it was before.
void SetGpuTime(const Calibration& calibration, const RunRow& run, const RunRow& changed, FitChange& change) {
  change.gpus = changed.run.gpus;
  const std::optional<double> before = PredictedTokensPerSecond(calibration.time, run);
  const std::optional<double> after = PredictedTokensPerSecond(calibration.time, changed);
  // A shorter sample has fewer tokens. What moving weights to and from the host costs is not modelled.
  if (before && after && changed.run.offload == run.run.offload)
    change.gpu_time = *before / *after * changed.run.sequence / run.run.sequence;
}

// Whether two changes are steps of one thing: two sizes of the micro-batch.
bool SameThing(const FitChange& a, const FitChange& b) {
  const auto thing = [](const std::string& text) { return text.substr(0, text.find(' ')); };
  return thing(a.changes.front()) == thing(b.changes.front());
}

}  // namespace

std::vector<FitChange> ChangesThatFit(const Calibration& calibration, const RunRow& run, double capacity) {
  std::vector<FitChange> found;
  for (const ChangeRow& change : kChanges) {
    RunRow changed = run;
    FitChange answer;
    const std::string said = change.make(changed);
    if (said.empty() || !Fits(calibration, changed, capacity, answer.memory)) continue;
    answer.changes = {said};
    answer.same_result = change.same_result;
    SetGpuTime(calibration, run, changed, answer);
    // The first step of a thing that is enough is the one to take.
    if (!found.empty() && SameThing(found.back(), answer)) continue;
    found.push_back(std::move(answer));
  }
  std::stable_sort(found.begin(), found.end(), [](const FitChange& a, const FitChange& b) {
    if (a.same_result != b.same_result) return a.same_result;
    if (a.gpu_time.has_value() != b.gpu_time.has_value()) return a.gpu_time.has_value();
    return a.gpu_time.value_or(1) < b.gpu_time.value_or(1) * 0.99;
  });
  if (!found.empty()) return found;
  // The fewest together, and beside them the fewest that need no other GPUs.
  for (const bool other_gpus : {true, false}) {
    RunRow changed;
    std::optional<FitChange> together = FewestTogether(calibration, run, capacity, other_gpus, changed);
    if (!together || (!found.empty() && found.front().gpus <= run.run.gpus)) continue;
    SetGpuTime(calibration, run, changed, *together);
    found.push_back(std::move(*together));
  }
  return found;
}

}  // namespace idleburn
