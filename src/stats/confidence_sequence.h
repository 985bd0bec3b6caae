#pragma once

namespace idleburn {

// Half the width of a confidence sequence for a mean: with probability 1 - alpha the true mean is inside the interval
// at every n from the first look on, however often it is looked at. Normal mixture (Robbins 1970) with the running
// standard deviation in place of a known one, which holds in the limit only: a first look before 20 values is too
// early. `rho` sets at which n it is narrowest.
double SequenceHalfWidth(double n, double sigma, double alpha, double rho = 0.3);

inline constexpr int kSequenceFirstLook = 20;

}  // namespace idleburn
