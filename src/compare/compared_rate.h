#pragma once

#include <span>

#include "compare/compared_input.h"
#include "price/rate_book.h"

namespace idleburn {

// What a GPU-hour of the inputs cost: the rate that all their GPUs have; where they have several, their mean weighted
// by allocated time, each device of each run by its own rate. Without an amount where a part of the time has no price.
// Fails where the prices have no sum. A price that is stated for GPUs that no input has is a usage error.
Result<Rate> MeanRateOf(const RateBook& book, std::span<const ComparedInput> inputs);

// The same of each of two sides; a price may be stated for the GPUs of one of them.
struct SideRates {
  Rate before;
  Rate after;
};
Result<SideRates> RatesOfSides(const RateBook& book, std::span<const ComparedInput> before,
                               std::span<const ComparedInput> after);

// Whether the runs of both sides say that they had the same GPUs, and as many.
bool HaveSameGpus(std::span<const ComparedInput> before, std::span<const ComparedInput> after);

}  // namespace idleburn
