#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>

#include "diagnose/causes.h"
#include "diagnose/scene.h"
#include "recommend/advice.h"
#include "recommend/combine.h"
#include "recommend/lever_table.h"
#include "recommend/refuters.h"
#include "recommend/saving_draws.h"

namespace idleburn {
namespace {

// Share of a measured bound that a fix recovers, as a mean (docs/combining.md): one public pair realised 0.84.
constexpr double kExpectedRecovery = 0.8;
// The shares of a window are counted over all of it, not sampled: their draws must not move them.
constexpr double kCountedSteps = 1e9;

bool IsIdle(const Finding& finding) { return finding.cause == "idle_held" || finding.cause == "idle_empty"; }

std::string_view BasisOf(const Finding& finding) {
  if (IsIdle(finding)) {
    return "bound: the idle time in stretches of 60 s or more; expected 0.8 of it. Cash only if the GPU is released "
           "(on "
           "demand, spot) or the commitment shrinks; otherwise it is freed capacity";
  }
  if (finding.cause == "spin_wait") {
    return "bound: all time spent waiting; expected 0.8 of it. Upper bound: the lagging GPU sets the pace";
  }
  if (finding.cause == "throttling") return "bound: the clock that was lost while busy; expected 0.8 of it";
  if (finding.cause == "checkpoint_stall" || finding.cause == "straggler_or_dependency") {
    return "bound: the time of all GPUs in those episodes that did no work; expected 0.8 of it";
  }
  return "bound: the share of time that the cause claims; expected 0.8 of it (one public pair realised 0.84)";
}

void PriceSaving(Recommendation& r, const CostReport& cost) {
  if (!r.saving || !cost.whole.total) return;
  if (const Result<Money> money = Estimate(*cost.whole.total, r.saving->expected)) r.saving_cost = *money;
}

Recommendation Row(const Lever& lever, std::string_view cause) {
  Recommendation r;
  r.id = lever.id;
  r.title = lever.title;
  r.axis = lever.axis;
  r.cause = cause;
  r.how = lever.how;
  r.verify_with = lever.verify;
  return r;
}

bool Advised(const Advice& advice, std::string_view id) {
  return std::any_of(advice.recommendations.begin(), advice.recommendations.end(),
                     [&](const Recommendation& r) { return r.id == id; });
}

// The levers of one finding. The first carries the saving; the others would save the same time, not more.
void AddTimeLevers(const Scene& scene, const Finding& finding, double observed, Advice& advice) {
  if (finding.status == Status::kUnknown) return;
  const Cause& cause = CauseOf(finding.cause);
  const double most = finding.bound * observed;
  std::string_view first;
  for (const std::string_view id : cause.levers) {
    if (id.empty() || !WhyNot(scene, id).empty()) continue;
    Recommendation r = Row(LeverOf(id), cause.id);
    if (!first.empty()) {
      r.basis = "the same time as " + std::string(first) + ": do one of them";
    } else if (most > 0) {
      r.saving = SavingRange{0, kExpectedRecovery * most, most};
      r.basis = BasisOf(finding);
      first = id;
    } else {
      r.basis = "not quantified: the share that a fix would recover was not measured";
    }
    PriceSaving(r, scene.cost);
    advice.recommendations.push_back(std::move(r));
  }
}

// "aws:p5.48xlarge:spot@us-east-1" -> its instance "aws:p5.48xlarge" and market "spot".
std::pair<std::string_view, std::string_view> SplitKey(std::string_view key) {
  key = key.substr(0, key.find('@'));
  const std::size_t colon = key.rfind(':');
  return {key.substr(0, colon), colon == std::string_view::npos ? std::string_view() : key.substr(colon + 1)};
}

// The cheapest offer for which `pick` is true, if it is cheaper than the rate.
template <typename Pick>
const Rate::Candidate* Cheaper(const Rate& rate, Pick pick) {
  for (const Rate::Candidate& c : rate.candidates) {  // cheapest first
    if (pick(c)) return rate.per_gpu_hour && c.per_gpu_hour < *rate.per_gpu_hour ? &c : nullptr;
  }
  return nullptr;
}

void AddRateLevers(const Scene& scene, Advice& advice) {
  const CostReport& cost = scene.cost;
  const Rate& rate = cost.rate;
  const auto [instance, market] = SplitKey(rate.key);
  const auto spot = [inst = instance](const Rate::Candidate& c) {
    return SplitKey(c.key) == std::pair(inst, std::string_view("spot"));
  };
  const auto elsewhere = [mark = market](const Rate::Candidate& c) { return SplitKey(c.key).second == mark; };
  const std::array<std::pair<std::string_view, const Rate::Candidate*>, 3> offers = {
      {{"spot", Cheaper(rate, spot)}, {"right_size_region", Cheaper(rate, elsewhere)}, {"reserved", nullptr}}};
  for (const auto& [id, offer] : offers) {
    Recommendation r = Row(LeverOf(id), "");
    if (!WhyNot(scene, id).empty()) continue;
    if (offer != nullptr) {
      const double cut =
          1 - static_cast<double>(offer->per_gpu_hour.nano()) / static_cast<double>(rate.per_gpu_hour->nano());
      r.saving = SavingRange{0, kExpectedRecovery * cut, cut};
      r.basis = "catalogue: " + offer->key + " at " + FormatExact(offer->per_gpu_hour) +
                " a GPU-hour bounds it; restarts and lost work come off";
    } else {
      r.basis = "price unknown: say --price with a catalogue key to compare offers";
      if (id == "reserved") r.basis = "price unknown: no committed price is in the catalogue";
    }
    PriceSaving(r, cost);
    advice.recommendations.push_back(std::move(r));
  }
}

// The findings as pools of waste and cheaper work beside them. `recovered`: of each bound.
CombineInput PoolsOf(const std::vector<Finding>& findings, const CostReport& cost, double recovered) {
  CombineInput in;
  in.waste = cost.waste_share;
  double pooled = 0;
  for (const Finding& f : findings) {
    if (f.bound <= 0) continue;
    if (f.cause == "throttling") {
      // Full clocks do the same work in less time: k times as fast over the share of busy time that was slowed down.
      const double slowed = std::min(1.0, f.share / std::max(1 - *in.waste, f.share));
      in.cheaper.push_back({slowed * recovered, 1 / (1 - f.bound / f.share)});
    } else {
      const double share = std::min(f.bound, std::max(0.0, *in.waste - pooled));  // rounding must not exceed the waste
      pooled += share;
      in.pools.push_back({std::string(f.cause), share, {{"fix", recovered}}});
    }
  }
  return in;
}

// Everything together. Offers on the rate axis are not in the headline: whether a job may run on spot or elsewhere is
// not measured here. Bounds are shares of observed cost; `observed` makes them shares of the whole bill.
CombinedSaving Together(const Advice& advice, double observed, const CostReport& cost) {
  CombinedSaving saving;
  saving.cap = cost.waste_share;
  for (const Recommendation& r : advice.recommendations) saving.naive_sum += r.saving ? r.saving->expected : 0;
  const CombineResult combined = Combine(PoolsOf(advice.findings, cost, kExpectedRecovery));
  if (combined.rule) saving.rule = Name(*combined.rule);
  saving.waste_fraction = combined.waste.value_or(0) * observed;
  saving.cheaper_fraction = combined.cheaper.value_or(0) * observed;
  saving.time_fraction = combined.time * observed;
  saving.total_fraction = saving.time_fraction;
  SavingDraws draws;
  draws.independent_steps = kCountedSteps;
  const DrawnSaving drawn = DrawSaving(PoolsOf(advice.findings, cost, 1), draws);
  saving.low = drawn.low * observed;
  saving.high = drawn.high * observed;
  if (cost.whole.total) {
    if (const Result<Money> money = Estimate(*cost.whole.total, saving.total_fraction)) saving.cost = *money;
  }
  return saving;
}

void Decline(const Scene& scene, Advice& advice) {
  for (const Lever& lever : Levers()) {
    if (Advised(advice, lever.id)) continue;
    std::string why = WhyNot(scene, lever.id);
    if (why.empty()) why = "needs: " + std::string(lever.evidence);
    advice.declined.push_back({lever.id, std::move(why)});
  }
}

}  // namespace

std::string_view Name(Axis a) { return a == Axis::kTime ? "time" : "rate"; }

Advice Advise(const Scene& scene) {
  const UsageCost& w = scene.cost.whole;
  const double observed = w.window_ns == 0 ? 0 : static_cast<double>(w.observed_ns) / static_cast<double>(w.window_ns);
  Advice advice;
  advice.findings = FindAllCauses(scene);
  for (const Finding& finding : advice.findings) AddTimeLevers(scene, finding, observed, advice);
  AddRateLevers(scene, advice);
  std::stable_sort(advice.recommendations.begin(), advice.recommendations.end(),
                   [](const Recommendation& a, const Recommendation& b) {
                     return (a.saving ? a.saving->expected : -1) > (b.saving ? b.saving->expected : -1);
                   });
  advice.savings = Together(advice, observed, scene.cost);
  Decline(scene, advice);
  return advice;
}

}  // namespace idleburn
