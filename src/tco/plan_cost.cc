#include "tco/plan_cost.h"

#include <algorithm>
#include <cmath>

#include "stats/order.h"
#include "stats/random.h"

namespace idleburn {
namespace {

const Fraction& At(const PlanFigure& figure, FigureEnd end) {
  return end == FigureEnd::kLow ? figure.low : end == FigureEnd::kHigh ? figure.high : figure.likely;
}

Result<Money> Rounded(const Fraction& amount, const std::string& what) {
  if (const std::optional<Money> money = amount.AsMoney()) return *money;
  return Fail(what + " comes to no amount that can be kept; check its figures");
}

// A line's amount with the figures that divide at one end and those that multiply at the other.
double EndOfLine(const TcoPlan& plan, std::size_t line, FigureEnd multiplies, FigureEnd divides) {
  return SumOfTerms(plan.lines[line], 0.0, [&](const PlanTerm& term, const PlanFactor& factor) {
    return At(plan.figures[factor.figure], factor.divides != term.minus ? divides : multiplies).AsDouble();
  });
}

// Inverse of the triangular distribution.
double Triangular(double low, double likely, double high, double u) {
  if (high <= low) return likely;
  const double rise = (likely - low) / (high - low);
  return u < rise ? low + std::sqrt(u * (high - low) * (likely - low))
                  : high - std::sqrt((1 - u) * (high - low) * (high - likely));
}

bool IsUncertain(const TcoPlan& plan, const PlanLine& line) {
  return line.probability || std::any_of(line.terms.begin(), line.terms.end(), [&](const PlanTerm& term) {
           return std::any_of(term.factors.begin(), term.factors.end(),
                              [&](const PlanFactor& factor) { return plan.figures[factor.figure].ranged(); });
         });
}

Result<void> AddContingency(const TcoPlan& plan, PlanCost& cost) {
  const Fraction base =
      Fraction::Of(cost.subtotal) - Fraction::Of(cost.categories[static_cast<std::size_t>(CostCategory::kRisk)]);
  cost.contingency_rate = plan.contingency;
  if (plan.forced_contingency) {
    cost.contingency = *plan.forced_contingency;
    cost.contingency_rate = base.top > 0 ? Fraction::Of(cost.contingency) / base : Fraction{};
  } else {
    cost.contingency = TRY(Rounded(plan.contingency * base, "contingency"));
  }
  cost.total = TRY(Add(cost.subtotal, cost.contingency));
  return {};
}

}  // namespace

Result<PlanCost> CostOfPlan(const TcoPlan& plan, std::optional<std::size_t> other, FigureEnd end) {
  const std::vector<Fraction> exact = LineAmounts<Fraction>(plan, [&](std::optional<std::size_t> figure) {
    return figure ? At(plan.figures[*figure], figure == other ? end : FigureEnd::kLikely) : Fraction{};
  });
  PlanCost cost;
  Fraction recurring;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    const PlanLine& line = plan.lines[i];
    const Money amount = TRY(Rounded(exact[i], line.Key()));
    const auto category = static_cast<std::size_t>(line.category);
    const Result<Money> whole = Add(cost.categories[category], amount);
    const Result<Money> subtotal = Add(cost.subtotal, amount);
    if (!whole || !subtotal) return Fail(line.Key() + ": the sum is too large to keep");
    cost.lines.push_back(amount);
    cost.categories[category] = *whole;
    cost.given[category] = true;
    cost.subtotal = *subtotal;
    if (line.recurring) recurring = recurring + exact[i];
  }
  TRY(AddContingency(plan, cost));
  if (plan.months) cost.monthly_after_launch = (recurring / *plan.months).AsMoney().value_or(Money());
  return cost;
}

PertEstimate PertOf(const TcoPlan& plan, std::size_t line) {
  const double low = EndOfLine(plan, line, FigureEnd::kLow, FigureEnd::kHigh);
  const double likely = EndOfLine(plan, line, FigureEnd::kLikely, FigureEnd::kLikely);
  const double high = EndOfLine(plan, line, FigureEnd::kHigh, FigureEnd::kLow);
  return {(low + 4 * likely + high) / 6, (high - low) / 6};
}

PertEstimate PertOf(const TcoPlan& plan) {
  PertEstimate all;
  double variance = 0;
  double compute = 0;
  for (std::size_t i = 0; i < plan.lines.size(); ++i) {
    if (plan.lines[i].category == CostCategory::kCompute) compute += PertOf(plan, i).mean;
  }
  for (std::size_t i = 0; i < plan.lines.size(); ++i) {
    if (plan.lines[i].category == CostCategory::kRisk) continue;
    const PertEstimate line = PertOf(plan, i);
    const double scale = plan.lines[i].of_compute ? compute : 1;
    all.mean += line.mean * scale;
    variance += line.deviation * scale * line.deviation * scale;
  }
  all.deviation = std::sqrt(variance);
  return all;
}

Result<std::vector<TornadoBar>> TornadoOf(const TcoPlan& plan) {
  std::vector<TornadoBar> bars;
  for (std::size_t i = 0; i < plan.figures.size(); ++i) {
    if (!plan.figures[i].ranged()) continue;
    const PlanCost low = TRY(CostOfPlan(plan, i, FigureEnd::kLow));
    const PlanCost high = TRY(CostOfPlan(plan, i, FigureEnd::kHigh));
    if (low.total != high.total) bars.push_back({plan.figures[i].name, low.total, high.total});
  }
  std::stable_sort(bars.begin(), bars.end(), [](const TornadoBar& a, const TornadoBar& b) {
    return std::abs(a.high.nano() - a.low.nano()) > std::abs(b.high.nano() - b.low.nano());
  });
  return bars;
}

std::optional<PlanDraws> DrawPlan(const TcoPlan& plan, int count, std::uint64_t seed) {
  if (std::none_of(plan.lines.begin(), plan.lines.end(), [&](const PlanLine& l) { return IsUncertain(plan, l); })) {
    return std::nullopt;
  }
  Random random(seed);
  std::vector<double> totals;
  std::vector<double> values(plan.figures.size());
  std::int64_t over = 0;
  const double budget = plan.budget ? Fraction::Of(*plan.budget).AsDouble() : 0;
  for (int draw = 0; draw < count; ++draw) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      const PlanFigure& f = plan.figures[i];
      values[i] = f.ranged() ? Triangular(f.low.AsDouble(), f.likely.AsDouble(), f.high.AsDouble(), random.Uniform())
                             : f.likely.AsDouble();
    }
    const std::vector<double> amounts =
        LineAmounts<double>(plan, [&](std::optional<std::size_t> figure) { return figure ? values[*figure] : 0.0; });
    double total = 0;
    for (std::size_t i = 0; i < amounts.size(); ++i) {
      const std::optional<std::size_t>& probability = plan.lines[i].probability;
      if (!probability) {
        total += amounts[i];
      } else if (random.Uniform() < values[*probability] && values[*probability] > 0) {
        total += amounts[i] / values[*probability];  // it happens: its impact, not its share
      }
    }
    over += plan.budget && total > budget ? 1 : 0;
    totals.push_back(total);
  }
  std::sort(totals.begin(), totals.end());
  PlanDraws draws = {count, seed, SortedQuantile(totals, .1), SortedQuantile(totals, .5), SortedQuantile(totals, .9),
                     {}};
  if (plan.budget) draws.over_budget = static_cast<double>(over) / count;
  return draws;
}

std::optional<double> SavedShare(const PlanCost& naive, const PlanCost& optimised) {
  if (naive.total.nano() <= 0) return std::nullopt;
  return 1 - static_cast<double>(optimised.total.nano()) / static_cast<double>(naive.total.nano());
}

}  // namespace idleburn
