// The order of an answer of `idleburn tco`: verdict, why, next, then the tables.
#include <fmt/format.h>

#include "report/tco_words.h"
#include "telemetry/run_ids.h"

namespace idleburn {
namespace {

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
