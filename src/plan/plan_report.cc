#include "plan/plan_report.h"

#include <fmt/format.h>

#include "plan/flops.h"
#include "plan/gpu_rate.h"

namespace idleburn {
namespace {

constexpr double kHour = 3600;
constexpr double kTera = 1e12;
constexpr double kHalfBytes = 2;
constexpr double kCheckpointBytes = 14;  // 16-bit weights, fp32 master, two fp32 moments

std::vector<GpuFit> FitsOf(const Prediction& memory) {
  std::vector<GpuFit> fits;
  for (const GpuRate& gpu : AllGpuRates()) {
    const double capacity = gpu.memory_gib * kGib;
    fits.push_back({std::string(gpu.gpu), capacity, JudgeFit(memory.likely, memory.high, capacity),
                    (capacity - memory.high) / capacity});
  }
  return fits;
}

// What the plan says of one GPU's tokens a second, if it says anything.
std::optional<double> StatedRate(const PlannedRun& plan) {
  if (plan.tokens_per_s_per_gpu) return plan.tokens_per_s_per_gpu;
  if (!plan.samples_per_min) return std::nullopt;
  return *plan.samples_per_min / 60 * plan.run.run.sequence / plan.run.run.gpus;
}

// What is said, or seen, of the run's speed; a formula is no claim that could be too high.
std::optional<double> ClaimedRate(const PlanReport& report) {
  if (report.stated_tokens_per_s) return report.stated_tokens_per_s;
  if (!report.evidence || !report.evidence->tokens_s) return std::nullopt;
  return report.evidence->tokens_s->likely;
}

void CheckClaimedRate(PlanReport& report) {
  const RunConfig& run = report.plan.run.run;
  const std::optional<GpuRate> gpu = RateOf(run.gpu);
  const std::optional<double> rate = ClaimedRate(report);
  if (!rate || !gpu) return;
  const TokenFlops flops = FlopsOf(report.plan.run.facts, run);
  const double ceiling = CeilingFlops(*gpu, run.wide ? MatmulFormat::kWide : MatmulFormat::kHalf);
  report.roofline = CheckRoofline(*rate, flops.ModelFlops(true), ceiling);
  const double params = CountParams(report.plan.run.facts).total();
  const double per_param = RuleOfThumbFlops(1, run.method, run.checkpointing == Checkpointing::kWholeLayers);
  const std::string sides = fmt::format(
      "{:.1f} TFLOP/s of model FLOPs (attention halved, recompute left out), {:.2f} by the rule of thumb {} N, against "
      "{:.1f} that a {} reaches",
      report.roofline->implied_flops / kTera, *rate * params * per_param / kTera, per_param, ceiling / kTera, gpu->gpu);
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

void SetTime(PlanReport& report) {
  const PlannedRun& plan = report.plan;
  const RunConfig& run = plan.run.run;
  double rate = 0;
  if (report.stated_tokens_per_s) {
    rate = *report.stated_tokens_per_s;
    report.hours = HoursAt(plan, run.gpus, {rate, rate, rate});
  } else if (report.tokens_per_s) {
    rate = report.tokens_per_s->likely;
    report.hours = HoursAt(plan, run.gpus, {rate, report.tokens_per_s->low, report.tokens_per_s->high});
  }
  if (rate <= 0 || !plan.samples) return;
  const double samples_per_min = rate * run.gpus * 60 / run.sequence;
  report.length = LengthOf(*plan.samples, plan.epochs, run.sequence, report.effective_batch, samples_per_min, run.gpus);
  if (plan.budget_gpu_hours) {
    report.cap = CapOf(*plan.budget_gpu_hours, *plan.samples, samples_per_min, run.gpus, 0);
    if (report.length->gpu_hours > *plan.budget_gpu_hours) {
      report.warnings.push_back(fmt::format("{:.4g} GPU-hours are needed, the cap is {:.4g}: {:.0f} whole epochs fit",
                                            report.length->gpu_hours, *plan.budget_gpu_hours,
                                            report.cap->whole_epochs));
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

namespace {

// The parts add up to what was measured: each is off by the same factor as their sum.
PeakMemory Scaled(PeakMemory parts, double factor) {
  for (double* part : {&parts.resident, &parts.gathered, &parts.gradients, &parts.forward_backward, &parts.step,
                       &parts.phase, &parts.context}) {
    *part *= factor;
  }
  return parts;
}

// The change that makes the run fit, of a peak that the formulas see too small or too large by a factor.
std::optional<FitChange> ChangeFor(const Calibration& calibration, const RunRow& run, double capacity, double factor) {
  std::optional<FitChange> change = CheapestChange(calibration, run, capacity / factor);
  if (change) {
    for (double* figure : {&change->memory.likely, &change->memory.low, &change->memory.high}) *figure *= factor;
  }
  return change;
}

void WarnOfWhatIsNotModelled(PlanReport& report) {
  const RunConfig& run = report.plan.run.run;
  if (run.offload) {
    report.warnings.push_back(
        "offload: the memory it takes on the host and the time of moving weights and states are not modelled; the run "
        "is slower than printed, measure it with --probe");
  }
  const std::optional<GpuRate> gpu = RateOf(run.gpu);
  if (gpu && gpu->gpu.ends_with("-GCD")) {
    report.warnings.push_back("a GPU is here one of the two dies of a module, as programs see it: a module of " +
                              std::string(gpu->gpu.substr(0, gpu->gpu.find('-'))) +
                              " is --gpus 2, and a price is of one die");
  }
}

}  // namespace

Result<PlanReport> MakePlan(const Calibration& calibration, const PlannedRun& plan,
                            const std::optional<Evidence>& evidence) {
  PlanReport report;
  report.plan = plan;
  report.evidence = evidence;
  const RunConfig& run = plan.run.run;
  const std::optional<Prediction> memory = PeakOn(calibration, plan, evidence, plan.run);
  const CoefficientSet* set = SetFor(calibration.memory, run.framework);
  if (!memory || set == nullptr) return Fail("plan: the program has no coefficients; run fit_plan");
  report.memory = *memory;
  report.parts = PeakOf(PartsOf(plan.run.facts, run), MemoryCoefficientsOf(set->values));
  report.parts = Scaled(report.parts, report.memory.likely / report.parts.total());
  report.fits = FitsOf(report.memory);
  const double trained = run.method == TuneMethod::kAllWeights ? CountParams(plan.run.facts).total() : run.trained;
  report.weights_file = kHalfBytes * trained;
  report.checkpoint_file = kCheckpointBytes * trained;
  report.kv_bytes_per_token = KvCacheBytesPerToken(plan.run.facts, kHalfBytes);
  report.effective_batch = EffectiveBatch(run.micro_batch, run.accumulation, run.DataParallel());
  if (report.memory.nearness == Nearness::kUnknown) {
    report.warnings.push_back(
        fmt::format("no run of {} was measured: the intervals are those of frameworks left out; --framework names one "
                    "that was (qwen, peft, litgpt, torchtune, ...)",
                    run.framework.empty() ? "this framework" : run.framework.substr(0, 40)));
  }
  report.tokens_per_s = TokensOn(calibration, plan, evidence, plan.run);
  if (const std::optional<GpuRate> gpu = RateOf(run.gpu)) {
    const double capacity = gpu->memory_gib * kGib;
    if (JudgeFit(memory->likely, memory->high, capacity) != MemoryFit::kFits) {
      report.change = ChangeFor(calibration, plan.run, capacity, evidence ? evidence->peak_factor : 1);
    }
  }
  WarnOfWhatIsNotModelled(report);
  report.stated_tokens_per_s = StatedRate(plan);
  CheckClaimedRate(report);
  SetTime(report);
  return report;
}

}  // namespace idleburn
