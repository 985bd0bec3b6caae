#include "report/tco_output.h"

#include <fmt/format.h>

#include "report/tco_words.h"
#include "telemetry/run_ids.h"
#include "text/escape.h"

// The answer of `idleburn tco` as a page and as CSV. The page has the order in which a reader asks: verdict, why,
// next, then the tables.
namespace idleburn {
namespace {

// One row of the CSV. A row of a month has no line; a row of a whole plan has no month.
struct CsvLine {
  std::string_view scenario;
  std::string_view category;
  std::string_view line;
  Money amount;
  bool given = true;
  std::string_view measure = "plan";  // plan, actual or forecast
  std::string_view month = {};
};

// Writes each plan with its lines, and then the months with what was paid in them. A category that was not given has
// a row with given = false, so that a reader sees the gap.
class CsvWriter {
 public:
  std::string Write(const TcoAnswer& answer) {
    for (const TcoScenario& s : answer.scenarios) AddScenario(s);
    if (answer.actuals) AddMonths(*answer.actuals, answer.scenarios.front().plan);
    return std::move(text_);
  }

 private:
  void Add(const CsvLine& row, const std::string& currency) {
    text_ += fmt::format("{},{},{},{},{},{},{},{}\n", CsvCell(row.scenario), row.category, CsvCell(row.line),
                         FormatExact(row.amount, MinorUnitDigits(currency)), CsvCell(currency), row.given, row.measure,
                         row.month);
  }
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

// A table without rows prints as a list.
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
  std::erase_if(page.tables, [](const ReportTable& table) { return table.rows.empty() && table.notes.empty(); });
  return page;
}

}  // namespace idleburn
