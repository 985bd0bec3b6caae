#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "fleet/engine.h"
#include "fleet/fleet_board.h"
#include "price/rate_book.h"

// What both sources of a board share: several questions in one, and prices by model.
namespace idleburn {

// The agents' prices that count: a label becomes part of documents, so only the code of a currency does.
inline constexpr std::string_view kBoardPrices = R"(idleburn_gpu_price_per_hour{currency=~"[A-Z]{3}"})";

// Several expressions in one question. Each answer carries the name of its part in a label.
class BoardParts {
 public:
  void Add(std::string_view part, const std::string& expression);
  // The series of each part. A part without series is absent.
  using Answers = std::map<std::string, std::vector<EngineSeries>>;
  Result<Answers> Ask(Engine& engine, std::int64_t at) const;

 private:
  std::string expression_;
};

// The value of a part that is one number, in thousandths; 0 if it is absent.
std::int64_t BoardNumber(const BoardParts::Answers& answers, const std::string& part);
// The newest value of a series, in thousandths; 0 without one.
std::int64_t BoardValue(const EngineSeries& series);

// The prices of GPUs of these models by settings and price list. Sets currency and source of the board, and says in a
// note what has no price. By model; models without a price are absent. With several currencies nothing has a price.
Result<std::map<std::string, Rate>> BoardRates(const Prices& prices, const std::vector<std::string>& models,
                                               FleetBoard* board);

// The rows with the most idle GPUs first, at most kBoardRows; `others` becomes what `all` has beyond them.
std::vector<BoardRow> WorstFirst(std::vector<BoardRow> rows, const BoardRow& all, BoardRow* others);

// a - b by phase and money, never below zero.
BoardRow RestOf(const BoardRow& a, const BoardRow& b);
void AddRow(const BoardRow& part, BoardRow* sum);

// The two sources.
Result<void> ReadAgentBoard(Engine& engine, const BoardQuestion& question, const BoardParts::Answers& inventory,
                            FleetBoard* board);
Result<void> ReadGaugeBoard(Engine& engine, const BoardQuestion& question, FleetBoard* board);

}  // namespace idleburn
