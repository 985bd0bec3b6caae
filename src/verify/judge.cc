#include "verify/judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "stats/order.h"
#include "stats/random.h"
#include "text/figures.h"
#include "text/number.h"
#include "verify/comparable.h"
#include "verify/effect.h"
#include "verify/switchback.h"
#include "verify/within_run.h"

// The protocol that turns a comparison into a verdict. The steps are in Judgement::Reach, from top to bottom: can the
// sides be compared, what is the effect, are the terms of the claim met, what does the interval say.
//
// A verdict may be repeated and disputed, so the judge reads no file, no clock and no environment. Every limit that it
// holds data to is a named constant and stands in docs/verification.md. After a change of one, the simulation with a
// known truth (tests/verification_simulation_test.cc) must still find the required error rates.

namespace idleburn {
namespace {

// Pairs of a switchback that suffice for VERIFIED or REGRESSION.
constexpr int kPairsThatSuffice = 8;
// With fewer independent rows, one or two runs show nothing.
constexpr double kRefusedNEff = 10;
// With fewer independent rows a verdict is at most INDICATED.
constexpr double kLowNEff = 30;
// The tau of a block is itself an estimate. A block shorter than this is short beyond the error of that estimate.
constexpr double kSurelyShortTaus = 2;
// How much wider the bootstrap must be to replace the formula (docs/verification.md, "The interval").
constexpr double kMuchWider = 1.5;

// One comparison on its way to its verdict. Steps append reasons and never throw an earlier one away: a reader shall
// see everything that stands between these data and a better verdict. The order matters, because draws come from one
// seeded generator.
class Judgement {
 public:
  Judgement(const Comparison& comparison, const ProgressWatch& draws)
      : in_(comparison), draws_(draws), claim_(comparison.claim.value_or(Claim{})), random_(comparison.seed) {}

  // The protocol from top to bottom.
  SavingVerdict Reach() {
    const bool switchback = (in_.claim ? claim_.design : in_.design) == ClaimDesign::kSwitchback;
    const std::vector<JudgedRun> before = AsJudged<MeasuredRun>(in_.before);
    const std::vector<JudgedRun> after = AsJudged<MeasuredRun>(in_.after);
    out_.layout = switchback ? RunLayout::kSwitchback : LayoutOf(before, after);
    out_.level = claim_.level;
    out_.seed = in_.seed;
    out_.reasons = ComparableReasons(in_, out_.layout);
    if (HasRatios(in_)) {
      out_.unit = in_.before.front().unit;
      switchback ? MeasureSwitchback() : MeasureRuns();
    }
    const TermsReading terms = HoldToTerms(in_, before, after, SavingOfAPick(), random_);
    out_.reasons.insert(out_.reasons.end(), terms.reasons.begin(), terms.reasons.end());
    out_.retrospective = terms.retrospective;
    // A reader would quote an interval even under NOT_SHOWN, so there is none without enough data.
    if (Weighs(ReasonWeight::kInvalid) || Weighs(ReasonWeight::kNotShown)) effect_.reset();
    if (effect_) Describe();
    Decide();
    return std::move(out_);
  }

 private:
  void Say(std::string_view id, const std::string& seen) { out_.reasons.push_back(MakeReason(id, seen)); }
  [[nodiscard]] bool Weighs(ReasonWeight weight) const { return AnyWeighs(out_.reasons, weight); }

  // Estimates both sides from these runs, or from the blocks of a switchback.
  void EstimateSides(std::span<const MeasuredRun> before, std::span<const MeasuredRun> after) {
    for (const MeasuredRun& run : before) before_.push_back(EstimateRun(run));
    for (const MeasuredRun& run : after) after_.push_back(EstimateRun(run));
    out_.before = EstimateSide(before_);
    out_.after = EstimateSide(after_);
    out_.fraction = 1 - out_.after.ratio / out_.before.ratio;
  }

  // Runs before and after, looked at once. A linear model falls back to the ratio if the baseline does not allow a
  // line.
  void MeasureRuns() {
    EstimateSides(in_.before, in_.after);
    CheckSide(out_.before, "before");
    CheckSide(out_.after, "after");
    if (!out_.before.error_known || !out_.after.error_known) return;
    if (claim_.stop == StopRule::kSequential) return MeasureLooks();
    if (claim_.model == BaselineModel::kLinear) MeasureLine();
    if (!effect_) effect_ = EffectOfSides(out_.before, out_.after);
    Adjust();
    Correct();
    Guard();
    may_be_picked_ = !corrected_;
    if (Weighs(ReasonWeight::kNotShown)) FindMoreHours();
  }

  // Runs after one baseline, looked at after each run. The interval is true at every look, but all looks share the
  // baseline, so the verdict is at most INDICATED.
  void MeasureLooks() {
    out_.sequential = true;
    Say("sequential_needs_switchback", "every look at the runs after the change uses the same baseline");
    if (out_.after.runs < kSequenceFirstLook) {
      Say("before_first_look", fmt::format("{} runs after the change so far", out_.after.runs));
    }
    std::vector<double> logs;
    for (const RunEstimate& run : after_) logs.push_back(std::log(run.Ratio()));
    if (logs.size() < 2) return;
    effect_ = EffectAfterBaseline(out_.before, logs);
    Adjust();
    Guard();
  }

  // Whether a side has enough runs and independent rows. One run with many rows still does not show what differs
  // between runs.
  void CheckSide(const SideEstimate& side, std::string_view name) {
    // Three is the least number whose scatter tells how runs differ.
    const bool few = side.runs < kRunsThatSuffice;
    if (!side.error_known) {
      Say("few_segments", fmt::format("{} run{} {} with totals only", side.runs, side.runs == 1 ? "" : "s", name));
      return;
    }
    if (few) {
      Say("run_to_run_noise_not_seen", fmt::format("{} run{} {}: its rows do not show differences between runs",
                                                   side.runs, side.runs == 1 ? "" : "s", name));
    }
    if (!side.n_eff) return;
    const std::string seen = fmt::format("the rows {} count as {} independent rows", name, ThreeDigits(*side.n_eff));
    if (few && *side.n_eff < kRefusedNEff) {
      Say("too_few_independent_data", seen);
    } else if (*side.n_eff < kLowNEff) {
      Say("low_effective_n", seen);
    }
  }

  // Runs in order of time, as the linear model needs them. Runs without a date come first.
  static std::vector<WorkSegment> SegmentsOf(std::span<const MeasuredRun> runs) {
    std::vector<const MeasuredRun*> ordered;
    for (const MeasuredRun& run : runs) ordered.push_back(&run);
    std::stable_sort(ordered.begin(), ordered.end(),
                     [](const MeasuredRun* a, const MeasuredRun* b) { return a->start < b->start; });
    std::vector<WorkSegment> segments;
    for (const MeasuredRun* run : ordered) segments.push_back({run->work, run->gpu_seconds});
    return segments;
  }

  // The linear model, if it was claimed and the baseline allows it.
  void MeasureLine() {
    const std::vector<WorkSegment> before = SegmentsOf(in_.before);
    const std::vector<WorkSegment> after = SegmentsOf(in_.after);
    const std::string fault = FaultOfLinearBaseline(before, after);
    if (!fault.empty()) {
      Say("baseline_model_fell_back", fault);
      return;
    }
    const LinearReading reading = ReadLinear(before, after);
    out_.model = reading.line;
    effect_ = reading.effect;
    out_.fraction = reading.effect.fraction;
    if (!reading.fit_for_verdicts) {
      Say("model_not_fit",
          fmt::format("the line misses the baseline by {} (CV(RMSE))", PercentText(reading.line.cv_rmse)));
    }
  }

  // Adds measured adjustments to what was avoided, as a share of the adjusted baseline. They shift the whole interval,
  // because their cost was measured and not estimated from these runs.
  void Adjust() {
    for (const NonRoutineAdjustment& entry : in_.adjustments) {
      if (entry.gpu_seconds && !entry.basis.empty()) out_.adjustment_gpu_seconds += *entry.gpu_seconds;
    }
    effect_->shift = out_.adjustment_gpu_seconds / (out_.after.gpu_seconds / (1 - effect_->fraction));
    out_.fraction = effect_->fraction + effect_->shift;
  }

  // Takes off what would have happened without the change. Untouched jobs go first, since they show what really
  // happened at those dates. Without them it is what a pick of bad runs gains by itself. A linear model is not
  // corrected: its effect is no ratio.
  void Correct() {
    const std::optional<UntouchedChange> untouched =
        ReadComparators(in_.untouched_before, in_.untouched_after, in_.before, claim_.level);
    if (untouched) out_.comparators = untouched->change;
    compared_ = untouched && untouched->usable && !out_.model;
    corrected_ = compared_ || (in_.reversion && !out_.model);
    if (compared_) {
      effect_ = Corrected(*effect_, untouched->log_ratio, {untouched->variance, untouched->df});
    } else if (!in_.untouched_before.empty() || !in_.untouched_after.empty()) {
      Say("comparators_not_used", "the result does not use the untouched jobs");
    }
    if (corrected_ && !compared_) {
      const ExpectedReversion& expected = *in_.reversion;
      effect_ = Corrected(*effect_, expected.log_ratio, {expected.error * expected.error, expected.df});
    }
    out_.fraction = effect_->fraction + effect_->shift;
  }

  // The drift guard: is the step still there beside a common trend? Over runs it can stop a verdict. Over the rows of
  // few runs it is only reported, because rows cannot show what differs between runs. Untouched jobs replace it, as the
  // same drift moves them.
  void Guard() {
    const auto dated = [](const MeasuredRun& run) { return run.start && run.end; };
    const bool all_dated = std::all_of(in_.before.begin(), in_.before.end(), dated) &&
                           std::all_of(in_.after.begin(), in_.after.end(), dated);
    const bool enough = std::min(out_.before.runs, out_.after.runs) >= kRunsThatSuffice;
    if (all_dated) {
      out_.guard = enough ? GuardOverRuns(DatedLogs(), claim_.level) : GuardOverRows(before_, after_, claim_.level);
    }
    if (out_.guard) out_.guard->same_side = OnTheSideOf(*out_.guard, effect_->fraction);
    if (compared_ || !enough) return;
    if (!out_.guard) {
      Say("few_dated_runs", "without different dates, drift and change look the same");
    } else if (!out_.guard->same_side) {
      Say("drift_not_excluded",
          fmt::format("next to a common trend the step is {} to {}", PercentText(std::expm1(out_.guard->low)),
                      PercentText(std::expm1(out_.guard->high))));
    }
  }

  // The saving to be held against a pick of bad runs. Absent for switchbacks and sequential looks, and if something has
  // been taken off: a pick cannot explain those.
  [[nodiscard]] std::optional<SeenSaving> SavingOfAPick() const {
    if (!may_be_picked_) return std::nullopt;
    return SeenSaving{effect_->fraction, LogsOf(in_.before), LogsOf(in_.after)};
  }

  // ln of the GPU-seconds of a run over what the baseline expects for its work. Absent if it expects none.
  [[nodiscard]] std::optional<double> LogOf(const MeasuredRun& run) const {
    const double expected = out_.model ? ExpectedOf(*out_.model, run.work) : out_.before.ratio * run.work;
    return expected > 0 ? std::optional(std::log(run.gpu_seconds / expected)) : std::nullopt;
  }
  [[nodiscard]] std::vector<double> LogsOf(std::span<const MeasuredRun> runs) const {
    std::vector<double> logs;
    for (const MeasuredRun& run : runs) {
      if (const std::optional<double> log = LogOf(run)) logs.push_back(*log);
    }
    return logs;
  }

  // The runs in time, for the drift guard. A run counts at its middle, since a drift acts on all of it. All runs must
  // have dates.
  [[nodiscard]] std::vector<DatedLog> DatedLogs() const {
    std::vector<DatedLog> logs;
    const auto add = [&](std::span<const MeasuredRun> runs, bool after) {
      for (const MeasuredRun& run : runs) {
        const std::optional<double> log = LogOf(run);
        const double middle =
            0.5 * static_cast<double>(run.start->nanos()) + 0.5 * static_cast<double>(run.end->nanos());
        if (log) logs.push_back({InHours(middle), *log, after});
      }
    };
    add(in_.before, false);
    add(in_.after, true);
    return logs;
  }

  // How many more hours of measuring, both sides together, would show the present estimate at the present noise. Solves
  // half-width = distance for the number of rows, both sides with equal error, and asks for enough rows that n_eff
  // reaches 30. It is advice and decides nothing.
  void FindMoreHours() {
    constexpr double kNormal = 1.96;
    const double half = std::max(claim_.smallest_effect, std::abs(*out_.fraction) - claim_.smallest_effect);
    double hours = 0;
    for (const auto& [side, runs] : {std::pair(&out_.before, &before_), std::pair(&out_.after, &after_)}) {
      const RowCost cost = CostOfRows(*side, *runs);
      if (cost.seconds <= 0) return;
      const double wanted =
          std::max(2 * cost.variance_of_one * (kNormal / half) * (kNormal / half), kLowNEff * side->tau.value_or(1));
      hours += std::max(0.0, wanted - cost.rows) * cost.seconds / 3600;
    }
    out_.more_hours = hours;
  }

  // The effect over pairs of neighbouring blocks. Without pairs only the sides are estimated, and the reason says why.
  void MeasureSwitchback() {
    const std::optional<SwitchbackReading> reading = ReadSwitchback(in_.before, in_.after);
    if (!reading || reading->log_ratios.empty()) {
      EstimateSides(in_.before, in_.after);
      Say("few_segments", reading ? "no two neighbouring blocks differ in their setting"
                                  : "blocks without dates cannot be put in pairs");
      return;
    }
    EstimateSides(reading->before, reading->after);
    // The correlation of a switchback is that of its whole series.
    out_.before.tau = out_.after.tau = reading->tau;
    out_.pairs = static_cast<int>(reading->log_ratios.size());
    out_.sequential = claim_.stop == StopRule::kSequential;
    if (reading->unpaired > 0) {
      Say("blocks_unpaired", fmt::format("{} block{} without a partner {} left out", reading->unpaired,
                                         reading->unpaired == 1 ? "" : "s", reading->unpaired == 1 ? "is" : "are"));
    }
    if (out_.pairs < kRunsThatSuffice) {
      Say("few_segments", fmt::format("{} pair{} of blocks", out_.pairs, out_.pairs == 1 ? "" : "s"));
      return;
    }
    effect_ = EffectOfPairs(reading->log_ratios, out_.sequential);
    out_.fraction = effect_->fraction;
    Adjust();
    if (out_.pairs < kPairsThatSuffice) Say("few_pairs", fmt::format("{} pairs of blocks", out_.pairs));
    if (out_.sequential && out_.pairs < kSequenceFirstLook) {
      Say("before_first_look", fmt::format("{} pairs so far", out_.pairs));
    }
    if (reading->one_order)
      Say("fixed_order", "every pair has the same order, so a drift affects all pairs the same way");
    if (!reading->washout_dropped) Say("washout_not_dropped", "a block has totals only");
    if (reading->least_taus && *reading->least_taus < kSwitchbackBlockTaus) {
      const std::string seen = fmt::format("the shortest block is {} tau long", ThreeDigits(*reading->least_taus));
      Say(*reading->least_taus < kSurelyShortTaus ? "short_blocks" : "blocks_may_be_short", seen);
    }
  }

  // The intervals, and what is reported beside them.
  void Describe() {
    out_.saving = IntervalOf(*effect_, claim_.level);
    out_.saving90 = IntervalOf(*effect_, LowerLevel(claim_.level));
    if (out_.layout != RunLayout::kSwitchback && !out_.model && !corrected_ && !out_.sequential) CrossCheck();
    out_.avoided_gpu_seconds = AvoidedOf(*effect_, *out_.saving, out_.after.gpu_seconds);
    if (*out_.fraction != 0) out_.fsu = FractionalUncertainty(*effect_);
    out_.smallest_shown = SmallestShown(*effect_);
    if (out_.layout != RunLayout::kSwitchback) out_.placebo = PlaceboOver(before_, claim_.level, random_);
    if (out_.layout == RunLayout::kBeforeAfter || out_.layout == RunLayout::kUnknown) {
      Say("use_switchback", "the sides ran one after the other, so only a model separates the change from a drift");
    }
  }

  // The bootstrap assumes no shape of the noise. If it is much wider, the formula missed something, and the wider one
  // is reported.
  void CrossCheck() {
    const double tau = std::max(out_.before.tau.value_or(1), out_.after.tau.value_or(1));
    const std::vector<double> savings = BootstrapSavings(before_, after_, tau, in_.resamples, random_, draws_);
    if (savings.empty()) return;
    const auto interval = [&](double level) {
      SavingInterval quantiles = QuantileInterval(savings, effect_->fraction, level);
      return SavingInterval{quantiles.fraction + effect_->shift, quantiles.low + effect_->shift,
                            quantiles.high + effect_->shift};
    };
    out_.bootstrap = interval(claim_.level);
    const double width = out_.saving->high - out_.saving->low;
    out_.bootstrap_is_wider = out_.bootstrap->high - out_.bootstrap->low > kMuchWider * width;
    if (!out_.bootstrap_is_wider) return;
    out_.saving = out_.bootstrap;
    out_.saving90 = interval(LowerLevel(claim_.level));
    Say("bootstrap_wider", "resampled blocks of rows vary more than the formula says");
  }

  // The verdict by interval and reasons (verify/verdict.h). Also says why a saving stayed INDICATED or was not shown.
  void Decide() {
    if (Weighs(ReasonWeight::kInvalid)) {
      out_.verdict = Verdict::kInvalid;
      out_.fraction.reset();
      return;
    }
    if (!effect_) return;  // NOT_SHOWN, for a reason that is among them
    out_.verdict = VerdictOf(*out_.saving, *out_.saving90, claim_.smallest_effect, out_.reasons);
    if (out_.verdict == Verdict::kIndicated && out_.saving->low <= claim_.smallest_effect) {
      Say("smallest_effect_not_reached",
          fmt::format("the interval begins at {}, and the claim needs more than {}", PercentText(out_.saving->low),
                      PercentText(claim_.smallest_effect)));
    }
    if (out_.verdict == Verdict::kNotShown) {
      Say("inside_the_noise",
          fmt::format("these data could not have shown an effect below {}", PercentText(*out_.smallest_shown)));
    }
  }

  const Comparison& in_;
  const ProgressWatch& draws_;
  Claim claim_;
  Random random_;
  SavingVerdict out_;
  std::vector<RunEstimate> before_, after_;
  std::optional<SavingEffect> effect_;
  bool compared_ = false;   // to untouched jobs
  bool corrected_ = false;  // by something that the rows of these runs do not show
  // A pick of bad runs may explain the saving: runs that were looked at once, from which nothing was taken off.
  bool may_be_picked_ = false;
};

}  // namespace

SavingVerdict Judge(const Comparison& comparison, const ProgressWatch& draws) {
  return Judgement(comparison, draws).Reach();
}

}  // namespace idleburn
