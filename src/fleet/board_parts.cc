#include "fleet/board_parts.h"

#include <algorithm>
#include <set>

#include "text/strings.h"

namespace idleburn {

void BoardParts::Add(std::string_view part, const std::string& expression) {
  if (!expression_.empty()) expression_ += " or ";
  expression_ += "label_replace(" + expression + ", \"board\", \"" + std::string(part) + "\", \"\", \"\")";
}

Result<BoardParts::Answers> BoardParts::Ask(Engine& engine, std::int64_t at) const {
  Answers answers;
  for (EngineSeries& series : TRY(engine.At(expression_, at))) {
    const std::string part(series.Label("board"));
    answers[part].push_back(std::move(series));
  }
  return answers;
}

std::int64_t BoardValue(const EngineSeries& series) { return series.points.empty() ? 0 : series.points.back().second; }

std::int64_t BoardNumber(const BoardParts::Answers& answers, const std::string& part) {
  const auto found = answers.find(part);
  return found == answers.end() ? 0 : BoardValue(found->second.front());
}

Result<std::map<std::string, Rate>> BoardRates(const Prices& prices, const std::vector<std::string>& models,
                                               FleetBoard* board) {
  std::map<std::string, Rate> priced;
  std::set<std::string> sources;
  std::set<std::string> currencies;
  std::string without;
  const std::vector<Rate> rates = TRY(RatesOfModels(prices.For({}), models));
  for (std::size_t i = 0; i < models.size(); ++i) {
    if (!rates[i].per_gpu_hour) {
      without = models[i].empty() ? "GPUs of unknown model" : models[i];
      continue;
    }
    priced.emplace(models[i], rates[i]);
    sources.insert(rates[i].source);
    currencies.insert(rates[i].currency);
  }
  if (currencies.size() > 1) {
    board->notes.push_back("Prices have several currencies, so amounts are not summed; give --price.");
    return std::map<std::string, Rate>();
  }
  if (!currencies.empty()) board->currency = *currencies.begin();
  if (!sources.empty()) {
    board->rate_source = sources.size() == 1 ? *sources.begin() : std::to_string(sources.size()) + " prices";
  }
  if (!without.empty()) {
    board->notes.push_back(priced.empty()
                               ? "No price is known; give --price 2.50 or --price H100=2.50."
                               : "No price is known for " + Printable(without) + "; it is not in the money.");
  }
  return priced;
}

BoardRow RestOf(const BoardRow& a, const BoardRow& b) {
  BoardRow rest;
  for (std::size_t p = 0; p < kFleetPhaseCount; ++p) rest.gpus[p] = std::max<std::int64_t>(0, a.gpus[p] - b.gpus[p]);
  if (a.idle_per_hour) {
    const std::int64_t nano = a.idle_per_hour->nano() - b.idle_per_hour.value_or(Money()).nano();
    rest.idle_per_hour = Money::Nano(std::max<std::int64_t>(0, nano));
  }
  return rest;
}

void AddRow(const BoardRow& part, BoardRow* sum) {
  for (std::size_t p = 0; p < kFleetPhaseCount; ++p) sum->gpus[p] += part.gpus[p];
  if (part.idle_per_hour) {
    sum->idle_per_hour = Money::Nano(sum->idle_per_hour.value_or(Money()).nano() + part.idle_per_hour->nano());
  }
}

std::vector<BoardRow> WorstFirst(std::vector<BoardRow> rows, const BoardRow& all, BoardRow* others) {
  std::stable_sort(rows.begin(), rows.end(),
                   [](const BoardRow& a, const BoardRow& b) { return a.gpus[0] > b.gpus[0]; });
  if (rows.size() > kBoardRows) rows.resize(kBoardRows);
  BoardRow shown;
  for (const BoardRow& row : rows) AddRow(row, &shown);
  *others = RestOf(all, shown);
  return rows;
}

}  // namespace idleburn
