#include "recommend/saving_draws.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "base/check.h"
#include "stats/order.h"
#include "stats/random.h"

namespace idleburn {
namespace {

// Realised shares of claims that hit or miss one cause together: Beta(4,1) margins under a one-factor Gaussian copula.
class CommonCause {
 public:
  explicit CommonCause(Random& random) : random_(&random), factor_(random.Normal()) {}

  double Realised(double shape = kRecoveryShape) {
    const double z = std::sqrt(kPoolCorrelation) * factor_ + std::sqrt(1 - kPoolCorrelation) * random_->Normal();
    return std::pow(NormalCdf(z), 1 / shape);  // Beta(a,1) has distribution function x^a
  }

 private:
  Random* random_;
  double factor_;
};

// The parts of the whole time: the pools, the waste outside them, the busy time (without a known waste: the rest).
void DrawShares(const CombineInput& given, double steps, Random& random, CombineInput& drawn) {
  double given_pools = 0;
  double waste = 0;
  for (std::size_t i = 0; i < given.pools.size(); ++i) {
    given_pools += given.pools[i].share;
    drawn.pools[i].share = random.Gamma(steps * given.pools[i].share);
    waste += drawn.pools[i].share;
  }
  const double given_waste = std::max(given.waste.value_or(0), given_pools);
  waste += random.Gamma(steps * (given_waste - given_pools));
  const double all = waste + random.Gamma(steps * std::max(0.0, 1 - given_waste));
  const double scale = all > 0 ? 1 / all : 0;  // shapes near 0 can all underflow
  double pools = 0;
  for (CombineInput::Pool& pool : drawn.pools) pools += pool.share *= scale;
  // The measured waste is the cap inside each draw: no draw may save more of it than there is.
  if (!given.waste || pools <= *given.waste) return;
  for (CombineInput::Pool& pool : drawn.pools) pool.share *= *given.waste / pools;
}

double ShapeAt(const std::vector<double>& shapes, std::size_t i) {
  return i < shapes.size() ? shapes[i] : kRecoveryShape;
}

void DrawClaims(const CombineInput& given, const SavingDraws& options, Random& random, CombineInput& drawn) {
  CommonCause whole(random);
  for (std::size_t i = 0; i < given.fixes.size(); ++i) {
    drawn.fixes[i].fraction = given.fixes[i].fraction * whole.Realised();
  }
  for (std::size_t i = 0; i < given.pools.size(); ++i) {
    CommonCause pool(random);
    for (std::size_t j = 0; j < given.pools[i].fixes.size(); ++j) {
      drawn.pools[i].fixes[j].share = given.pools[i].fixes[j].share * pool.Realised(ShapeAt(options.pool_shapes, i));
    }
  }
  std::map<std::string_view, CommonCause> stages;
  for (std::size_t i = 0; i < given.lane_fixes.size(); ++i) {
    for (std::size_t j = 0; j < given.lane_fixes[i].cuts.size(); ++j) {
      const CombineInput::Part& cut = given.lane_fixes[i].cuts[j];
      auto stage = stages.find(cut.target);
      if (stage == stages.end()) stage = stages.emplace(cut.target, CommonCause(random)).first;
      drawn.lane_fixes[i].cuts[j].share = cut.share * stage->second.Realised();
    }
  }
  for (std::size_t i = 0; i < given.cheaper.size(); ++i) {
    const double shape = ShapeAt(options.cheaper_shapes, i);
    drawn.cheaper[i].share = given.cheaper[i].share * CommonCause(random).Realised(shape);
  }
  if (options.rate_shape) drawn.rate_cut = given.rate_cut * CommonCause(random).Realised(*options.rate_shape);
}

}  // namespace

DrawnSaving DrawSaving(const CombineInput& input, const SavingDraws& options) {
  CHECK(options.count > 0 && options.independent_steps > 0);
  const CombineResult expected = Combine(input);
  if (!expected.rule && !options.rate_shape) return {expected.total, expected.total, expected.total};
  Random random(options.seed);
  CombineInput drawn = input;
  std::vector<double> totals;
  totals.reserve(static_cast<std::size_t>(options.count));
  for (int i = 0; i < options.count; ++i) {
    if (!input.pools.empty()) DrawShares(input, options.independent_steps, random, drawn);
    DrawClaims(input, options, random, drawn);
    totals.push_back(Combine(drawn).total);
  }
  std::sort(totals.begin(), totals.end());
  DrawnSaving saving = {SortedQuantile(totals, 0.05), SortedQuantile(totals, 0.5), SortedQuantile(totals, 0.95)};
  if (expected.rule != CombineRule::kLanes) saving.low = std::min(saving.low, 0.0);
  return saving;
}

}  // namespace idleburn
