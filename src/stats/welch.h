#pragma once

#include <span>

namespace idleburn {

// One of several independent terms of a variance, and what its own estimate rests on.
struct VarianceTerm {
  double variance = 0;
  double df = 1;
};

// Degrees of freedom of the sum of the terms (Welch 1947, Satterthwaite 1946); 1 where all terms are 0.
double WelchDf(std::span<const VarianceTerm> terms);
double TotalVariance(std::span<const VarianceTerm> terms);

}  // namespace idleburn
