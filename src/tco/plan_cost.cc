#include "tco/plan_cost.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/money.h"
#include "stats/order.h"
#include "stats/random.h"

namespace idleburn {
// Amounts of lines, then totals, then estimates, then units. A risk is a line like any other in the exact total, its
// impact times its probability; only drawing lets it happen or not.

namespace {

// The number rounded up to a whole one; what rounding errors left above a whole number counts as that.
double RoundedUp(double x) { return std::ceil(x - 1e-9); }
Fraction RoundedUp(const Fraction& x) {
  const Int128 whole = x.top / x.bottom + (x.top % x.bottom > 0 ? 1 : 0);
  return {whole, 1, x.too_large};
}

// One comparison for both kinds of number.
bool IsLess(double x, double y) { return x < y; }
bool IsLess(const Fraction& x, const Fraction& y) { return Compare(x, y) < 0; }

// The product of a term, without its sign. Absent where it has no factor.
template <typename Number, typename ValueOf>
std::optional<Number> ProductOf(const PlanTerm& term, const ValueOf& value) {
  std::optional<Number> product;
  for (const PlanFactor& factor : term.factors) {
    // Rounding up after each factor that asks for it keeps "replicas x price" a price of whole replicas.
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
    // A term without factors adds nothing.
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

// Which of its numbers each figure takes.
enum class FigureEnd : std::uint8_t { kLow, kLikely, kHigh };

// The number of a figure at one end.
const Fraction& At(const PlanFigure& figure, FigureEnd end) {
  return end == FigureEnd::kLow ? figure.low : end == FigureEnd::kHigh ? figure.high : figure.likely;
}

// An exact amount as money, rounded once; `what` names it in the error.
Result<Money> Rounded(const Fraction& amount, const std::string& what) {
  if (const std::optional<Money> money = amount.AsMoney()) return *money;
  return Fail(what + " gives no valid amount; check its figures");
}

// A line's amount with figures that divide at one end and figures that multiply at the other.
double EndOfLine(const TcoPlan& plan, std::size_t line, FigureEnd multiplies, FigureEnd divides) {
  return SumOfTerms(plan.lines[line], 0.0, [&](const PlanTerm& term, const PlanFactor& factor) {
    return At(plan.figures[factor.figure], factor.divides != term.minus ? divides : multiplies).AsDouble();
  });
}

// The inverse of the triangular distribution.
double Triangular(double low, double likely, double high, double u) {
  if (high <= low) return likely;
  const double rise = (likely - low) / (high - low);
  return u < rise ? low + std::sqrt(u * (high - low) * (likely - low))
                  : high - std::sqrt((1 - u) * (high - low) * (high - likely));
}

// Whether a figure of the line has a range, or the line is a risk.
bool IsUncertain(const TcoPlan& plan, const PlanLine& line) {
  return line.probability || std::any_of(line.terms.begin(), line.terms.end(), [&](const PlanTerm& term) {
           return std::any_of(term.factors.begin(), term.factors.end(),
                              [&](const PlanFactor& factor) { return plan.figures[factor.figure].ranged(); });
         });
}

// Adds contingency and total. The base leaves risks out, because a risk that is priced is not priced again.
Result<void> AddContingency(const TcoPlan& plan, PlanCost& cost) {
  const Fraction base =
      Fraction::Of(cost.subtotal) - Fraction::Of(cost.categories[static_cast<std::size_t>(CostCategory::kRisk)]);
  cost.contingency_rate = plan.contingency;
  if (plan.forced_contingency) {
    cost.contingency = *plan.forced_contingency;
    // A forced amount still shows its rate, so that readers can judge it.
    cost.contingency_rate = base.top > 0 ? Fraction::Of(cost.contingency) / base : Fraction{};
  } else {
    cost.contingency = TRY(Rounded(plan.contingency * base, "contingency"));
  }
  cost.total = TRY(Add(cost.subtotal, cost.contingency));
  return {};
}

// The cost with every figure at its likely number, but `other` at that end.
Result<PlanCost> CostWith(const TcoPlan& plan, std::optional<std::size_t> other, FigureEnd end) {
  const std::vector<Fraction> exact = LineAmounts<Fraction>(plan, [&](std::optional<std::size_t> figure) {
    return figure ? At(plan.figures[*figure], figure == other ? end : FigureEnd::kLikely) : Fraction{};
  });
  PlanCost cost;
  Fraction recurring;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    const PlanLine& line = plan.lines[i];
    // Each line is rounded once, and only rounded lines are added, so that the printed sum is the sum of what is
    // printed.
    const Money amount = TRY(Rounded(exact[i], line.Key()));
    const auto category = static_cast<std::size_t>(line.category);
    const Result<Money> whole = Add(cost.categories[category], amount);
    const Result<Money> subtotal = Add(cost.subtotal, amount);
    if (!whole || !subtotal) return Fail(line.Key() + ": the sum is too large to keep");
    cost.lines.push_back(amount);
    cost.categories[category] = *whole;
    cost.given[category] = true;
    cost.subtotal = *subtotal;
    // What recurs is divided by the horizon exactly, before it is rounded.
    if (line.recurring) recurring = recurring + exact[i];
  }
  TRY(AddContingency(plan, cost));
  if (plan.months) cost.monthly_after_launch = (recurring / *plan.months).AsMoney().value_or(Money());
  return cost;
}

}  // namespace

Result<PlanCost> CostOfPlan(const TcoPlan& plan) { return CostWith(plan, {}, FigureEnd::kLikely); }

PertEstimate PertOf(const TcoPlan& plan, std::size_t line) {
  const double low = EndOfLine(plan, line, FigureEnd::kLow, FigureEnd::kHigh);
  const double likely = EndOfLine(plan, line, FigureEnd::kLikely, FigureEnd::kLikely);
  const double high = EndOfLine(plan, line, FigureEnd::kHigh, FigureEnd::kLow);
  // The usual weights of PERT, and a sixth of the range as the deviation.
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
    // A share of compute scales with the mean of compute.
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
    const PlanCost low = TRY(CostWith(plan, i, FigureEnd::kLow));
    const PlanCost high = TRY(CostWith(plan, i, FigureEnd::kHigh));
    // A figure that no total feels makes no bar.
    if (low.total != high.total) bars.push_back({plan.figures[i].name, low.total, high.total});
  }
  // Equal bars keep the order of the figures.
  std::stable_sort(bars.begin(), bars.end(), [](const TornadoBar& a, const TornadoBar& b) {
    return std::abs(a.high.nano() - a.low.nano()) > std::abs(b.high.nano() - b.low.nano());
  });
  return bars;
}

std::optional<PlanDraws> DrawPlan(const TcoPlan& plan, int count, std::uint64_t seed, const ProgressWatch& watch) {
  if (std::none_of(plan.lines.begin(), plan.lines.end(), [&](const PlanLine& l) { return IsUncertain(plan, l); })) {
    return std::nullopt;
  }
  Random random(seed);
  std::vector<double> totals;
  std::vector<double> values(plan.figures.size());
  std::int64_t over = 0;
  constexpr int kDrawsTold = 1024;  // the clock is read once for so many
  const double budget = plan.budget ? Fraction::Of(*plan.budget).AsDouble() : 0;
  for (int draw = 0; draw < count; ++draw) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      // Every figure is drawn once a total, so that lines which share it move together.
      const PlanFigure& f = plan.figures[i];
      values[i] = f.ranged() ? Triangular(f.low.AsDouble(), f.likely.AsDouble(), f.high.AsDouble(), random.Uniform())
                             : f.likely.AsDouble();
    }
    const std::vector<double> amounts =
        LineAmounts<double>(plan, [&](std::optional<std::size_t> figure) { return figure ? values[*figure] : 0.0; });
    // Lines are drawn without contingency; see the header.
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
    if (watch && totals.size() % kDrawsTold == 0) watch(totals.size(), static_cast<std::uint64_t>(count));
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

namespace {

// A unit that costs are told per.
struct CountedUnit {
  std::string_view counts;  // key of [units] and of a line that serves
  std::string_view one;
  std::string_view lot;  // so many that the price has digits to show
  std::int64_t lot_size;
};

// Of a unit that costs next to nothing, the price of a lot is told too.
constexpr auto kUnits = std::to_array<CountedUnit>({{"samples", "sample", "1,000 samples", 1000},
                                                    {"tokens", "token", "10^6 tokens", 1'000'000},
                                                    {"requests", "request", "1,000 requests", 1000},
                                                    {"epochs", "epoch", "", 0}});

// The likely number of a figure of the line; absent where the line does not give it.
std::optional<Fraction> FigureOf(const TcoPlan& plan, const PlanLine& line, std::string_view key) {
  const auto found = line.figures.find(key);
  return found == line.figures.end() ? std::nullopt : std::optional(plan.figures[found->second].likely);
}

// How many of a unit one run takes; absent where [units] does not say.
std::optional<Fraction> UnitOf(const TcoPlan& plan, std::string_view unit) {
  const auto found = plan.units.find(std::string(unit));
  return found == plan.units.end() ? std::nullopt : std::optional(found->second);
}

// What all compute costs.
Fraction ComputeOf(const PlanCost& cost) {
  return Fraction::Of(cost.categories[static_cast<std::size_t>(CostCategory::kCompute)]);
}

// The price of one; absent where nothing was done.
std::optional<Money> Each(const Fraction& whole, const Fraction& count) {
  return count.top == 0 ? std::nullopt : (whole / count).AsMoney();
}

// The unit that a line serves, and how many of it.
std::optional<std::pair<CountedUnit, Fraction>> ServedBy(const TcoPlan& plan, const PlanLine& line) {
  if (line.category != CostCategory::kInference) return std::nullopt;
  for (const CountedUnit& unit : kUnits) {
    const std::optional<Fraction> count = FigureOf(plan, line, unit.counts);
    if (count && count->top > 0) return std::pair(unit, *count);
  }
  return std::nullopt;
}

}  // namespace

std::vector<UnitCost> UnitCostsOf(const TcoPlan& plan, const PlanCost& cost) {
  std::vector<UnitCost> costs;
  const Fraction total = Fraction::Of(cost.total);
  for (const CountedUnit& unit : kUnits) {
    const std::optional<Fraction> count = UnitOf(plan, unit.counts);
    if (!count) continue;
    costs.push_back({std::string(unit.one), "total", Each(total, *count)});
    if (unit.lot_size == 0) continue;
    costs.push_back({std::string(unit.lot), "total", Each(total * Fraction::Of(unit.lot_size, 1), *count)});
  }
  const std::optional<Fraction> hours = UnitOf(plan, "gpu_hours");
  const std::optional<Fraction> use = UnitOf(plan, "utilisation");
  if (hours && use) costs.push_back({"effective GPU-hour", "compute", Each(ComputeOf(cost), *hours * *use)});
  for (std::size_t i = 0; i < plan.lines.size(); ++i) {
    const auto served = ServedBy(plan, plan.lines[i]);
    if (!served) continue;
    const Fraction all = Fraction::Of(cost.lines[i]) * Fraction::Of(served->first.lot_size, 1);
    costs.push_back({std::string(served->first.lot), plan.lines[i].Key(), Each(all, served->second)});
  }
  return costs;
}

std::optional<Money> NotBusyCost(const TcoPlan& plan, const PlanCost& cost) {
  const std::optional<Fraction> use = UnitOf(plan, "utilisation");
  if (!use || !UnitOf(plan, "gpu_hours")) return std::nullopt;
  return (ComputeOf(cost) * (Fraction::Of(1, 1) - *use)).AsMoney();
}

std::vector<ServingCrossing> CrossingsOf(const TcoPlan& plan, const PlanCost& cost) {
  std::vector<ServingCrossing> crossings;
  const Fraction compute = ComputeOf(cost);
  for (std::size_t i = 0; i < plan.lines.size(); ++i) {
    const auto served = ServedBy(plan, plan.lines[i]);
    const Fraction serving = Fraction::Of(cost.lines[i]);
    if (!served || serving.top <= 0 || compute.top <= 0) continue;
    // The crossing is at the first whole number.
    const Fraction count = RoundedUp(compute * served->second / serving);
    crossings.push_back({plan.lines[i].Key(), std::string(served->first.counts), count});
  }
  return crossings;
}

std::vector<HourlyProjection> ProjectionsOf(const TcoPlan& plan) {
  std::vector<HourlyProjection> projections;
  for (const PlanLine& line : plan.lines) {
    const std::optional<Fraction> hourly = FigureOf(plan, line, "hourly");
    if (!hourly) continue;
    const auto times = [&](int hours) { return (*hourly * Fraction::Of(hours, 1)).AsMoney().value_or(Money()); };
    projections.push_back(
        {line.Key(), times(1), times(plan.month_hours), times(12 * plan.month_hours), times(kHoursPerYear)});
  }
  return projections;
}

std::vector<ReplicaCount> ReplicasOf(const TcoPlan& plan) {
  std::vector<ReplicaCount> counts;
  for (const PlanLine& line : plan.lines) {
    const std::optional<Fraction> peak = FigureOf(plan, line, "peak_rps");
    if (!peak) continue;
    // The recipe of peak_rps makes sure of this figure, and of the price below.
    const Fraction each = *FigureOf(plan, line, "rps_per_gpu");
    const Fraction target = FigureOf(plan, line, "utilisation").value_or(Fraction::Of(1, 1));
    const Fraction headroom = FigureOf(plan, line, "headroom").value_or(Fraction{});
    const std::optional<Fraction> fewest = FigureOf(plan, line, "minimum_replicas");
    ReplicaCount count = {line.Key(), RoundedUp(*peak / target / each) + headroom, {}, {}};
    if (fewest) {
      const Fraction hours =
          Fraction::Of(plan.month_hours, 1) * *FigureOf(plan, line, "hours_a_day") / Fraction::Of(24, 1);
      count.floor_a_month = (*fewest * *FigureOf(plan, line, "price") * hours).AsMoney();
      // A floor also is the least number of replicas.
      if (Compare(count.replicas, *fewest) < 0) count.replicas = *fewest;
    }
    if (count.replicas.top > 0) count.use = *peak / (count.replicas * each);
    counts.push_back(count);
  }
  return counts;
}

std::optional<Fraction> CarbonOf(const TcoPlan& plan, const PlanLine& line) {
  const std::optional<Fraction> watts = FigureOf(plan, line, "watts");
  if (!line.grid_kg_per_kwh || !watts || line.terms.empty()) return std::nullopt;
  // Only the hours among the amount's figures count, and what levers multiplied them by.
  PlanTerm hours = line.terms.front();
  std::erase_if(hours.factors, [&](const PlanFactor& factor) {
    return std::any_of(line.figures.begin(), line.figures.end(), [&](const auto& figure) {
      return figure.second == factor.figure && figure.first != "gpu_hours" && figure.first != "runs";
    });
  });
  const auto value = [&](const PlanFactor& factor) { return plan.figures[factor.figure].likely; };
  const Fraction gpu_hours = ProductOf<Fraction>(hours, value).value_or(Fraction{}) * line.hours_per_amount;
  // Power of the facility, with cooling; 1 if not given.
  const Fraction pue = FigureOf(plan, line, "pue").value_or(Fraction::Of(1, 1));
  const Fraction an_hour =
      *watts / Fraction::Of(1000, 1) * pue * *line.grid_kg_per_kwh + line.embodied_kg_per_gpu_hour.value_or(Fraction{});
  return gpu_hours * an_hour;
}

// The arithmetic of owning, in exact fractions. Fractions grow with every year of a falling price; where they grow too
// large, there is no answer instead of a rounded one.

namespace {

const Fraction kHoursAYear = Fraction::Of(kHoursPerYear, 1);
const Fraction kMonthsAYear = Fraction::Of(12, 1);
const Fraction kOnce = Fraction::Of(1, 1);
// No server lives longer; the loops end there.
constexpr int kMostYears = 100;

}  // namespace

OwnYear YearOf(const OwnOffer& offer) {
  OwnYear year;
  year.depreciation = (offer.capex - offer.residual) / offer.life_years;
  year.energy = offer.kilowatts * offer.pue * offer.tariff * kHoursAYear;
  year.demand = offer.kilowatts * offer.pue * offer.demand_charge * kMonthsAYear;
  year.support = offer.support_a_year;
  year.space = offer.space_a_year;
  year.staff = offer.staff_a_year;
  // Interest on the mean of what is tied up at the start and at the end.
  year.capital = offer.capital_rate * (offer.capex + offer.residual) / Fraction::Of(2, 1);
  const Fraction operation = year.energy + year.demand + year.support + year.space + year.staff;
  year.total = year.depreciation + operation + year.capital;
  // A month of so many hours, not a twelfth of a year: prices of the cloud are by the hour.
  year.operation_a_month = operation * Fraction::Of(offer.month_hours, 1) / kHoursAYear;
  return year;
}

Fraction PerDeliveredHour(const OwnOffer& offer, const Fraction& utilisation) {
  return YearOf(offer).total / (offer.gpus * kHoursAYear * utilisation);
}

Fraction BreakEvenUse(const OwnOffer& offer, const Fraction& cloud) {
  return YearOf(offer).total / (offer.gpus * kHoursAYear * cloud);
}

Fraction MeanPrice(const OwnOffer& offer, const Fraction& cloud) {
  Fraction sum;
  Fraction price = cloud;
  Fraction left = offer.life_years;
  for (int year = 0; year < kMostYears && left.top > 0; ++year) {
    // The last year may be a part of one.
    const Fraction part = Compare(left, kOnce) < 0 ? left : kOnce;  // of the year
    sum = sum + price * part;
    left = left - part;
    price = price * (kOnce - offer.cloud_falls_a_year);
  }
  return sum / (offer.life_years - left);
}

std::optional<Fraction> PaybackMonths(const OwnOffer& offer, const Fraction& cloud) {
  const Fraction operation = YearOf(offer).operation_a_month;
  Fraction price = cloud;
  Fraction left = offer.capex;
  for (int year = 0; year < kMostYears; ++year) {
    // Only hours that are used would have to be rented.
    const Fraction rented = offer.gpus * Fraction::Of(offer.month_hours, 1) * offer.payback_at * price;
    const Fraction saved = rented - operation;
    // A year that saves nothing ends it: the price only falls.
    if (saved.too_large || left.too_large || saved.top <= 0) return std::nullopt;
    // The purchase is paid off within this year.
    if (Compare(saved * kMonthsAYear, left) >= 0) return Fraction::Of(year, 1) * kMonthsAYear + left / saved;
    left = left - saved * kMonthsAYear;
    price = price * (kOnce - offer.cloud_falls_a_year);
  }
  return std::nullopt;
}

}  // namespace idleburn
