#pragma once

#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "tco/plan.h"

namespace idleburn {

// The number rounded up to a whole one; what rounding errors left above a whole number counts as that.
inline double RoundedUp(double x) { return std::ceil(x - 1e-9); }
inline Fraction RoundedUp(const Fraction& x) {
  const Int128 whole = x.top / x.bottom + (x.top % x.bottom > 0 ? 1 : 0);
  return {whole, 1, x.too_large};
}
inline bool IsLess(double x, double y) { return x < y; }
inline bool IsLess(const Fraction& x, const Fraction& y) { return Compare(x, y) < 0; }

// What a term comes to, without its sign; absent where it has no factor.
template <typename Number, typename ValueOf>
std::optional<Number> ProductOf(const PlanTerm& term, const ValueOf& value) {
  std::optional<Number> product;
  for (const PlanFactor& factor : term.factors) {
    const Number v = value(factor);
    product = !product ? v : factor.divides ? *product / v : *product * v;
    if (factor.rounds_up) product = RoundedUp(*product);
  }
  return product;
}

// What the terms of a line come to, before its share of compute.
template <typename Number, typename ValueOf>
Number SumOfTerms(const PlanLine& line, Number zero, const ValueOf& value) {
  Number amount = zero;
  for (const PlanTerm& term : line.terms) {
    const std::optional<Number> product = ProductOf<Number>(term, [&](const PlanFactor& f) { return value(term, f); });
    if (!product) continue;
    if (term.at_least) {
      amount = IsLess(amount, *product) ? *product : amount;
    } else {
      amount = term.minus ? amount - *product : amount + *product;
    }
  }
  return amount;
}

// Amounts of the lines, in their order. `value` gives the number that stands for a figure: exact, or drawn.
template <typename Number, typename ValueOf>
std::vector<Number> LineAmounts(const TcoPlan& plan, const ValueOf& value) {
  const Number zero = value(std::nullopt);
  std::vector<Number> amounts;
  Number compute = zero;
  for (const PlanLine& line : plan.lines) {
    const Number amount =
        SumOfTerms(line, zero, [&](const PlanTerm&, const PlanFactor& factor) { return value(factor.figure); });
    if (line.category == CostCategory::kCompute) compute = compute + amount;
    amounts.push_back(amount);
  }
  for (std::size_t i = 0; i < amounts.size(); ++i) {
    if (plan.lines[i].of_compute) amounts[i] = amounts[i] * compute;
  }
  return amounts;
}

// What a plan costs, exactly; lines sum to their categories, categories to the subtotal.
struct PlanCost {
  std::vector<Money> lines;
  std::array<Money, kCostCategoryCount> categories{};
  std::array<bool, kCostCategoryCount> given{};
  Money subtotal;
  Money contingency;          // rate x (subtotal - risk): a risk that is priced is not priced again
  Fraction contingency_rate;  // that was given, or that a forced amount implies
  Money total;
  Money monthly_after_launch;  // what recurs, a month; 0 without a horizon
};

// Which of its numbers each figure takes.
enum class FigureEnd : std::uint8_t { kLow, kLikely, kHigh };
// Every figure at its likely number, but `other` at that end. Fails where an amount cannot be kept.
Result<PlanCost> CostOfPlan(const TcoPlan& plan, std::optional<std::size_t> other = {},
                            FigureEnd end = FigureEnd::kLikely);

// Three-point estimate: independent lines, means add up, variances too.
struct PertEstimate {
  double mean = 0;
  double deviation = 0;
};
// Of a line, from its figures' bounds: lowest where what multiplies is low and what divides is high.
PertEstimate PertOf(const TcoPlan& plan, std::size_t line);
// Of all lines but risks, before contingency.
PertEstimate PertOf(const TcoPlan& plan);

// How the total changes when one figure goes from low to high; the largest first.
struct TornadoBar {
  std::string figure;
  Money low;
  Money high;
};
Result<std::vector<TornadoBar>> TornadoOf(const TcoPlan& plan);

// Totals drawn many times: figures are triangular, a shared figure is drawn once, a risk happens or does not. Before
// contingency: both stand for the same uncertainty, and are never added.
struct PlanDraws {
  int count = 0;
  std::uint64_t seed = 0;
  double p10 = 0;
  double p50 = 0;
  double p90 = 0;
  std::optional<double> over_budget;  // the chance
};
inline constexpr int kFewestDraws = 10'000;
// Absent where nothing is uncertain.
std::optional<PlanDraws> DrawPlan(const TcoPlan& plan, int count, std::uint64_t seed);

// 1 - optimised / naive, on totals. Absent where the naive one costs nothing.
std::optional<double> SavedShare(const PlanCost& naive, const PlanCost& optimised);

}  // namespace idleburn
