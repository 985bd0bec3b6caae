#include "plan/calibration.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/check.h"
#include "plan/gpu_rate.h"
#include "plan/model_table.h"
#include "plan/step_time.h"
#include "text/csv.h"
#include "text/number.h"

namespace idleburn {
namespace embedded {
extern const std::string_view coefficients_csv;
}  // namespace embedded

namespace {

constexpr int kDecimals = 9;

constexpr std::array<std::string_view, 9> kMemoryNames = {"resident",    "gathered",  "activations",
                                                          "adapters",    "logits",    "gradients",
                                                          "temporaries", "transient", "context_gib"};
constexpr std::array<std::string_view, kNearnessCount> kNearness = {"model", "framework", "gpu", "unknown"};

std::vector<std::string_view> TimeNames() {
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < kTimeTermCount; ++i) names.push_back(Name(static_cast<TimeTerm>(i)));
  return names;
}

std::string FrameworkPart(const std::string& key) { return key.substr(0, key.find('/')); }

// Whether that model, however its name is written, was measured with that framework.
bool IsMeasured(const std::vector<std::string>& models, PlanQuantity quantity, const RunRow& row) {
  const std::string runs = fmt::format("{}/{}/", Name(quantity), row.run.framework);
  const std::string wanted = PlainModelName(row.facts.name);
  return std::any_of(models.begin(), models.end(), [&](const std::string& model) {
    return model.starts_with(runs) && PlainModelName(std::string_view(model).substr(runs.size())) == wanted;
  });
}

bool HasSet(const std::vector<CoefficientSet>& sets, const std::string& key) {
  return std::any_of(sets.begin(), sets.end(), [&](const CoefficientSet& set) { return set.key == key; });
}

Nearness NearnessOf(const Calibration& calibration, PlanQuantity quantity, const RunRow& row) {
  const auto& sets = quantity == PlanQuantity::kMemory ? calibration.memory : calibration.time;
  if (row.guessed || !HasSet(sets, row.run.framework)) return Nearness::kUnknown;
  if (quantity == PlanQuantity::kTime && !HasSet(sets, TimeKey(row.run))) return Nearness::kGpu;
  return IsMeasured(calibration.models, quantity, row) ? Nearness::kModel : Nearness::kFramework;
}

// Of the framework or, where it has none of that nearness, of all; none where nothing is known.
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

std::optional<Prediction> WithBand(const Calibration& calibration, PlanQuantity quantity, const RunRow& row,
                                   std::optional<double> likely) {
  if (!likely) return std::nullopt;
  Prediction prediction;
  prediction.likely = *likely;
  prediction.nearness = NearnessOf(calibration, quantity, row);
  // What its framework does unless it is told otherwise decides on memory, not on time.
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
    if (kind == "table") {
      calibration_.tables.push_back({set, value});
      return {};
    }
    if (kind == "measured") {
      calibration_.models.push_back(set + "/" + name);
      return {};
    }
    const ScaledNumber number = ParseScaled(value, kDecimals);
    if (number.fault != NumberFault::kNone || number.value < 0) {
      return Fail(table_.Where() + ": '" + value.substr(0, 20) + "' is no number from 0; run fit_plan");
    }
    const double read = static_cast<double>(number.value) / 1e9;
    if (kind == "memory") return ReadCoefficient(PlanQuantity::kMemory, calibration_.memory, set, name, read);
    if (kind == "time") return ReadCoefficient(PlanQuantity::kTime, calibration_.time, set, name, read);
    if (kind == "band") return ReadBand(set, name, read);
    return Fail(table_.Where() + ": unknown kind '" + std::string(kind.substr(0, 20)) + "'");
  }

  Result<void> ReadCoefficient(PlanQuantity quantity, std::vector<CoefficientSet>& sets, const std::string& key,
                               const std::string& name, double value) {
    const auto names = CoefficientNames(quantity);
    const auto at = std::find(names.begin(), names.end(), name);
    if (at == names.end()) return Fail(table_.Where() + ": unknown coefficient '" + name.substr(0, 20) + "'");
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
  const std::string_view format = run.fp4 ? "fp4" : run.fp8 ? "fp8" : "half";
  return fmt::format("{}/{}/{}", run.framework, gpu ? gpu->gpu : "?", format);
}

const CoefficientSet* SetFor(std::span<const CoefficientSet> sets, const std::string& key) {
  for (const std::string& wanted : {key, FrameworkPart(key), std::string("*")}) {
    for (const CoefficientSet& set : sets) {
      if (set.key == wanted) return &set;
    }
  }
  return nullptr;
}

std::optional<double> PredictedPeakBytes(std::span<const CoefficientSet> sets, const RunRow& row) {
  const CoefficientSet* set = SetFor(sets, row.run.framework);
  if (set == nullptr) return std::nullopt;
  return PeakOf(PartsOf(row.facts, row.run), MemoryCoefficientsOf(set->values)).total();
}

std::optional<double> PredictedTokensPerSecond(std::span<const CoefficientSet> sets, const RunRow& row) {
  const CoefficientSet* set = SetFor(sets, TimeKey(row.run));
  const std::optional<GpuRate> gpu = RateOf(row.run.gpu);
  if (set == nullptr || !gpu) return std::nullopt;
  const double seconds = SecondsPerToken(TermsOf(row.facts, row.run, *gpu), set->values);
  return seconds > 0 ? std::optional<double>(1 / seconds) : std::nullopt;
}

std::optional<Prediction> PredictPeakBytes(const Calibration& calibration, const RunRow& row) {
  return WithBand(calibration, PlanQuantity::kMemory, row, PredictedPeakBytes(calibration.memory, row));
}

std::optional<Prediction> PredictTokensPerSecond(const Calibration& calibration, const RunRow& row) {
  return WithBand(calibration, PlanQuantity::kTime, row, PredictedTokensPerSecond(calibration.time, row));
}

}  // namespace idleburn
