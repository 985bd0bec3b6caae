#pragma once

#include <span>
#include <vector>

#include "stats/random.h"
#include "verify/verdict.h"
#include "verify/within_run.h"

namespace idleburn {

// The saving again, by resampling blocks of rows within their runs: it assumes no shape of the noise, and sees only
// what rows show. The savings of all resamples in ascending order, of which an interval takes its quantiles; empty
// where a run has no rows. Blocks of 2 x the larger tau, at most an eighth of a run.
std::vector<double> BootstrapSavings(std::span<const RunEstimate> before, std::span<const RunEstimate> after,
                                     double tau, int resamples, Random& random);

SavingInterval QuantileInterval(std::span<const double> ascending, double fraction, double level);

}  // namespace idleburn
