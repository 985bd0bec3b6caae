#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plan/calibration.h"
#include "plan/evidence.h"
#include "plan/memory.h"
#include "plan/plan_words.h"
#include "plan/training_time.h"

namespace idleburn {

// The answer to a plan: does the run fit, what would make it fit, how long does it take, and can the stated speed be
// true. This is the one place where memory, time and evidence meet; prices come later, in plan/options.h.

// What would make a run fit a GPU that is too small for it.
struct FitChange {
  // Changes to be made together, in words: "checkpointing full".
  std::vector<std::string> changes;
  // The peak with them.
  Prediction memory;
};

// Finds the first change that makes the run fit `capacity` bytes with its high end. Changes are tried in the order of
// what they cost in speed (docs/plan.md, "Memory"). If none is enough alone, the fewest from the front are taken
// together. Absent if even all of them together do not do.
std::optional<FitChange> CheapestChange(const Calibration& calibration, const RunRow& run, double capacity);

// How the peak of the run stands to one model of GPU.
struct GpuFit {
  std::string gpu;
  // Bytes that the driver reports as usable.
  double capacity = 0;
  MemoryFit fit = MemoryFit::kNo;
  // (capacity - high) / capacity.
  double margin = 0;
};

// What a run needs, and whether that is there.
struct PlanReport {
  PlannedRun plan;
  // The user's own runs that the figures rest on. Absent where they rest on published ones.
  std::optional<Evidence> evidence;
  // Bytes of one GPU, as nvidia-smi shows them.
  Prediction memory;
  // The same in parts, which add up to memory.likely.
  PeakMemory parts;
  std::vector<GpuFit> fits;
  // What makes the run fit the GPU asked for, where it does not.
  std::optional<FitChange> change;
  // Tokens a second of one GPU. Absent without a GPU or a probe.
  std::optional<Prediction> tokens_per_s;
  std::optional<double> stated_tokens_per_s;
  // The check of the stated or measured throughput.
  std::optional<RooflineCheck> roofline;
  // Hours on the wall. Absent without samples or throughput.
  std::optional<LikelyRange> hours;
  // By the stated throughput, else by the likely one.
  std::optional<RunLength> length;
  std::optional<CapFacts> cap;
  double effective_batch = 0;
  // Bytes of the files that the run leaves behind: 2 a trained weight, and 14 with fp32 masters and AdamW's states.
  double weights_file = 0;
  double checkpoint_file = 0;
  // Bytes of cache that a token takes when the model serves, in 16 bits.
  double kv_bytes_per_token = 0;
  std::vector<std::string> warnings;
};

// Hours on the wall at a rate in tokens a second of one GPU, of which there are `gpus`. A fast rate gives the low end.
// Absent without samples.
std::optional<LikelyRange> HoursAt(const PlannedRun& plan, double gpus, const LikelyRange& tokens_per_s);

// Makes the report. Fails only if the program contains no coefficients.
Result<PlanReport> MakePlan(const Calibration& calibration, const PlannedRun& plan,
                            const std::optional<Evidence>& evidence = std::nullopt);

}  // namespace idleburn
