#include "trial/series.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "measure/data_files.h"
#include "stats/order.h"
#include "text/figures.h"

namespace idleburn {
namespace {

// The course of one series. It stops at once when the user ends a run: every step asks whether that happened before it
// judges what it saw.
class Series {
 public:
  Series(const SeriesSpec& spec, SeriesWorld world) : spec_(spec), world_(std::move(world)) {
    world_.context.stop = [this] { return Interrupted(); };
  }

  Result<SeriesResult> Run() {
    if (!world_.context.data.empty()) {
      const DataFiles files = TRY(ListDataFiles(world_.context.data, kMostDataFiles));
      DropData(files).has_value();  // the first run shows what is read where nothing is cached, if that can be had
    }
    for (const Knob* knob : spec_.knobs) result_.knobs.emplace_back().knob = knob;
    world_.tell("first run, not counted: it shows what the command uses");
    const std::string fault = RunOnce(KnobChange{}, result_.first);
    if (result_.interrupted) return std::move(result_);
    if (!fault.empty()) return Fail(fault);
    world_.tell(fmt::format("first run: {} {}/s", ThreeDigits(result_.first.rate->PerSecond()), UnitName()));
    world_.context.first = &result_.first;
    for (KnobResult& knob : result_.knobs) TRY(Turn(knob));
    return std::move(result_);
  }

 private:
  [[nodiscard]] std::string_view UnitName() const {
    return kWorkUnitPlurals[static_cast<std::size_t>(result_.first.unit)];
  }
  // The first signal stands, whoever noticed it.
  bool Interrupted() {
    if (!result_.interrupted) result_.interrupted = world_.interrupted();
    return result_.interrupted.has_value();
  }

  // Makes one run. Returns why it shows nothing, in words for people; empty if it shows something.
  std::string RunOnce(const KnobChange& change, Trial& trial) {
    if (Interrupted()) return "interrupted";
    tl::expected<Trial, StartFailure> ran = world_.run(change);
    if (!ran) {
      if (ran.error().exit_code > 128) result_.interrupted = ran.error().exit_code - 128;
      return ran.error().error.message;
    }
    trial = std::move(*ran);
    if (trial.leftovers > 0) {
      world_.tell(fmt::format("{} processes of the command do not end, even after SIGKILL", trial.leftovers));
    }
    result_.interrupted = trial.interrupted;
    const std::string fault = FaultOf(trial, spec_.bounds);
    return fault.empty() ? fault : "the command " + fault;
  }

  // Measures one knob. Fails only where the unchanged command does: a knob that cannot be turned is a result.
  Result<void> Turn(KnobResult& result) {
    if (Interrupted()) return {};
    Result<KnobPlan> plan = result.knob->plan(world_.context);
    if (!plan) {
      result.status = KnobStatus::kNotAvailable;
      result.why = plan.error().message;
      return {};
    }
    result.before = plan->before;
    result.after = plan->after;
    result.resource_ratio = plan->resource_ratio;
    TRY(RunUnchanged());
    if (Interrupted()) return {};
    TRY(RunRounds(*plan, result));
    if (!result.why.empty()) {
      result.status = KnobStatus::kFailed;
    } else if (!result.pairs.empty()) {
      result.status = KnobStatus::kRan;
    }
    return {};
  }

  // Measures the noise of this machine and command once, before anything is compared with it.
  Result<void> RunUnchanged() {
    if (spec_.rounds < 2 || std::exchange(noise_known_, true)) return {};
    for (int round = 0; round < spec_.rounds; ++round) {
      Trial trial;
      const std::string fault = RunOnce(KnobChange{}, trial);
      if (result_.interrupted) return {};
      if (!fault.empty()) return Fail(fault + "; this was run " + std::to_string(round + 1) + " unchanged");
      if (trial.rate->unit != result_.first.rate->unit) {
        return Fail("the command reported its work in another unit than before; print the same unit in every run");
      }
      world_.tell(fmt::format("unchanged, run {} of {}: {} {}/s", round + 1, spec_.rounds,
                              ThreeDigits(trial.rate->PerSecond()), UnitName()));
      if (!trial.rate->spoiled) result_.unchanged.push_back(*trial.rate);
    }
    return {};
  }

  // Fills in the pairs of a knob, of a clean machine where there are any.
  Result<void> RunRounds(const KnobPlan& plan, KnobResult& result) {
    std::vector<TrialPair> spoiled;
    for (int round = 0; round < spec_.rounds;) {
      const std::optional<TrialPair> pair = TRY(RunPair(plan, round, result));
      if (!pair) break;
      (pair->spoiled() ? spoiled : result.pairs).push_back(*pair);
      const bool again = pair->spoiled() && result.repeated < spec_.rounds;
      if (again) {
        ++result.repeated;
        world_.tell(fmt::format("{}, round {}: this machine stood still for {}; idleburn repeats the round",
                                result.knob->id, round + 1,
                                DurationForPeople(pair->baseline.stood_still + pair->variant.stood_still)));
      }
      round += again ? 0 : 1;
    }
    if (!result.pairs.empty()) return {};
    result.pairs = std::move(spoiled);
    for (const TrialPair& pair : result.pairs) {
      result.stood_still += pair.baseline.stood_still + pair.variant.stood_still;
    }
    return {};
  }

  // Fails if the unchanged command does. If the changed one does, `result.why` says so and there is no pair. There is
  // none either where the user ends it.
  Result<std::optional<TrialPair>> RunPair(const KnobPlan& plan, int round, KnobResult& result) {
    constexpr std::array<std::array<TrialSide, 2>, 2> kOrders = {
        {{TrialSide::kBaseline, TrialSide::kVariant}, {TrialSide::kVariant, TrialSide::kBaseline}}};
    std::array<WorkRate, 2> rates;
    for (const TrialSide side : kOrders[static_cast<std::size_t>(round % 2)]) {
      const Result<KnobChange> change = plan.apply(side);
      if (Interrupted()) return std::nullopt;
      if (!change) {
        result.why = change.error().message;
        return std::nullopt;
      }
      const std::string fault = RunSide(plan, *change, side, rates[static_cast<std::size_t>(side)]);
      if (result_.interrupted) return std::nullopt;
      if (fault.empty()) {
        world_.tell(fmt::format("{}, round {} of {}, {}: {} {}/s", result.knob->id, round + 1, spec_.rounds,
                                side == TrialSide::kVariant ? plan.after : plan.before,
                                ThreeDigits(rates[static_cast<std::size_t>(side)].PerSecond()), UnitName()));
        continue;
      }
      if (side == TrialSide::kBaseline)
        return Fail(fault + "; this was " + std::string(result.knob->id) + ", unchanged");
      result.why = fault;
      return std::nullopt;
    }
    return TrialPair{rates[0], rates[1]};
  }

  // One run of a side into `rate`. Returns why it cannot be used; empty if it can.
  std::string RunSide(const KnobPlan& plan, const KnobChange& change, TrialSide side, WorkRate& rate) {
    Trial trial;
    std::string fault = RunOnce(change, trial);
    if (fault.empty() && trial.rate->unit != result_.first.rate->unit) {
      fault = "the command reported its work in another unit than before";
    }
    if (fault.empty()) {
      fault = plan.objection(side, trial);
      if (!fault.empty()) fault = "the command " + fault;
    }
    if (fault.empty()) rate = *trial.rate;
    return fault;
  }

  const SeriesSpec& spec_;
  SeriesWorld world_;
  SeriesResult result_;
  bool noise_known_ = false;
};

// The finding follows from where the interval of the effect lies: within kMaterial of none, around none, or on one side
// of it. Only a resource has a sensitivity that could be below one half.
KnobFinding Judge(const Knob& knob, const KnobReading& reading) {
  if (!reading.effect_interval) return KnobFinding::kOneRound;
  const auto [low, high] = *reading.effect_interval;
  if (low > -kMaterial && high < kMaterial) return KnobFinding::kNone;
  if ((low <= 0 && high >= 0) || std::abs(reading.effect) < kMaterial) return KnobFinding::kNotShown;
  if ((reading.effect > 0) != (knob.expected > 0)) return KnobFinding::kOpposite;
  constexpr double kHalf = 0.5;
  if (!knob.limits || !reading.sensitivity_interval || reading.sensitivity_interval->low >= kHalf) {
    return KnobFinding::kBounds;
  }
  return reading.sensitivity_interval->high < kHalf ? KnobFinding::kPartly : KnobFinding::kAtLeastPartly;
}

// Ratios of speeds are compared by their logarithms, so that twice and half are equally far from none.
double LogRate(const WorkRate& rate) { return std::log(rate.PerSecond()); }

}  // namespace

Result<SeriesResult> RunSeries(const SeriesSpec& spec, SeriesWorld world) {
  return Series(spec, std::move(world)).Run();
}

std::optional<RunNoise> NoiseOf(const SeriesResult& series) {
  RunNoise noise;
  double squares = 0;
  const auto add = [&](const std::vector<double>& logs) {
    if (logs.size() < 2) return;
    const double mean = MeanOf(logs);
    for (const double log : logs) squares += (log - mean) * (log - mean);
    noise.freedom += static_cast<double>(logs.size() - 1);
    noise.runs += static_cast<int>(logs.size());
  };
  std::vector<double> logs;
  for (const WorkRate& rate : series.unchanged) logs.push_back(LogRate(rate));
  add(logs);
  for (const KnobResult& knob : series.knobs) {
    logs.clear();
    for (const TrialPair& pair : knob.pairs) logs.push_back(LogRate(pair.baseline));
    add(logs);
  }
  if (noise.freedom < 1) return std::nullopt;
  noise.log_sd = std::sqrt(squares / noise.freedom);
  return noise;
}

KnobReading ReadKnob(const KnobResult& result, const std::optional<RunNoise>& noise) {
  std::vector<double> logs;
  logs.reserve(result.pairs.size());
  for (const TrialPair& pair : result.pairs) {
    logs.push_back(LogRate(pair.variant) - LogRate(pair.baseline));
  }
  const double mean = MeanOf(logs);
  std::optional<ConfidenceInterval> interval = IntervalOfMean(logs, kConfidence);
  if (interval && noise) {
    const double t = StudentTQuantile(noise->freedom, (1 + kConfidence) / 2);
    const double half = t * noise->log_sd * std::sqrt(2 / static_cast<double>(logs.size()));
    interval = ConfidenceInterval{std::min(interval->low, mean - half), std::max(interval->high, mean + half)};
  }
  KnobReading reading;
  reading.effect = std::expm1(mean);
  if (interval) reading.effect_interval = ConfidenceInterval{std::expm1(interval->low), std::expm1(interval->high)};
  if (result.resource_ratio) {
    const double resource = std::log(*result.resource_ratio);
    reading.sensitivity = mean / resource;
    if (interval) {
      const double a = interval->low / resource;
      const double b = interval->high / resource;
      reading.sensitivity_interval = ConfidenceInterval{std::min(a, b), std::max(a, b)};
    }
  }
  reading.finding = Judge(*result.knob, reading);
  return reading;
}

}  // namespace idleburn
