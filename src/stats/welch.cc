#include "stats/welch.h"

namespace idleburn {

double TotalVariance(std::span<const VarianceTerm> terms) {
  double sum = 0;
  for (const VarianceTerm& term : terms) sum += term.variance;
  return sum;
}

double WelchDf(std::span<const VarianceTerm> terms) {
  const double sum = TotalVariance(terms);
  if (sum <= 0) return 1;
  // As shares of the sum, whose squares neither vanish nor overflow.
  double denominator = 0;
  for (const VarianceTerm& term : terms) denominator += (term.variance / sum) * (term.variance / sum) / term.df;
  return 1 / denominator;
}

}  // namespace idleburn
