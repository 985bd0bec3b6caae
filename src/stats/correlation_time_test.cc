#include "stats/correlation_time.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "stats/random.h"

namespace idleburn {
namespace {

// Alternating +1 and -1, twelve of them: rho_k = (-1)^k (12 - k) / 12, so that both pairs of lags below 4 are 1/12; the
// sum 2 * 2/12 - 1 is below 1, and K = 3 divides by 1 - 7/12.
TEST(CorrelationTimeTest, OfAnAlternatingSeriesByHand) {
  std::vector<double> series;
  for (int i = 0; i < 12; ++i) series.push_back(i % 2 == 0 ? 5 : 3);
  const CorrelationTime time = CorrelationTimeOf(series);
  EXPECT_EQ(time.last_lag, 3);
  EXPECT_NEAR(time.tau, 1 / (1 - 7.0 / 12), 1e-12);
  EXPECT_DOUBLE_EQ(time.Windows(12), 12.0 / 7);
}

// A ramp 1..6: centred -2.5 .. 2.5, sum of squares 17.5, of lag-one products 8.75; only lag 1 is below 6 / 3.
TEST(CorrelationTimeTest, OfAShortRampByHand) {
  const CorrelationTime time = CorrelationTimeOf(std::vector<double>{1, 2, 3, 4, 5, 6});
  EXPECT_EQ(time.last_lag, 1);
  EXPECT_NEAR(time.tau, (2 * (1 + 8.75 / 17.5) - 1) / (1 - 3.0 / 6), 1e-12);
}

TEST(CorrelationTimeTest, OfValuesThatDoNotVaryIsOne) {
  EXPECT_DOUBLE_EQ(CorrelationTimeOf(std::vector<double>(50, 3.0)).tau, 1 / (1 - 1.0 / 50));
  EXPECT_DOUBLE_EQ(CorrelationTimeOf(std::vector<double>{1, 2}).tau, 2);  // no lag is below 2 / 3
}

// (1 + phi) / (1 - phi) of an autoregression, or a little more: stopping at the first pair that is not positive keeps
// the noise of those before it.
TEST(CorrelationTimeTest, IsThatOfAnAutoregression) {
  for (const double phi : {0.0, 0.5, 0.9}) {
    double sum = 0;
    constexpr int kSeries = 40;
    for (int repetition = 0; repetition < kSeries; ++repetition) {
      Random random(7, static_cast<std::uint64_t>(repetition));
      std::vector<double> series;
      double x = random.Normal();
      for (int i = 0; i < 4000; ++i) {
        series.push_back(x);
        x = phi * x + std::sqrt(1 - phi * phi) * random.Normal();
      }
      sum += CorrelationTimeOf(series).tau;
    }
    const double want = (1 + phi) / (1 - phi);
    EXPECT_GT(sum / kSeries, 0.97 * want) << phi;
    EXPECT_LT(sum / kSeries, 1.2 * want) << phi;
  }
}

}  // namespace
}  // namespace idleburn
