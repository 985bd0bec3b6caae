#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plan/calibration.h"
#include "plan/evidence.h"
#include "plan/fit_change.h"
#include "plan/memory.h"
#include "plan/memory_fit.h"
#include "plan/plan_words.h"
#include "plan/run_arithmetic.h"

namespace idleburn {

// One GPU model against the run's peak.
struct GpuFit {
  std::string gpu;
  double capacity = 0;  // bytes that the driver reports as usable
  MemoryFit fit = MemoryFit::kNo;
  double margin = 0;  // (capacity - high) / capacity
};

// What a run needs.
struct PlanReport {
  PlannedRun plan;
  std::optional<Evidence> evidence;  // the user's own runs that the figures rest on; absent: published ones
  Prediction memory;                 // bytes of one GPU, as nvidia-smi shows them
  PeakMemory parts;                  // adds up to memory.likely
  std::vector<GpuFit> fits;
  std::optional<FitChange> change;         // for the GPU asked for, where it does not fit
  std::optional<Prediction> tokens_per_s;  // of one GPU; absent without a GPU or a probe
  std::optional<double> stated_tokens_per_s;
  std::optional<RooflineCheck> roofline;  // of the stated or measured throughput
  std::optional<LikelyRange> hours;       // on the wall; absent without samples or throughput
  std::optional<RunLength> length;        // by the stated throughput, else by the likely one
  std::optional<CapFacts> cap;
  double effective_batch = 0;
  // Of what it leaves behind: 2 bytes a trained weight, and 14 with fp32 master and AdamW's states.
  double weights_file = 0;
  double checkpoint_file = 0;
  double kv_bytes_per_token = 0;  // when it serves, in 16 bits
  std::vector<std::string> warnings;
};

// Hours on the wall at a rate of tokens a second of one GPU, of which there are `gpus`. Absent without samples.
std::optional<LikelyRange> HoursAt(const PlannedRun& plan, double gpus, const LikelyRange& tokens_per_s);

Result<PlanReport> MakePlan(const Calibration& calibration, const PlannedRun& plan,
                            const std::optional<Evidence>& evidence = std::nullopt);

}  // namespace idleburn
