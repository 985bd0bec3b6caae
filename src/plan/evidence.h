#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/time.h"
#include "history/run.h"
#include "plan/calibration.h"
#include "plan/plan_words.h"

namespace idleburn {

// What the user's own runs say of a planned one. A published run was made on other machines, so a probe or the history
// of this user counts for more: it replaces the formulas for the run as planned, and corrects them by a factor for
// other GPUs and numbers of them.

// A run that was measured on one of the user's machines.
struct RunReading {
  // How it ran.
  RunRow row;
  Instant at;
  // Steps that were counted, and the seconds that they took.
  std::int64_t steps = 0;
  double seconds = 0;
  // Tokens a second of one GPU.
  std::optional<double> tokens_s;
  // Half the 90 % interval of ln(tokens_s), by how its steps varied.
  std::optional<double> log_error;
  // Bytes of the GPU that held most, as nvidia-smi shows them.
  std::optional<double> peak_bytes;
};

// Seconds of one pass by its FLOPs: t(F) = fixed + per_flop x F, through two probes (docs/plan.md, "Measured here").
// The fixed part is what a pass costs however small it is.
struct AffinePass {
  double fixed_s = 0;
  double per_flop_s = 0;
};
// The line through two probes, FLOPs and seconds each. Absent where more FLOPs took no longer: then the two probes
// contradict each other.
std::optional<AffinePass> FitAffine(double flops_1, double seconds_1, double flops_2, double seconds_2);

// Where evidence comes from: probes made for this plan, or earlier runs.
enum class EvidenceKind : std::uint8_t { kProbe, kHistory };
std::string_view Name(EvidenceKind kind);

// What the user's own runs say of a planned one: its figures, and by how much the formulas are off, which carries over
// to other GPUs and numbers of them.
struct Evidence {
  EvidenceKind kind = EvidenceKind::kProbe;
  // What a report says of it: "probe of 2026-11-21: 20 + 20 steps".
  std::string text;
  std::vector<RunReading> runs;
  // Tokens a second of one GPU and bytes of the fullest GPU, as planned.
  std::optional<LikelyRange> tokens_s;
  std::optional<LikelyRange> peak_bytes;
  // Measured by predicted. It is 1 where nothing can be compared.
  double tokens_factor = 1;
  double peak_factor = 1;
  // The cost of a pass, by two probes with different batches.
  std::optional<AffinePass> pass;
};

// Sums up probes; the first ran as planned; `runs` is not empty.
Evidence EvidenceOfProbes(const Calibration& calibration, const PlannedRun& plan, std::vector<RunReading> runs);
// Sums up earlier runs of the same model, method, framework and GPU, whatever their batch was; the others are left out.
// Recent runs weigh more. Absent where no run is left.
std::optional<Evidence> EvidenceOfHistory(const Calibration& calibration, const PlannedRun& plan,
                                          std::span<const RunReading> runs, Instant now);

// Peak bytes and tokens a second of one GPU for a row, from the formulas and the evidence, if any. For the planned run
// itself that is what was measured. For another GPU or number of them it is the formulas times the factor, with the
// interval of the formulas.
std::optional<Prediction> PeakOn(const Calibration& calibration, const PlannedRun& plan,
                                 const std::optional<Evidence>& evidence, const RunRow& row);
std::optional<Prediction> TokensOn(const Calibration& calibration, const PlannedRun& plan,
                                   const std::optional<Evidence>& evidence, const RunRow& row);

// Writes the words of a plan on one line, as a forecast keeps them: "gpu=l4;micro_batch=2". Words that are no keys of a
// plan are left out.
std::string LineOfWords(const PlanWords& words);
// Reads such a line back. A piece that is no known key is left out.
PlanWords WordsOfLine(const std::string& line);

// What kept runs tell of their speed and memory. A run counts if it says how it was configured: by the plan that
// started it, or by tags named as the keys of a plan (model=..., seq_len=...).
std::vector<RunReading> ReadingsOf(const std::vector<HistoryRun>& runs);

}  // namespace idleburn
