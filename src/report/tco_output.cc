#include "report/tco_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "report/html_charts.h"
#include "report/json_values.h"
#include "report/report_page.h"
#include "report/tco_words.h"
#include "telemetry/run_facts.h"
#include "text/figures.h"
#include "text/json.h"
#include "text/strings.h"
#include "text/table.h"

// The answer of `idleburn tco` as CSV, as a page, as JSON, and as a page with charts. The page has the order in which a
// reader asks: verdict, why, next, then the tables (docs/tco.md).
//
// Printed amounts are rounded as columns (report/tco_words.h); CSV and JSON have exact amounts, because programs add
// them up. Unknown payments are left out or null and never 0: a month without a bill is not a month without cost.
//
// Charts are SVG in the page. They need no script and print as they look.
namespace idleburn {
namespace {

// One row of the CSV. A row of a month has no line; a row of a whole plan has no month. All rows have the same columns,
// so one pivot table can show plan, actual and forecast.
struct CsvLine {
  std::string_view scenario;
  std::string_view category;
  std::string_view line;
  Money amount;
  bool given = true;
  std::string_view measure = "plan";  // plan, actual or forecast
  std::string_view month = {};
};

// Writes each plan with its lines, and then the months with what was paid in them. A category that was not given has a
// row with given = false, so that a reader sees the gap. Rows are in the order of the page.
class CsvWriter {
 public:
  std::string Write(const TcoAnswer& answer) {
    for (const TcoScenario& s : answer.scenarios) AddScenario(s);
    if (answer.actuals) AddMonths(*answer.actuals, answer.scenarios.front().plan);
    return std::move(text_);
  }

 private:
  // Writes one row. Amounts are exact.
  void Add(const CsvLine& row, const std::string& currency) {
    text_ += fmt::format("{},{},{},{},{},{},{},{}\n", CsvCell(row.scenario), row.category, CsvCell(row.line),
                         FormatExact(row.amount, MinorUnitDigits(currency)), CsvCell(currency), row.given, row.measure,
                         row.month);
  }
  // The lines of a plan, the gaps in it, contingency and total.
  void AddScenario(const TcoScenario& s) {
    const std::string& name = s.plan.name;
    for (std::size_t i = 0; i < s.plan.lines.size(); ++i) {
      Add({name, Name(s.plan.lines[i].category), s.plan.lines[i].name, s.cost.lines[i]}, s.plan.currency);
    }
    for (std::size_t c = 0; c < kCostCategoryCount; ++c) {
      if (!s.cost.given[c]) Add({name, kCostCategoryNames[c], "", Money(), false}, s.plan.currency);
    }
    Add({name, "contingency", "", s.cost.contingency}, s.plan.currency);
    Add({name, "total", "", s.cost.total}, s.plan.currency);
  }
  // Per month and category what was planned and paid, then per month the total. A month to come has its forecast.
  void AddMonths(const ActualReport& report, const TcoPlan& plan) {
    for (const MonthVariance& month : report.months) {
      const std::string_view category = month.category ? Name(*month.category) : "unallocated";
      Add({plan.name, category, "", month.plan, true, "plan", month.month}, plan.currency);
      // An assumed payment is no payment: it stays out of the rows of actual amounts.
      if (!month.assumed) Add({plan.name, category, "", month.actual, true, "actual", month.month}, plan.currency);
    }
    for (const MonthForecast& month : report.forecast) {
      Add({plan.name, "total", "", month.plan, true, "plan", month.month}, plan.currency);
      Add({plan.name, "total", "", month.actual.value_or(month.expected), true, month.actual ? "actual" : "forecast",
           month.month},
          plan.currency);
    }
    Add({plan.name, "total", "", report.expected, true, "forecast", ""}, plan.currency);
  }

  std::string text_ = "scenario,category,line,amount,currency,given,measure,month\n";
};

}  // namespace

std::string TcoCsv(const TcoAnswer& answer) { return CsvWriter().Write(answer); }

namespace {

// A table without rows prints as a list. Lists and tables can then stand in one sequence.
ReportTable List(std::string_view title, std::vector<std::string> lines) {
  ReportTable list;
  list.title = title;
  list.notes = std::move(lines);
  return list;
}

}  // namespace

ReportPage TcoPage(const TcoAnswer& answer) {
  const TcoScenario& first = answer.scenarios.front();
  const std::string& currency = first.plan.currency;
  ReportPage page;
  page.heading = "Total cost of ownership";
  page.title =
      TitleAndIds(fmt::format("{}: {}, months of {} h, in {}, as of {}", first.plan.name,
                              TcoMonthsText(first.plan.months), first.plan.month_hours, currency, answer.today),
                  answer.ids);
  page.verdict = TcoVerdict(answer);
  page.why = TcoWhy(answer);
  page.next = TcoNext(answer);
  std::vector<std::string> units;
  for (const TcoScenario& s : answer.scenarios) {
    for (const std::string& line : TcoUnitLines(s)) units.push_back(line);
  }
  page.tables.push_back(List("Warnings", answer.warnings));
  page.tables.push_back(TcoCostTable(answer));
  if (answer.actuals) {
    page.tables.push_back(TcoMonthTable(*answer.actuals, currency));
    page.tables.push_back(TcoVarianceTable(*answer.actuals, currency));
    page.tables.push_back(List("So far", TcoActualLines(*answer.actuals, currency)));
  }
  for (const TcoScenario& s : answer.scenarios) page.tables.push_back(TcoLeverTable(s, first));
  page.tables.push_back(TcoSureTable(answer));
  for (const TcoScenario& s : answer.scenarios) page.tables.push_back(TcoTornadoTable(s));
  page.tables.push_back(List("What a unit costs", std::move(units)));
  if (answer.own) page.tables.push_back(TcoOwnTable(*answer.own, currency));
  for (const TcoScenario& s : answer.scenarios) page.tables.push_back(TcoMadeTable(s, first));
  page.tables.push_back(List("How these figures were made", TcoBasisLines(answer)));
  // A heading over nothing would look like lost data.
  std::erase_if(page.tables, [](const ReportTable& table) { return table.rows.empty() && table.notes.empty(); });
  return page;
}

namespace {

using Json = nlohmann::ordered_json;

// Fractions are exact inside; the document holds the nearest double.
Json NumberOrNull(const std::optional<Fraction>& value) { return value ? Json(value->AsDouble()) : Json(nullptr); }

// "3-6": the first and last month in which a line is paid. Null if it is paid over the whole time.
Json PaidInText(const PlanLine& line) {
  if (!line.paid_in) return nullptr;
  return std::to_string(line.paid_in->first) + "-" + std::to_string(line.paid_in->second);
}

// Lines by category. `given` tells a planned 0 from a category that nobody planned. A missing category is the usual
// fault of a plan: nobody forgets the GPUs, many forget the staff.
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

// What a unit of work costs, and what follows from hourly lines and serving. An amount is absent if its unit has a
// count of 0.
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

// One scenario. `saved_fraction` is relative to the first scenario and null for the first itself. Levers have two
// lists: what this scenario changes, and what each change would save alone.
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

// Own hardware against the prices of clouds. Amounts are doubles, because they are quotients of fractions. They are
// estimates of many years, and more digits would be of no use.
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
      // Keys stay, so that a program sees the gap.
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
// re-forecast. Amounts of a month that were only assumed are null. A positive variance is more paid than planned.
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

namespace {

// Colours by category, the last for contingency. They differ in lightness too, so they can be told apart without
// colour.
constexpr std::array<std::string_view, kCostCategoryCount + 1> kFills = {
    "#1b4f72", "#2e86c1", "#85c1e9", "#117a65", "#73c6b6", "#7d6608", "#f1c40f", "#922b21", "#aab7b8"};

std::string Fill(std::string_view color) { return fmt::format("fill=\"{}\"", color); }

// A section with one picture.
std::string ChartSection(std::string_view title, double height, const std::string& shapes) {
  return "<section>\n<h2>" + HtmlEscaped(title) + "</h2>\n" + ChartPicture(title, height, shapes) + "</section>\n";
}

// A chart of `bars` rows.
std::string Chart(std::string_view title, std::size_t bars, const std::string& shapes) {
  return ChartSection(title, static_cast<double>(bars) * kChartRow, shapes);
}

// One bar per scenario, divided by category and contingency, all on one scale. One scale makes the totals comparable by
// length.
std::string Stacks(const TcoAnswer& answer) {
  double most = 1;
  for (const TcoScenario& s : answer.scenarios) most = std::max(most, static_cast<double>(s.cost.total.nano()));
  std::string shapes;
  for (std::size_t row = 0; row < answer.scenarios.size(); ++row) {
    const TcoScenario& s = answer.scenarios[row];
    shapes += ChartLabel(s.plan.name, row);
    // Contingency is the last part of each bar, as it is the last row of the table.
    double x = kChartLabels;
    for (std::size_t c = 0; c <= kCostCategoryCount; ++c) {
      const bool extra = c == kCostCategoryCount;
      const Money amount = extra ? s.cost.contingency : s.cost.categories[c];
      const double width = (kChartWidth - kChartLabels) * static_cast<double>(amount.nano()) / most;
      const std::string name(extra ? "contingency" : kCostCategoryNames[c]);
      if (amount.nano() > 0) {
        shapes += ChartBar(x, row, width, Fill(kFills[c]), name + ": " + Amount(amount, s.plan.currency));
      }
      x += std::max(width, 0.0);
    }
  }
  std::string key = "<ul class=\"key\">";
  for (std::size_t c = 0; c <= kCostCategoryCount; ++c) {
    key += ChartKey(Fill(kFills[c]), c == kCostCategoryCount ? "contingency" : kCostCategoryNames[c]);
  }
  return Chart("Where the money goes", answer.scenarios.size(), shapes) + key + "</ul>\n";
}

// One bar per figure, from the total at its low end to the total at its high end, largest first. At most ten: the
// others change little. The scale begins at the lowest total and not at 0, so that small differences can be seen.
std::string Tornado(const TcoScenario& s) {
  constexpr std::size_t kMost = 10;
  const std::size_t bars = std::min(s.tornado.size(), kMost);
  if (bars == 0) return {};
  auto low = static_cast<double>(s.cost.total.nano());
  double high = low;
  for (const TornadoBar& bar : s.tornado) {
    low = std::min({low, static_cast<double>(bar.low.nano()), static_cast<double>(bar.high.nano())});
    high = std::max({high, static_cast<double>(bar.low.nano()), static_cast<double>(bar.high.nano())});
  }
  const auto place = [&](Money m) {
    return kChartLabels +
           (kChartWidth - kChartLabels) * (static_cast<double>(m.nano()) - low) / std::max(high - low, 1.0);
  };
  std::string shapes;
  for (std::size_t row = 0; row < bars; ++row) {
    const TornadoBar& bar = s.tornado[row];
    const double from = std::min(place(bar.low), place(bar.high));
    shapes += ChartLabel(bar.figure, row);
    shapes += ChartBar(from, row, std::max(place(bar.low), place(bar.high)) - from, Fill(kFills[1]),
                       bar.figure + ": " + AmountInterval(bar.low, bar.high, s.plan.currency));
  }
  return Chart("What matters: the total of " + s.plan.name + " from the low to the high end of each figure", bars,
               shapes);
}

// Two bars per month: the plan, and what was paid or is expected. Two bars side by side show the difference better than
// one on top of the other.
std::string MonthBars(const ActualReport& report, const std::string& currency) {
  double most = 1;
  for (const MonthForecast& month : report.forecast) {
    most = std::max({most, static_cast<double>(month.plan.nano()), static_cast<double>(month.expected.nano())});
  }
  std::string shapes;
  std::size_t row = 0;
  for (const MonthForecast& month : report.forecast) {
    const auto bar = [&](std::string_view what, Money amount, std::string_view fill) {
      const std::string label = month.month + " " + std::string(what);
      shapes += ChartLabel(label, row);
      shapes += ChartBar(kChartLabels, row, (kChartWidth - kChartLabels) * static_cast<double>(amount.nano()) / most,
                         Fill(fill), label + ": " + Amount(amount, currency));
      ++row;
    };
    bar("plan", month.plan, kFills[2]);
    bar(month.actual ? "actual" : "forecast", month.actual.value_or(month.expected),
        month.actual ? kFills[0] : kFills[8]);
  }
  return Chart("Plan and actual, month by month", row, shapes);
}

// The price of a delivered GPU-hour on own hardware as a curve over its use, and rented prices as lines. Where they
// cross owning starts to pay. A cloud price that falls is drawn at its mean over the life of the hardware.
std::string OwnCurve(const OwnOffer& offer, const std::string& currency) {
  constexpr double kHeight = 300;
  constexpr double kFoot = 24;
  // The curve goes to infinity at low use. The picture ends at twice the price at full use, or above the dearest
  // cloud.
  double most = 2 * PerDeliveredHour(offer, Fraction::Of(1, 1)).AsDouble();
  for (const Fraction& cloud : offer.cloud) most = std::max(most, 1.15 * cloud.AsDouble());
  const auto x = [&](int percent) { return kChartLabels + (kChartWidth - kChartLabels) * percent / 100; };
  const auto y = [&](double price) { return (kHeight - kFoot) * (1 - std::min(price / std::max(most, 1e-9), 1.0)); };
  std::string points;
  for (int percent = 2; percent <= 100; percent += 2) {
    const double price = PerDeliveredHour(offer, Fraction::Of(percent, 100)).AsDouble();
    points += fmt::format("{:.1f},{:.1f} ", x(percent), y(price));
  }
  std::string shapes =
      fmt::format(R"(<polyline points="{}" fill="none" stroke="{}" stroke-width="2.5"><title>owned</title></polyline>)",
                  points, kFills[1]);
  for (const Fraction& cloud : offer.cloud) {
    const Fraction mean = MeanPrice(offer, cloud);
    const double at = y(mean.AsDouble());
    shapes += fmt::format(R"(<line x1="{}" y1="{:.1f}" x2="{}" y2="{:.1f}" stroke="{}" stroke-dasharray="6 4"/>)",
                          kChartLabels, at, kChartWidth, at, kFills[7]);
    shapes += fmt::format(R"(<text x="0" y="{:.1f}">rented at {}</text>)", at + 4,
                          HtmlEscaped(UnitPrice(mean.AsDouble(), currency)));
  }
  for (int percent = 20; percent <= 100; percent += 20) {
    shapes += fmt::format(R"(<text x="{:.0f}" y="{}" text-anchor="end">{} %</text>)", x(percent), kHeight - 4, percent);
  }
  return ChartSection(currency + " a GPU-hour, owned (curve) and rented, by the share of GPU-hours that jobs get",
                      kHeight, shapes);
}

// The chart that belongs to a table. Empty if the table has none. Charts stand above their tables, which have the
// amounts.
std::string ChartOf(const TcoAnswer& answer, std::string_view title) {
  const std::string& currency = answer.scenarios.front().plan.currency;
  if (title == kTcoCosts) return Stacks(answer);
  if (title == kTcoMonths) return MonthBars(*answer.actuals, currency);
  if (title == kTcoOwn) return OwnCurve(*answer.own, currency);
  std::string charts;
  for (const TcoScenario& s : answer.scenarios) {
    if (title == TcoTornadoTable(s).title) charts += Tornado(s);
  }
  return charts;
}

}  // namespace

std::string TcoHtml(const TcoAnswer& answer) {
  const ReportPage page = TcoPage(answer);
  std::string html(embedded::kHeadHtml);
  html += "<title>" + HtmlEscaped(page.heading) + "</title>\n<style>";
  html.append(embedded::kReportCss).append("</style>\n</head>\n<body>\n<header>\n<p class=\"eyebrow\">");
  html += HtmlEscaped(page.title) + "</p>\n<h1>" + HtmlEscaped(page.verdict) + "</h1>\n</header>\n<main>\n";
  AppendHtmlSection("Why", page.why, &html);
  AppendHtmlSection("Next", page.next, &html);
  for (const ReportTable& table : page.tables) {
    html += ChartOf(answer, table.title);
    AppendHtmlTable(table, &html);
  }
  return html + "</main>\n</body>\n</html>\n";
}

}  // namespace idleburn
