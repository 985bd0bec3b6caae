#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "recommend/combine.h"

namespace idleburn {

// How the uncertainty of a combined saving is drawn. Every share that a fix recovers is its claim times Beta(4,1);
// claims on one pool, one stage, or (as fractions) on the whole time share a Gaussian copula; pool shares are
// Dirichlet(independent_steps x shares), with the waste outside the pools and the busy time as further parts.
// Speed-ups, the overhead, the avoided share and, unless it has a shape, the rate cut are taken as given.
struct SavingDraws {
  std::uint64_t seed = 1;
  int count = 10'000;
  double independent_steps = 30;  // behind the pool shares; cautious where nobody has counted them
  // Of Beta(shape, 1), for the fixes of each pool and each cheaper work; kRecoveryShape beyond the end.
  std::vector<double> pool_shapes;
  std::vector<double> cheaper_shapes;
  // Of Beta(shape, 1), for a rate cut that is a bound, as a fix's claim is; without it the cut is taken as given.
  std::optional<double> rate_shape;
};

inline constexpr double kRecoveryShape = 4;  // of Beta(4,1), mean 0.8
inline constexpr double kPoolCorrelation = 0.5;

struct DrawnSaving {
  double low = 0;  // 5 % point; not above 0 without lanes, where the overlap is unknown
  double median = 0;
  double high = 0;  // 95 % point
};

// Evaluates Combine() on every draw, so that caps and maxima act inside each. The same input and options give the
// same numbers. With nothing to draw, low, median and high are the total.
DrawnSaving DrawSaving(const CombineInput& input, const SavingDraws& options = {});

}  // namespace idleburn
