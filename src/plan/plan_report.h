#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "history/run.h"
#include "plan/calibration.h"
#include "plan/evidence.h"
#include "plan/fit_changes.h"
#include "plan/memory.h"
#include "plan/plan_words.h"
#include "plan/training_time.h"

namespace idleburn {
// The answer to a plan: does the run fit, what would make it fit, how long does it take, and can the stated speed be
// true. This is the one place where memory, time and evidence meet; prices come later, in plan/options.h.

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
  // What makes the run fit the GPU asked for, where it does not: the cheapest first.
  std::vector<FitChange> changes;
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

// Hours on the wall at a rate in tokens a second of one GPU, for `gpus` GPUs. A fast rate gives the low end.
// Absent without samples.
std::optional<LikelyRange> HoursAt(const PlannedRun& plan, double gpus, const LikelyRange& tokens_per_s);

// The stated throughput in tokens a second of one GPU. Its ends meet unless measured steps state it. Absent where the
// report has none.
std::optional<LikelyRange> StatedRange(const PlanReport& report);

// Makes the report. Fails only if the program contains no coefficients.
Result<PlanReport> MakePlan(const Calibration& calibration, const PlannedRun& plan,
                            const std::optional<Evidence>& evidence = std::nullopt);

// How good forecasts were. A run that was started from a plan keeps its forecast; once it has ended, every figure is
// set beside what came, and errors are summed up by month. Only figures of the same work are compared: a run that
// stopped early says nothing of the hours that were forecast.

// What a plan forecasts of a run; the last one is what a scenario of costs forecasts of a month.
enum class ForecastQuantity : std::uint8_t { kHours, kGpuHours, kCost, kTokensPerSecond, kMemory, kScenarioCost };
// How many quantities are forecast of a run, and the names of all quantities in reports.
inline constexpr std::size_t kForecastQuantityCount = 5;  // of a run
inline constexpr std::array<std::string_view, kForecastQuantityCount + 1> kForecastQuantityNames = {
    "hours", "gpu_hours", "cost", "tokens_per_s_per_gpu", "memory_bytes", "scenario_cost"};

// A forecast figure with its 90 % interval, and what came of it; both above 0.
struct JudgedForecast {
  std::string run;
  // The month in which the run ended: "2026-11".
  std::string month;
  ForecastQuantity quantity = ForecastQuantity::kHours;
  LikelyRange forecast;
  double actual = 0;

  // forecast / actual - 1: above 0, more was forecast than came.
  [[nodiscard]] double Error() const { return forecast.likely / actual - 1; }
  // Whether there is an interval; a figure that was only stated has none.
  [[nodiscard]] bool HasInterval() const { return forecast.low < forecast.high; }
  [[nodiscard]] bool Inside() const { return actual >= forecast.low && actual <= forecast.high; }
};

// The fewest runs that say anything of forecasts in general. The worst of twenty needs more.
inline constexpr std::size_t kFewestForecasts = 5;
inline constexpr std::size_t kFewestForTail = 20;

// The errors of one quantity in one month.
struct MonthOfErrors {
  std::string month;
  ForecastQuantity quantity = ForecastQuantity::kHours;
  std::size_t n = 0;
  // Of the errors' sizes. These four are absent below kFewestForecasts, and `p95` below kFewestForTail.
  std::optional<double> median;
  std::optional<double> p95;
  // The mean of the errors with their signs.
  std::optional<double> bias;
  // Of the runs with an interval, the share whose figure lay inside it.
  std::optional<double> coverage;
  std::string worst_run;
  // With its sign.
  double worst_error = 0;
};

// Sums up forecasts by month, the newest first, then by quantity. What a month lacks has no row.
std::vector<MonthOfErrors> ErrorsByMonth(std::span<const JudgedForecast> forecasts);

// A figure of a forecast beside what came; absent where it is not known.
struct ForecastLine {
  ForecastQuantity quantity = ForecastQuantity::kHours;
  std::optional<LikelyRange> forecast;
  std::optional<double> actual;
  // Whether both figures are known, and of the same work.
  bool comparable = false;
};

// How a forecast came out.
struct ForecastOutcome {
  // One line a quantity, in their order.
  std::vector<ForecastLine> lines;
  // Why hours, GPU-hours and cost are not compared. Empty if they are.
  std::string why_partial;
};
// Compares every figure of a run that has ended and has a forecast.
ForecastOutcome OutcomeOf(const HistoryRun& run);

}  // namespace idleburn
