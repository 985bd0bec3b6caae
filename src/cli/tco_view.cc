// The order of an answer of `idleburn tco`: verdict, why, next, then the tables.
#include <fmt/format.h>

#include "cli/tco_words.h"

namespace idleburn {
namespace {

ReportTable List(std::string_view title, std::vector<std::string> lines) {
  ReportTable list;
  list.title = title;
  list.notes = std::move(lines);
  return list;
}

}  // namespace

TcoView TcoViewOf(const TcoAnswer& answer) {
  const TcoScenario& first = answer.scenarios.front();
  const std::string& currency = first.plan.currency;
  TcoView view;
  view.title = fmt::format("{}: {}, months of {} h, in {}, as of {}", first.plan.name, TcoMonthsText(first.plan.months),
                           first.plan.month_hours, currency, answer.today);
  view.verdict = TcoVerdict(answer);
  view.why = TcoWhy(answer);
  view.next = TcoNext(answer);
  std::vector<std::string> units;
  for (const TcoScenario& s : answer.scenarios) {
    for (const std::string& line : TcoUnitLines(s)) units.push_back(line);
  }
  view.parts.push_back(List("Warnings", answer.warnings));
  view.parts.push_back(TcoCostTable(answer));
  if (answer.actuals) {
    view.parts.push_back(TcoMonthTable(*answer.actuals, currency));
    view.parts.push_back(TcoVarianceTable(*answer.actuals, currency));
    view.parts.push_back(List("So far", TcoActualLines(*answer.actuals, currency)));
  }
  for (const TcoScenario& s : answer.scenarios) view.parts.push_back(TcoLeverTable(s, first));
  view.parts.push_back(TcoSureTable(answer));
  for (const TcoScenario& s : answer.scenarios) view.parts.push_back(TcoTornadoTable(s));
  view.parts.push_back(List("What a unit costs", std::move(units)));
  if (answer.own) view.parts.push_back(TcoOwnTable(*answer.own, currency));
  for (const TcoScenario& s : answer.scenarios) view.parts.push_back(TcoMadeTable(s, first));
  view.parts.push_back(List("How these figures were made", TcoBasisLines(answer)));
  std::erase_if(view.parts, [](const ReportTable& part) { return part.rows.empty() && part.notes.empty(); });
  return view;
}

}  // namespace idleburn
