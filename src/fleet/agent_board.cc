#include <algorithm>

#include "fleet/board_parts.h"
#include "fleet/edge_queries.h"
#include "text/strings.h"

// The board of agents' live counters. A counter of seconds that rises by one each second is one GPU, so a rate is a
// number of GPUs.
//
//   GPUs by phase      rates of the GPUs' counters
//   teams and jobs     rates of the jobs' counters, which carry the team; the live GPU counters carry no owner
//   no job             the GPUs less the jobs
//   lost               GPUs that an agent showed within an hour, and that have no fresh sample
//
// Only nodes with a fresh sample count: the rate of a counter that stopped two minutes ago is no news of now.

namespace idleburn {
namespace {

constexpr const char* kNodeLabels = "node, exported_node";
constexpr const char* kJobLabels = "cluster, job, exported_job, user, team, experiment";
// Rates of full seconds differ by a second at either end of the window. Less than this share is not told apart from it.
constexpr std::int64_t kJitterPercent = 1;

// The share that a MIG instance is of its board, in thousandths: 1000 for a GPU, 142 for "1/7".
std::int64_t ShareOf(std::string_view label, std::int64_t count) {
  const auto slices = SlicesIn(label);
  return slices ? count * slices->first / slices->second : count;
}

class AgentBoardReader {
 public:
  AgentBoardReader(Engine& engine, const BoardQuestion& question, FleetBoard* board)
      : engine_(engine), question_(question), board_(*board) {
    fresh_ = "(max by (node, exported_node) (timestamp(idleburn_build_info)) > " +
             std::to_string(board->at - kBoardFresh) + ")";
  }

  Result<void> Read(const BoardParts::Answers& inventory) {
    for (const EngineSeries& series : inventory.at("known")) {
      known_ += ShareOf(series.Label("slices"), BoardValue(series));
      models_.push_back(std::string(series.Label("name")));
    }
    std::sort(models_.begin(), models_.end());
    models_.erase(std::unique(models_.begin(), models_.end()), models_.end());
    if (const std::int64_t bad = BoardNumber(inventory, "bad_price") / 1000; bad > 0 && !question_.price_given) {
      board_.notes.push_back("Prices of GPUs that are left out: " + std::to_string(bad) +
                             ". Their currency is no code of three capital letters.");
    }
    TRY(FindPrices(inventory));
    TRY(ReadGpus());
    TRY(ReadOwners({"cluster, team", &board_.teams, &board_.other_teams, &board_.team_count}));
    BoardRow other_jobs;
    TRY(ReadOwners({kJobLabels, &board_.jobs, &other_jobs, &board_.job_count}));
    board_.no_job = RestOf(live_, jobs_);
    return {};
  }

 private:
  // Rows of one kind, and where they go.
  struct Owners {
    const char* labels;
    std::vector<BoardRow>* rows;
    BoardRow* others;
    std::int64_t* count;
  };

  // The rates of all GPUs of live nodes, by node, UUID and phase.
  [[nodiscard]] std::string GpuRates() const {
    return "(max by (node, exported_node, uuid, phase) (rate(idleburn_gpu_phase_seconds_total[5m])) "
           "and on (node, exported_node) " +
           fresh_ + ")";
  }
  // The same of jobs. Two scrapes of one agent are one series.
  [[nodiscard]] std::string JobRates(const std::string& selector) const {
    return std::string("(max by (") + kNodeLabels + ", " + kJobLabels +
           ", phase) (rate(idleburn_job_phase_seconds_total" + selector + "[5m])) and on (" + kNodeLabels + ") " +
           fresh_ + ")";
  }

  // An expression for the price of each GPU. Empty: no price.
  Result<void> FindPrices(const BoardParts::Answers& inventory) {
    const auto own = inventory.find("price");
    if (!question_.price_given && own != inventory.end()) {
      board_.currency = own->second.front().Label("currency");
      board_.rate_source = own->second.size() == 1
                               ? "the agents' price (" + Printable(own->second.front().Label("source")) + ")"
                               : std::to_string(own->second.size()) + " prices of the agents";
      for (const EngineSeries& series : own->second) {
        if (series.Label("currency") == board_.currency) continue;
        board_.rate_source.clear();
        board_.notes.emplace_back("Prices have several currencies, so amounts are not summed; give --price.");
        return {};
      }
      price_ = "max by (node, exported_node, uuid) (" + std::string(kBoardPrices) + ")";
      return {};
    }
    const std::map<std::string, Rate> rates = TRY(BoardRates(question_.prices, models_, &board_));
    const bool one = rates.size() == models_.size() && std::all_of(rates.begin(), rates.end(), [&](const auto& each) {
                       return each.second.per_gpu_hour == rates.begin()->second.per_gpu_hour;
                     });
    if (one && !rates.empty()) {
      price_ = "max by (node, exported_node, uuid) (idleburn_gpu_info) * " +
               FormatExact(*rates.begin()->second.per_gpu_hour);
      return {};
    }
    for (const auto& [model, rate] : rates) {
      price_ += (price_.empty() ? "" : " or ") + ("max by (node, exported_node, uuid) (idleburn_gpu_info{name=~\"" +
                                                  NamesPattern({model}) + "\"}) * " + FormatExact(*rate.per_gpu_hour));
    }
    return {};
  }

  Result<void> ReadGpus() {
    const std::string gpus = GpuRates();
    BoardParts parts;
    parts.Add("gpus", "sum by (phase) (" + gpus + ")");
    parts.Add("live",
              "count by (slices) (max by (node, exported_node, uuid, slices) (idleburn_gpu_info) and "
              "on (node, exported_node, uuid) (sum by (node, exported_node, uuid) (" +
                  gpus + ") > 0))");
    const std::string seen =
        "max by (node, exported_node) (last_over_time(idleburn_gpu_info[1h])) unless "
        "on (node, exported_node) " +
        fresh_;
    parts.Add("lost", "topk(1, " + seen + ")");
    parts.Add("lost_nodes", "count(" + seen + ")");
    if (!price_.empty()) {
      parts.Add("money",
                "1e6 * sum by (phase) (" + gpus + " * on (node, exported_node, uuid) group_left () (" + price_ + "))");
      parts.Add("priceless",
                "count(max by (node, exported_node, uuid) (idleburn_gpu_info) unless "
                "on (node, exported_node, uuid) (" +
                    price_ + "))");
    }
    const BoardParts::Answers answers = TRY(parts.Ask(engine_, board_.at));
    ++board_.questions;
    TakeGpus(answers);
    TakeLost(answers);
    return {};
  }

  void TakeGpus(const BoardParts::Answers& answers) {
    std::int64_t live = 0;
    if (const auto found = answers.find("live"); found != answers.end()) {
      for (const EngineSeries& series : found->second) live += ShareOf(series.Label("slices"), BoardValue(series));
    }
    known_ = std::max(known_, live);
    live_.gpus = PhasesOf(answers, "gpus");
    // Rates that sum to almost the number of GPUs are made to. What is missing beyond that was not counted.
    const std::int64_t sum = TotalOf(live_.gpus);
    if (sum > 0 && (sum > live || (live - sum) * 100 <= live * kJitterPercent)) {
      factor_ = {live, sum};
      Fit(&live_);
    } else {
      live_.gpus[kFleetUnobserved] += live - sum;
    }
    if (!price_.empty()) {
      const BoardGpus nanos = PhasesOf(answers, "money");
      live_.idle_per_hour = Fitted(nanos[0]);
      board_.cost_per_hour = Fitted(TotalOf(nanos));
    }
    board_.lost.gpus[kFleetUnobserved] = known_ - live;
    board_.whole = live_;
    AddRow(board_.lost, &board_.whole);
    if (const std::int64_t priceless = BoardNumber(answers, "priceless") / 1000; priceless > 0) {
      board_.notes.push_back(std::to_string(priceless) + " GPUs have no price; they are not in the money.");
    }
  }

  void TakeLost(const BoardParts::Answers& answers) {
    const std::int64_t nodes = BoardNumber(answers, "lost_nodes") / 1000;
    if (nodes == 0) return;
    const std::string name = Printable(AgentLabel(answers.at("lost").front(), "node"));
    board_.notes.push_back("No fresh sample from the agent on " + Shown(name) +
                           (nodes > 1 ? " and " + std::to_string(nodes - 1) + " other nodes" : std::string()) +
                           "; their GPUs have no data.");
  }
  static std::string Shown(const std::string& name) { return name.empty() ? "a node without a name" : name; }

  // Values by phase.
  static BoardGpus PhasesOf(const BoardParts::Answers& answers, const std::string& part) {
    BoardGpus values{};
    const auto found = answers.find(part);
    if (found == answers.end()) return values;
    for (const EngineSeries& series : found->second) {
      if (const auto phase = AgentPhase(series)) values[*phase] += BoardValue(series);
    }
    return values;
  }

  [[nodiscard]] Money Fitted(std::int64_t nano) const {
    return Money::Nano(Scale(Money::Nano(nano), factor_.first, factor_.second).value_or(Money::Nano(nano)).nano());
  }
  void Fit(BoardRow* row) const {
    for (std::int64_t& gpus : row->gpus) gpus = Fitted(gpus).nano();
  }

  Result<void> ReadOwners(const Owners& owners) {
    const std::string by = std::string("by (") + owners.labels + ") ";
    const std::string idle = JobRates("{phase=\"idle\"}");
    const std::string worst = std::string("and on (") + owners.labels + ") topk(" + std::to_string(kBoardRows) +
                              ", sum " + by + "(" + idle + "))";
    BoardParts parts;
    parts.Add("rows", std::string("(sum by (") + owners.labels + ", phase) (" + JobRates("") + ") " + worst + ")");
    parts.Add("all", "sum by (phase) (" + JobRates("") + ")");
    parts.Add("count", "count(count " + by + "(" + idle + "))");
    if (!price_.empty()) {
      // A job's counter has no UUID, so it pays the mean price of its node.
      const std::string money =
          "(" + idle + " * on (node, exported_node) group_left () avg by (node, exported_node) (" + price_ + "))";
      parts.Add("money", "(1e6 * sum " + by + money + " " + worst + ")");
      parts.Add("all_money", "1e6 * sum(" + money + ")");
    }
    const BoardParts::Answers answers = TRY(parts.Ask(engine_, board_.at));
    ++board_.questions;
    *owners.count = BoardNumber(answers, "count") / 1000;
    jobs_ = {};
    jobs_.gpus = PhasesOf(answers, "all");
    Fit(&jobs_);
    if (!price_.empty()) jobs_.idle_per_hour = Fitted(BoardNumber(answers, "all_money"));
    *owners.rows = WorstFirst(RowsOf(answers), jobs_, owners.others);
    return {};
  }

  [[nodiscard]] std::vector<BoardRow> RowsOf(const BoardParts::Answers& answers) const {
    std::map<std::vector<std::string>, BoardRow> rows;
    const auto row_of = [&](const EngineSeries& series) {
      std::vector<std::string> key;
      for (const char* label : {"cluster", "team", "job", "user", "experiment"})
        key.push_back(AgentLabel(series, label));
      BoardRow& row = rows[key];
      row.cluster = key[0];
      row.team = key[1];
      row.job = key[2];
      row.user = key[3];
      row.experiment = key[4];
      return &row;
    };
    if (const auto found = answers.find("rows"); found != answers.end()) {
      for (const EngineSeries& series : found->second) {
        if (const auto phase = AgentPhase(series)) row_of(series)->gpus[*phase] += BoardValue(series);
      }
    }
    std::vector<BoardRow> list;
    for (auto& [key, row] : rows) {
      Fit(&row);
      if (!price_.empty()) row.idle_per_hour = Money();
    }
    if (const auto found = answers.find("money"); found != answers.end()) {
      for (const EngineSeries& series : found->second) row_of(series)->idle_per_hour = Fitted(BoardValue(series));
    }
    for (auto& [key, row] : rows) list.push_back(std::move(row));
    return list;
  }

  Engine& engine_;
  const BoardQuestion& question_;
  FleetBoard& board_;
  std::string fresh_;
  std::string price_;
  std::vector<std::string> models_;
  std::int64_t known_ = 0;                                 // GPUs of the last hour, thousandths
  BoardRow live_;                                          // GPUs with a fresh sample
  BoardRow jobs_;                                          // all jobs
  std::pair<std::int64_t, std::int64_t> factor_ = {1, 1};  // makes rates sum to the number of GPUs
};

}  // namespace

Result<void> ReadAgentBoard(Engine& engine, const BoardQuestion& question, const BoardParts::Answers& inventory,
                            FleetBoard* board) {
  return AgentBoardReader(engine, question, board).Read(inventory);
}

}  // namespace idleburn
