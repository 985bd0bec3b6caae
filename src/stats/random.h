#pragma once

#include <cstddef>
#include <cstdint>

namespace idleburn {

// Random draws that are the same with every compiler and standard library, so that a verdict or a plan can be
// repeated from its seed. The distributions of <random> differ between implementations, so the generator and every
// distribution are written here. Not for secrets.
class Random {
 public:
  // PCG32 (XSH-RR 64/32, O'Neill 2014). Each stream of a seed is a different sequence.
  explicit Random(std::uint64_t seed, std::uint64_t stream = 0);

  // 32 random bits.
  std::uint32_t Next();
  // Uniform in (0, 1), with 52 bits. It is never 0 or 1, so every quantile function can take it.
  double Uniform();
  // Standard normal, by inversion, one Uniform per draw.
  double Normal();
  // Gamma(shape, 1) by Marsaglia and Tsang 2000, with their boost below shape 1. Shape 0 gives 0; none is negative.
  double Gamma(double shape);

 private:
  std::uint64_t state_ = 0;
  std::uint64_t increment_;
};

// Phi, the standard normal distribution function.
double NormalCdf(double z);
// The inverse of NormalCdf for 0 < p < 1: Wichura's AS 241 (PPND16), with a relative error of about 1e-16.
double NormalQuantile(double p);

// Resamples a series of n values in blocks of neighbours (Kuensch 1989), which keeps their correlation. It calls
// `take(begin, end)` for each block until n values are drawn; the last block is cut. 1 <= block <= n. For example, n
// = 5 and block = 2 may give [3, 5), [0, 2) and [1, 2).
template <typename Take>
void DrawBlocks(std::size_t n, std::size_t block, Random& random, Take take) {
  const auto starts = static_cast<std::uint64_t>(n - block + 1);
  for (std::size_t drawn = 0; drawn < n; drawn += block) {
    const auto begin = static_cast<std::size_t>((random.Next() * starts) >> 32U);
    take(begin, begin + (n - drawn < block ? n - drawn : block));
  }
}

}  // namespace idleburn
