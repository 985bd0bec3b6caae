// How uncertain a saving is: what a fix recovers of its bound, and the distribution of a combined saving by
// simulation. Shares and caps interact, so intervals of single fixes cannot simply be added.

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "recommend/combine.h"

namespace idleburn {

// What the user's own judged changes of a lever recovered of their bounds: each from 0 to 1. A regression counts
// as 0.
struct OwnChanges {
  std::vector<double> shares;
  int verified = 0;  // how many of them are verified
};

// How much of its bound a fix recovers, as a mean.
struct RecoveredShare {
  double mean = 0;
  // The user's own changes behind it; 0: only the prior.
  int own = 0;
  int verified = 0;
};

// The share of its bound that each fix is expected to recover. The prior is Beta(4,1) for every lever, with
// mean 0.8 (docs/combining.md). Three judged changes of a lever override it in part: the mean becomes (5 x 0.8
// + sum of shares) / (5 + count). This is the linear Bayes estimate, in which the prior weighs like its 4 + 1 =
// 5 observations. Three are needed because one or two may be exceptions. Example: three changes that recovered
// 0.5 each give (4 + 1.5) / 8 = 0.69.
class RecoveredShares {
 public:
  static constexpr double kPriorMean = 0.8;
  static constexpr double kPriorWeight = 5;
  static constexpr std::size_t kFewestOwn = 3;

  RecoveredShares() = default;
  explicit RecoveredShares(std::map<std::string, OwnChanges, std::less<>> own) : own_(std::move(own)) {}

  // The estimate for a lever.
  [[nodiscard]] RecoveredShare Of(std::string_view lever) const;

 private:
  std::map<std::string, OwnChanges, std::less<>> own_;  // by lever
};

// "0.8 of it", "0.71 of it from 4 of your own verified changes, prior 0.80".
std::string Describe(const RecoveredShare& share);

// The shape a of the distribution Beta(a,1) with this mean; 4 for the prior. The spread between fixes stays
// that of the prior's family, however many changes determine the mean.
double ShapeOf(const RecoveredShare& share);

// How the uncertainty of a combined saving is drawn (docs/combining.md, "The interval"). Each recovered share is its
// claim times Beta(4,1). Claims on one pool, on one stage or (as fractions) on the whole time are correlated by a
// Gaussian copula. Pool shares follow a Dirichlet distribution with weights independent_steps x shares; the other
// waste and the busy time are further parts. Speed-ups, the overhead and the avoided share are fixed, and so is the
// rate cut without a shape.
struct SavingDraws {
  std::uint64_t seed = 1;
  int count = 10'000;
  // Behind the pool shares; cautious if nobody counted them.
  double independent_steps = 30;
  // Shapes of Beta(shape, 1), for the fixes of each pool and for each cheaper work. Missing ones are
  // kRecoveryShape.
  std::vector<double> pool_shapes;
  std::vector<double> cheaper_shapes;
  // The shape for a rate cut that is a bound, like a fix's claim. Without it the cut is fixed.
  std::optional<double> rate_shape;
};

// Parameters of the distributions above.
inline constexpr double kRecoveryShape = 4;  // of Beta(4,1), mean 0.8
inline constexpr double kPoolCorrelation = 0.5;

// The points of the drawn distribution.
struct DrawnSaving {
  // 5 % point; at most 0 without lanes, where the overlap is unknown.
  double low = 0;
  double median = 0;
  double high = 0;  // 95 % point
};

// Evaluates Combine() on every draw, so caps and maxima apply within each. The same input and options give the same
// numbers. If nothing is drawn, all three points are the total. Intervals of single fixes are not added, because two
// fixes of one stall do not miss independently.
DrawnSaving DrawSaving(const CombineInput& input, const SavingDraws& options = {});

}  // namespace idleburn
