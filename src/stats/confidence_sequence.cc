#include "stats/confidence_sequence.h"

#include <cmath>

namespace idleburn {

double SequenceHalfWidth(double n, double sigma, double alpha, double rho) {
  const double spread = n * rho * rho + 1;
  return sigma * std::sqrt(spread / (n * n * rho * rho) * std::log(spread / (alpha * alpha)));
}

}  // namespace idleburn
