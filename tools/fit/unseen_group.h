#pragma once

#include <optional>
#include <span>
#include <vector>

#include "stats/order.h"

namespace idleburn {

// The interval in which a value of a group lies that was not among these, with a probability of 0 < level < 1.
//
// A value is a mean + what its group is off + what it is off within its group (random effects). What groups are off,
// each counting alike, is held to be normal: its variance is that of their means, and k of them are few, which
// Student's t with k - 1 degrees and a factor 1 + 1/k account for. Within groups the deviations of all values are taken
// as they are, from quantile to quantile, because they have long tails. The two are independent, so they add up as
// squares.
//
// Absent for fewer than two groups; none of them may be empty.
std::optional<ConfidenceInterval> IntervalOfUnseenGroup(std::span<const std::vector<double>> groups, double level);

}  // namespace idleburn
