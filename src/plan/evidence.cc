#include "plan/evidence.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "plan/gpu_rate.h"
#include "plan/training_time.h"
#include "stats/order.h"
#include "text/time_zone.h"

namespace idleburn {

// Evidence in logs. Speed and memory are off by factors, so errors are averaged as logs of measured by predicted; an
// average of plain ratios would lean towards overestimates.

namespace {

// Engineering values, for what measured runs cannot say themselves.
constexpr double kShortLook = 0.05;      // what a minute does not show of hours: heat, evaluation, slow storage
constexpr double kOneRun = 0.10;         // from one earlier run to the next
constexpr double kManyRuns = 0.03;       // and of however many
constexpr double kFragmentation = 1.06;  // by which the allocator's share may still grow (engineering value)
constexpr double kHalfLifeDays = 90;     // of an earlier run's weight: drivers and frameworks change
constexpr double kLevel = 0.95;          // one side of a 90 % interval
constexpr double kNanosPerDay = 24.0 * 3600e9;

// An interval of that half-width in logs.
LikelyRange Around(double likely, double log_width) {
  return {likely, likely * std::exp(-log_width), likely * std::exp(log_width)};
}

// Whether two names mean one GPU; unknown ones by their spelling.
bool SameGpu(std::string_view a, std::string_view b) {
  const std::optional<GpuRate> one = RateOf(a);
  const std::optional<GpuRate> other = RateOf(b);
  return one && other ? one->gpu == other->gpu : a == b;
}

// Whether two models have the same shape, whatever they are called.
bool SameShape(const ModelFacts& a, const ModelFacts& b) {
  return a.layers == b.layers && a.hidden == b.hidden && a.ffn == b.ffn && a.vocab == b.vocab &&
         a.kv_heads == b.kv_heads && a.experts == b.experts;
}

// Whether two runs have the same batch on each GPU.
bool SameBatch(const RunConfig& a, const RunConfig& b) {
  return a.micro_batch == b.micro_batch && a.sequence == b.sequence && a.accumulation == b.accumulation;
}

// Whether the row is the planned run itself.
bool AsPlanned(const PlannedRun& plan, const RunRow& row) {
  return SameGpu(plan.run.run.gpu, row.run.gpu) && plan.run.run.gpus == row.run.gpus &&
         SameBatch(plan.run.run, row.run);
}

// FLOPs that one GPU does in one pass, with those of checkpointed layers.
double PassFlops(const RunRow& row) {
  const TokenFlops flops = FlopsOf(row.facts, row.run);
  return (flops.ModelFlops(true) + flops.recompute) * row.run.MicroTokens();
}

// Seconds of one pass, taking a step for `accumulation` equal passes.
std::optional<double> PassSeconds(const RunReading& run) {
  if (!run.tokens_s) return std::nullopt;
  const double per_gpu = run.row.run.MicroTokens() * run.row.run.DataParallel() / run.row.run.gpus;
  return per_gpu / *run.tokens_s;
}

// Fits the cost of a pass to two probes with different batches, if there are two.
void SetPass(Evidence& evidence) {
  const RunReading& first = evidence.runs.front();
  for (const RunReading& other : evidence.runs) {
    const std::optional<double> a = PassSeconds(first);
    const std::optional<double> b = PassSeconds(other);
    if (!a || !b || SameBatch(first.row.run, other.row.run)) continue;
    evidence.pass = FitAffine(PassFlops(first.row), *a, PassFlops(other.row), *b);
  }
}

// Logs of measured by predicted, with weights that fall with age.
struct LogRatios {
  std::vector<double> values;
  std::vector<double> weights;

  void Add(double measured, const std::optional<double>& predicted, double weight) {
    if (!predicted || *predicted <= 0 || measured <= 0) return;
    values.push_back(std::log(measured / *predicted));
    weights.push_back(weight);
  }
  [[nodiscard]] double Mean() const {
    double sum = 0;
    double weight = 0;
    for (std::size_t i = 0; i < values.size(); ++i) sum += weights[i] * values[i], weight += weights[i];
    return sum / weight;
  }
  // Half of the 90 % interval of a run to come, by t on what the earlier ones differed.
  [[nodiscard]] double Width() const {
    const auto n = static_cast<double>(values.size());
    if (values.size() < 2) return kOneRun;
    const double spread = std::sqrt(SquaresAbout(values, Mean()) / (n - 1) * (1 + 1 / n));
    return std::max(kManyRuns, StudentTQuantile(n - 1, kLevel) * spread);
  }
};

// The model's figure corrected by the earlier runs. The interval is no wider than it is without any evidence.
LikelyRange Corrected(const Prediction& model, const LogRatios& ratios) {
  const double factor = std::exp(ratios.Mean());
  const LikelyRange own = Around(model.likely * factor, ratios.Width());
  return {own.likely, std::max(own.low, model.low * factor), std::min(own.high, model.high * factor)};
}

// What was measured, if the row is the planned run; else the model's figure times the factor.
std::optional<Prediction> With(std::optional<Prediction> model, const std::optional<LikelyRange>& measured,
                               double factor, bool as_planned) {
  if (measured && as_planned) {
    return Prediction{*measured, Nearness::kModel};
  }
  if (!model) return model;
  model->MultiplyBy(factor);
  return model;
}

}  // namespace

std::string_view Name(EvidenceKind kind) { return kind == EvidenceKind::kProbe ? "probe" : "history"; }

std::optional<AffinePass> FitAffine(double flops_1, double seconds_1, double flops_2, double seconds_2) {
  if (flops_1 == flops_2) return std::nullopt;
  const double per_flop = (seconds_2 - seconds_1) / (flops_2 - flops_1);
  if (per_flop <= 0) return std::nullopt;
  return AffinePass{std::max(0.0, seconds_1 - per_flop * flops_1), per_flop};
}

Evidence EvidenceOfProbes(const Calibration& calibration, const PlannedRun& plan, std::vector<RunReading> runs) {
  Evidence evidence;
  evidence.runs = std::move(runs);
  const RunReading& first = evidence.runs.front();
  double logs = 0;
  double n = 0;
  double width = kShortLook;
  std::optional<double> peak;
  std::string steps;
  for (const RunReading& run : evidence.runs) {
    steps += (steps.empty() ? "" : " + ") + std::to_string(run.steps);
    // Probes of another batch tell what a pass costs, not how fast the plan is.
    if (!SameBatch(run.row.run, first.row.run)) continue;
    if (run.peak_bytes) peak = std::max(*run.peak_bytes, peak.value_or(0));
    if (!run.tokens_s) continue;
    logs += std::log(*run.tokens_s);
    n += 1;
    width = std::max(width, run.log_error.value_or(0));
    // Two equal probes that differ show how steady the machine is.
    if (first.tokens_s) width = std::max(width, std::abs(std::log(*run.tokens_s / *first.tokens_s)));
  }
  evidence.text = fmt::format("probe of {}: {} steps", FormatDay(first.at), steps);
  if (n > 0) evidence.tokens_s = Around(std::exp(logs / n), width);
  // The allocator may still take more than a probe has shown, so the interval reaches upward only.
  if (peak) evidence.peak_bytes = LikelyRange{*peak, *peak, *peak * kFragmentation};
  const std::optional<double> tokens = PredictedTokensPerSecond(calibration.time, plan.run);
  if (evidence.tokens_s && tokens) evidence.tokens_factor = evidence.tokens_s->likely / *tokens;
  const std::optional<double> bytes = PredictedPeakBytes(calibration.memory, plan.run);
  if (evidence.peak_bytes && bytes) evidence.peak_factor = evidence.peak_bytes->likely / *bytes;
  SetPass(evidence);
  return evidence;
}

std::optional<Evidence> EvidenceOfHistory(const Calibration& calibration, const PlannedRun& plan,
                                          std::span<const RunReading> runs, Instant now) {
  Evidence evidence;
  evidence.kind = EvidenceKind::kHistory;
  LogRatios speed;
  LogRatios memory;
  for (const RunReading& run : runs) {
    const RunConfig& wanted = plan.run.run;
    const RunConfig& was = run.row.run;
    if (!SameShape(run.row.facts, plan.run.facts) || was.method != wanted.method || wanted.gpu.empty() ||
        was.framework != wanted.framework || !SameGpu(was.gpu, wanted.gpu)) {
      continue;
    }
    const double days = static_cast<double>((now - run.at).count()) / kNanosPerDay;
    // A run from the future has a wrong clock, and counts as of now.
    const double weight = std::exp2(-std::max(0.0, days) / kHalfLifeDays);
    if (run.tokens_s) speed.Add(*run.tokens_s, PredictedTokensPerSecond(calibration.time, run.row), weight);
    if (run.peak_bytes) memory.Add(*run.peak_bytes, PredictedPeakBytes(calibration.memory, run.row), weight);
    evidence.runs.push_back(run);
  }
  if (speed.values.empty() && memory.values.empty()) return std::nullopt;
  std::sort(evidence.runs.begin(), evidence.runs.end(),
            [](const RunReading& a, const RunReading& b) { return a.at > b.at; });
  // The report names the span of days that the runs are from.
  const std::string last = FormatDay(evidence.runs.front().at);
  const std::string first = FormatDay(evidence.runs.back().at);
  evidence.text = fmt::format("history: {} run{}, {}", evidence.runs.size(), evidence.runs.size() == 1 ? "" : "s",
                              first == last ? last : first + " to " + last);
  const std::optional<Prediction> tokens = PredictTokensPerSecond(calibration, plan.run);
  if (tokens && !speed.values.empty()) {
    evidence.tokens_s = Corrected(*tokens, speed);
    evidence.tokens_factor = evidence.tokens_s->likely / tokens->likely;
  }
  const std::optional<Prediction> peak = PredictPeakBytes(calibration, plan.run);
  if (peak && !memory.values.empty()) {
    evidence.peak_bytes = Corrected(*peak, memory);
    evidence.peak_factor = evidence.peak_bytes->likely / peak->likely;
  }
  return evidence;
}

std::optional<Prediction> PeakOn(const Calibration& calibration, const PlannedRun& plan,
                                 const std::optional<Evidence>& evidence, const RunRow& row) {
  const std::optional<Prediction> model = PredictPeakBytes(calibration, row);
  if (!evidence) return model;
  // What a run needs does not depend on the GPU that it is on, but on how many GPUs share it out.
  const bool same = plan.run.run.gpus == row.run.gpus && SameBatch(plan.run.run, row.run);
  return With(model, evidence->peak_bytes, evidence->peak_factor, same);
}

std::optional<Prediction> TokensOn(const Calibration& calibration, const PlannedRun& plan,
                                   const std::optional<Evidence>& evidence, const RunRow& row) {
  const std::optional<Prediction> model = PredictTokensPerSecond(calibration, row);
  if (!evidence) return model;
  return With(model, evidence->tokens_s, evidence->tokens_factor, AsPlanned(plan, row));
}

namespace {

// Shorter stretches say little of a run's speed: they may lie within its warm-up.
constexpr std::int64_t kShortest = 2 * kNanosPerSecond;

// Keys that say how fast a run should be. They are no part of how it is configured.
constexpr std::array<std::string_view, 3> kOutcomes = {"samples_per_min", "tokens_per_s", "budget_gpu_hours"};

// Whether the name is a key of a plan that says how a run is configured.
bool IsKey(std::string_view name) {
  const auto keys = PlanKeys();
  return std::any_of(keys.begin(), keys.end(), [&](const PlanKey& key) { return key.name == name; }) &&
         std::find(kOutcomes.begin(), kOutcomes.end(), name) == kOutcomes.end();
}

// How a kept run was configured: by its forecast, else by its tags. The GPUs are filled in from what was recorded.
PlanWords WordsOf(const HistoryRun& run) {
  if (run.forecast) return WordsOfLine(run.forecast->plan);
  PlanWords words;
  for (const auto& [key, value] : run.tags) {
    if (IsKey(key)) words[key] = value;
  }
  // Recorded names of GPUs count only if the table of rates knows them.
  const bool named = words.count("gpu") > 0 || run.figures.gpu_models.empty();
  if (!named && RateOf(run.figures.gpu_models)) words["gpu"] = run.figures.gpu_models;
  if (words.count("gpus") == 0 && run.figures.gpus.value_or(0) > 0) words["gpus"] = std::to_string(*run.figures.gpus);
  return words;
}

}  // namespace

std::string LineOfWords(const PlanWords& words) {
  std::string line;
  for (const auto& [key, value] : words) {
    if (IsKey(key) && value.find(';') == std::string::npos) line += (line.empty() ? "" : ";") + key + "=" + value;
  }
  return line;
}

PlanWords WordsOfLine(const std::string& line) {
  PlanWords words;
  for (std::size_t at = 0; at < line.size();) {
    const std::size_t end = std::min(line.find(';', at), line.size());
    const std::string word = line.substr(at, end - at);
    const std::size_t equals = std::min(word.find('='), word.size());
    const std::string key = word.substr(0, equals);
    if (equals < word.size() && IsKey(key)) words[key] = word.substr(equals + 1);
    at = end + 1;
  }
  return words;
}

std::vector<RunReading> ReadingsOf(const std::vector<HistoryRun>& runs) {
  std::vector<RunReading> readings;
  for (const HistoryRun& run : runs) {
    const RunFigures& f = run.figures;
    const PlanWords words = WordsOf(run);
    const Result<PlannedRun> plan = ReadPlan(words);
    if (!plan || run.state != RunState::kEnded) continue;
    const RunConfig& config = plan->run.run;
    RunReading reading;
    reading.row = plan->run;
    reading.at = run.started;
    const std::optional<double> tokens = TokensOf({f.pace_steps, f.pace_samples, f.pace_tokens, {}}, ScaleOf(config));
    if (tokens && f.pace_ns.value_or(0) >= kShortest) {
      reading.steps = f.pace_steps.value_or(0);
      reading.seconds = static_cast<double>(*f.pace_ns) / 1e9;
      reading.tokens_s = *tokens / reading.seconds / config.gpus;
    }
    if (f.memory_peak) reading.peak_bytes = static_cast<double>(*f.memory_peak);
    if (reading.tokens_s || reading.peak_bytes) readings.push_back(std::move(reading));
  }
  return readings;
}

}  // namespace idleburn
