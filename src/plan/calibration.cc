#include "plan/calibration.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>

#include "base/result.h"
#include "plan/gpu_rate.h"
#include "plan/model_facts.h"
#include "plan/model_table.h"
#include "plan/probed_row.h"
#include "plan/published_rate.h"
#include "plan/training_time.h"
#include "text/csv.h"
#include "text/number.h"
#include "text/strings.h"

namespace idleburn {

// Reading coefficients, predicting one row with its interval, and predicting a whole table. A framework that nobody
// measured is no reason to refuse a row: it gets a wider interval instead, and only what cannot be worked out at all
// stays empty.

namespace embedded {
extern const std::string_view coefficients_csv;
}  // namespace embedded

namespace {

// Digits behind the point that the file of coefficients has.
constexpr int kCoefficientDecimals = 9;

// In the order of the members of MemoryCoefficients.
constexpr std::array<std::string_view, 9> kMemoryNames = {"resident",    "gathered",  "activations",
                                                          "adapters",    "logits",    "gradients",
                                                          "temporaries", "transient", "context_gib"};
constexpr std::array<std::string_view, kNearnessCount> kNearness = {"model", "framework", "gpu", "unknown"};

// The names of all terms of time, in their order.
std::vector<std::string_view> TimeNames() {
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < kTimeTermCount; ++i) names.push_back(Name(static_cast<TimeTerm>(i)));
  return names;
}

// "llm-foundry" of "llm-foundry/A100-40GB-SXM/half".
std::string FrameworkPart(const std::string& key) { return key.substr(0, key.find('/')); }

// The framework whose measured runs stand for this one: its own, or the one whose training loop it runs.
std::string MeasuredFramework(const RunConfig& run) {
  const FrameworkHabits* habits = HabitsOf(run.framework);
  return habits != nullptr && !habits->runs_on.empty() ? std::string(habits->runs_on) : run.framework;
}

// The number format in the keys of measured sets.
std::string_view NameOfFormat(const RunConfig& run) { return run.fp4 ? "fp4" : run.fp8 ? "fp8" : "half"; }

// Whether that framework was measured with that model, however the model's name is written.
bool IsMeasured(const std::vector<std::string>& models, PlanQuantity quantity, const RunRow& row) {
  const std::string runs = fmt::format("{}/{}/", Name(quantity), row.run.framework);
  const std::string wanted = PlainModelName(row.facts.name);
  return std::any_of(models.begin(), models.end(), [&](const std::string& model) {
    return model.starts_with(runs) && PlainModelName(std::string_view(model).substr(runs.size())) == wanted;
  });
}

// Whether runs with that key were measured.
bool HasSet(const std::vector<CoefficientSet>& sets, const std::string& key) {
  return std::any_of(sets.begin(), sets.end(), [&](const CoefficientSet& set) { return set.key == key; });
}

// How near the run is to what was measured. A row that lacks what its table states is a stranger, however well known
// its framework is.
Nearness NearnessOf(const Calibration& calibration, PlanQuantity quantity, const RunRow& row) {
  const auto& sets = quantity == PlanQuantity::kMemory ? calibration.memory : calibration.time;
  // A framework that runs another's loop was not measured itself.
  if (row.guessed || !HasSet(sets, row.run.framework)) return Nearness::kUnknown;
  if (quantity == PlanQuantity::kTime && !HasSet(sets, TimeKey(row.run))) return Nearness::kGpu;
  return IsMeasured(calibration.models, quantity, row) ? Nearness::kModel : Nearness::kFramework;
}

// The band of a nearness. A framework's own band wins; without one, the band of all frameworks counts. A band from 1 to
// 1 where nothing is known.
ErrorBand BandAt(const Calibration& calibration, PlanQuantity quantity, Nearness nearness,
                 const std::string& framework) {
  ErrorBand found;
  for (const ErrorBand& band : calibration.bands) {
    if (band.quantity != quantity || band.nearness != nearness) continue;
    if (band.framework == framework) return band;
    if (band.framework == "*") found = band;
  }
  return found;
}

// Puts the interval of the run's nearness around a likely figure.
std::optional<Prediction> WithBand(const Calibration& calibration, PlanQuantity quantity, const RunRow& row,
                                   std::optional<double> likely) {
  if (!likely) return std::nullopt;
  Prediction prediction;
  prediction.likely = *likely;
  prediction.nearness = NearnessOf(calibration, quantity, row);
  // The defaults of a framework decide on memory, and hardly on time.
  const bool stranger = row.defaults_unknown && quantity == PlanQuantity::kMemory;
  ErrorBand band = stranger ? BandAt(calibration, quantity, Nearness::kUnknown, std::string(kDefaultsUnknown))
                            : BandAt(calibration, quantity, prediction.nearness, row.run.framework);
  if (prediction.nearness == Nearness::kGpu) {  // no GPU is better known than those that were measured
    const ErrorBand own = BandAt(calibration, quantity, Nearness::kFramework, row.run.framework);
    band.low = std::min(band.low, own.low);
    band.high = std::max(band.high, own.high);
  }
  constexpr double kGuess = 1.5;  // what the row does not say may make it as much more or less
  const double guess = row.model_guessed || (row.guessed && !stranger) ? kGuess : 1;
  prediction.low = *likely * band.low / guess;
  prediction.high = *likely * band.high * guess;
  return prediction;
}

// Reads the rows of the file into a calibration.
class CalibrationReader {
 public:
  explicit CalibrationReader(CsvTable& table) : table_(table) {}

  Result<Calibration> Read() {
    TRY(table_.ReadHeader());
    constexpr std::array<std::string_view, 4> kColumns = {"kind", "set", "name", "value"};
    TRY(table_.Require(kColumns));
    while (true) {
      const bool more = TRY(table_.Next());
      if (!more) break;
      TRY(ReadRow());
    }
    return std::move(calibration_);
  }

 private:
  Result<void> ReadRow() {
    const std::string_view kind = table_.Cell("kind");
    const std::string set(table_.Cell("set"));
    const std::string name(table_.Cell("name"));
    const std::string value(table_.Cell("value"));
    // Rows that name files and models carry no number.
    if (kind == "table") {
      calibration_.tables.push_back({set, value});
      return {};
    }
    if (kind == "measured") {
      calibration_.models.push_back(set + "/" + name);
      return {};
    }
    const ScaledNumber number = ParseScaled(value, kCoefficientDecimals);
    if (number.fault != NumberFault::kNone || number.value < 0) {
      return Fail(table_.Where() + ": '" + value.substr(0, 20) + "' is not a number of 0 or more; run fit_plan");
    }
    const double read = static_cast<double>(number.value) / 1e9;
    if (kind == "memory") return ReadCoefficient(PlanQuantity::kMemory, calibration_.memory, set, name, read);
    if (kind == "time") return ReadCoefficient(PlanQuantity::kTime, calibration_.time, set, name, read);
    if (kind == "band") return ReadBand(set, name, read);
    if (kind == "best") return calibration_.best.push_back({set, {read}}), Result<void>();
    return Fail(table_.Where() + ": unknown kind '" + std::string(kind.substr(0, 20)) + "'");
  }

  Result<void> ReadCoefficient(PlanQuantity quantity, std::vector<CoefficientSet>& sets, const std::string& key,
                               const std::string& name, double value) {
    const auto names = CoefficientNames(quantity);
    const auto at = std::find(names.begin(), names.end(), name);
    if (at == names.end()) return Fail(table_.Where() + ": unknown coefficient '" + name.substr(0, 20) + "'");
    // Rows of a set stand together; a term that is missing counts as 0.
    if (sets.empty() || sets.back().key != key) sets.push_back({key, std::vector<double>(names.size(), 0)});
    sets.back().values[static_cast<std::size_t>(at - names.begin())] = value;
    return {};
  }

  // "memory/framework/qwen": quantity, nearness, framework.
  Result<void> ReadBand(const std::string& set, const std::string& name, double value) {
    const std::size_t one = set.find('/');
    const std::size_t two = one == std::string::npos ? one : set.find('/', one + 1);
    const auto nearness = two == std::string::npos
                              ? kNearness.end()
                              : std::find(kNearness.begin(), kNearness.end(), set.substr(one + 1, two - one - 1));
    if (nearness == kNearness.end() || (name != "low" && name != "high")) {
      return Fail(table_.Where() + ": a band is quantity/nearness/framework with low or high");
    }
    ErrorBand band;
    band.quantity = set.substr(0, one) == "memory" ? PlanQuantity::kMemory : PlanQuantity::kTime;
    band.nearness = static_cast<Nearness>(nearness - kNearness.begin());
    band.framework = set.substr(two + 1);
    auto& bands = calibration_.bands;
    // Low and high of a band are two rows.
    const bool same = !bands.empty() && bands.back().quantity == band.quantity &&
                      bands.back().nearness == band.nearness && bands.back().framework == band.framework;
    if (!same) bands.push_back(band);
    (name == "low" ? bands.back().low : bands.back().high) = value;
    return {};
  }

  CsvTable& table_;
  Calibration calibration_;
};

}  // namespace

std::string_view Name(PlanQuantity quantity) { return quantity == PlanQuantity::kMemory ? "memory" : "time"; }
std::string_view Name(Nearness nearness) { return kNearness[static_cast<std::size_t>(nearness)]; }

std::span<const std::string_view> CoefficientNames(PlanQuantity quantity) {
  static const std::vector<std::string_view> kTimeNames = TimeNames();
  if (quantity == PlanQuantity::kMemory) return kMemoryNames;
  return kTimeNames;
}

MemoryCoefficients MemoryCoefficientsOf(std::span<const double> v) {
  CHECK(v.size() == kMemoryNames.size());
  return {v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7], v[8]};
}

Result<Calibration> ReadCalibration(std::string text, const std::string& name) {
  StringSource in{std::move(text), name};
  CsvTable table(in);
  return CalibrationReader(table).Read();
}

const Calibration& ShippedCalibration() {
  static const Calibration kShipped = [] {
    Result<Calibration> read = ReadCalibration(std::string(embedded::coefficients_csv), "data/plan/coefficients.csv");
    CHECK(read);
    return std::move(*read);
  }();
  return kShipped;
}

std::string TimeKey(const RunConfig& run) {
  const std::optional<GpuRate> gpu = RateOf(run.gpu);
  return fmt::format("{}/{}/{}", MeasuredFramework(run), gpu ? gpu->gpu : "?", NameOfFormat(run));
}

const CoefficientSet* SetFor(std::span<const CoefficientSet> sets, const std::string& key) {
  // From the most exact key to the most general one.
  for (const std::string& wanted : {key, FrameworkPart(key), std::string("*")}) {
    for (const CoefficientSet& set : sets) {
      if (set.key == wanted) return &set;
    }
  }
  return nullptr;
}

std::optional<double> PredictedPeakBytes(std::span<const CoefficientSet> sets, const RunRow& row) {
  const CoefficientSet* set = SetFor(sets, MeasuredFramework(row.run));
  if (set == nullptr) return std::nullopt;
  const MemoryParts parts = PartsOf(row.facts, row.run);
  // Of a model that is only counted, no more than its weights, states and gradients is known.
  if (row.facts.kind == ModelKind::kCountOnly) return LeastBytes(parts) + parts.gradients;
  return std::max(LeastBytes(parts), PeakOf(parts, MemoryCoefficientsOf(set->values)).total());
}

std::optional<double> PredictedTokensPerSecond(std::span<const CoefficientSet> sets, const RunRow& row) {
  const CoefficientSet* set = SetFor(sets, TimeKey(row.run));
  const std::optional<GpuRate> gpu = RateOf(row.run.gpu);
  // A GPU outside the table has no rates to compute with.
  if (set == nullptr || !gpu || row.facts.kind == ModelKind::kCountOnly) return std::nullopt;
  const double seconds = SecondsPerToken(TermsOf(row.facts, row.run, *gpu), set->values);
  return seconds > 0 ? std::optional<double>(1 / seconds) : std::nullopt;
}

std::optional<Prediction> PredictPeakBytes(const Calibration& calibration, const RunRow& row) {
  std::optional<Prediction> peak =
      WithBand(calibration, PlanQuantity::kMemory, row, PredictedPeakBytes(calibration.memory, row));
  if (!peak) return peak;
  if (row.facts.kind == ModelKind::kCountOnly) {
    peak->low = peak->likely;
    peak->high = std::numeric_limits<double>::infinity();
    return peak;
  }
  // Only what is uncertain may be less: weights and states are known.
  const MemoryParts parts = PartsOf(row.facts, row.run);
  peak->low = std::min(peak->likely, std::max(peak->low, LeastBytes(parts)));
  if (parts.paged) peak->evictable = parts.optimizer;
  return peak;
}

std::optional<Prediction> PredictTokensPerSecond(const Calibration& calibration, const RunRow& row) {
  if (row.facts.kind == ModelKind::kCountOnly) {
    const std::optional<LikelyRange> samples = PublishedSamplesPerSecond(row);
    return samples ? std::optional(Prediction{*samples, Nearness::kGpu, 0}) : std::nullopt;
  }
  std::optional<Prediction> rate =
      WithBand(calibration, PlanQuantity::kTime, row, PredictedTokensPerSecond(calibration.time, row));
  const std::optional<GpuRate> gpu = RateOf(row.run.gpu);
  const double best = BestUtilization(calibration, row.run);
  if (!rate || !gpu || best <= 0) return rate;
  // No estimate is better than the best run that was published.
  const double flops = FlopsOf(row.facts, row.run).ModelFlops(true);
  const double most = best * PeakFlops(*gpu, FormatOfRun(row.run)) / flops;
  for (double* figure : {&rate->likely, &rate->low, &rate->high}) *figure = std::min(*figure, most);
  return rate;
}

MatmulFormat FormatOfRun(const RunConfig& run) {
  if (run.fp4) return MatmulFormat::kFp4;
  if (run.fp8) return MatmulFormat::kFp8;
  return run.wide ? MatmulFormat::kWide : MatmulFormat::kHalf;
}

double BestUtilization(const Calibration& calibration, const RunConfig& run) {
  const std::string_view format = NameOfFormat(run);
  double best = 0;
  for (const CoefficientSet& set : calibration.best) {
    if (set.key == format) best = set.values.front();
  }
  return best;
}

namespace {

// The quantities that a table may ask for, in our names.
constexpr std::array<std::string_view, 3> kQuantities = {"tokens_s_per_gpu", "peak_bytes", "s_per_iter"};
// Other names for each quantity, with "|" around every one.
constexpr std::array<std::string_view, kQuantities.size()> kOtherNames = {
    "|tokenssgpu|tokenspersecondpergpu|tokenspersecpergpu|tokenspergpupersecond|tps|tokenssecgpu|tokenspergpus|",
    "|peakmemorybytes|peakmembytes|memorybytes|peakmemory|",
    "|siter|secondsperiter|secperiter|secondsperstep|sperstep|"};

// The quantity that a cell asks for, in any writing. Empty if it is none of them.
std::string_view QuantityNamed(std::string_view text) {
  const std::string plain = Squash(text);
  for (std::size_t i = 0; i < kQuantities.size(); ++i) {
    const bool other = !plain.empty() && kOtherNames[i].find("|" + plain + "|") != std::string_view::npos;
    if (other || plain == Squash(kQuantities[i])) return kQuantities[i];
  }
  return {};
}

// The prediction, or an error where its numbers overflow or come to nothing: a table may state absurd sizes.
Result<Prediction> Usable(const Prediction& prediction) {
  if (std::isinf(prediction.high)) return Fail("the activations of this kind of model are not modelled");
  if (std::isfinite(prediction.high) && prediction.low > 0) return prediction;
  return Fail("its numbers are beyond what a run can be");
}

// Predicts the quantity asked for. The error says in a few words why there is no answer; it is counted, not printed.
Result<Prediction> PredictRow(const Calibration& calibration, const TableCells& cells, std::string_view asked) {
  const std::string_view quantity = QuantityNamed(asked);
  if (quantity.empty()) {
    return Fail("quantity '" + std::string(asked.substr(0, 20)) +
                "' is not one of tokens_s_per_gpu, peak_bytes, s_per_iter");
  }
  const RunRow row = TRY(ReadRunRow(cells));
  TRY(CheckFacts(row.facts));
  if (quantity == "peak_bytes") {
    const std::optional<Prediction> bytes = PredictPeakBytes(calibration, row);
    if (!bytes) return Fail("no coefficients for memory");
    return Usable(*bytes);
  }
  std::optional<Prediction> rate = PredictTokensPerSecond(calibration, row);
  if (!rate) return Fail("GPU '" + row.run.gpu.substr(0, 40) + "' is not in the table of rates");
  if (quantity == "tokens_s_per_gpu") return Usable(*rate);
  const double tokens = row.tokens_per_iter;
  return Usable({{tokens / rate->likely, tokens / rate->high, tokens / rate->low}, rate->nearness});
}

// Predicts a row from its own measured steps. Absent where it has none, or asks for memory.
Result<std::optional<Prediction>> PredictByProbes(const TableCells& cells, std::string_view asked) {
  const std::string_view quantity = QuantityNamed(asked);
  if (quantity.empty() || quantity == "peak_bytes") return std::nullopt;
  const std::optional<LikelyRange> seconds = TRY(ProbedStep(cells));
  if (!seconds) return std::nullopt;
  if (quantity == "s_per_iter") return Usable({*seconds});
  const double tokens = TRY(TokensOfStep(cells));
  return Usable({{tokens / seconds->likely, tokens / seconds->high, tokens / seconds->low}});
}

// What the row says by its own probes, else by published runs, and the name of that.
Result<std::pair<Prediction, std::string>> AnswerRow(const Calibration& calibration, const TableCells& cells,
                                                     std::string_view asked) {
  const std::optional<Prediction> probed = TRY(PredictByProbes(cells, asked));
  if (probed) return std::pair(*probed, std::string("probes"));
  const Prediction prediction = TRY(PredictRow(calibration, cells, asked));
  return std::pair(prediction, std::string(Name(prediction.nearness)));
}

// The cells of the row that the table is at, by plain names. Pairs in `config` win over columns. Names that no table
// has go to `unknown`. Results are left out, so that a stated result cannot help a prediction of it.
TableCells CellsOf(const CsvTable& table, std::set<std::string>& unknown) {
  TableCells cells;
  for (const std::string& column : table.columns()) {
    const std::string plain = PlainColumn(column);
    if (!IsKnownColumn(plain) && !IsProbeColumn(plain)) unknown.insert(column);
    std::string& cell = cells[plain];
    if (cell.empty() && !IsBlankCell(plain, table.Cell(column))) cell = Trim(table.Cell(column));
  }
  const TableCells config = ReadConfigCell(cells["config"]);
  for (const auto& [name, value] : config) {
    const std::string plain = PlainColumn(name);
    if (!IsKnownColumn(plain) && !IsProbeColumn(plain)) unknown.insert(name);
    if (!IsBlankCell(plain, value)) cells[plain] = value;
  }
  for (const std::string_view result : ResultColumns()) {  // not looked at
    const auto found = cells.find(result);
    if (found != cells.end()) cells.erase(found);
  }
  return cells;
}

// The column of that name as its header writes it.
Result<std::string> HeadOf(const CsvTable& table, std::string_view name) {
  for (const std::string& column : table.columns()) {
    if (Squash(column) == name) return column;
  }
  const std::string first = table.columns().empty() ? "" : table.columns().front();
  const bool other = first.find_first_of(";\t") != std::string::npos;
  return Fail(table.Where() + ": no column '" + std::string(name) + "' in the header; " +
              (other ? "separate columns by commas" : "add it"));
}

}  // namespace

TableCells ReadConfigCell(std::string_view text) {
  TableCells cells;
  std::string* last = nullptr;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(';'), text.size());
    const std::string_view piece = text.substr(0, end);
    const std::size_t equals = piece.find('=');
    if (equals != std::string_view::npos) {
      last = &cells[std::string(Trim(piece.substr(0, equals)))];
      *last = Trim(piece.substr(equals + 1));
    } else if (last != nullptr && !Trim(piece).empty()) {
      *last += ";" + std::string(Trim(piece));
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return cells;
}

Result<PredictedTable> PredictTable(ByteSource& in, const Calibration& calibration) {
  CsvTable table(in);
  TRY(table.ReadHeader());
  const std::string key_column = TRY(HeadOf(table, "key"));
  const std::string quantity_column = TRY(HeadOf(table, "quantity"));
  PredictedTable answer;
  answer.csv = "key,predicted,low,high\n";
  std::set<std::string> unknown;
  std::set<std::string> answered;
  while (true) {
    const bool more = TRY(table.Next());
    if (!more) break;
    ++answer.rows;
    const std::string key(table.Cell(key_column));
    if (!key.empty() && !answered.insert(key).second) ++answer.repeated_keys;
    const TableCells cells = CellsOf(table, unknown);
    const auto answered_row = AnswerRow(calibration, cells, table.Cell(quantity_column));
    answer.csv += CsvCell(key);
    if (!answered_row) {
      ++answer.reasons[answered_row.error().message];
      answer.csv += ",,,\n";
      continue;
    }
    ++answer.predicted;
    const auto& [prediction, basis] = *answered_row;
    ++answer.nearness[basis];
    answer.csv += fmt::format(",{:.6g},{:.6g},{:.6g}\n", prediction.likely, prediction.low, prediction.high);
  }
  answer.unknown_columns.assign(unknown.begin(), unknown.end());
  return answer;
}

}  // namespace idleburn
