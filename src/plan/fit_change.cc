#include "plan/fit_change.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "plan/frozen_base.h"
#include "plan/memory_fit.h"

namespace idleburn {
namespace {

// Makes a change and says it; empty if the run has it already or cannot have it.
using Change = std::string (*)(RunRow& row);

std::string ChunkLoss(RunRow& row) {
  if (row.run.chunked_loss) return {};
  row.run.chunked_loss = true;
  return "loss in chunks";
}

std::string Compile(RunRow& row) {
  if (row.run.compile) return {};
  row.run.compile = true;
  row.run.compile_loss = true;
  return "torch.compile";
}

std::string EightBitOptimizer(RunRow& row) {
  constexpr double kEightBit = 2.03;
  if (row.run.bytes.optimizer <= kEightBit) return {};
  row.run.bytes.optimizer = kEightBit;
  return "an 8-bit optimizer";
}

// A fraction of the micro-batch, and as many passes more: what a step learns from stays the same.
template <int kParts>
std::string SmallerMicroBatch(RunRow& row) {
  if (std::fmod(row.run.micro_batch, kParts) != 0) return {};
  row.run.micro_batch /= kParts;
  row.run.accumulation *= kParts;
  return fmt::format("micro-batch {:g} with accumulation {:g}", row.run.micro_batch, row.run.accumulation);
}

std::string SmallestMicroBatch(RunRow& row) {
  if (row.run.micro_batch <= 1) return {};
  row.run.accumulation *= row.run.micro_batch;
  row.run.micro_batch = 1;
  return fmt::format("micro-batch 1 with accumulation {:g}", row.run.accumulation);
}

std::string Checkpoint(RunRow& row) {
  if (row.run.checkpointing == Checkpointing::kWholeLayers) return {};
  row.run.checkpointing = Checkpointing::kWholeLayers;
  return "checkpointing full";
}

std::string Lora(RunRow& row) {
  if (row.run.method != TuneMethod::kAllWeights) return {};
  constexpr double kRank = 16;
  constexpr std::array kAll = {LoraTarget::kFusedQkv, LoraTarget::kOutput, LoraTarget::kGate, LoraTarget::kUp,
                               LoraTarget::kDown};
  row.run.method = TuneMethod::kLora;
  row.run.adapter_rank = kRank;
  row.run.trained = LoraParams(row.facts, kRank, kAll);
  row.run.bytes = {2, 0, 2, 4, 2, 2, 2};
  return "LoRA of rank 16 instead of full training";
}

std::string Qlora(RunRow& row) {
  if (row.run.method != TuneMethod::kLora) return {};
  StoreBaseIn(BaseFormat::kNf4, row.run);
  return "QLoRA: frozen weights in 4 bits";
}

std::string Shard(RunRow& row) {
  if (row.run.sharding == Sharding::kZero3) return {};
  row.run.sharding = Sharding::kZero3;
  constexpr double kNode = 8;
  if (row.run.DataParallel() > 1) return "sharding fsdp";
  row.run.gpus *= kNode;
  return fmt::format("sharding fsdp over {:g} GPUs", row.run.gpus);
}

std::string Offload(RunRow& row) {
  if (row.run.offload) return {};
  row.run.offload = true;
  return "offload of weights and states to host memory";
}

constexpr std::array<Change, 11> kChanges = {ChunkLoss,
                                             Compile,
                                             EightBitOptimizer,
                                             SmallerMicroBatch<2>,
                                             SmallerMicroBatch<4>,
                                             SmallestMicroBatch,
                                             Checkpoint,
                                             Lora,
                                             Qlora,
                                             Shard,
                                             Offload};

bool Fits(const Calibration& calibration, const RunRow& row, double capacity, Prediction& memory) {
  const std::optional<Prediction> peak = PredictPeakBytes(calibration, row);
  if (!peak) return false;
  memory = *peak;
  return JudgeFit(peak->likely, peak->high, capacity) == MemoryFit::kFits;
}

// The run with the changes whose place in the order is marked.
FitChange Made(const RunRow& run, const std::array<bool, kChanges.size()>& wanted, RunRow& changed) {
  FitChange made;
  changed = run;
  for (std::size_t i = 0; i < kChanges.size(); ++i) {
    if (!wanted[i]) continue;
    std::string said = kChanges[i](changed);
    if (said.empty()) continue;
    // Of several steps of one thing only the last is to be made.
    const auto thing = [](const std::string& text) { return text.substr(0, text.find(' ')); };
    if (!made.changes.empty() && thing(made.changes.back()) == thing(said)) made.changes.pop_back();
    made.changes.push_back(std::move(said));
  }
  return made;
}

// Adds changes from the cheapest on until the run fits, then takes back, from the dearest on, what it does without.
std::optional<FitChange> FewestTogether(const Calibration& calibration, const RunRow& run, double capacity) {
  std::array<bool, kChanges.size()> wanted{};
  Prediction memory;
  RunRow changed;
  std::size_t last = 0;
  for (; last < kChanges.size(); ++last) {
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

}  // namespace

std::optional<FitChange> CheapestChange(const Calibration& calibration, const RunRow& run, double capacity) {
  FitChange answer;
  for (const Change change : kChanges) {
    RunRow changed = run;
    const std::string said = change(changed);
    if (said.empty() || !Fits(calibration, changed, capacity, answer.memory)) continue;
    answer.changes = {said};
    return answer;
  }
  return FewestTogether(calibration, run, capacity);
}

}  // namespace idleburn
