#include "plan/calibrate.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "os/sha256.h"
#include "plan/gpu_rate.h"
#include "plan/memory.h"
#include "plan/step_time.h"
#include "stats/positive_fit.h"
#include "stats/quantile.h"
#include "text/csv_table.h"

namespace idleburn {
namespace {

using Rows = std::vector<const MeasuredRow*>;

constexpr std::array<std::string_view, 9> kFiles = {"throughput_mpt.csv",
                                                    "memory_qwen.csv",
                                                    "steptime_qwen.csv",
                                                    "memory_litgpt.csv",
                                                    "memory_throughput_peft_metamath.csv",
                                                    "memory_throughput_fsdp_qlora.csv",
                                                    "memory_throughput_torchtitan.csv",
                                                    "memory_throughput_torchtune.csv",
                                                    "throughput_megatron_bridge.csv"};

// What is believed before a row is read: planning.md sections 2.6 and 3.2, rounded.
const std::vector<CoefficientPrior> kMemoryPriors = {{1.03, .06}, {1.1, .2}, {.95, .25}, {1, .3},  {.9, .3},
                                                     {1, .12},    {1, .3},   {.12, .5},  {1.2, .4}};
const std::vector<CoefficientPrior> kTimePriors = {{1.2, .5}, {3, .7}, {2, 1}, {4, 1},  {.8, 1}, {.01, 1},
                                                   {2, 1},    {10, 1}, {3, 1}, {.3, 1}, {10, 1}, {3, 1},
                                                   {1, 1},    {1, 1},  {1, 1}, {1, 1}};

// How a quantity is fitted: errors that a right model makes, and how far a set strays from the one above it.
constexpr double kMemoryNoise = 0.04;
constexpr double kTimeNoise = 0.02;
constexpr double kMemoryStray = 0.8;
constexpr double kTimeStray = 2;
constexpr double kFrameworkRows = 15;  // a framework with more rows counts as this many in what is common to all
constexpr std::size_t kTenths = 10;
constexpr double kBandTail = 0.02;

std::optional<double> MeasuredOf(const RunRow& row, PlanQuantity quantity) {
  return quantity == PlanQuantity::kMemory ? row.peak_bytes : row.tokens_s_per_gpu;
}

Rows With(const std::vector<MeasuredRow>& rows, PlanQuantity quantity) {
  Rows found;
  for (const MeasuredRow& row : rows) {
    if (!MeasuredOf(row.row, quantity)) continue;
    if (quantity == PlanQuantity::kTime && !RateOf(row.row.run.gpu)) continue;
    found.push_back(&row);
  }
  return found;
}

std::vector<double> Fit(const Rows& rows, PlanQuantity quantity, const std::vector<CoefficientPrior>& priors,
                        bool evenly) {
  std::map<std::string, double> counts;
  for (const MeasuredRow* row : rows) ++counts[row->row.run.framework];
  PositiveFit fit;
  fit.priors = priors;
  fit.noise = quantity == PlanQuantity::kMemory ? kMemoryNoise : kTimeNoise;
  std::vector<MemoryParts> parts;
  std::vector<TimeTerms> terms;
  for (const MeasuredRow* measured : rows) {
    const RunRow& row = measured->row;
    if (evenly) fit.weights.push_back(std::min(1.0, kFrameworkRows / counts[row.run.framework]));
    if (quantity == PlanQuantity::kMemory) {
      fit.measured.push_back(*row.peak_bytes);
      parts.push_back(PartsOf(row.facts, row.run));
    } else {
      fit.measured.push_back(1 / *row.tokens_s_per_gpu);
      terms.push_back(TermsOf(row.facts, row.run, *RateOf(row.run.gpu)));
    }
  }
  fit.predict = [&](std::span<const double> c, std::size_t i) {
    return quantity == PlanQuantity::kMemory ? PeakOf(parts[i], MemoryCoefficientsOf(c)).total()
                                             : SecondsPerToken(terms[i], c);
  };
  return FitPositiveCoefficients(fit);
}

std::vector<CoefficientPrior> Around(const std::vector<double>& values, std::vector<CoefficientPrior> priors,
                                     double stray) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    priors[i].value = std::max(values[i], 1e-9);
    priors[i].spread *= stray;
  }
  return priors;
}

template <typename Keep>
Rows Only(const Rows& rows, Keep keep) {
  Rows kept;
  std::copy_if(rows.begin(), rows.end(), std::back_inserter(kept), keep);
  return kept;
}

// The set of all frameworks but one, and that one's own around it; for times also one for each GPU and format.
std::vector<CoefficientSet> SetsOf(const Rows& rows, PlanQuantity quantity, const std::string& framework) {
  const bool memory = quantity == PlanQuantity::kMemory;
  const std::vector<CoefficientPrior>& priors = memory ? kMemoryPriors : kTimePriors;
  const double stray = memory ? kMemoryStray : kTimeStray;
  const Rows own = Only(rows, [&](const MeasuredRow* row) { return row->row.run.framework == framework; });
  std::vector<CoefficientSet> sets;
  // A framework's times follow its way to write kernels more than other frameworks: they start from the prior.
  std::vector<CoefficientPrior> start = priors;
  if (memory || own.empty()) {
    const Rows others = Only(rows, [&](const MeasuredRow* row) { return row->row.run.framework != framework; });
    sets.push_back({"*", Fit(others, quantity, priors, true)});
    start = Around(sets.back().values, priors, stray);
  }
  if (own.empty()) return sets;
  sets.push_back({framework, Fit(own, quantity, start, false)});
  if (memory) return sets;
  const std::vector<double> values = sets.back().values;
  std::set<std::string> keys;
  for (const MeasuredRow* row : own) keys.insert(TimeKey(row->row.run));
  for (const std::string& key : keys) {
    const Rows mine = Only(own, [&](const MeasuredRow* row) { return TimeKey(row->row.run) == key; });
    sets.push_back({key, Fit(mine, quantity, Around(values, priors, stray), false)});
  }
  return sets;
}

std::string FoldOf(const MeasuredRow& row, HoldOut hold_out, std::size_t index) {
  switch (hold_out) {
    case HoldOut::kTenth:
      return std::to_string(index % kTenths);
    case HoldOut::kGroup:
      return row.row.run.framework + "/" + row.group;
    case HoldOut::kFramework:
      return row.row.run.framework;
  }
  return {};
}

// Bands of one nearness: of each framework with enough rows, and of all.
void AddBands(std::vector<ErrorBand>& bands, const std::vector<HeldOutRow>& held_out, PlanQuantity quantity,
              Nearness nearness) {
  std::map<std::string, std::vector<double>> ratios;
  for (const HeldOutRow& row : held_out) {
    const double ratio = row.measured / row.predicted;
    ratios["*"].push_back(ratio);
    if (nearness != Nearness::kUnknown) ratios[row.row->row.run.framework].push_back(ratio);
  }
  for (auto& [framework, values] : ratios) {
    if (framework != "*" && values.size() < kOwnBandRows) continue;
    const RatioBand band = BandOf(values);
    bands.push_back({quantity, nearness, framework, std::min(1.0, band.low), std::max(1.0, band.high)});
  }
}

void CalibrateQuantity(const std::vector<MeasuredRow>& rows, PlanQuantity quantity, Calibration& calibration) {
  const Rows all = With(rows, quantity);
  std::vector<CoefficientSet>& sets = quantity == PlanQuantity::kMemory ? calibration.memory : calibration.time;
  const std::vector<CoefficientPrior>& priors = quantity == PlanQuantity::kMemory ? kMemoryPriors : kTimePriors;
  sets.push_back({"*", Fit(all, quantity, priors, true)});
  std::set<std::string> frameworks;
  std::set<std::string> models;
  for (const MeasuredRow* row : all) {
    frameworks.insert(row->row.run.framework);
    models.insert(fmt::format("{}/{}/{}", quantity == PlanQuantity::kMemory ? "memory" : "time", row->row.run.framework,
                              row->row.facts.name));
  }
  for (const std::string& framework : frameworks) {
    for (CoefficientSet& set : SetsOf(all, quantity, framework)) {
      if (set.key != "*") sets.push_back(std::move(set));
    }
  }
  calibration.models.insert(calibration.models.end(), models.begin(), models.end());
  for (const auto& [hold_out, nearness] :
       std::array<std::pair<HoldOut, Nearness>, kNearnessCount>{{{HoldOut::kTenth, Nearness::kModel},
                                                                 {HoldOut::kGroup, Nearness::kFramework},
                                                                 {HoldOut::kFramework, Nearness::kUnknown}}}) {
    AddBands(calibration.bands, PredictHeldOut(rows, quantity, hold_out), quantity, nearness);
  }
}

}  // namespace

std::span<const std::string_view> CalibrationFiles() { return kFiles; }

Result<void> AddTable(PublishedRows& published, std::string text, const std::string& file) {
  published.tables.push_back({file, Sha256Hex(text)});
  StringSource in{std::move(text), file};
  CsvTable table(in);
  TRY(table.ReadHeader());
  while (true) {
    const Result<bool> more = table.Next();
    if (!more) return tl::unexpected<Error>(more.error());
    if (!*more) return {};
    TableCells cells;
    for (const std::string& column : table.columns()) cells[column] = table.Cell(column);
    Result<RunRow> row = ReadRunRow(cells);
    if (!row) {
      published.skipped.push_back(table.Where() + ": " + row.error().message);
      continue;
    }
    const bool one_model = row->run.framework == "peft";
    MeasuredRow measured = {file, std::move(*row), {}};
    measured.group = one_model ? cells["method"] : measured.row.facts.name;
    published.rows.push_back(std::move(measured));
  }
}

RatioBand BandOf(std::vector<double> ratios) {
  std::sort(ratios.begin(), ratios.end());
  return {SortedQuantile(ratios, kBandTail), SortedQuantile(ratios, 1 - kBandTail)};
}

std::vector<HeldOutRow> PredictHeldOut(const std::vector<MeasuredRow>& rows, PlanQuantity quantity, HoldOut hold_out) {
  const Rows all = With(rows, quantity);
  std::map<std::string, Rows> folds;
  for (std::size_t i = 0; i < all.size(); ++i) folds[FoldOf(*all[i], hold_out, i)].push_back(all[i]);
  std::vector<HeldOutRow> predictions;
  for (const auto& [fold, left_out] : folds) {
    const std::set<const MeasuredRow*> out(left_out.begin(), left_out.end());
    const Rows rest = Only(all, [&](const MeasuredRow* row) { return out.count(row) == 0; });
    std::map<std::string, std::vector<CoefficientSet>> sets;  // by framework
    for (const MeasuredRow* row : left_out) {
      const std::string& framework = row->row.run.framework;
      if (sets.count(framework) == 0) sets[framework] = SetsOf(rest, quantity, framework);
      const auto& mine = sets[framework];
      const std::optional<double> predicted = quantity == PlanQuantity::kMemory
                                                  ? PredictedPeakBytes(mine, row->row)
                                                  : PredictedTokensPerSecond(mine, row->row);
      if (predicted) predictions.push_back({row, *MeasuredOf(row->row, quantity), *predicted});
    }
  }
  return predictions;
}

Calibration Calibrate(const PublishedRows& published) {
  Calibration calibration;
  calibration.tables = published.tables;
  CalibrateQuantity(published.rows, PlanQuantity::kMemory, calibration);
  CalibrateQuantity(published.rows, PlanQuantity::kTime, calibration);
  return calibration;
}

}  // namespace idleburn
