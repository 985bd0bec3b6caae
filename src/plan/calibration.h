#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "plan/memory.h"
#include "plan/run_row.h"

namespace idleburn {

enum class PlanQuantity : std::uint8_t { kMemory, kTime };
std::string_view Name(PlanQuantity quantity);

// How near a run is to what was measured, from nearest to farthest; an interval is as wide as its errors were. kGpu:
// its framework was, but not on this GPU, or not in this number format.
enum class Nearness : std::uint8_t { kModel, kFramework, kGpu, kUnknown };
inline constexpr std::size_t kNearnessCount = 4;
std::string_view Name(Nearness nearness);

// Multipliers of the formulas, in the order of CoefficientNames; `key` is a framework, a framework and what it ran on,
// or "*" for those never measured.
struct CoefficientSet {
  std::string key;
  std::vector<double> values;
};

// Stands for the framework of a run of which nobody says what its framework does unless it is told otherwise.
inline constexpr std::string_view kDefaultsUnknown = "?";

// The interval that held nine tenths of what was left out: measured / predicted lay in [low, high].
struct ErrorBand {
  PlanQuantity quantity = PlanQuantity::kMemory;
  Nearness nearness = Nearness::kUnknown;
  std::string framework;  // "*": of all; kDefaultsUnknown
  double low = 1;
  double high = 1;
};

struct CalibrationTable {
  std::string file;
  std::string sha256;
};

// What measured runs say of the formulas: data/plan/coefficients.csv, written by fit_plan.
struct Calibration {
  std::vector<CoefficientSet> memory;
  std::vector<CoefficientSet> time;
  std::vector<ErrorBand> bands;
  std::vector<std::string> models;  // "memory/qwen/qwen-7b": what was measured
  std::vector<CalibrationTable> tables;
};

std::span<const std::string_view> CoefficientNames(PlanQuantity quantity);

// Values in the order of CoefficientNames(kMemory).
MemoryCoefficients MemoryCoefficientsOf(std::span<const double> values);

Result<Calibration> ReadCalibration(std::string text, const std::string& name);
// The one that the program contains.
const Calibration& ShippedCalibration();

// "llm-foundry/A100-40GB-SXM/half": the set of step times that a run belongs to, and its framework's.
std::string TimeKey(const RunConfig& run);

// The set with this key; else of its framework; else "*". Null if there is none.
const CoefficientSet* SetFor(std::span<const CoefficientSet> sets, const std::string& key);

// What the sets predict; absent where they cannot (no set, GPU not known).
std::optional<double> PredictedPeakBytes(std::span<const CoefficientSet> sets, const RunRow& row);
std::optional<double> PredictedTokensPerSecond(std::span<const CoefficientSet> sets, const RunRow& row);

struct Prediction {
  double likely = 0;
  double low = 0;
  double high = 0;
  Nearness nearness = Nearness::kUnknown;
};

// A figure with the interval of how near the run is to measured ones. Tokens a second are per GPU.
std::optional<Prediction> PredictPeakBytes(const Calibration& calibration, const RunRow& row);
std::optional<Prediction> PredictTokensPerSecond(const Calibration& calibration, const RunRow& row);

}  // namespace idleburn
