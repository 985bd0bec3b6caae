#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/money.h"
#include "base/result.h"
#include "base/run_ids.h"
#include "classify/thresholds.h"
#include "fleet/engine.h"
#include "fleet/fleet_report.h"
#include "price/find_rate.h"

// What a cluster does now, for `idleburn fleet watch`: GPUs by team and state, what idle GPUs cost per hour, the worst
// jobs. The engine sums; no answer grows with the number of GPUs. Bills come from closed hours, never from a board.
namespace idleburn {

// How old the data of a board is by the engine's clock: VictoriaMetrics hides the newest half minute.
inline constexpr std::int64_t kBoardDelay = 60;
// A GPU without a newer sample than this has no data.
inline constexpr std::int64_t kBoardFresh = 150;
// Teams and jobs that are told apart; the rest is one row.
inline constexpr int kBoardRows = 10;

// GPUs by phase, in thousandths of a GPU. The last: no data.
using BoardGpus = std::array<std::int64_t, kFleetPhaseCount>;
std::int64_t TotalOf(const BoardGpus& gpus);

// GPUs of one team, one job, or of what has neither. Unused names are empty.
struct BoardRow {
  std::string cluster = {};
  std::string team = {};
  std::string job = {};
  std::string user = {};
  std::string experiment = {};
  BoardGpus gpus{};
  std::optional<Money> idle_per_hour = {};  // what its idle GPUs cost per hour; absent without a price
};

struct FleetBoard {
  RunIds ids = {};
  EngineFacts engine;
  std::int64_t at = 0;                 // the moment of the data, Unix seconds
  std::int64_t asked = 0;              // the engine's clock when it was asked
  std::string counter;                 // of exporters: the metric; empty: counters of agents
  BoardRow whole;                      // = teams + other_teams + no_job + lost
  std::optional<Money> cost_per_hour;  // of all GPUs with data
  std::string currency = "USD";
  std::string rate_source;         // "--price 2.5"; empty: no price
  std::vector<BoardRow> teams;     // with the most idle GPUs first, at most kBoardRows
  BoardRow other_teams;            // all others
  std::int64_t team_count = 0;     // of all
  BoardRow no_job;                 // held by no job that is known; with what rates are off (AnyWithoutJob)
  BoardRow lost;                   // seen within the last hour, and no sample now
  std::vector<BoardRow> jobs;      // as teams
  std::int64_t job_count = 0;      // of all
  std::vector<std::string> notes;  // what a reader must know, a sentence each
  int questions = 0;               // that the engine was asked
};

// Whether any GPU is held by no known job. Rates of GPUs and of jobs are each off by up to a second at an end of their
// window, by chance. So of agents' counters a hundredth of the root of all GPUs is not told apart from that: 0.01 of
// one GPU, 1 of 10,000.
bool AnyWithoutJob(const FleetBoard& board);

// What the board needs besides the engine.
struct BoardQuestion {
  const Prices& prices;
  bool price_given = false;      // by flags or settings: then the agents' own prices do not count
  const Thresholds& thresholds;  // of gauges; agents have decided already
};

// Reads the board of now by the engine's clock. Agents' counters if it has any, as means of five minutes; else the
// newest gauges of an exporter. Fails in one line if the engine is gone or has neither.
Result<FleetBoard> ReadFleetBoard(Engine& engine, const BoardQuestion& question);

}  // namespace idleburn
