#include "stats/order.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "base/result.h"

namespace idleburn {
double SortedQuantile(std::span<const double> ascending, double p) {
  CHECK(!ascending.empty() && p >= 0 && p <= 1);
  const double position = p * static_cast<double>(ascending.size() - 1);
  const auto below = static_cast<std::size_t>(std::floor(position));
  const std::size_t above = std::min(below + 1, ascending.size() - 1);
  const double part = position - static_cast<double>(below);
  return ascending[below] + part * (ascending[above] - ascending[below]);
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return SortedQuantile(values, 0.5);
}

namespace {

// Smaller values are counted one by one, in 256 KiB.
constexpr std::int64_t kSmall = std::int64_t{1} << 16;

// The size class of a value that is not small: its leading bits, nine of them, and its magnitude. A class is 1/256 of
// its values wide at most.
std::size_t SizeOf(std::int64_t value) {
  if (value < 0) return 0;  // all of them: durations and byte counts have none
  constexpr int kBits = 8;
  const int shift = 63 - std::countl_zero(static_cast<std::uint64_t>(value)) - kBits;
  return (static_cast<std::size_t>(shift) << (kBits + 1)) + static_cast<std::size_t>(value >> shift);
}

bool IsSmall(std::int64_t value) { return value >= 0 && value < kSmall; }

}  // namespace

void WalkedMedian::Count(std::int64_t value) {
  ++count_;
  if (IsSmall(value)) {
    if (small_.empty()) small_.resize(kSmall);
    ++small_[static_cast<std::size_t>(value)];
    return;
  }
  Size& size = large_[SizeOf(value)];
  size.least = size.count == 0 ? value : std::min(size.least, value);
  size.most = size.count == 0 ? value : std::max(size.most, value);
  ++size.count;
}

// Visits the counts in the order of the values. It keeps the classes that contain one of the two middle values.
bool WalkedMedian::Narrow() {
  std::int64_t passed = 0;
  bool found = false;
  const auto pass = [&](std::int64_t n) {
    const bool middle = passed + n > (count_ - 1) / 2 && passed <= count_ / 2;
    if (middle && !std::exchange(found, true)) before_ = passed;
    passed += n;
    return middle;
  };
  const auto pass_size = [&](std::size_t at, const Size& size) {
    if (!pass(size.count)) return;
    if (size.least == size.most) {
      middle_[size.least] += size.count;
      return;
    }
    first_size_ = collect_ ? first_size_ : at;
    last_size_ = at;
    collect_ = true;
  };
  const auto negative = large_.find(0);
  if (negative != large_.end()) pass_size(0, negative->second);
  for (std::size_t value = 0; value < small_.size(); ++value) {
    if (small_[value] > 0 && pass(small_[value])) middle_[static_cast<std::int64_t>(value)] += small_[value];
  }
  for (const auto& [at, size] : large_) {
    if (at > 0) pass_size(at, size);
  }
  std::vector<std::uint32_t>().swap(small_);
  large_.clear();
  return collect_;
}

// Small values were counted exactly in the first visit.
void WalkedMedian::Collect(std::int64_t value) {
  if (!collect_ || IsSmall(value)) return;
  const std::size_t size = SizeOf(value);
  if (size == first_size_ || size == last_size_) ++middle_[value];
}

double WalkedMedian::Value() const {
  CHECK(count_ > 0 && !middle_.empty());
  std::int64_t passed = before_;
  auto at = middle_.begin();
  while (passed + at->second <= (count_ - 1) / 2) passed += (at++)->second;
  const std::int64_t low = at->first;
  if (passed + at->second <= count_ / 2) ++at;
  return static_cast<double>(low) + 0.5 * (static_cast<double>(at->first) - static_cast<double>(low));
}

double MeanOf(std::span<const double> values) {
  CHECK(!values.empty());
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double SquaresAbout(std::span<const double> values, double center) {
  double squares = 0;
  for (const double value : values) squares += (value - center) * (value - center);
  return squares;
}

double VarianceOf(std::span<const double> values) {
  CHECK(values.size() > 1);
  return SquaresAbout(values, MeanOf(values)) / static_cast<double>(values.size() - 1);
}

namespace {

// The continued fraction of the incomplete beta function (DLMF 8.17.22), by Lentz's method. It converges fast for
// x < (a + 1) / (a + b + 2).
double BetaFraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300;
  constexpr double kSame = 1e-16;
  const auto away_from_zero = [](double v) { return std::abs(v) < kTiny ? kTiny : v; };
  double c = 1;
  double d = 1 / away_from_zero(1 - (a + b) * x / (a + 1));
  double value = d;
  for (int m = 1; m < 10'000; ++m) {
    double change = 1;
    for (const double term : {m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
                              -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))}) {
      d = 1 / away_from_zero(1 + term * d);
      c = away_from_zero(1 + term / c);
      change = c * d;
      value *= change;
    }
    if (std::abs(change - 1) < kSame) break;
  }
  return value;
}

// The regularized incomplete beta function I_x(a, b). The fraction converges fast on one side of its mean only;
// symmetry gives the other side.
double IncompleteBeta(double a, double b, double x) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const double front =
      std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * std::log(x) + b * std::log1p(-x));
  if (x < (a + 1) / (a + b + 2)) return front * BetaFraction(a, b, x) / a;
  return 1 - front * BetaFraction(b, a, 1 - x) / b;
}

}  // namespace

double StudentTCdf(double df, double t) {
  CHECK(df > 0);
  const double tail = IncompleteBeta(df / 2, 0.5, df / (df + t * t)) / 2;
  return t > 0 ? 1 - tail : tail;
}

// By bisection to the last bit of a double. Slower than a series and right for every df, whole or not.
double StudentTQuantile(double df, double p) {
  CHECK(p > 0 && p < 1);
  if (p < 0.5) return -StudentTQuantile(df, 1 - p);
  double low = 0;
  double high = 1;
  while (StudentTCdf(df, high) < p && high < 1e150) high *= 2;
  while (true) {
    const double middle = low + (high - low) / 2;
    if (middle <= low || middle >= high) return middle;
    (StudentTCdf(df, middle) < p ? low : high) = middle;
  }
}

std::optional<ConfidenceInterval> IntervalOfMean(std::span<const double> values, double level) {
  if (values.size() < 2) return std::nullopt;
  const auto n = static_cast<double>(values.size());
  const double mean = MeanOf(values);
  const double half = StudentTQuantile(n - 1, (1 + level) / 2) * std::sqrt(VarianceOf(values) / n);
  return ConfidenceInterval{mean - half, mean + half};
}

double TotalVariance(std::span<const VarianceTerm> terms) {
  double sum = 0;
  for (const VarianceTerm& term : terms) sum += term.variance;
  return sum;
}

double WelchDf(std::span<const VarianceTerm> terms) {
  const double sum = TotalVariance(terms);
  if (sum <= 0) return 1;
  // Uses shares of the sum: their squares neither vanish nor overflow.
  double denominator = 0;
  for (const VarianceTerm& term : terms) denominator += (term.variance / sum) * (term.variance / sum) / term.df;
  return 1 / denominator;
}

double SequenceHalfWidth(double n, double sigma, double alpha, double rho) {
  const double spread = n * rho * rho + 1;
  return sigma * std::sqrt(spread / (n * n * rho * rho) * std::log(spread / (alpha * alpha)));
}

namespace {

// The sum of products of values `lag` apart.
double LagProduct(const std::vector<double>& centred, std::size_t lag) {
  double sum = 0;
  for (std::size_t i = lag; i < centred.size(); ++i) sum += centred[i] * centred[i - lag];
  return sum;
}

}  // namespace

CorrelationTime CorrelationTimeOf(std::span<const double> series) {
  CHECK(series.size() >= 2);
  const std::size_t n = series.size();
  std::vector<double> centred(series.begin(), series.end());
  const double mean = MeanOf(series);
  for (double& value : centred) value -= mean;
  CorrelationTime time;
  const double variance = LagProduct(centred, 0);
  if (variance > 0) {
    double pairs = 0;
    for (std::size_t lag = 0; 3 * (lag + 1) < n; lag += 2) {
      const double even = lag == 0 ? variance : LagProduct(centred, lag);
      const double pair = (even + LagProduct(centred, lag + 1)) / variance;
      if (pair <= 0) break;
      pairs += pair;
      time.last_lag = static_cast<int>(lag + 1);
    }
    time.tau = std::max(1.0, 2 * pairs - 1);
  }
  time.tau /= 1 - 1 / time.Windows(static_cast<double>(n));
  return time;
}

}  // namespace idleburn
