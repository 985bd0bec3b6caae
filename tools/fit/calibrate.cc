#include "fit/calibrate.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "fit/positive_fit.h"
#include "fit/unseen_group.h"
#include "os/digest.h"
#include "plan/gpu_rate.h"
#include "plan/memory.h"
#include "plan/model_table.h"
#include "plan/training_time.h"
#include "stats/order.h"
#include "text/csv.h"

namespace idleburn {
namespace {

using Rows = std::vector<const MeasuredRow*>;

// The table of several frameworks: one quantity a row, and the framework behind the row's family.
constexpr std::string_view kMixedFile = "fresh_finetune_and_pretrain.csv";

constexpr std::array<std::string_view, 10> kFiles = {"throughput_mpt.csv",
                                                     "memory_qwen.csv",
                                                     "steptime_qwen.csv",
                                                     "memory_litgpt.csv",
                                                     "memory_throughput_peft_metamath.csv",
                                                     "memory_throughput_fsdp_qlora.csv",
                                                     "memory_throughput_torchtitan.csv",
                                                     "memory_throughput_torchtune.csv",
                                                     "throughput_megatron_bridge.csv",
                                                     kMixedFile};

// What is believed before a row is read: engineering values, near 1 where the formulas are whole. Weights and states
// are counted, so nothing is fitted there.
const std::vector<CoefficientPrior> kMemoryPriors = {{1, 0},   {1.1, .2}, {.95, .25}, {1, .3},  {.9, .3},
                                                     {1, .12}, {1, .3},   {.12, .5},  {1.2, .4}};
const std::vector<CoefficientPrior> kTimePriors = {
    {1.1, .25}, {2.5, .5}, {1.5, .6}, {3, .6}, {.1, 1},  {.01, 1}, {2, .6},  {25, .5},  {2, 1},  {.3, .7}, {10, 1},
    {3, .7},    {20, 1},   {.5, 1},   {1, .7}, {.7, .7}, {40, .7}, {.7, .7}, {1.5, .7}, {1, .3}, {8, .7},  {1, .25}};

// How a quantity is fitted: errors that a right model makes, and how far a set strays from the one above it.
constexpr double kMemoryNoise = 0.04;
constexpr double kMemoryStray = 0.8;
constexpr double kCommonTimeNoise = 0.3;  // between frameworks, which write their kernels in their own ways
constexpr double kTimeNoise = 0.2;        // between the GPUs and formats of one framework
constexpr double kOneGpuTimeNoise = 0.025;
constexpr double kLeastTimeNoise = 0.02;  // between the models of a framework on one GPU, or
constexpr double kTimeNoiseShare = 0.7;   // of the median residual of its framework, if that is more
constexpr double kTimeStray = 1;
constexpr double kOneGpuTimeStray = 0.5;
constexpr double kGroupRows = 6;       // a model with more rows counts as this many: they are near-copies
constexpr double kFrameworkRows = 15;  // a framework with more rows counts as this many in what is common to all
constexpr std::size_t kTenths = 10;
constexpr double kBandTail = 0.028;  // cut off at either end of errors of one framework

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

// How much each row counts so that no key of `keys` counts as more than `most` rows.
std::vector<double> EvenWeights(const std::vector<std::string>& keys, double most) {
  std::map<std::string, double> counts;
  for (const std::string& key : keys) ++counts[key];
  std::vector<double> weights;
  for (const std::string& key : keys) weights.push_back(std::min(1.0, most / counts[key]));
  return weights;
}

std::vector<double> FrameworksEvenly(const Rows& rows) {
  std::vector<std::string> keys;
  for (const MeasuredRow* row : rows) keys.push_back(row->row.run.framework);
  return EvenWeights(keys, kFrameworkRows);
}

std::vector<double> ModelsEvenly(const Rows& rows) {
  std::vector<std::string> keys;
  for (const MeasuredRow* row : rows) keys.push_back(row->group);
  return EvenWeights(keys, kGroupRows);
}

// The coefficients by which `predict` comes nearest to what `measured` says of the rows. What it needs of a row,
// `terms`, does not depend on them and is taken once.
template <typename Measured, typename Terms, typename Predict>
std::vector<double> Fitted(const Rows& rows, PositiveFit fit, Measured measured, Terms terms, Predict predict) {
  std::vector<decltype(terms(*rows.front()))> of_rows;
  for (const MeasuredRow* row : rows) {
    fit.measured.push_back(measured(row->row));
    of_rows.push_back(terms(*row));
  }
  fit.predict = [&](std::span<const double> c, std::size_t i) { return predict(of_rows[i], c); };
  return FitPositiveCoefficients(fit);
}

std::vector<double> FitMemory(const Rows& rows, const std::vector<CoefficientPrior>& priors,
                              std::vector<double> weights) {
  PositiveFit fit;
  fit.priors = priors;
  fit.noise = kMemoryNoise;
  fit.weights = std::move(weights);
  return Fitted(
      rows, std::move(fit), [](const RunRow& row) { return *row.peak_bytes; },
      [](const MeasuredRow& row) { return PartsOf(row.row.facts, row.row.run); },
      [](const MemoryParts& parts, std::span<const double> c) {
        return PeakOf(parts, MemoryCoefficientsOf(c)).total();
      });
}

TimeTerms TermsOf(const MeasuredRow& row) { return TermsOf(row.row.facts, row.row.run, *RateOf(row.row.run.gpu)); }

std::vector<double> FitTime(const Rows& rows, const std::vector<CoefficientPrior>& priors, double noise,
                            std::vector<double> weights) {
  PositiveFit fit;
  fit.priors = priors;
  fit.noise = noise;
  fit.weights = std::move(weights);
  return Fitted(
      rows, std::move(fit), [](const RunRow& row) { return 1 / *row.tokens_s_per_gpu; },
      [](const MeasuredRow& row) { return TermsOf(row); },
      [](const TimeTerms& terms, std::span<const double> c) { return SecondsPerToken(terms, c); });
}

// What is common to all frameworks among the rows: the set of one never seen.
CoefficientSet CommonSet(const Rows& rows, PlanQuantity quantity) {
  return {"*", quantity == PlanQuantity::kMemory
                   ? FitMemory(rows, kMemoryPriors, FrameworksEvenly(rows))
                   : FitTime(rows, kTimePriors, kCommonTimeNoise, FrameworksEvenly(rows))};
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

double MedianResidual(const Rows& rows, std::span<const double> coefficients) {
  std::vector<double> residuals;
  for (const MeasuredRow* row : rows)
    residuals.push_back(std::abs(std::log(SecondsPerToken(TermsOf(*row), coefficients) * *row->row.tokens_s_per_gpu)));
  std::sort(residuals.begin(), residuals.end());
  return SortedQuantile(residuals, 0.5);
}

// A framework's own set of times around `start`, and around it one for each GPU and format where it has several.
void AddTimeSets(std::vector<CoefficientSet>& sets, const Rows& own, const std::vector<CoefficientPrior>& start) {
  const std::string& framework = own.front()->row.run.framework;
  std::set<std::string> keys;
  for (const MeasuredRow* row : own) keys.insert(TimeKey(row->row.run));
  const double noise = keys.size() > 1 ? kTimeNoise : kOneGpuTimeNoise;
  sets.push_back({framework, FitTime(own, start, noise, ModelsEvenly(own))});
  if (keys.size() < 2) return sets.push_back({*keys.begin(), sets.back().values});
  const std::vector<double> values = sets.back().values;
  const double own_noise = std::max(kLeastTimeNoise, kTimeNoiseShare * MedianResidual(own, values));
  for (const std::string& key : keys) {
    const Rows mine = Only(own, [&](const MeasuredRow* row) { return TimeKey(row->row.run) == key; });
    sets.push_back({key, FitTime(mine, Around(values, kTimePriors, kOneGpuTimeStray), own_noise, ModelsEvenly(mine))});
  }
}

// `common` is of all frameworks but this one; its own set is fitted around it.
std::vector<CoefficientSet> SetsOf(const Rows& rows, PlanQuantity quantity, const std::string& framework,
                                   const CoefficientSet& common) {
  const Rows own = Only(rows, [&](const MeasuredRow* row) { return row->row.run.framework == framework; });
  std::vector<CoefficientSet> sets = {common};
  if (own.empty()) return sets;
  if (quantity == PlanQuantity::kMemory) {
    sets.push_back({framework, FitMemory(own, Around(common.values, kMemoryPriors, kMemoryStray), {})});
  } else {
    AddTimeSets(sets, own, Around(common.values, kTimePriors, kTimeStray));
  }
  return sets;
}

CoefficientSet CommonToOthers(const Rows& rows, PlanQuantity quantity, const std::string& framework) {
  return CommonSet(Only(rows, [&](const MeasuredRow* row) { return row->row.run.framework != framework; }), quantity);
}

bool HasFramework(const Rows& rows, const std::string& framework) {
  return std::any_of(rows.begin(), rows.end(),
                     [&](const MeasuredRow* row) { return row->row.run.framework == framework; });
}

std::string FoldOf(const MeasuredRow& row, HoldOut hold_out, std::size_t index) {
  switch (hold_out) {
    case HoldOut::kTenth:
      return std::to_string(index % kTenths);
    case HoldOut::kGroup:
      return row.row.run.framework + "/" + row.group;
    case HoldOut::kFamily:
      return FamilyOf(row.row);
    case HoldOut::kGpu:
      return GpuGroupOf(row.row);
    case HoldOut::kFramework:
      return row.row.run.framework;
  }
  return {};
}

// The bands of one nearness, of every framework that was left out in parts.
void AddBands(Calibration& calibration, const std::vector<HeldOutRow>& known, const std::vector<HeldOutRow>& unknown,
              PlanQuantity quantity, Nearness nearness) {
  std::set<std::string> frameworks;
  for (const HeldOutRow& row : known) frameworks.insert(row.row->row.run.framework);
  if (nearness == Nearness::kUnknown) frameworks = {"*"};
  for (const std::string& framework : frameworks) {
    const RatioBand band = BandFor(framework, known, unknown);
    calibration.bands.push_back({quantity, nearness, framework, std::min(1.0, band.low), std::max(1.0, band.high)});
  }
}

void CalibrateQuantity(const std::vector<MeasuredRow>& rows, PlanQuantity quantity, Calibration& calibration) {
  const Rows all = With(rows, quantity);
  std::vector<CoefficientSet>& sets = quantity == PlanQuantity::kMemory ? calibration.memory : calibration.time;
  sets.push_back(CommonSet(all, quantity));
  std::set<std::string> frameworks;
  std::set<std::string> models;
  for (const MeasuredRow* row : all) {
    frameworks.insert(row->row.run.framework);
    models.insert(fmt::format("{}/{}/{}", Name(quantity), row->row.run.framework, row->row.facts.name));
  }
  for (const std::string& framework : frameworks) {
    for (CoefficientSet& set : SetsOf(all, quantity, framework, CommonToOthers(all, quantity, framework))) {
      if (set.key != "*") sets.push_back(std::move(set));
    }
  }
  calibration.models.insert(calibration.models.end(), models.begin(), models.end());
  const std::vector<HeldOutRow> unknown = PredictHeldOut(rows, quantity, HoldOut::kFramework);
  AddBands(calibration, PredictHeldOut(rows, quantity, HoldOut::kTenth), unknown, quantity, Nearness::kModel);
  AddBands(calibration, PredictHeldOut(rows, quantity, HoldOut::kGroup), unknown, quantity, Nearness::kFramework);
  AddBands(calibration, {}, unknown, quantity, Nearness::kUnknown);
  if (quantity == PlanQuantity::kMemory) return;  // it takes as much on any GPU
  std::map<std::string, double> best;             // by number format
  for (const MeasuredRow* row : all) {
    const RunConfig& run = row->row.run;
    // Peaks of consumer cards are stated in several ways; those of GPUs whose matmuls were measured are sure.
    const GpuRate gpu = *RateOf(run.gpu);
    if (gpu.half_mamf_tflops <= 0 && !run.fp8 && !run.fp4) continue;
    const double peak = PeakFlops(gpu, FormatOfRun(run));
    const double flops = FlopsOf(row->row.facts, run).ModelFlops(true) * *row->row.tokens_s_per_gpu;
    double& most = best[run.fp4 ? "fp4" : run.fp8 ? "fp8" : "half"];
    most = std::max(most, flops / peak);
  }
  for (const auto& [format, most] : best) calibration.best.push_back({format, {most}});
  const RatioBand gpu = BandOfUnseenGpu(PredictHeldOut(rows, quantity, HoldOut::kGpu));
  calibration.bands.push_back({quantity, Nearness::kGpu, "*", std::min(1.0, gpu.low), std::max(1.0, gpu.high)});
}

}  // namespace

std::string GpuGroupOf(const RunRow& row) {
  const std::optional<GpuRate> gpu = RateOf(row.run.gpu);
  return row.run.framework + "/" + std::string(gpu ? gpu->gpu : "?");
}

std::string FamilyOf(const RunRow& row) {
  const std::string name = PlainModelName(row.facts.name);
  return name.substr(0, name.find_first_of("0123456789"));
}

std::span<const std::string_view> CalibrationFiles() { return kFiles; }

namespace {

// The last row again, of a framework with a name that says nothing; what was measured and which it is stays. A plan's
// flags state its levers, so they stay too; what its framework does by itself is not known.
void AddAsStranger(PublishedRows& published, TableCells cells) {
  cells["framework"] = "a stranger";
  const Result<RunRow> row = ReadRunRow(cells);
  if (!row) return;
  MeasuredRow stranger = published.rows.back();
  stranger.row.facts = row->facts;
  const RunConfig known = stranger.row.run;
  RunConfig& run = stranger.row.run;
  run = row->run;
  run.checkpointing = known.checkpointing;
  run.sharding = known.sharding;
  run.offload = known.offload;
  run.offload_activations = known.offload_activations;
  run.optimizer_in_backward = known.optimizer_in_backward;
  run.accumulation = known.accumulation;
  if (run.method == TuneMethod::kAllWeights) {
    run.bytes = known.bytes.master > 0 || known.bytes.weight > 2 ? kMixedBytes : kHalfBytes;
    run.bytes.optimizer = known.bytes.optimizer;
  }
  stranger.row.run.framework = published.rows.back().row.run.framework;
  stranger.row.run.metric = published.rows.back().row.run.metric;
  published.strangers.push_back(std::move(stranger));
}

// Families of the mixed table and the framework behind each. A context limit states a card and no peak; a rate of
// images is no rate of tokens.
struct FamilyRow {
  std::string_view starts;
  std::string_view framework;
};
constexpr auto kFamilies = std::to_array<FamilyRow>({{"hf-context", ""},
                                                     {"hf-", "hf"},
                                                     {"moe-hf-", "hf"},
                                                     {"nemo-", "nemo"},
                                                     {"automodel-", "automodel"},
                                                     {"gpt2-c", "llm.c"},
                                                     {"gpt2-te", "transformer-engine"},
                                                     {"fms-fsdp", "fms-fsdp"}});

// Names the framework of a row of the mixed table; false where the row measures nothing that a plan predicts.
bool NameFramework(TableCells& cells) {
  if (cells["status"] != "ok") return false;
  for (const FamilyRow& family : kFamilies) {
    if (!cells["family"].starts_with(family.starts)) continue;
    cells["framework"] = family.framework;
    return !family.framework.empty();
  }
  return false;
}

// What a row of the mixed table measured. The device reading has the allocator's cache in it, so the peak that torch
// states beside it counts.
void TakeMeasured(const TableCells& cells, RunRow& row) {
  const std::string& note = cells.find("note")->second;
  constexpr std::string_view kAllocated = "torch peak allocated ";
  const std::size_t at = note.find(kAllocated);
  if (cells.find("quantity")->second == "tokens_s_per_gpu") {
    row.tokens_s_per_gpu = std::stod(cells.find("measured")->second);
  } else if (at != std::string::npos) {
    row.peak_bytes = std::stod(note.substr(at + kAllocated.size()));
    row.run.metric = MemoryMetric::kAllocated;
  }
}

}  // namespace

Result<void> AddTable(PublishedRows& published, std::string text, const std::string& file) {
  published.tables.push_back({file, Sha256Hex(text)});
  StringSource in{std::move(text), file};
  CsvTable table(in);
  TRY(table.ReadHeader());
  while (true) {
    const bool more = TRY(table.Next());
    if (!more) return {};
    TableCells cells;
    for (const std::string& column : table.columns()) cells[column] = table.Cell(column);
    if (file == kMixedFile && !NameFramework(cells)) continue;
    Result<RunRow> row = ReadRunRow(cells);
    if (!row) {
      published.skipped.push_back(table.Where() + ": " + row.error().message);
      continue;
    }
    if (file == kMixedFile) TakeMeasured(cells, *row);
    const bool one_model = row->run.framework == "peft";
    MeasuredRow measured = {file, std::move(*row), {}};
    measured.group = one_model ? cells["method"] : measured.row.facts.name;
    published.rows.push_back(std::move(measured));
    AddAsStranger(published, cells);
  }
}

namespace {

const std::string& FrameworkOf(const HeldOutRow& row) { return row.row->row.run.framework; }

// Of a group that was never seen, from the errors of the others while each of them was not.
template <typename GroupOf>
RatioBand BandOfUnseen(const std::string& group, const std::vector<HeldOutRow>& left_out, GroupOf group_of) {
  constexpr double kLevel = 0.9;
  std::map<std::string, std::vector<double>> errors;  // log(measured / predicted), by group
  for (const HeldOutRow& row : left_out) {
    if (group_of(row) != group) errors[group_of(row)].push_back(std::log(row.measured / row.predicted));
  }
  std::vector<std::vector<double>> groups;
  for (auto& [of, values] : errors) groups.push_back(std::move(values));
  const std::optional<ConfidenceInterval> interval = IntervalOfUnseenGroup(groups, kLevel);
  return interval ? RatioBand{std::exp(interval->low), std::exp(interval->high)} : RatioBand{};
}

}  // namespace

RatioBand BandFor(const std::string& framework, const std::vector<HeldOutRow>& known,
                  const std::vector<HeldOutRow>& unknown) {
  std::map<std::string, double> strangers;  // rows by framework
  for (const HeldOutRow& row : unknown) {
    if (FrameworkOf(row) != framework) ++strangers[FrameworkOf(row)];
  }
  const auto own = static_cast<double>(
      std::count_if(known.begin(), known.end(), [&](const HeldOutRow& row) { return FrameworkOf(row) == framework; }));
  if (own <= 0) return BandOfUnseen(framework, unknown, FrameworkOf);
  const double trust = strangers.empty() ? 1 : std::min(1.0, own / kOwnBandRows);
  std::vector<std::pair<double, double>> weighted;  // ratio, weight
  for (const HeldOutRow& row : known) {
    if (FrameworkOf(row) == framework) weighted.emplace_back(row.measured / row.predicted, trust / own);
  }
  for (const HeldOutRow& row : unknown) {
    if (FrameworkOf(row) == framework) continue;
    const double share = (1 - trust) / static_cast<double>(strangers.size());
    weighted.emplace_back(row.measured / row.predicted, share / strangers[FrameworkOf(row)]);
  }
  std::sort(weighted.begin(), weighted.end());
  const auto quantile = [](const auto& ordered) {  // the first ratio that leaves less than the tail before it
    double before = 0;
    double at = 1;
    for (const auto& [ratio, weight] : ordered) {
      if (weight <= 0) continue;
      at = ratio;
      before += weight;
      if (before > kBandTail) break;
    }
    return at;
  };
  const double low = quantile(weighted);
  std::reverse(weighted.begin(), weighted.end());
  return {low, quantile(weighted)};
}

RatioBand BandOfUnseenGpu(const std::vector<HeldOutRow>& left_out, const std::string& without) {
  return BandOfUnseen(without, left_out, [](const HeldOutRow& row) { return GpuGroupOf(row.row->row); });
}

std::vector<HeldOutRow> PredictHeldOut(const std::vector<MeasuredRow>& rows, PlanQuantity quantity, HoldOut hold_out) {
  const Rows all = With(rows, quantity);
  std::map<std::string, Rows> folds;
  for (std::size_t i = 0; i < all.size(); ++i) folds[FoldOf(*all[i], hold_out, i)].push_back(all[i]);
  std::vector<HeldOutRow> predictions;
  std::map<std::string, CoefficientSet>
      common;  // to all frameworks but one: of tenths and families, every fold takes of all
  for (const auto& [fold, left_out] : folds) {
    if (hold_out == HoldOut::kTenth || hold_out == HoldOut::kFamily) common.clear();
    const std::set<const MeasuredRow*> out(left_out.begin(), left_out.end());
    const Rows rest = Only(all, [&](const MeasuredRow* row) { return out.count(row) == 0; });
    if (hold_out == HoldOut::kGpu && !HasFramework(rest, left_out.front()->row.run.framework)) continue;
    std::map<std::string, std::vector<CoefficientSet>> sets;  // by framework
    for (const MeasuredRow* row : left_out) {
      const std::string& framework = row->row.run.framework;
      if (common.count(framework) == 0) common[framework] = CommonToOthers(rest, quantity, framework);
      if (sets.count(framework) == 0) sets[framework] = SetsOf(rest, quantity, framework, common[framework]);
      const auto& mine = sets[framework];
      const std::optional<double> predicted = quantity == PlanQuantity::kMemory
                                                  ? PredictedPeakBytes(mine, row->row)
                                                  : PredictedTokensPerSecond(mine, row->row);
      if (predicted) predictions.push_back({row, *MeasuredOf(row->row, quantity), *predicted});
    }
  }
  return predictions;
}

std::vector<HeldOutRow> PredictStrangers(const PublishedRows& published) {
  const Rows all = With(published.rows, PlanQuantity::kMemory);
  std::map<std::string, std::vector<CoefficientSet>> common;
  std::vector<HeldOutRow> predictions;
  for (const MeasuredRow* row : With(published.strangers, PlanQuantity::kMemory)) {
    const std::string& framework = row->row.run.framework;
    std::vector<CoefficientSet>& sets = common[framework];
    if (sets.empty()) sets.push_back(CommonToOthers(all, PlanQuantity::kMemory, framework));
    if (const std::optional<double> predicted = PredictedPeakBytes(sets, row->row)) {
      predictions.push_back({row, *row->row.peak_bytes, *predicted});
    }
  }
  return predictions;
}

Calibration Calibrate(const PublishedRows& published) {
  Calibration calibration;
  calibration.tables = published.tables;
  CalibrateQuantity(published.rows, PlanQuantity::kMemory, calibration);
  CalibrateQuantity(published.rows, PlanQuantity::kTime, calibration);
  const RatioBand stranger = BandFor("*", {}, PredictStrangers(published));
  calibration.bands.push_back({PlanQuantity::kMemory, Nearness::kUnknown, std::string(kDefaultsUnknown),
                               std::min(1.0, stranger.low), std::max(1.0, stranger.high)});
  return calibration;
}

std::string CalibrationCsv(const Calibration& calibration) {
  std::string csv = "kind,set,name,value\n";
  for (const CalibrationTable& table : calibration.tables) {
    csv += fmt::format("table,{},sha256,{}\n", table.file, table.sha256);
  }
  const auto sets = [&csv](PlanQuantity quantity, const std::vector<CoefficientSet>& all) {
    const auto names = CoefficientNames(quantity);
    for (const CoefficientSet& set : all) {
      for (std::size_t i = 0; i < names.size(); ++i) {
        csv += fmt::format("{},{},{},{:.6f}\n", Name(quantity), set.key, names[i], set.values[i]);
      }
    }
  };
  sets(PlanQuantity::kMemory, calibration.memory);
  sets(PlanQuantity::kTime, calibration.time);
  for (const CoefficientSet& best : calibration.best) {
    csv += fmt::format("best,{},utilization,{:.4f}\n", best.key, best.values.front());
  }
  for (const ErrorBand& band : calibration.bands) {
    const std::string set = fmt::format("{}/{}/{}", Name(band.quantity), Name(band.nearness), band.framework);
    csv += fmt::format("band,{},low,{:.4f}\nband,{},high,{:.4f}\n", set, band.low, set, band.high);
  }
  for (const std::string& model : calibration.models) {
    const std::size_t slash = model.find('/', model.find('/') + 1);
    csv += fmt::format("measured,{},{},\n", model.substr(0, slash), model.substr(slash + 1));
  }
  return csv;
}

}  // namespace idleburn
