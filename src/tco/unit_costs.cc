#include "tco/unit_costs.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/billing.h"

namespace idleburn {
namespace {

struct CountedUnit {
  std::string_view counts;  // key of [units] and of a line that serves
  std::string_view one;
  std::string_view lot;  // so many that the price has digits to show
  std::int64_t lot_size;
};
constexpr auto kUnits = std::to_array<CountedUnit>({{"samples", "sample", "1,000 samples", 1000},
                                                    {"tokens", "token", "10^6 tokens", 1'000'000},
                                                    {"requests", "request", "1,000 requests", 1000},
                                                    {"epochs", "epoch", "", 0}});

std::optional<Fraction> FigureOf(const TcoPlan& plan, const PlanLine& line, std::string_view key) {
  const auto found = line.figures.find(key);
  return found == line.figures.end() ? std::nullopt : std::optional(plan.figures[found->second].likely);
}

std::optional<Fraction> UnitOf(const TcoPlan& plan, std::string_view unit) {
  const auto found = plan.units.find(std::string(unit));
  return found == plan.units.end() ? std::nullopt : std::optional(found->second);
}

Fraction ComputeOf(const PlanCost& cost) {
  return Fraction::Of(cost.categories[static_cast<std::size_t>(CostCategory::kCompute)]);
}

std::optional<Money> Each(const Fraction& whole, const Fraction& count) {
  return count.top == 0 ? std::nullopt : (whole / count).AsMoney();
}

// The unit that a line serves, and how many.
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
    const Fraction each = *FigureOf(plan, line, "rps_per_gpu");
    const Fraction target = FigureOf(plan, line, "utilisation").value_or(Fraction::Of(1, 1));
    const Fraction headroom = FigureOf(plan, line, "headroom").value_or(Fraction{});
    const std::optional<Fraction> fewest = FigureOf(plan, line, "minimum_replicas");
    ReplicaCount count = {line.Key(), RoundedUp(*peak / target / each) + headroom, {}, {}};
    if (fewest) {
      const Fraction hours =
          Fraction::Of(plan.month_hours, 1) * *FigureOf(plan, line, "hours_a_day") / Fraction::Of(24, 1);
      count.floor_a_month = (*fewest * *FigureOf(plan, line, "price") * hours).AsMoney();
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
  // Of the amount's figures the hours count, and what levers multiplied them by.
  PlanTerm hours = line.terms.front();
  std::erase_if(hours.factors, [&](const PlanFactor& factor) {
    return std::any_of(line.figures.begin(), line.figures.end(), [&](const auto& figure) {
      return figure.second == factor.figure && figure.first != "gpu_hours" && figure.first != "runs";
    });
  });
  const auto value = [&](const PlanFactor& factor) { return plan.figures[factor.figure].likely; };
  const Fraction gpu_hours = ProductOf<Fraction>(hours, value).value_or(Fraction{}) * line.hours_per_amount;
  const Fraction pue = FigureOf(plan, line, "pue").value_or(Fraction::Of(1, 1));
  const Fraction an_hour =
      *watts / Fraction::Of(1000, 1) * pue * *line.grid_kg_per_kwh + line.embodied_kg_per_gpu_hour.value_or(Fraction{});
  return gpu_hours * an_hour;
}

}  // namespace idleburn
