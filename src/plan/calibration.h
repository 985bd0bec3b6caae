#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_source.h"
#include "base/result.h"
#include "plan/gpu_rate.h"
#include "plan/memory.h"
#include "plan/run_row.h"

namespace idleburn {

// What measured runs teach the formulas. tools/fit writes multipliers and error bands from published runs, the program
// contains them, and every prediction here carries the band of runs that were as near to measured ones as this run is.
// The bands come from runs that were left out of the fit, so that an interval says how wrong a prediction of a new run
// was.

// What is predicted: the peak of a GPU's memory, or tokens a second.
enum class PlanQuantity : std::uint8_t { kMemory, kTime };
std::string_view Name(PlanQuantity quantity);

// How near a run is to what was measured, from nearest to farthest. An interval is as wide as the errors at its
// nearness were. With kGpu the framework was measured, but not on this GPU or not in this number format.
enum class Nearness : std::uint8_t { kModel, kFramework, kGpu, kUnknown };
// How many levels of nearness there are.
inline constexpr std::size_t kNearnessCount = 4;
std::string_view Name(Nearness nearness);

// Multipliers of the formulas, in the order of CoefficientNames. The key is a framework, a framework with what it ran
// on, or "*" for those never measured.
struct CoefficientSet {
  std::string key;
  std::vector<double> values;
};

// The framework's name in the bands of memory for runs whose framework has unknown defaults.
inline constexpr std::string_view kDefaultsUnknown = "?";

// The interval that held nine tenths of the runs that were left out of the fit: measured / predicted lay in [low,
// high].
struct ErrorBand {
  PlanQuantity quantity = PlanQuantity::kMemory;
  Nearness nearness = Nearness::kUnknown;
  // A framework's name, "*" for all of them together, or kDefaultsUnknown.
  std::string framework;
  double low = 1;
  double high = 1;
};

// A table of runs that the fit has read, with its checksum, so that a reader can repeat it.
struct CalibrationTable {
  std::string file;
  std::string sha256;
};

// What measured runs say of the formulas. fit_plan writes it to data/plan/coefficients.csv.
struct Calibration {
  std::vector<CoefficientSet> memory;
  std::vector<CoefficientSet> time;
  // The highest utilisation of a published run, by number format: model FLOPs, attention halved, of the dense peak.
  std::vector<CoefficientSet> best;
  std::vector<ErrorBand> bands;
  // What was measured, as quantity, framework and model: "memory/qwen/qwen-7b".
  std::vector<std::string> models;
  std::vector<CalibrationTable> tables;
};

// Names of the multipliers of that quantity, in the order of CoefficientSet::values.
std::span<const std::string_view> CoefficientNames(PlanQuantity quantity);

// Turns a set of memory into named multipliers; the values are in the order of CoefficientNames(kMemory).
MemoryCoefficients MemoryCoefficientsOf(std::span<const double> values);

// Reads the CSV of coefficients; `name` is what errors call it. Fails on a row that it does not understand.
Result<Calibration> ReadCalibration(std::string text, const std::string& name);
// The calibration that the program contains.
const Calibration& ShippedCalibration();

// The key of the set of step times that a run belongs to: "llm-foundry/A100-40GB-SXM/half".
std::string TimeKey(const RunConfig& run);

// The number format of a run's large matmuls.
MatmulFormat FormatOfRun(const RunConfig& run);
// The highest utilisation of a published run in the run's format; 0 where there is none.
double BestUtilization(const Calibration& calibration, const RunConfig& run);

// The set with this key; without one, that of its framework; without one, "*". Null if there is none at all.
const CoefficientSet* SetFor(std::span<const CoefficientSet> sets, const std::string& key);

// The bare figures of the sets: bytes of one GPU, and tokens a second of one GPU. Absent where the sets cannot say (no
// set, GPU not known).
std::optional<double> PredictedPeakBytes(std::span<const CoefficientSet> sets, const RunRow& row);
std::optional<double> PredictedTokensPerSecond(std::span<const CoefficientSet> sets, const RunRow& row);

// A figure with its 90 % interval.
struct LikelyRange {
  double likely = 0;
  double low = 0;
  double high = 0;

  void MultiplyBy(double factor) {
    for (double* figure : {&likely, &low, &high}) *figure *= factor;
  }
};

// A predicted figure, its interval, and how near it is to measured runs.
struct Prediction : LikelyRange {
  Nearness nearness = Nearness::kUnknown;
  // Bytes that leave a full GPU for host memory: states of a paged optimizer.
  double evictable = 0;
};

// Whether a predicted peak fits so many bytes. What is evictable takes only the room that is left.
inline MemoryFit JudgeFit(const Prediction& peak, double capacity) {
  return JudgeFit(peak.likely - peak.evictable, peak.high - peak.evictable, capacity);
}

// The same figures with the interval that belongs to the run's nearness. It is wider where the row leaves things open.
std::optional<Prediction> PredictPeakBytes(const Calibration& calibration, const RunRow& row);
std::optional<Prediction> PredictTokensPerSecond(const Calibration& calibration, const RunRow& row);

// The answer to a whole table: a line for every row, and counts of what could not be done.
struct PredictedTable {
  // The columns key, predicted, low, high. There is a line for each row, in order; its cells are empty where nothing
  // can be predicted.
  std::string csv;
  std::size_t rows = 0;
  std::size_t predicted = 0;
  // Rows whose key an earlier row has.
  std::size_t repeated_keys = 0;
  // Why rows were left empty, and how many of them.
  std::map<std::string, std::size_t> reasons;
  // Names in the header or in `config` that no known table has.
  std::vector<std::string> unknown_columns;
  // How many predicted rows have each nearness, by its name; "probes" where a row brought its own measured steps.
  std::map<std::string, std::size_t> nearness;
};

// Reads `key`, `quantity` (tokens_s_per_gpu, peak_bytes, s_per_iter) and the columns of a planning table, or a column
// `config` of name=value pairs joined by semicolons, which count where both are given. Fails on a table without key or
// quantity, or one that is no CSV.
Result<PredictedTable> PredictTable(ByteSource& in, const Calibration& calibration);

// Reads a cell of pairs: "a=1;b=x;y;c=2" gives a: 1, b: x;y, c: 2. A piece without "=" belongs to the value before it.
TableCells ReadConfigCell(std::string_view text);

}  // namespace idleburn
