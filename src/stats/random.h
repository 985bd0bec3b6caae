#pragma once

#include <cstddef>
#include <cstdint>

namespace idleburn {

// Random draws that come out the same with every compiler and standard library: the generator and every distribution
// are spelled out here, because those of <random> differ between implementations.
class Random {
 public:
  // PCG32 (XSH-RR 64/32, O'Neill 2014). Different streams of one seed give different sequences.
  explicit Random(std::uint64_t seed, std::uint64_t stream = 0);

  std::uint32_t Next();
  // Evenly in (0, 1), 52 bits; never 0 or 1, so that every quantile function may take it.
  double Uniform();
  // Standard normal, by inversion.
  double Normal();
  // Gamma(shape, 1), shape >= 0; 0 for shape 0. Marsaglia and Tsang 2000, with their boost below shape 1.
  double Gamma(double shape);

 private:
  std::uint64_t state_ = 0;
  std::uint64_t increment_;
};

// Phi, the standard normal distribution function.
double NormalCdf(double z);
// Its inverse for 0 < p < 1: Wichura's AS 241 (PPND16), relative error about 1e-16.
double NormalQuantile(double p);

// Draws as many values as the series has, in blocks of neighbours that begin anywhere (Kuensch 1989), the last one cut:
// calls `take(begin, end)` for each. 1 <= block <= n.
template <typename Take>
void DrawBlocks(std::size_t n, std::size_t block, Random& random, Take take) {
  const auto starts = static_cast<std::uint64_t>(n - block + 1);
  for (std::size_t drawn = 0; drawn < n; drawn += block) {
    const auto begin = static_cast<std::size_t>((random.Next() * starts) >> 32U);
    take(begin, begin + (n - drawn < block ? n - drawn : block));
  }
}

}  // namespace idleburn
