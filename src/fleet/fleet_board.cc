#include "fleet/fleet_board.h"

#include <numeric>

#include "fleet/board_parts.h"

namespace idleburn {

std::int64_t TotalOf(const BoardGpus& gpus) { return std::accumulate(gpus.begin(), gpus.end(), std::int64_t{0}); }

// Thousandths x of N GPUs, which are 1000 N thousandths: x >= 10 sqrt(N) if x * x * 10 >= 1000 N.
bool AnyWithoutJob(const FleetBoard& board) {
  const std::int64_t left = TotalOf(board.no_job.gpus);
  if (!board.counter.empty()) return left > 0;
  return left > 0 && left * left * 10 >= TotalOf(board.whole.gpus);
}

Result<FleetBoard> ReadFleetBoard(Engine& engine, const BoardQuestion& question) {
  FleetBoard board;
  board.engine = engine.facts();
  board.asked = TRY(engine.Now());
  board.at = board.asked - kBoardDelay;
  BoardParts inventory;
  inventory.Add("known",
                "count by (name, slices) (max by (node, exported_node, uuid, name, slices) "
                "(last_over_time(idleburn_gpu_info[1h])))");
  inventory.Add("price",
                "count by (currency, source) (max by (node, exported_node, uuid, currency, source) "
                "(" +
                    std::string(kBoardPrices) + "))");
  inventory.Add("bad_price",
                "count(max by (node, exported_node, uuid) (idleburn_gpu_price_per_hour{currency!~\"[A-Z]{3}\"}))");
  const BoardParts::Answers answers = TRY(inventory.Ask(engine, board.at));
  board.questions = 2;
  if (answers.count("known") > 0) {
    TRY(ReadAgentBoard(engine, question, answers, &board));
  } else {
    TRY(ReadGaugeBoard(engine, question, &board));
  }
  return board;
}

}  // namespace idleburn
