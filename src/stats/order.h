#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

namespace idleburn {
// Order statistics, and searches in sorted values. Medians and quantiles are what reports print of draws and of
// measured steps, since single wild values do not move them.

// The p-quantile of sorted values, 0 <= p <= 1. It interpolates between the two nearest values (Hyndman and Fan's type
// 7, the default of R and NumPy): the 0.5-quantile of 1, 2, 4, 8 is 3. At least one value.
double SortedQuantile(std::span<const double> ascending, double p);

// The median of values in any order. At least one value.
double Median(std::vector<double> values);

// The exact median of integers that can be visited twice, in bounded memory. The first visit counts the values by
// size class. The second visit collects only the values in the classes around the middle. Values below 2^16 have a
// class each, so they need no second visit.
//
//     Count every value; if (Narrow()) Collect every value; Value()
class WalkedMedian {
 public:
  // Takes a value in the first visit.
  void Count(std::int64_t value);
  // Ends the first visit. False if the median is known and no second visit is necessary.
  [[nodiscard]] bool Narrow();
  // Takes a value in the second visit. It has no effect if the median is known.
  void Collect(std::int64_t value);

  [[nodiscard]] std::int64_t count() const { return count_; }
  // The median. For an even count it is the mean of the two middle values. At least one value.
  [[nodiscard]] double Value() const;

 private:
  // A class of values of similar size. If all its values are equal, no second visit is needed.
  struct Size {
    std::int64_t count = 0;
    std::int64_t least = 0;
    std::int64_t most = 0;
  };
  std::vector<std::uint32_t> small_;             // counts of each small value, in the first visit
  std::map<std::size_t, Size> large_;            // classes of the other values
  std::map<std::int64_t, std::int64_t> middle_;  // counts of each value around the middle
  std::int64_t count_ = 0;
  std::int64_t before_ = 0;  // how many values are below the middle classes
  bool collect_ = false;
  std::size_t first_size_ = 0;
  std::size_t last_size_ = 0;
};

// The first of n sorted positions for which `before` is false, or n if there is none. It probes at growing distances
// from `guess`, so a good guess costs two or three probes instead of log2(n). Any guess gives the right answer.
template <typename Before>
std::size_t PartitionPointNear(std::size_t n, std::size_t guess, Before before) {
  std::size_t low = 0;
  std::size_t high = n;
  guess = std::min(guess, n);
  if (guess < n && before(guess)) {
    low = guess + 1;
    for (std::size_t step = 1; low < n; step *= 2) {
      const std::size_t probe = std::min(n - 1, low + step - 1);
      if (!before(probe)) {
        high = probe;
        break;
      }
      low = probe + 1;
    }
  } else {
    high = guess;
    for (std::size_t step = 1; high > 0; step *= 2) {
      const std::size_t probe = high - std::min(high, step);
      if (before(probe)) {
        low = probe + 1;
        break;
      }
      high = probe;
    }
  }
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    if (before(middle)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

// Guesses the position of `value` among n values spread evenly from `first` to `last`: 5 among 0 to 10 is n / 2.
inline std::size_t EvenGuess(std::size_t n, double first, double last, double value) {
  if (!(value > first) || !(last > first)) return 0;
  return static_cast<std::size_t>(static_cast<double>(n) * std::min((value - first) / (last - first), 1.0));
}

// How well a mean is known: moments, Student's t, Welch's degrees of freedom, confidence sequences, and the
// correlation of a series with itself. The verdicts of verify rest on these (docs/verification.md), and so do the
// errors of forecasts.

// The mean of at least one value.
double MeanOf(std::span<const double> values);
// The sum of squared differences from `center`: for 2, 4, 9 about 5 it is 9 + 1 + 16.
double SquaresAbout(std::span<const double> values, double center);
// The variance of a sample, with divisor n - 1. At least two values.
double VarianceOf(std::span<const double> values);

// An interval that contains the true value with a stated probability.
struct ConfidenceInterval {
  double low = 0;
  double high = 0;
};

// P(T <= t) of Student's t. `df` > 0 need not be an integer: WelchDf gives fractions.
double StudentTCdf(double df, double t);
// The p-quantile of Student's t, 0 < p < 1.
double StudentTQuantile(double df, double p);

// The confidence interval of the mean of independent values, by t with n - 1 degrees of freedom. 0 < level < 1. For 4,
// 5, 9 at 0.95 it is 6 -+ 4.3027 sqrt(7/3). It is a point if all values are equal, and absent for fewer than two.
std::optional<ConfidenceInterval> IntervalOfMean(std::span<const double> values, double level);

// One of several independent terms of a variance, with the degrees of freedom of its estimate: for example, the
// variance between runs of one side.
struct VarianceTerm {
  double variance = 0;
  double df = 1;
};

// The degrees of freedom of the sum of the terms (Welch 1947, Satterthwaite 1946): (sum v)^2 / sum (v^2 / df). It is
// 1 if all terms are 0. For the terms (3, df 2) and (1, df 6) it is 16 / (9/2 + 1/6), about 3.43.
double WelchDf(std::span<const VarianceTerm> terms);
// The sum of the variances.
double TotalVariance(std::span<const VarianceTerm> terms);

// Half the width of a confidence sequence for a mean. With probability 1 - alpha the true mean lies inside at every n
// from the first look on, so one may look after each value. Formula: normal mixture (Robbins 1970). It uses the running
// standard deviation `sigma` instead of a known one, which is valid for large n only. `rho` sets the n at which the
// sequence is narrowest.
double SequenceHalfWidth(double n, double sigma, double alpha, double rho = 0.3);
// The first look must not come before this many values.

inline constexpr int kSequenceFirstLook = 20;

// The autocorrelation time of a series: n correlated values inform as much as n / tau independent ones. Steps of a
// job next to each other are alike, so counting them as independent would make every interval too narrow.
struct CorrelationTime {
  double tau = 1;
  int last_lag = 0;  // K, the last lag that was summed

  // The degrees of freedom of the variance of the mean: n values make this many windows of 2K + 1.
  [[nodiscard]] double Windows(double n) const { return n / (2 * last_lag + 1); }
};

// Estimates the autocorrelation time of at least two values (Geyer 1992, initial positive sequence). It sums
// autocorrelations in pairs of lags (0,1), (2,3), ... while a pair is positive and its lags are below n / 3. The sum is
// at least 1. It is divided by 1 - (2K+1)/n, because removing the mean makes every autocorrelation too small.
CorrelationTime CorrelationTimeOf(std::span<const double> series);

}  // namespace idleburn
