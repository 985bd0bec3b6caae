#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/time.h"
#include "plan/calibration.h"
#include "plan/plan_words.h"

namespace idleburn {

// A figure with its 90 % interval.
struct LikelyRange {
  double likely = 0;
  double low = 0;
  double high = 0;
};

// A run that was measured on a machine of the user's.
struct RunReading {
  RunRow row;  // how it ran
  Instant at;
  std::int64_t steps = 0;            // counted
  double seconds = 0;                // that they took
  std::optional<double> tokens_s;    // of one GPU
  std::optional<double> log_error;   // half the 90 % interval of ln(tokens_s), by how its steps varied
  std::optional<double> peak_bytes;  // of the GPU that held most, as nvidia-smi shows it
};

// Seconds of one pass by its FLOPs: t(F) = fixed + per_flop x F, through two probes (docs/plan.md, "Measured here").
// `fixed` is what a pass costs however small it is.
struct AffinePass {
  double fixed_s = 0;
  double per_flop_s = 0;
};
// Absent where more FLOPs took no longer: then the two probes contradict each other.
std::optional<AffinePass> FitAffine(double flops_1, double seconds_1, double flops_2, double seconds_2);

enum class EvidenceKind : std::uint8_t { kProbe, kHistory };
std::string_view Name(EvidenceKind kind);

// What the user's own runs say of a planned one: its figures, and by how much the formulas are off, which carries over
// to other GPUs and numbers of them.
struct Evidence {
  EvidenceKind kind = EvidenceKind::kProbe;
  std::string text;  // "probe of 2026-11-21: 20 + 20 steps"
  std::vector<RunReading> runs;
  std::optional<LikelyRange> tokens_s;  // of one GPU, as planned
  std::optional<LikelyRange> peak_bytes;
  double tokens_factor = 1;  // measured / predicted; 1: nothing to compare with
  double peak_factor = 1;
  std::optional<AffinePass> pass;  // of two probes that differ
};

// Of probes, the first of which ran as planned; `runs` is not empty.
Evidence EvidenceOfProbes(const Calibration& calibration, const PlannedRun& plan, std::vector<RunReading> runs);
// Of earlier runs of the same model, method, framework and GPU, whatever their batch was; the others are left out.
// Recent runs weigh more. Absent where none is left.
std::optional<Evidence> EvidenceOfHistory(const Calibration& calibration, const PlannedRun& plan,
                                          std::span<const RunReading> runs, Instant now);

// What the formulas and the evidence, if any, say of a row: of the planned run itself what was measured, of another GPU
// or number of them the formulas times the factor, with the interval of the formulas.
std::optional<Prediction> PeakOn(const Calibration& calibration, const PlannedRun& plan,
                                 const std::optional<Evidence>& evidence, const RunRow& row);
std::optional<Prediction> TokensOn(const Calibration& calibration, const PlannedRun& plan,
                                   const std::optional<Evidence>& evidence, const RunRow& row);

}  // namespace idleburn
