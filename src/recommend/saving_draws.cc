#include "recommend/saving_draws.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <numeric>

#include "base/result.h"
#include "stats/order.h"
#include "stats/random.h"

namespace idleburn {

// The formula is in the header. `own` is 0 while the user's changes are too few to count.
RecoveredShare RecoveredShares::Of(std::string_view lever) const {
  const auto found = own_.find(lever);
  if (found == own_.end() || found->second.shares.size() < kFewestOwn) return {kPriorMean, 0, 0};
  const std::vector<double>& shares = found->second.shares;
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  const auto count = static_cast<double>(shares.size());
  return {(kPriorWeight * kPriorMean + sum) / (kPriorWeight + count), static_cast<int>(shares.size()),
          found->second.verified};
}

// The text of a basis: it must say whose experience the figure is.
std::string Describe(const RecoveredShare& share) {
  if (share.own == 0) return "0.8 of the bound";
  std::array<char, 160> text{};
  if (share.verified == share.own) {
    std::snprintf(text.data(), text.size(), "%.2f of the bound, from %d of your own verified changes (prior %.2f)",
                  share.mean, share.own, RecoveredShares::kPriorMean);
  } else {
    std::snprintf(
        text.data(), text.size(),
        "%.2f of the bound, from %d of your own changes (%d verified, the others raised the cost; prior %.2f)",
        share.mean, share.own, share.verified, RecoveredShares::kPriorMean);
  }
  return text.data();
}

// The mean of Beta(a,1) is a / (a + 1).
double ShapeOf(const RecoveredShare& share) {
  if (share.own == 0) return 4;  // exactly Beta(4,1)
  const double mean = std::clamp(share.mean, 0.01, 0.99);
  return mean / (1 - mean);
}

namespace {

// Realised shares of claims that succeed or fail together: Beta margins under a Gaussian copula with one
// factor.
class CommonCause {
 public:
  explicit CommonCause(Random& random) : random_(&random), factor_(random.Normal()) {}

  double Realised(double shape = kRecoveryShape) {
    const double z = std::sqrt(kPoolCorrelation) * factor_ + std::sqrt(1 - kPoolCorrelation) * random_->Normal();
    return std::pow(NormalCdf(z), 1 / shape);  // inverts x^a, the distribution function of Beta(a,1)
  }

 private:
  Random* random_;
  double factor_;
};

// Draws the parts of the whole time: the pools, the waste outside them, and the busy time (or the rest, if the
// waste is unknown).
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
  const double scale = all > 0 ? 1 / all : 0;  // with shapes near 0 all may underflow
  double pools = 0;
  for (CombineInput::Pool& pool : drawn.pools) pools += pool.share *= scale;
  // The measured waste is the cap within each draw: no draw may save more.
  if (!given.waste || pools <= *given.waste) return;
  for (CombineInput::Pool& pool : drawn.pools) pool.share *= *given.waste / pools;
}

// The shape of a claim; kRecoveryShape beyond the end of the list.
double ShapeAt(const std::vector<double>& shapes, std::size_t i) {
  return i < shapes.size() ? shapes[i] : kRecoveryShape;
}

// Draws what each fix recovers. Claims on one target share a common cause.
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

// `drawn` keeps the structure of the input; each draw overwrites its numbers.
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
