#include "recommend/advice.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "diagnose/findings.h"
#include "diagnose/idle_time.h"
#include "recommend/cheaper_hour.h"
#include "recommend/combine.h"
#include "recommend/lever_caps.h"
#include "recommend/lever_table.h"
#include "recommend/try_first.h"

namespace idleburn {
namespace {

// The shares of a window are counted over all of it, not sampled. So many steps keep their draws constant.
constexpr double kCountedSteps = 1e9;

// Whether the finding is about idle GPUs. Their saving is cash only if somebody releases the GPU, so its basis says
// so.
bool IsIdle(const Finding& finding) {
  return finding.cause == "idle_held" || finding.cause == "idle_empty" || finding.cause == "idle";
}

// Stopping and scaling need time in which nobody works. Without it the finding remains, and the advice is left
// out.
bool NeedsTimeToStop(std::string_view lever) { return lever == "stop_idle" || lever == "autoscale"; }

// Where the interval of a saving comes from, in words.
std::string DescribeBasis(const Finding& finding, const RecoveredShare& recovered) {
  const std::string expected = "; expected " + Describe(recovered);
  if (IsIdle(finding)) {
    return "bound: time at 0 % on all GPUs of a job, after the grace time of each stretch that is long enough to stop" +
           expected +
           ". Cash only if the GPU is released (on demand, spot) or the commitment shrinks; otherwise it is freed "
           "capacity";
  }
  if (finding.cause == "spin_wait") {
    return "bound: all time spent waiting" + expected + ". Upper bound: the lagging GPU sets the pace";
  }
  if (finding.cause == "throttling") return "bound: the SM clock lost while busy" + expected;
  if (finding.cause == "checkpoint_stall" || finding.cause == "straggler_or_dependency") {
    return "bound: the time without work of all GPUs in those episodes" + expected;
  }
  return "bound: the share of time in the cause" + expected +
         (recovered.own == 0 ? " (one public pair realised 0.84)" : "");
}

// Why a lever is possible but has no saving.
std::string WhyNotQuantified(const Finding& finding) {
  if (finding.cause == "first_use") return "it comes once in a process, so no step becomes cheaper";
  return finding.cause == "spin_wait"
             ? "no GPU of this run lags while these wait, so this data does not show how to end the wait"
             : "the share that a fix would recover was not measured";
}

// Adds the money of a saving.
void PriceSaving(Recommendation& r, const CostReport& cost) {
  if (!r.saving || !cost.whole.total || cost.whole.unpriced.window_ns > 0)
    return;  // the saving is a share of the whole bill
  if (const Result<Money> money = Estimate(*cost.whole.total, r.saving->expected)) r.saving_cost = *money;
}

// The most that a fix can recover, as a share of observed cost. With one price this is the share of observed time.
// With several, an hour of an expensive GPU counts more.
//
// Example: a stall of an hour on a GPU of $8 in a run of two observed hours that cost $9. It is half of the time and
// 8/9 of the cost.
double CostBound(const Finding& finding, const CostReport& cost) {
  const bool weigh =
      cost.several() && cost.whole.unpriced.window_ns == 0 && cost.whole.total && finding.ShareOfRun() > 0;
  if (!weigh || !finding.time_cost) return finding.bound;
  const double observed = static_cast<double>(cost.whole.total->nano() - cost.whole.unobserved_cost->nano() -
                                              cost.whole.unallocated_cost->nano());
  return observed <= 0
             ? finding.bound
             : finding.bound / finding.ShareOfRun() * static_cast<double>(finding.time_cost->nano()) / observed;
}

// The observed part of the bill. Findings are shares of observed cost, and advice speaks of the bill, so this
// converts between them.
double ObservedShare(const CostReport& cost) {
  const UsageCost& w = cost.whole;
  if (cost.several() && w.unpriced.window_ns == 0 && w.total && *w.total > Money()) {
    const std::int64_t other = w.unobserved_cost->nano() + w.unallocated_cost->nano();
    return 1 - static_cast<double>(other) / static_cast<double>(w.total->nano());
  }
  return w.window_ns == 0 ? 0 : static_cast<double>(w.observed_ns) / static_cast<double>(w.window_ns);
}

// A recommendation with the texts of its lever. The caller adds saving and basis.
Recommendation Row(const Scene& scene, const Lever& lever, std::string_view cause) {
  Recommendation r;
  r.id = lever.id;
  r.title = lever.title;
  r.axis = lever.axis;
  r.cause = cause;
  r.how = HowTo(scene, lever);
  r.verify_with = lever.verify;
  return r;
}

// Whether a lever is among the recommendations.
bool Advised(const Advice& advice, std::string_view id) {
  return std::any_of(advice.recommendations.begin(), advice.recommendations.end(),
                     [&](const Recommendation& r) { return r.id == id; });
}

// Adds the levers of a finding. Only the first carries the saving, because the others would save the same time. A
// finding without a proved cause has no levers.
void AddTimeLevers(const Scene& scene, const Finding& finding, double observed, const RecoveredShares& shares,
                   Advice& advice) {
  if (finding.status == Status::kUnknown) return;
  const Cause& cause = CauseById(finding.cause);
  const double most = CostBound(finding, scene.cost) * observed;
  std::string_view first;
  for (const std::string_view id : cause.levers) {
    if (id.empty() || !WhyNot(scene, id).empty() || !IsShown(scene, id, cause.id)) continue;
    if (IsIdle(finding) && most <= 0 && NeedsTimeToStop(id)) continue;
    const LeverCap cap = CapOf(scene, finding, id);
    if (most > 0 && cap.part && *cap.part <= 0) continue;
    Recommendation r = Row(scene, LeverById(id), cause.id);
    if (!first.empty()) {
      r.basis = "the same time as " + std::string(first) + ": do one of them";
    } else if (most > 0 && !cap.part) {
      r.basis = cap.why;
    } else if (most > 0) {
      const RecoveredShare recovered = shares.Of(id);
      r.saving = SavingRange{0, recovered.mean * most * *cap.part, most * *cap.part};
      r.basis = DescribeBasis(finding, recovered) + (cap.why.empty() ? "" : "; " + cap.why);
      first = id;
    } else {
      r.basis = WhyNotQuantified(finding);
    }
    PriceSaving(r, scene.cost);
    advice.recommendations.push_back(std::move(r));
  }
}

// Adds the levers that lower the price of an hour. A lever whose offers are all known and not cheaper is
// declined with that reason.
void AddRateLevers(const Scene& scene, Advice& advice) {
  for (const Lever& lever : Levers()) {
    if (lever.axis != Axis::kRate || !WhyNot(scene, lever.id).empty()) continue;
    CheaperHour hour = FindCheaperHour(lever.id, scene);
    if (hour.refuted) {
      advice.declined.push_back({lever.id, std::move(hour.basis)});
      continue;
    }
    Recommendation r = Row(scene, lever, "");
    if (hour.cut > 0) r.saving = SavingRange{0, RecoveredShares::kPriorMean * hour.cut, hour.cut};
    if (!hour.how.empty()) r.how = std::move(hour.how);
    r.basis = std::move(hour.basis);
    PriceSaving(r, scene.cost);
    advice.recommendations.push_back(std::move(r));
  }
}

// The lever that carries the saving of a finding. Null if none is advised.
const Recommendation* CarriedBy(const Finding& finding, const Advice& advice) {
  const auto at = std::find_if(advice.recommendations.begin(), advice.recommendations.end(),
                               [&](const Recommendation& r) { return r.cause == finding.cause && r.saving; });
  return at == advice.recommendations.end() ? nullptr : &*at;
}

// The offer of a cheaper hour that saves most; null without a quantified one. Offers are alternatives for the
// same hours.
const Recommendation* BestOffer(const Advice& advice) {
  const Recommendation* best = nullptr;
  for (const Recommendation& r : advice.recommendations) {
    if (r.axis != Axis::kRate || !r.saving) continue;
    if (best == nullptr || r.saving->expected > best->saving->expected) best = &r;
  }
  return best;
}

// The findings as pools of waste, with cheaper work and a cheaper hour, and how their draws spread. Throttling is
// busy time and no waste, so it becomes cheaper work.
struct Pools {
  CombineInput whole;     // if fixes recover all of each bound
  CombineInput expected;  // if they recover what is expected
  SavingDraws draws;
};

// Converts a share of observed busy time to a share of the bill's busy time.
double OfAllBusy(double share, double waste, double observed) {
  const double busy = 1 - waste * observed;
  return busy <= 0 ? 0 : share * (1 - waste) * observed / busy;
}

// Bounds are shares of observed cost; `observed` converts them to shares of the whole bill.
Pools MakePools(const Advice& advice, double observed, const CostReport& cost, const RecoveredShares& shares) {
  Pools pools;
  pools.whole.waste = pools.expected.waste = cost.waste_share * observed;
  pools.draws.independent_steps = kCountedSteps;
  double pooled = 0;
  for (const Finding& f : advice.findings) {
    const Recommendation* fix = CarriedBy(f, advice);
    if (f.bound <= 0 || fix == nullptr || observed <= 0) continue;
    const RecoveredShare recovered = shares.Of(fix->id);
    // What this lever recovers may be less than the cause takes.
    const double bound = std::min(CostBound(f, cost), fix->saving->high / observed);
    if (f.cause == "throttling") {
      // Full clocks do the same work in less time: the throttled share of busy time runs k times as fast.
      const double share = bound == f.bound ? f.ShareOfRun() : f.ShareOfRun() * bound / f.bound;
      const double slowed =
          OfAllBusy(std::min(1.0, share / std::max(1 - cost.waste_share, share)), cost.waste_share, observed);
      const double speedup = 1 / (1 - f.bound / f.ShareOfRun());
      pools.whole.cheaper.push_back({slowed, speedup});
      pools.expected.cheaper.push_back({slowed * recovered.mean, speedup});
      pools.draws.cheaper_shapes.push_back(ShapeOf(recovered));
    } else {
      const double share = std::min(bound, std::max(0.0, cost.waste_share - pooled));  // rounding must not exceed it
      pooled += share;
      pools.whole.pools.push_back({std::string(f.cause), share * observed, {{"fix", 1}}});
      pools.expected.pools.push_back({std::string(f.cause), share * observed, {{"fix", recovered.mean}}});
      pools.draws.pool_shapes.push_back(ShapeOf(recovered));
    }
  }
  if (const Recommendation* offer = BestOffer(advice)) {
    pools.whole.rate_cut = offer->saving->high;
    pools.expected.rate_cut = offer->saving->expected;
    pools.draws.rate_shape = kRecoveryShape;
  }
  return pools;
}

// Combines all recommendations. The point estimate uses expected shares; the interval draws them from the whole
// bounds.
CombinedSaving Together(const Advice& advice, double observed, const CostReport& cost, const RecoveredShares& shares) {
  CombinedSaving saving;
  saving.cap = cost.waste_share;
  for (const Recommendation& r : advice.recommendations) saving.naive_sum += r.saving ? r.saving->expected : 0;
  const Pools pools = MakePools(advice, observed, cost, shares);
  const CombineResult combined = Combine(pools.expected);
  if (combined.rule) saving.rule = Name(*combined.rule);
  saving.waste_fraction = combined.waste.value_or(0);
  saving.cheaper_fraction = combined.cheaper.value_or(0);
  saving.time_fraction = combined.time;
  saving.rate_fraction = combined.rate;
  if (const Recommendation* offer = BestOffer(advice)) saving.rate_lever = offer->id;
  saving.total_fraction = combined.total;
  const DrawnSaving drawn = DrawSaving(pools.whole, pools.draws);
  saving.low = drawn.low;
  saving.high = drawn.high;
  if (cost.whole.total && cost.whole.unpriced.window_ns == 0 && IsQuantified(advice)) {
    if (const Result<Money> money = Estimate(*cost.whole.total, saving.total_fraction)) saving.cost = *money;
    const Result<Money> money = Estimate(*cost.whole.total, saving.time_fraction);
    if (money && combined.rule) saving.time_cost = *money;
  }
  return saving;
}

// States why each other lever is not advised, in the order of the table.
void Decline(const Scene& scene, Advice& advice) {
  std::vector<Advice::Declined> all;
  for (const Lever& lever : Levers()) {
    if (Advised(advice, lever.id)) continue;
    const auto said = std::find_if(advice.declined.begin(), advice.declined.end(),
                                   [&](const Advice::Declined& d) { return d.id == lever.id; });
    std::string why = said == advice.declined.end() ? WhyNot(scene, lever.id) : said->why;
    if (why.empty() && NeedsTimeToStop(lever.id)) why = WhyNoStop(scene);
    if (why.empty()) why = "needs: " + std::string(lever.evidence);
    all.push_back({lever.id, std::move(why)});
  }
  advice.declined = std::move(all);
}

}  // namespace

std::string_view Name(Axis a) { return a == Axis::kTime ? "time" : "rate"; }

bool IsQuantified(const Advice& advice) {
  return std::any_of(advice.recommendations.begin(), advice.recommendations.end(),
                     [](const Recommendation& r) { return r.saving.has_value(); });
}

// Tries come last, because they leave out what is recommended already.
Advice Advise(const Scene& scene, std::vector<Finding> findings, const RecoveredShares& shares) {
  const double observed = ObservedShare(scene.cost);
  Advice advice;
  advice.findings = std::move(findings);
  for (const Finding& finding : advice.findings) AddTimeLevers(scene, finding, observed, shares, advice);
  AddRateLevers(scene, advice);
  std::stable_sort(advice.recommendations.begin(), advice.recommendations.end(),
                   [](const Recommendation& a, const Recommendation& b) {
                     return (a.saving ? a.saving->expected : -1) > (b.saving ? b.saving->expected : -1);
                   });
  advice.savings = Together(advice, observed, scene.cost, shares);
  Decline(scene, advice);
  advice.try_first = FindTries(scene, advice, shares);
  return advice;
}

}  // namespace idleburn
