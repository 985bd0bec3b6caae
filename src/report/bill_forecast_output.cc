#include "report/bill_forecast_output.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/fleet_figures.h"
#include "text/figures.h"
#include "text/strings.h"
#include "text/time_zone.h"

namespace idleburn {
namespace {

constexpr std::size_t kAnomalyRows = 25;

std::string DayText(std::int64_t second) { return FormatDay(Instant::FromNanos(second * kNanosPerSecond)); }

std::string WhyText(const std::string& why) {
  if (why == "too_few_days") return "unknown: a forecast needs 7 whole days";
  return "unknown: its cost drifts, so days before say too little of days to come";
}

std::string EndText(const MonthEnd& sum, const std::string& currency) {
  return sum.expected ? AmountInterval(*sum.low, *sum.high, currency) : WhyText(sum.why);
}

std::string BudgetText(const MonthEnd& sum, const std::string& currency) {
  if (!sum.budget) return {};
  std::string text = Amount(*sum.budget, currency) + ": ";
  if (sum.verdict == "over") return text + "exceeded";
  if (sum.verdict == "unknown") return text + "unknown";
  if (sum.verdict == "within") return text + "within";
  text += sum.verdict == "will_exceed" ? "will be exceeded" : "may be exceeded";
  return sum.exceeded_day ? text + " on " + DayText(*sum.exceeded_day) : text;
}

std::string CauseText(const CostAnomaly& anomaly) {
  if (anomaly.cause == "job") return "job " + anomaly.job;
  if (anomaly.cause == "idle") return "idle time";
  return anomaly.cause == "unobserved" ? "lost data" : "unknown";
}

ReportTable TeamEnds(const BillForecast& forecast) {
  ReportTable table;
  table.title = "Teams at the end of the month";
  table.columns = {
      {"team", kLeft}, {"so far", kRight}, {"expected", kRight}, {"90 % interval", kRight}, {"budget", kLeft}};
  const auto row = [&](const std::string& name, const MonthEnd& sum) {
    table.rows.push_back({name, Amount(sum.spent, forecast.currency),
                          sum.expected ? Amount(*sum.expected, forecast.currency) : "unknown",
                          sum.expected ? EndText(sum, forecast.currency) : "unknown",
                          BudgetText(sum, forecast.currency)});
  };
  for (const MonthEnd& team : forecast.teams) row(FleetOwnerText(team.name), team);
  row("total", forecast.whole);
  return table;
}

ReportTable AnomalyTable(const BillForecast& forecast) {
  ReportTable table;
  table.title = "Unusual days";
  table.columns = {{"day", kLeft}, {"team", kLeft}, {"cost", kRight}, {"usual", kRight}, {"cause", kLeft, true}};
  for (std::size_t i = 0; i < std::min(forecast.anomalies.size(), kAnomalyRows); ++i) {
    const CostAnomaly& anomaly = forecast.anomalies[i];
    table.rows.push_back({DayText(anomaly.day), FleetOwnerText(anomaly.team), Amount(anomaly.cost, forecast.currency),
                          Amount(anomaly.usual, forecast.currency), CauseText(anomaly)});
  }
  if (forecast.anomalies.size() > kAnomalyRows) {
    table.notes.push_back(fmt::format("{} more are in --format json", forecast.anomalies.size() - kAnomalyRows));
  }
  return table;
}

std::string ForecastVerdict(const BillForecast& forecast) {
  const MonthEnd& whole = forecast.whole;
  if (forecast.days_left == 0) {
    return fmt::format("{} cost {}.", forecast.month, Amount(whole.spent, forecast.currency));
  }
  std::string verdict = whole.expected
                            ? fmt::format("{} will have cost {} at its end (90 % interval {}).", forecast.month,
                                          Amount(*whole.expected, forecast.currency), EndText(whole, forecast.currency))
                            : fmt::format("What {} will cost is {}.", forecast.month, WhyText(whole.why));
  for (const std::string_view bad : {"over", "will_exceed", "may_exceed"}) {
    std::vector<std::string> teams;
    for (const MonthEnd& team : forecast.teams) {
      if (team.verdict == bad) teams.push_back(team.name);
    }
    if (teams.empty()) continue;
    verdict +=
        fmt::format(" {} {} budget: {}.", teams.size() == 1 ? "One team" : std::to_string(teams.size()) + " teams",
                    bad == "over"          ? "exceeded the"
                    : bad == "will_exceed" ? "will exceed the"
                                           : "may exceed the",
                    ListText(teams));
  }
  return verdict;
}

}  // namespace

ReportPage ForecastPage(const BillForecast& forecast) {
  ReportPage page;
  page.heading = "Forecast of a GPU bill";
  page.title = fmt::format("{}, {} days so far, {} left", forecast.month, forecast.days, forecast.days_left);
  page.verdict = ForecastVerdict(forecast);
  page.why.push_back("spent on whole days so far: " + Amount(forecast.whole.spent, forecast.currency));
  if (forecast.whole.expected && forecast.days_left > 0) {
    page.why.push_back(fmt::format("the days left cost like those from {} to {}; it is wrong if the fleet changes",
                                   DayText(forecast.from), DayText(forecast.to - 1)));
  }
  if (!forecast.rate_source.empty()) page.why.push_back("price: " + forecast.rate_source);
  for (std::size_t i = 0; i < std::min<std::size_t>(forecast.anomalies.size(), 3); ++i) {
    const CostAnomaly& anomaly = forecast.anomalies[i];
    page.next.push_back(fmt::format("look at {} of {}: {} instead of {} ({})", DayText(anomaly.day),
                                    FleetOwnerText(anomaly.team), Amount(anomaly.cost, forecast.currency),
                                    Amount(anomaly.usual, forecast.currency), CauseText(anomaly)));
  }
  std::vector<std::string> about;
  for (const BillDoubt& doubt : forecast.doubts) about.push_back(doubt.sentence + ".");
  if (!forecast.unmatched.empty())
    about.push_back("Budgets of teams without a GPU: " + ListText(forecast.unmatched) + ".");
  page.points.push_back({"data", "About the data", about});
  page.tables.push_back(TeamEnds(forecast));
  page.tables.push_back(AnomalyTable(forecast));
  return page;
}

std::string BillForecastCsv(const BillForecast& forecast) {
  std::string csv = "month,kind,name,currency,spent,low,expected,high,budget,verdict,exceeded_day\n";
  const auto row = [&](std::string_view kind, const MonthEnd& sum) {
    csv +=
        fmt::format("{},{},{},{},{},{},{},{},{},{},{}\n", forecast.month, kind, CsvCell(sum.name), forecast.currency,
                    FormatExact(sum.spent), ExactOrEmpty(sum.low), ExactOrEmpty(sum.expected), ExactOrEmpty(sum.high),
                    ExactOrEmpty(sum.budget), sum.verdict, sum.exceeded_day ? DayText(*sum.exceeded_day) : "");
  };
  for (const MonthEnd& team : forecast.teams) row("team", team);
  row("total", forecast.whole);
  return csv;
}

}  // namespace idleburn
