#include <nlohmann/json.hpp>

#include "report/json_values.h"
#include "report/tco_output.h"
#include "text/escape.h"
#include "text/json.h"

namespace idleburn {
namespace {

using Json = nlohmann::ordered_json;

// Fractions are exact inside; the document holds the nearest double.
Json NumberOrNull(const std::optional<Fraction>& value) { return value ? Json(value->AsDouble()) : Json(nullptr); }

// "3-6": the first and last month in which a line is paid. Null if it is paid over the whole time.
Json PaidInText(const PlanLine& line) {
  if (!line.paid_in) return nullptr;
  return std::to_string(line.paid_in->first) + "-" + std::to_string(line.paid_in->second);
}

// Lines by category. `given` tells a planned 0 from a category that nobody planned.
Json ItemsJson(const TcoScenario& s) {
  Json items;
  for (std::size_t c = 0; c < kCostCategoryCount; ++c) {
    Json item;
    PutMoney(item, "amount", s.cost.categories[c], s.plan.currency);
    item["given"] = s.cost.given[c];
    item["lines"] = Json::array();
    for (std::size_t i = 0; i < s.plan.lines.size(); ++i) {
      const PlanLine& line = s.plan.lines[i];
      if (line.category != static_cast<CostCategory>(c)) continue;
      Json entry = {{"name", Printable(line.name)}};
      PutMoney(entry, "amount", s.cost.lines[i], s.plan.currency);
      entry["recurring"] = line.recurring;
      entry["paid_in"] = PaidInText(line);
      entry["basis"] = line.basis.empty() ? Json(nullptr) : Json(Printable(line.basis));
      entry["carbon_kg"] = NumberOrNull(CarbonOf(s.plan, line));
      item["lines"].push_back(std::move(entry));
    }
    items[std::string(kCostCategoryNames[c])] = std::move(item);
  }
  return items;
}

// What a unit of work costs, and what follows from hourly lines and serving.
void PutUnits(Json& json, const TcoScenario& s) {
  const int digits = MinorUnitDigits(s.plan.currency);
  json["units"] = Json::array();
  for (const UnitCost& unit : UnitCostsOf(s.plan, s.cost)) {
    json["units"].push_back({{"of", Printable(unit.of)},
                             {"per", unit.unit},
                             {"amount_exact", unit.amount ? Json(FormatExact(*unit.amount, digits)) : Json(nullptr)}});
  }
  const std::optional<Money> wasted = NotBusyCost(s.plan, s.cost);
  json["not_busy"] = wasted ? Json(FormatMoney(*wasted, digits)) : Json(nullptr);
  json["projections"] = Json::array();
  for (const HourlyProjection& p : ProjectionsOf(s.plan)) {
    Json entry = {{"line", Printable(p.line)}};
    PutMoney(entry, "month", p.month, s.plan.currency);
    PutMoney(entry, "twelve_months", p.twelve_months, s.plan.currency);
    PutMoney(entry, "year_of_8760_h", p.year, s.plan.currency);
    json["projections"].push_back(std::move(entry));
  }
  json["replicas"] = Json::array();
  for (const ReplicaCount& count : ReplicasOf(s.plan)) {
    const auto& floor = count.floor_a_month;
    json["replicas"].push_back({{"line", Printable(count.line)},
                                {"replicas", count.replicas.AsDouble()},
                                {"use_at_peak", count.use.AsDouble()},
                                {"floor_a_month", floor ? Json(FormatMoney(*floor, digits)) : Json(nullptr)}});
  }
  json["crossings"] = Json::array();
  for (const ServingCrossing& crossing : CrossingsOf(s.plan, s.cost)) {
    json["crossings"].push_back(
        {{"line", Printable(crossing.line)}, {"unit", crossing.unit}, {"count", crossing.count.AsDouble()}});
  }
}

// One scenario. `saved_fraction` is relative to the first scenario and null for the first itself.
Json ScenarioJson(const TcoScenario& s, const TcoScenario& first) {
  const std::string& currency = s.plan.currency;
  Json json = {{"name", Printable(s.plan.name)}, {"currency", currency}};
  json["horizon_months"] = NumberOrNull(s.plan.months);
  json["month_hours"] = s.plan.month_hours;
  json["items"] = ItemsJson(s);
  PutMoney(json, "subtotal", s.cost.subtotal, currency);
  PutMoney(json, "contingency", s.cost.contingency, currency);
  json["contingency_rate"] = s.cost.contingency_rate.AsDouble();
  PutMoney(json, "total", s.cost.total, currency);
  PutMoney(json, "monthly_after_launch", s.cost.monthly_after_launch, currency);
  json["saved_fraction"] = &s == &first ? Json(nullptr) : OrNull<Json>(SavedShare(first.cost, s.cost));
  json["levers"] = Json::array();
  for (const PlanLever& lever : s.plan.levers) {
    json["levers"].push_back({{"name", Printable(lever.name)},
                              {"line", Printable(lever.line)},
                              {"how", lever.how},
                              {"evidence", lever.evidence}});
  }
  json["levers_alone"] = Json::array();
  for (const LeverSaving& lever : s.plan.alone) {
    Json entry = {{"name", Printable(lever.name)}};
    PutMoney(entry, "saves", lever.saves, currency);
    const bool told = !lever.edits.empty() && !lever.edits.front().todo.empty();
    entry["todo"] = told ? Json(Printable(lever.edits.front().todo)) : Json(nullptr);
    json["levers_alone"].push_back(std::move(entry));
  }
  PutUnits(json, s);
  json["draws"] = nullptr;
  if (s.draws) {
    json["draws"] = {{"count", s.draws->count}, {"seed", s.draws->seed},
                     {"p10", s.draws->p10},     {"p50", s.draws->p50},
                     {"p90", s.draws->p90},     {"over_budget", OrNull<Json>(s.draws->over_budget)}};
  }
  json["tornado"] = Json::array();
  for (const TornadoBar& bar : s.tornado) {
    Json entry = {{"figure", Printable(bar.figure)}};
    PutMoney(entry, "low", bar.low, currency);
    PutMoney(entry, "high", bar.high, currency);
    json["tornado"].push_back(std::move(entry));
  }
  return json;
}

// Own hardware against the prices of clouds. Amounts are doubles, because they are quotients of fractions.
Json OwnJson(const OwnOffer& offer) {
  const OwnYear year = YearOf(offer);
  Json json = {{"yearly", year.total.AsDouble()},
               {"depreciation", year.depreciation.AsDouble()},
               {"energy", year.energy.AsDouble()},
               {"demand", year.demand.AsDouble()},
               {"cloud_falls_a_year", offer.cloud_falls_a_year.AsDouble()},
               {"payback_month_hours", offer.month_hours},
               {"not_given", offer.not_given}};
  json["per_gpu_hour"] = Json::array();
  for (const Fraction& use : offer.utilisations) {
    json["per_gpu_hour"].push_back(
        {{"utilisation", use.AsDouble()}, {"cost", PerDeliveredHour(offer, use).AsDouble()}});
  }
  json["against"] = Json::array();
  for (const Fraction& cloud : offer.cloud) {
    const Fraction mean = MeanPrice(offer, cloud);
    json["against"].push_back({{"price", cloud.AsDouble()},
                               {"mean_price", mean.AsDouble()},
                               {"break_even_utilisation", BreakEvenUse(offer, mean).AsDouble()},
                               {"payback_months", NumberOrNull(PaybackMonths(offer, cloud))}});
  }
  return json;
}

// What each category and month will come to. Payments that are not known are null, not 0.
void PutForecast(Json& json, const ActualReport& report, const std::string& currency) {
  json["categories"] = Json::array();
  for (std::size_t c = 0; c < report.categories.size(); ++c) {
    Json entry = {{"category", c < kCostCategoryCount ? kCostCategoryNames[c] : "unallocated"}};
    if (report.categories[c].known) {
      PutMoney(entry, "actual", report.categories[c].actual, currency);
    } else {
      entry["actual"] = entry["actual_exact"] = nullptr;
    }
    PutMoney(entry, "reforecast", report.categories[c].at_completion, currency);
    json["categories"].push_back(std::move(entry));
  }
  json["forecast"] = Json::array();
  for (const MonthForecast& month : report.forecast) {
    Json entry = {{"month", month.month}, {"open", month.open}};
    PutMoney(entry, "plan", month.plan, currency);
    entry["actual"] = month.actual ? Json(FormatMoney(*month.actual, MinorUnitDigits(currency))) : Json(nullptr);
    PutMoney(entry, "expected", month.expected, currency);
    PutMoney(entry, "so_far", month.so_far, currency);
    const auto& end = month.at_completion;
    entry["at_completion"] = end ? Json(FormatMoney(*end, MinorUnitDigits(currency))) : Json(nullptr);
    json["forecast"].push_back(std::move(entry));
  }
}

// Payments against the plan: by month and category, split into price and quantity where both are known, and the
// re-forecast. Amounts of a month that were only assumed are null.
Json ActualJson(const ActualReport& report, const TcoPlan& plan) {
  const std::string& currency = plan.currency;
  Json json = {{"column", report.column}};
  PutMoney(json, "plan", report.plan, currency);
  PutMoney(json, "actual", report.actual, currency);
  json["months"] = Json::array();
  for (const MonthVariance& month : report.months) {
    Json entry = {{"month", month.month},
                  {"category", month.category ? std::string(Name(*month.category)) : "unallocated"},
                  {"open", month.open}};
    PutMoney(entry, "plan", month.plan, currency);
    if (month.assumed) {
      entry["actual"] = entry["actual_exact"] = entry["variance"] = entry["variance_exact"] = nullptr;
    } else {
      PutMoney(entry, "actual", month.actual, currency);
      PutMoney(entry, "variance", month.variance, currency);
    }
    json["months"].push_back(std::move(entry));
  }
  PutForecast(json, report, currency);
  json["variances"] = Json::array();
  for (const PriceAndQuantity& part : report.parts) {
    Json entry = {{"category", std::string(Name(part.category))}};
    PutMoney(entry, "price", part.price, currency);
    PutMoney(entry, "quantity", part.quantity, currency);
    json["variances"].push_back(std::move(entry));
  }
  json["lines"] = Json::array();
  for (const auto& [line, paid] : report.lines) {
    Json entry = {{"line", Printable(plan.lines[line].Key())}};
    PutMoney(entry, "actual", paid, currency);
    json["lines"].push_back(std::move(entry));
  }
  json["cost_efficiency"] = OrNull<Json>(report.efficiency);
  // Amounts that are derived from ratios have no exact sibling.
  const auto amount = [&](const char* key, const std::optional<Money>& money) {
    json[key] = money ? Json(FormatMoney(*money, MinorUnitDigits(currency))) : Json(nullptr);
  };
  amount("at_completion", report.at_completion);
  PutMoney(json, "at_completion_if_as_planned", report.at_completion_if_as_planned, currency);
  PutMoney(json, "reforecast", report.expected, currency);
  // Which rule gave the re-forecast: past efficiency, or the plan for the months left.
  json["reforecast_by"] = report.at_completion ? "cost_efficiency" : "remaining_plan";
  amount("burn_a_day", report.burn_a_day);
  json["burn_days"] = report.burn_days;
  json["runway_days"] = OrNull<Json>(report.runway_days);
  json["forecast_errors"] = Json::array();
  for (const auto& [month, error] : report.forecast_errors) {
    json["forecast_errors"].push_back({{"month", month}, {"error", error}});
  }
  return json;
}

}  // namespace

std::string TcoJson(const TcoAnswer& answer) {
  const TcoScenario& first = answer.scenarios.front();
  Json json = BeginDocument<Json>("idleburn.tco/1", answer.ids);
  json["horizon_months"] = NumberOrNull(first.plan.months);
  json["scenarios"] = Json::array();
  for (const TcoScenario& s : answer.scenarios) json["scenarios"].push_back(ScenarioJson(s, first));
  json["savings"] = Json::object();
  const TcoScenario& last = answer.scenarios.back();
  json["savings"]["fraction"] = &last == &first ? Json(nullptr) : OrNull<Json>(SavedShare(first.cost, last.cost));
  json["savings"]["of"] = &last == &first ? Json(nullptr) : Json(Printable(last.plan.name));
  json["own"] = answer.own ? OwnJson(*answer.own) : Json(nullptr);
  json["actuals"] = answer.actuals ? ActualJson(*answer.actuals, first.plan) : Json(nullptr);
  json["warnings"] = Json::array();
  for (const std::string& warning : answer.warnings) json["warnings"].push_back(Printable(warning));
  return JsonDocument(json);
}

}  // namespace idleburn
