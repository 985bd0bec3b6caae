#include "plan/plan_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "plan/gpu_rate.h"
#include "plan/memory.h"
#include "plan/run_config.h"
#include "plan/training_time.h"
#include "stats/order.h"
#include "text/figures.h"
#include "text/number.h"

namespace idleburn {
// The report is put together in one order: the peak and its fits, then speed, then hours and caps.

namespace {

constexpr double kHour = 3600;
constexpr double kHalf = 2;              // bytes of a 16-bit number
constexpr double kCheckpointBytes = 14;  // 16-bit weights, fp32 master, two fp32 moments

// Every GPU of the table against the peak.
std::vector<GpuFit> FitsOf(const Prediction& memory) {
  std::vector<GpuFit> fits;
  for (const GpuRate& gpu : AllGpuRates()) {
    const double capacity = gpu.memory_gib * kGib;
    fits.push_back({std::string(gpu.gpu), capacity, JudgeFit(memory, capacity), (capacity - memory.high) / capacity});
  }
  return fits;
}

// Tokens a second of one GPU, as the plan states them. Absent if it states none.
std::optional<double> StatedRate(const PlannedRun& plan) {
  if (plan.tokens_per_s_per_gpu) return plan.tokens_per_s_per_gpu;
  if (!plan.samples_per_min) return std::nullopt;
  return *plan.samples_per_min / 60 * plan.run.run.sequence / plan.run.run.gpus;
}

// The run's speed as it was stated or seen. What a formula gives is no claim, so it cannot be too high.
std::optional<double> ClaimedRate(const PlanReport& report) {
  if (report.stated_tokens_per_s) return report.stated_tokens_per_s;
  if (!report.evidence || !report.evidence->tokens_s) return std::nullopt;
  return report.evidence->tokens_s->likely;
}

// Warns of a claimed speed that no GPU of that kind reaches. The message shows the rule of thumb too, so that readers
// can check it by hand.
void CheckClaimedRate(PlanReport& report) {
  const RunConfig& run = report.plan.run.run;
  const std::optional<GpuRate> gpu = RateOf(run.gpu);
  const std::optional<double> rate = ClaimedRate(report);
  if (!rate || !gpu) return;
  const TokenFlops flops = FlopsOf(report.plan.run.facts, run);
  // Formats narrower than 16 bits are left out: a claim must not pass by assuming them.
  const double ceiling = CeilingFlops(*gpu, run.wide ? MatmulFormat::kWide : MatmulFormat::kHalf);
  report.roofline = CheckRoofline(*rate, flops.ModelFlops(true), ceiling);
  const double params = CountParams(report.plan.run.facts).total();
  const double per_param = RuleOfThumbFlops(1, run.method, run.checkpointing == Checkpointing::kWholeLayers);
  const std::string sides = fmt::format(
      "{} TFLOP/s of model FLOPs (attention halved, recompute left out), {} by the rule of thumb {} N, against "
      "{} that a {} reaches",
      ThreeDigits(report.roofline->implied_flops / kTera), ThreeDigits(*rate * params * per_param / kTera), per_param,
      ThreeDigits(ceiling / kTera), gpu->gpu);
  // A measured speed above the roofline has another cause than a wish, so it is said in other words.
  const bool stated = report.stated_tokens_per_s.has_value();
  if (report.roofline->verdict == Plausibility::kImpossible) {
    report.warnings.push_back((stated ? "throughput target exceeds the roofline: "
                                      : "the measured throughput exceeds the roofline, so the command does not train "
                                        "this model in these batches: ") +
                              sides);
  } else if (stated && report.roofline->verdict == Plausibility::kOptimistic) {
    report.warnings.push_back("the stated throughput is optimistic: " + sides);
  }
}

// Hours, length and cap by the stated rate, else by the likely one.
void SetTime(PlanReport& report) {
  const PlannedRun& plan = report.plan;
  const RunConfig& run = plan.run.run;
  double rate = 0;
  if (report.stated_tokens_per_s) {
    rate = *report.stated_tokens_per_s;
    report.hours = HoursAt(plan, run.gpus, *StatedRange(report));
  } else if (report.tokens_per_s) {
    rate = report.tokens_per_s->likely;
    report.hours = HoursAt(plan, run.gpus, *report.tokens_per_s);
  }
  if (rate <= 0 || !plan.samples) return;
  // A sample counts as a whole sequence, padding and all.
  const double samples_per_min = rate * run.gpus * 60 / run.sequence;
  report.length = LengthOf(*plan.samples, plan.epochs, run.sequence, report.effective_batch, samples_per_min, run.gpus);
  if (plan.budget_gpu_hours) {
    report.cap = CapOf(*plan.budget_gpu_hours, *plan.samples, samples_per_min, run.gpus, 0);
    if (report.length->gpu_hours > *plan.budget_gpu_hours) {
      report.warnings.push_back(fmt::format("the plan needs {}, and the cap is {}: {:.0f} whole epochs fit",
                                            GpuHoursForPeople(report.length->gpu_hours),
                                            ThreeDigits(*plan.budget_gpu_hours), report.cap->whole_epochs));
    }
  }
}

}  // namespace

std::optional<LikelyRange> HoursAt(const PlannedRun& plan, double gpus, const LikelyRange& tokens_per_s) {
  if (!plan.samples) return std::nullopt;
  const double tokens = *plan.samples * plan.epochs * plan.run.run.sequence;
  const auto hours = [&](double rate) { return tokens / (rate * gpus) / kHour; };
  return LikelyRange{hours(tokens_per_s.likely), hours(tokens_per_s.high), hours(tokens_per_s.low)};
}

std::optional<LikelyRange> StatedRange(const PlanReport& report) {
  if (!report.stated_tokens_per_s) return std::nullopt;
  const double rate = *report.stated_tokens_per_s;
  if (!report.plan.measured) return LikelyRange{rate, rate, rate};
  const LikelyRange& step = report.plan.measured->seconds;
  return LikelyRange{rate, rate * step.likely / step.high, rate * step.likely / step.low};
}

namespace {

// Scales the parts so that they add up to what was measured. Nobody knows which part is off, so all are by one factor.
PeakMemory Scaled(PeakMemory parts, double factor) {
  for (double* part : {&parts.resident, &parts.gathered, &parts.gradients, &parts.forward_backward, &parts.step,
                       &parts.phase, &parts.context}) {
    *part *= factor;
  }
  return parts;
}

// The parts of a model that is only counted: no activations.
PeakMemory CountedParts(const ModelFacts& facts, const RunConfig& run) {
  const MemoryParts parts = PartsOf(facts, run);
  PeakMemory counted;
  counted.resident = parts.weights + parts.optimizer;
  counted.phase = counted.step = parts.gradients;
  counted.context = kLeastContext;
  return counted;
}

// Changes that make the run fit, where the formulas see its peak too small or too large by a factor.
std::vector<FitChange> ChangesFor(const Calibration& calibration, const RunRow& run, double capacity, double factor) {
  std::vector<FitChange> changes = ChangesThatFit(calibration, run, capacity / factor);
  for (FitChange& change : changes) change.memory.MultiplyBy(factor);
  return changes;
}

// Warns where the formulas leave out what the run does.
void WarnOfWhatIsNotModelled(PlanReport& report) {
  const RunConfig& run = report.plan.run.run;
  if (run.offload) {
    report.warnings.push_back(
        "offload: idleburn models neither its host memory nor the time to move weights and states. The run is slower "
        "than printed; measure it with --probe");
  }
  const std::optional<GpuRate> gpu = RateOf(run.gpu);
  if (gpu && gpu->gpu.ends_with("-GCD")) {
    report.warnings.push_back("one GPU here is one of the two dies of a module, as programs see it: a module of " +
                              std::string(gpu->gpu.substr(0, gpu->gpu.find('-'))) +
                              " is --gpus 2, and a price applies to one die");
  }
}

}  // namespace

Result<PlanReport> MakePlan(const Calibration& calibration, const PlannedRun& plan,
                            const std::optional<Evidence>& evidence) {
  PlanReport report;
  report.plan = plan;
  report.evidence = evidence;
  const RunConfig& run = plan.run.run;
  report.effective_batch = EffectiveBatch(run.micro_batch, run.accumulation, run.DataParallel());
  if (plan.no_model) {
    report.stated_tokens_per_s = StatedRate(plan);
    if (plan.measured) report.warnings = DoubtsOf(*plan.measured);
    SetTime(report);
    return report;
  }
  const std::optional<Prediction> memory = PeakOn(calibration, plan, evidence, plan.run);
  const CoefficientSet* set = SetFor(calibration.memory, run.framework);
  if (!memory || set == nullptr) return Fail("plan: the program has no coefficients; run fit_plan");
  report.memory = *memory;
  // The parts follow the formulas; scaled, they add up to whatever the evidence made of their sum.
  report.parts = PeakOf(PartsOf(plan.run.facts, run), MemoryCoefficientsOf(set->values));
  if (plan.run.facts.kind == ModelKind::kCountOnly) report.parts = CountedParts(plan.run.facts, run);
  report.parts = Scaled(report.parts, report.memory.likely / report.parts.total());
  report.fits = FitsOf(report.memory);
  // A LoRA leaves only its adapters behind.
  const double trained = run.method == TuneMethod::kAllWeights ? CountParams(plan.run.facts).total() : run.trained;
  report.weights_file = kHalf * trained;
  report.checkpoint_file = kCheckpointBytes * trained;
  report.kv_bytes_per_token = KvCacheBytesPerToken(plan.run.facts, kHalf);
  if (plan.run.facts.kind == ModelKind::kCountOnly && !evidence) {
    report.warnings.push_back("the activations of this kind of model are not modelled; measure 20 steps with --probe");
  }
  // A wide interval needs its reason beside it.
  if (report.memory.nearness == Nearness::kUnknown) {
    report.warnings.push_back(
        fmt::format("no run of {} was measured: the intervals are those of unmeasured frameworks; --framework names a "
                    "measured one (qwen, peft, litgpt, torchtune, ...)",
                    run.framework.empty() ? "this framework" : run.framework.substr(0, 40)));
  }
  report.tokens_per_s = TokensOn(calibration, plan, evidence, plan.run);
  if (const std::optional<GpuRate> gpu = RateOf(run.gpu)) {
    const double capacity = gpu->memory_gib * kGib;
    const bool modelled = plan.run.facts.kind != ModelKind::kCountOnly;
    if (modelled && JudgeFit(*memory, capacity) != MemoryFit::kFits) {
      report.changes = ChangesFor(calibration, plan.run, capacity, evidence ? evidence->peak_factor : 1);
    }
  }
  WarnOfWhatIsNotModelled(report);
  if (plan.measured) {
    for (std::string& doubt : DoubtsOf(*plan.measured)) report.warnings.push_back(std::move(doubt));
  }
  report.stated_tokens_per_s = StatedRate(plan);
  CheckClaimedRate(report);
  SetTime(report);
  return report;
}

// Forecast beside outcome, one quantity at a time, and the errors of a month. A mean of errors keeps their signs, to
// show a bias; median and 95th percentile take their sizes, to show how far off a single forecast may be.

namespace {

// Sums up forecasts of one quantity in one month; there is at least one.
MonthOfErrors ErrorsOf(const std::vector<const JudgedForecast*>& forecasts) {
  MonthOfErrors errors;
  errors.month = forecasts.front()->month;
  errors.quantity = forecasts.front()->quantity;
  errors.n = forecasts.size();
  std::vector<double> signed_errors;
  std::vector<double> sizes;
  std::size_t intervals = 0;
  double inside = 0;
  for (const JudgedForecast* one : forecasts) {
    signed_errors.push_back(one->Error());
    sizes.push_back(std::abs(one->Error()));
    intervals += one->HasInterval() ? 1U : 0U;
    inside += one->HasInterval() && one->Inside() ? 1 : 0;
    // The worst so far; of equal ones the first.
    if (sizes.size() > 1 && sizes.back() <= std::abs(errors.worst_error)) continue;
    errors.worst_run = one->run;
    errors.worst_error = one->Error();
  }
  // The worst run is always named, but few runs have no rate.
  if (errors.n < kFewestForecasts) return errors;
  std::sort(sizes.begin(), sizes.end());
  errors.median = SortedQuantile(sizes, 0.5);
  errors.bias = MeanOf(signed_errors);
  if (intervals >= kFewestForecasts) errors.coverage = inside / static_cast<double>(intervals);
  if (errors.n >= kFewestForTail) errors.p95 = SortedQuantile(sizes, 0.95);
  return errors;
}

}  // namespace

std::vector<MonthOfErrors> ErrorsByMonth(std::span<const JudgedForecast> forecasts) {
  std::map<std::string, std::map<ForecastQuantity, std::vector<const JudgedForecast*>>, std::greater<>> months;
  for (const JudgedForecast& one : forecasts) months[one.month][one.quantity].push_back(&one);
  std::vector<MonthOfErrors> all;
  for (const auto& [month, quantities] : months) {
    for (const auto& [quantity, those] : quantities) all.push_back(ErrorsOf(those));
  }
  return all;
}

namespace {

// Of nanoseconds in a second, and of billionths of a currency in one.
constexpr double kNano = 1e9;
constexpr double kSameWork = 0.05;  // a bar's last line may be missed

// A figure that may be missing, as the history keeps it.
using Known = std::optional<double>;

// A range with ends that default to the likely value; absent where that is not above 0.
std::optional<LikelyRange> RangeOf(const Known& likely, const Known& low, const Known& high) {
  if (!likely || *likely <= 0) return std::nullopt;
  return LikelyRange{*likely, low.value_or(*likely), high.value_or(*likely)};
}

// An amount of the history, which counts billionths.
Known Dollars(const std::optional<std::int64_t>& nano) {
  return nano ? Known(static_cast<double>(*nano) / kNano) : std::nullopt;
}

// The forecast keeps the scale of its run, so that work counted in steps can be compared in tokens.
TokenScale KeptScaleOf(const KeptForecast& forecast) { return {forecast.tokens_per_step, forecast.sequence}; }

// The share of the planned work that was done. Absent where nothing that was counted can be compared with it.
Known ShareDone(const HistoryRun& run) {
  const KeptForecast& forecast = *run.forecast;
  if (!run.figures.work || !forecast.tokens || *forecast.tokens <= 0) return std::nullopt;
  const std::string& unit = run.figures.work_unit;
  // The history keeps one count and its unit.
  const std::int64_t count = std::llround(*run.figures.work);
  WorkCount work;
  if (unit == "step") work[WorkUnit::kStep] = count;
  if (unit == "sample") work[WorkUnit::kSample] = count;
  if (unit == "token") work[WorkUnit::kToken] = count;
  const Known done = TokensOf(work, KeptScaleOf(forecast));
  return done ? Known(*done / *forecast.tokens) : std::nullopt;
}

// Why the run did not do the planned work; empty if it did, or if nobody counted.
std::string WhyPartial(const HistoryRun& run) {
  const Known share = ShareDone(run);
  const bool whole = !share || std::abs(*share - 1) <= kSameWork;
  const std::string part = share ? fmt::format(" after {:.0f} % of the work planned", 100 * *share) : "";
  // A run that failed has done some of the work at best.
  if (run.exit != "exit 0") return fmt::format("the command ended with {}{}", run.exit, part);
  return whole ? "" : fmt::format("the command did {:.0f} % of the work planned", 100 * *share);
}

// What came of a quantity.
Known Actual(const HistoryRun& run, ForecastQuantity quantity) {
  const RunFigures& f = run.figures;
  const Known hours = run.ended ? Known(InHours(*run.ended - run.started)) : Known();
  switch (quantity) {
    case ForecastQuantity::kHours:
      return hours;
    case ForecastQuantity::kGpuHours:
      // GPU-hours that were recorded, else those of all planned GPUs.
      if (f.window_ns) return InHours(*f.window_ns);
      return hours && run.forecast->gpus ? Known(*hours * *run.forecast->gpus) : Known();
    case ForecastQuantity::kCost:
      return f.currency == run.forecast->currency ? Dollars(f.cost_nano) : Known();
    case ForecastQuantity::kTokensPerSecond: {
      const Known tokens = TokensOf({f.pace_steps, f.pace_samples, f.pace_tokens, {}}, KeptScaleOf(*run.forecast));
      if (!tokens || !f.pace_ns || *f.pace_ns <= 0 || !run.forecast->gpus) return std::nullopt;
      return *tokens * kNano / static_cast<double>(*f.pace_ns) / *run.forecast->gpus;
    }
    case ForecastQuantity::kMemory:
      return f.memory_peak ? Known(static_cast<double>(*f.memory_peak)) : Known();
    case ForecastQuantity::kScenarioCost:  // of no run
      break;
  }
  return std::nullopt;
}

// What was forecast of a quantity.
std::optional<LikelyRange> Forecast(const KeptForecast& f, ForecastQuantity quantity) {
  switch (quantity) {
    case ForecastQuantity::kHours:
      return RangeOf(f.hours, f.hours_low, f.hours_high);
    case ForecastQuantity::kGpuHours:
      return RangeOf(f.gpu_hours, f.gpu_hours_low, f.gpu_hours_high);
    case ForecastQuantity::kCost:
      return RangeOf(Dollars(f.cost_nano), Dollars(f.cost_low_nano), Dollars(f.cost_high_nano));
    case ForecastQuantity::kTokensPerSecond:
      return RangeOf(f.tokens_s, f.tokens_s_low, f.tokens_s_high);
    case ForecastQuantity::kMemory:
      return RangeOf(f.memory, f.memory_low, f.memory_high);
    case ForecastQuantity::kScenarioCost:
      break;
  }
  return std::nullopt;
}

// Whether a figure belongs to the whole work. Such a figure cannot be compared with a part of it.
bool IsOfTheWhole(ForecastQuantity quantity) {
  return quantity == ForecastQuantity::kHours || quantity == ForecastQuantity::kGpuHours ||
         quantity == ForecastQuantity::kCost;
}

}  // namespace

ForecastOutcome OutcomeOf(const HistoryRun& run) {
  ForecastOutcome outcome;
  outcome.why_partial = WhyPartial(run);
  for (std::size_t i = 0; i < kForecastQuantityCount; ++i) {
    ForecastLine line;
    line.quantity = static_cast<ForecastQuantity>(i);
    line.forecast = Forecast(*run.forecast, line.quantity);
    line.actual = Actual(run, line.quantity);
    if (line.actual && *line.actual <= 0) line.actual.reset();
    line.comparable = line.forecast && line.actual && (outcome.why_partial.empty() || !IsOfTheWhole(line.quantity));
    outcome.lines.push_back(line);
  }
  return outcome;
}

}  // namespace idleburn
