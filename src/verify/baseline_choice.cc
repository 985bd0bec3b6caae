#include "verify/baseline_choice.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "stats/mean.h"

namespace idleburn {
namespace {

constexpr int kDraws = 2000;
constexpr double kTooUnlikely = 0.05;
constexpr std::size_t kOthersForEach = 2;
constexpr double kRounding = 1e-12;  // of sums of the same values in another order
// The mean of the worst tenth of normal values, in standard deviations: phi(q) / 0.1 at the quantile q of 0.9.
constexpr double kWorstTenth = 1.7550;

}  // namespace

std::optional<ChoiceReading> ReadChoice(std::span<const double> baseline, std::span<const double> others,
                                        Random& random) {
  const std::size_t given = baseline.size();
  if (given == 0 || others.size() < kOthersForEach * given) return std::nullopt;
  std::vector<double> all(baseline.begin(), baseline.end());
  all.insert(all.end(), others.begin(), others.end());
  const double seen = MeanOf(baseline);
  int as_bad = 1;  // this very choice is one of those that could have been drawn
  for (int draw = 0; draw < kDraws; ++draw) {
    for (std::size_t i = 0; i < given; ++i) {
      const double left = static_cast<double>(all.size() - i);
      std::swap(all[i], all[i + static_cast<std::size_t>(random.Uniform() * left)]);
    }
    as_bad += MeanOf(std::span(all).first(given)) >= seen - kRounding ? 1 : 0;
  }
  const double chance = static_cast<double>(as_bad) / (kDraws + 1);
  return ChoiceReading{chance, chance < kTooUnlikely};
}

WorstTenth WorstTenthOf(std::span<const double> before, std::span<const double> after, double level) {
  // A side that was picked varies less than the runs it was picked from: the wider side tells more of them.
  const double deviation = std::sqrt(std::max(VarianceOf(before), VarianceOf(after)));
  const auto fewer = static_cast<double>(std::min(before.size(), after.size()));
  const double accident = StudentTQuantile(fewer - 1, (1 + level) / 2) *
                          std::sqrt(1 / static_cast<double>(before.size()) + 1 / static_cast<double>(after.size()));
  return {kWorstTenth * deviation, (kWorstTenth + accident) * deviation};
}

}  // namespace idleburn
