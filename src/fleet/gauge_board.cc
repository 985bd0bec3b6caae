#include <fmt/format.h>

#include <algorithm>

#include "fleet/board_parts.h"
#include "import/gauge_series.h"
#include "text/number.h"
#include "text/strings.h"

// The board of an exporter's gauges: the newest reading of each GPU decides its state. One metric is used, the one with
// the most GPUs, because two exporters of one GPU cannot be told apart in an expression.
//
// A gauge tells neither what happened between scrapes nor whether somebody holds a GPU that no label names.

namespace idleburn {
namespace {

// Who holds a GPU, as labels say it: a series belongs to the first row that fits.
struct HolderLabels {
  std::string job;    // "hpc_job", "exported_pod"
  std::string team;   // "exported_namespace"; empty: not told
  std::string match;  // its selectors: `hpc_job="",exported_pod!=""`
};

class GaugeBoardReader {
 public:
  GaugeBoardReader(Engine& engine, const BoardQuestion& question, FleetBoard* board)
      : engine_(engine), question_(question), board_(*board) {}

  Result<void> Read() {
    TRY(ChooseGauge());
    TRY(ReadStates());
    TRY(ReadHolders());
    board_.notes.emplace_back("States are the newest readings of " + board_.counter +
                              "; an exporter does not tell what happened in between.");
    return {};
  }

 private:
  // The series of a metric that have a fresh sample, by GPU and by `more` labels, in percent.
  [[nodiscard]] std::string Newest(const std::string& match, const std::string& more) const {
    const std::string series = gauge_.name + Braces(match);
    return fmt::format("max by ({}, {}) ({} * {} and timestamp({}) > {})", id_, more, series, gauge_.to_percent, series,
                       board_.at - kBoardFresh);
  }
  // Boards only: the driver has no utilization of MIG instances.
  [[nodiscard]] std::string Braces(const std::string& match) const {
    return "{" + NoneOf(labels_.instance) + (match.empty() ? "" : "," + match) + "}";
  }
  static std::string NoneOf(const std::vector<std::string>& labels) {
    std::string match;
    for (const std::string& label : labels) match += (match.empty() ? "" : ",") + label + "=\"\"";
    return match;
  }

  Result<void> ChooseGauge() {
    const std::vector<UtilizationGauge> present = TRY(PresentGauges());
    BoardParts parts;
    for (std::size_t i = 0; i < present.size(); ++i) {
      const std::string number = std::to_string(i);
      parts.Add("gpus" + number, "count(" + present[i].name + Braces("") + ")");
      parts.Add("nameless" + number, "count(" + present[i].name + Braces(NoneOf(labels_.uuid)) + ")");
      parts.Add("all" + number, "count(" + present[i].name + ")");
    }
    const BoardParts::Answers answers = TRY(parts.Ask(engine_, board_.at));
    board_.questions += 2;
    const auto count = [&](const char* what, std::size_t i) {
      return BoardNumber(answers, what + std::to_string(i)) / 1000;
    };
    std::size_t best = 0;
    for (std::size_t i = 1; i < present.size(); ++i) best = count("gpus", i) > count("gpus", best) ? i : best;
    gauge_ = present[best];
    board_.counter = gauge_.counter;
    if (const std::int64_t instances = count("all", best) - count("gpus", best); instances > 0) {
      board_.notes.push_back(fmt::format("{} MIG instances are not on the board.", instances));
    }
    for (std::size_t i = 0; i < present.size(); ++i) {
      if (i == best || count("gpus", i) == 0 || present[i].kind != gauge_.kind) continue;
      board_.notes.push_back(fmt::format("{} also has {} GPUs; it is not used.", present[i].counter, count("gpus", i)));
    }
    std::vector<std::string> id = labels_.uuid;
    if (count("nameless", best) > 0) id.insert(id.end(), labels_.place.begin(), labels_.place.end());
    id_ = ListText(id);
    if (!gauge_.gpu_is_model) std::erase(labels_.model, "gpu");
    models_ = ListText(labels_.model);
    return {};
  }

  // Those that the engine had within the last hour, the best first.
  Result<std::vector<UtilizationGauge>> PresentGauges() {
    std::vector<UtilizationGauge> known = UtilizationGauges();
    std::string pattern;
    for (const UtilizationGauge& gauge : known) pattern += (pattern.empty() ? "" : "|") + gauge.name;
    const std::vector<std::string> names = TRY(engine_.MetricNames(pattern, board_.at - 3600, board_.at));
    std::erase_if(known, [&](const UtilizationGauge& gauge) {
      return std::find(names.begin(), names.end(), gauge.name) == names.end();
    });
    if (!known.empty()) return known;
    return Fail(board_.engine.url +
                ": no GPU in the last hour, neither of `idleburn agent` nor of dcgm-exporter, nvidia_gpu_exporter, "
                "nvitop-exporter, all-smi, jobstats or dynolog; run `idleburn agent` on each node");
  }

  // Micro-percent as PromQL writes percent.
  static std::string Percent(std::int64_t micro) { return fmt::format("{}.{:06}", micro / kPercent, micro % kPercent); }
  // How many of these readings are in each phase: its number is in the label "phase". Readings that no utilization can
  // have, such as the codes of DCGM for "no value", are left out.
  [[nodiscard]] std::string Phases(const std::string& by, const std::string& readings) const {
    const Thresholds& limits = question_.thresholds;
    std::string phase;
    for (const std::int64_t edge : {limits.idle_below, limits.productive_from, limits.bound_from}) {
      phase += fmt::format("{}({} >= bool {})", phase.empty() ? "" : " + ", readings, Percent(edge));
    }
    return fmt::format("count_values by ({}) (\"phase\", {} and {} >= 0 < 100.5)", by, phase, readings);
  }
  // The phase of such a series.
  static std::size_t PhaseIn(const EngineSeries& series) {
    const auto phase = ParseInteger(series.Label("phase"));
    return phase && *phase >= 0 && *phase < static_cast<std::int64_t>(kFleetUnobserved)
               ? static_cast<std::size_t>(*phase)
               : kFleetUnobserved;
  }

  [[nodiscard]] GaugeSeries IdentityOf(const EngineSeries& series) const {
    return GaugeSeriesOf(gauge_.name, series.labels);
  }
  [[nodiscard]] std::optional<Money> CostOf(const EngineSeries& series) const {
    const auto rate = rates_.find(IdentityOf(series).gpu.name);
    if (rate == rates_.end()) return std::nullopt;
    const Result<Money> cost = Scale(*rate->second.per_gpu_hour, BoardValue(series), 1000);
    return cost ? std::optional(*cost) : std::nullopt;
  }
  void Take(const EngineSeries& series, BoardRow* row) const {
    const std::size_t phase = PhaseIn(series);
    row->gpus[phase] += BoardValue(series);
    if (rates_.empty()) return;
    const Money before = row->idle_per_hour.value_or(Money());
    const Money more = phase == 0 ? CostOf(series).value_or(Money()) : Money();
    row->idle_per_hour = Money::Nano(before.nano() + more.nano());
  }

  Result<void> ReadStates() {
    BoardParts parts;
    parts.Add("gpus", Phases(models_, Newest("", models_)));
    parts.Add("known", fmt::format("count(max by ({}) (last_over_time({}{}[1h])))", id_, gauge_.name, Braces("")));
    for (const HolderLabels& holder : AllHolders()) {
      parts.Add("by " + holder.job, fmt::format("count({}{})", gauge_.name, Braces(holder.match)));
    }
    const BoardParts::Answers answers = TRY(parts.Ask(engine_, board_.at));
    ++board_.questions;
    std::vector<EngineSeries> gpus;
    if (const auto found = answers.find("gpus"); found != answers.end()) gpus = found->second;
    std::vector<std::string> models;
    for (const EngineSeries& series : gpus) models.push_back(IdentityOf(series).gpu.name);
    std::sort(models.begin(), models.end());
    models.erase(std::unique(models.begin(), models.end()), models.end());
    rates_ = TRY(BoardRates(question_.prices, models, &board_));
    std::int64_t cost = 0;
    for (const EngineSeries& series : gpus) {
      Take(series, &live_);
      cost += CostOf(series).value_or(Money()).nano();
    }
    if (!rates_.empty()) {
      board_.cost_per_hour = Money::Nano(cost);
      if (!live_.idle_per_hour) live_.idle_per_hour = Money();
    }
    board_.lost.gpus[kFleetUnobserved] = std::max<std::int64_t>(0, BoardNumber(answers, "known") - TotalOf(live_.gpus));
    board_.whole = live_;
    AddRow(board_.lost, &board_.whole);
    if (const std::int64_t lost = TotalOf(board_.lost.gpus) / 1000; lost > 0) {
      board_.notes.push_back(fmt::format("{} GPUs were scraped within the last hour and have no fresh reading.", lost));
    }
    for (const HolderLabels& holder : AllHolders()) {
      if (answers.count("by " + holder.job) > 0) holders_.push_back(holder);
    }
    return {};
  }

  // The labels that name jobs and pods, in the order in which they count.
  [[nodiscard]] std::vector<HolderLabels> AllHolders() const {
    std::vector<HolderLabels> all;
    std::string before;
    const auto add = [&](const std::string& job, const std::string& team, const std::string& more) {
      all.push_back({job, team, before + job + "!=\"\"" + more});
      before += job + "=\"\",";
    };
    for (const std::string& label : labels_.job) add(label, "", "");
    add("exported_pod", "exported_namespace", "");
    if (gauge_.names_pods) add("pod", "namespace", ",pod!~\".*dcgm-exporter.*\"");
    return all;
  }

  Result<void> ReadHolders() {
    if (holders_.empty()) {
      board_.notes.emplace_back("No label names the job or pod of a GPU, so teams and jobs are unknown.");
      board_.no_job = live_;
      return {};
    }
    BoardRow held;
    std::map<std::string, BoardRow> teams;
    std::vector<BoardRow> jobs;
    for (const HolderLabels& holder : holders_) {
      const BoardParts::Answers answers = TRY(AskHolder(holder));
      board_.team_count += BoardNumber(answers, "team_count") / 1000;
      board_.job_count += BoardNumber(answers, "job_count") / 1000;
      std::map<std::pair<std::string, std::string>, BoardRow> rows;
      for (const auto& [part, all] : answers) {
        for (const EngineSeries& series : all) {
          const std::string team(series.Label(holder.team));
          const std::string job(series.Label(holder.job));
          if (part == "all") Take(series, &held);
          if (part == "teams") Take(series, &teams[team]);
          if (part == "jobs") Take(series, &rows[{team, job}]);
        }
      }
      for (auto& [name, row] : rows) {
        row.team = name.first;
        row.job = name.second;
        jobs.push_back(std::move(row));
      }
    }
    std::vector<BoardRow> team_rows;
    for (auto& [name, row] : teams) {
      row.team = name;
      team_rows.push_back(std::move(row));
    }
    BoardRow other_jobs;
    board_.teams = WorstFirst(std::move(team_rows), held, &board_.other_teams);
    board_.jobs = WorstFirst(std::move(jobs), held, &other_jobs);
    board_.no_job = RestOf(live_, held);
    return {};
  }

  // One kind of holder: all its GPUs, those of its worst teams, and those of its worst jobs. One question each, because
  // VictoriaMetrics takes 16 KiB at most.
  Result<BoardParts::Answers> AskHolder(const HolderLabels& holder) {
    const std::string job = holder.team.empty() ? holder.job : holder.team + ", " + holder.job;
    const std::string readings = Newest(holder.match, models_ + ", " + job);
    const auto rows = [&](const std::string& by) {
      return fmt::format("({} and on ({}) topk({}, sum by ({}) ({} < bool {})))",
                         Phases(models_ + (by.empty() ? "" : ", " + by), readings), by, kBoardRows, by, readings,
                         Percent(question_.thresholds.idle_below));
    };
    BoardParts parts;
    parts.Add("all", Phases(models_, readings));
    parts.Add("teams", rows(holder.team));
    parts.Add("jobs", rows(job));
    parts.Add("team_count", fmt::format("count(count by ({}) ({}))", holder.team, readings));
    parts.Add("job_count", fmt::format("count(count by ({}) ({}))", job, readings));
    ++board_.questions;
    return parts.Ask(engine_, board_.at);
  }

  Engine& engine_;
  const BoardQuestion& question_;
  FleetBoard& board_;
  GaugeLabels labels_ = KnownGaugeLabels();
  UtilizationGauge gauge_;
  std::string id_;      // labels that name a GPU
  std::string models_;  // labels that name its model
  std::map<std::string, Rate> rates_;
  std::vector<HolderLabels> holders_;
  BoardRow live_;  // GPUs with a fresh reading
};

}  // namespace

Result<void> ReadGaugeBoard(Engine& engine, const BoardQuestion& question, FleetBoard* board) {
  return GaugeBoardReader(engine, question, board).Read();
}

}  // namespace idleburn
