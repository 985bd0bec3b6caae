#include "report/fleet_board_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "fleet/board_parts.h"
#include "report/display.h"
#include "report/fleet_json.h"
#include "report/json_values.h"
#include "text/figures.h"
#include "text/strings.h"
#include "text/table.h"
#include "text/time_zone.h"

namespace idleburn {
namespace {

constexpr int kBoardLines = 24;
constexpr int kMostShownJobs = 5;
constexpr int kMostNoteLines = 3;
// GPUs are printed with one decimal. Their unit is a thousandth, and that of Money a billionth.
constexpr std::int64_t kMilliGpu = 1'000'000;
constexpr std::int64_t kShownGpu = 100'000'000;

std::string BoardGpuText(Money gpus) { return Grouped(FormatMoney(gpus, 1)); }
std::string BoardGpuText(std::int64_t milli) { return BoardGpuText(Money::Nano(milli * kMilliGpu)); }

std::string AgeText(std::int64_t seconds) { return SecondsForPeople(static_cast<double>(seconds)); }

std::string BoardVerdict(const FleetBoard& board) {
  std::string gpus =
      fmt::format("{} of {} GPUs are idle", BoardGpuText(board.whole.gpus[0]), BoardGpuText(TotalOf(board.whole.gpus)));
  const std::string no_data = BoardGpuText(board.whole.gpus[kFleetUnobserved]);
  if (no_data != BoardGpuText(0)) gpus += ", " + no_data + " have no data";
  if (!board.whole.idle_per_hour) return gpus + ". The price is unknown.";
  return fmt::format("{} an hour burns idle (estimate): {}.", Amount(*board.whole.idle_per_hour, board.currency), gpus);
}

std::string BoardBasis(const FleetBoard& board, const BoardAge& age) {
  const std::string when = fmt::format("{}, {} ago", FormatUnixTime(board.at), AgeText(age.data_s));
  std::string basis = board.counter.empty() ? "Means of the 5 minutes up to " + when + ", from agents."
                                            : fmt::format("Newest readings of {} up to {}.", board.counter, when);
  if (!board.rate_source.empty()) basis += " Price: " + Printable(board.rate_source) + ".";
  return basis;
}

// A row of the table of teams, with its name.
struct NamedBoardRow {
  std::string name;
  BoardRow row;
};

std::string TeamName(const BoardRow& row, bool clusters) {
  const std::string team = row.team.empty() ? "(team not told)" : row.team;
  return clusters && !row.cluster.empty() ? team + " (" + row.cluster + ")" : team;
}

// Rows that sum to the whole: `shown` teams, all others, and the GPUs without a team.
std::vector<NamedBoardRow> BoardRowsOf(const FleetBoard& board, std::size_t shown) {
  const auto other = [&](const BoardRow& row) { return row.cluster != board.teams.front().cluster; };
  const bool clusters = std::any_of(board.teams.begin(), board.teams.end(), other);
  std::vector<NamedBoardRow> rows;
  BoardRow rest = board.other_teams;
  for (std::size_t i = 0; i < board.teams.size(); ++i) {
    if (i < shown) {
      rows.push_back({TeamName(board.teams[i], clusters), board.teams[i]});
    } else {
      AddRow(board.teams[i], &rest);
    }
  }
  const std::int64_t others = board.team_count - static_cast<std::int64_t>(rows.size());
  if (others > 0) rows.push_back({fmt::format("{} other {}", others, others == 1 ? "team" : "teams"), rest});
  if (AnyWithoutJob(board)) rows.push_back({"no known job", board.no_job});
  if (TotalOf(board.lost.gpus) > 0) rows.push_back({"no sample", board.lost});
  return rows;
}

// The columns of figures, in the order in which a narrow terminal keeps them.
constexpr std::array<std::size_t, kFleetPhaseCount> kBoardOrder = {0, kFleetUnobserved, 1, 2, 3};
constexpr std::array<const char*, kFleetPhaseCount> kBoardHeaders = {"idle", "no data", "underutil.", "productive",
                                                                     "bound"};

// Rounds each column so that it adds up to its rounded sum. The result is by row; the last row is the sum.
std::vector<std::vector<Money>> RoundedRows(const std::vector<NamedBoardRow>& rows, const FleetBoard& board) {
  const std::int64_t cent = MinorUnit(board.currency);
  std::vector<std::vector<Money>> cells(rows.size() + 1);
  const auto column = [&](const std::vector<Money>& exact, std::int64_t unit) {
    std::int64_t sum = 0;
    for (const Money& part : exact) sum += part.nano();
    const Money total = Money::Nano((sum + unit / 2) / unit * unit);
    const std::vector<Money> parts = RoundedTo(total, exact, unit);
    for (std::size_t i = 0; i < rows.size(); ++i) cells[i].push_back(parts[i]);
    cells.back().push_back(total);
  };
  for (const std::size_t phase : kBoardOrder) {
    std::vector<Money> exact;
    for (const NamedBoardRow& each : rows) exact.push_back(Money::Nano(each.row.gpus[phase] * kMilliGpu));
    column(exact, kShownGpu);
  }
  std::vector<Money> money;
  for (const NamedBoardRow& each : rows) money.push_back(each.row.idle_per_hour.value_or(Money()));
  column(money, cent);
  return cells;
}

std::vector<TableColumn> BoardColumns(const FleetBoard& board, const char* first) {
  std::vector<TableColumn> columns(4);
  columns[0].header = first;
  columns[1].header = "GPUs";
  columns[2].header = "idle";
  columns[3].header = "idle " + Printable(board.currency) + "/h";
  for (std::size_t i = 1; i < columns.size(); ++i) columns[i].align = TableColumn::Align::kRight;
  return columns;
}

std::string BoardMoneyText(const std::optional<Money>& money, const FleetBoard& board) {
  return money ? Grouped(FormatMoney(*money, MinorUnitDigits(board.currency))) : "?";
}

std::string TeamsTable(const FleetBoard& board, std::size_t shown, int columns) {
  const std::vector<NamedBoardRow> rows = BoardRowsOf(board, shown);
  const std::vector<std::vector<Money>> cells = RoundedRows(rows, board);
  std::vector<TableColumn> header = BoardColumns(board, "team");
  for (std::size_t i = 1; i < kBoardHeaders.size(); ++i) {
    header.push_back({kBoardHeaders[i], TableColumn::Align::kRight, false, true});
  }
  std::vector<TableRow> table;
  const auto add = [&](const std::string& name, const std::vector<Money>& row) {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < kFleetPhaseCount; ++i) sum += row[i].nano();
    const std::optional<Money> money = board.whole.idle_per_hour ? std::optional(row.back()) : std::nullopt;
    TableRow line = {Shortened(Printable(name), std::clamp(columns / 4, 12, 28)), BoardGpuText(Money::Nano(sum)),
                     BoardGpuText(row[0]), BoardMoneyText(money, board)};
    for (std::size_t i = 1; i < kFleetPhaseCount; ++i) line.push_back(BoardGpuText(row[i]));
    table.push_back(std::move(line));
  };
  add("all", cells.back());
  for (std::size_t i = 0; i < rows.size(); ++i) add(rows[i].name, cells[i]);
  return LayOutTable(header, table, columns, 0);
}

std::string JobsTable(const FleetBoard& board, std::size_t shown, int columns) {
  std::vector<TableColumn> header = BoardColumns(board, "worst jobs");
  header.push_back({"team", TableColumn::Align::kLeft, false, true});
  header.push_back({"user", TableColumn::Align::kLeft, false, true});
  std::vector<TableRow> table;
  const auto name = [&](const std::string& text) {
    return Shortened(Printable(text.empty() ? "-" : text), std::clamp(columns / 4, 12, 28));
  };
  for (std::size_t i = 0; i < shown; ++i) {
    const BoardRow& job = board.jobs[i];
    table.push_back({name(job.job), BoardGpuText(TotalOf(job.gpus)), BoardGpuText(job.gpus[0]),
                     BoardMoneyText(job.idle_per_hour, board), name(job.team), name(job.user)});
  }
  return LayOutTable(header, table, columns, 0);
}

void AppendWrapped(const std::string& text, int columns, std::size_t most, std::vector<std::string>* lines) {
  for (std::string& line : WrapWords(text, columns)) {
    if (lines->size() < most) lines->push_back(std::move(line));
  }
}

std::string JoinedLines(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

nlohmann::ordered_json BoardGpusJson(const BoardGpus& gpus) {
  nlohmann::ordered_json json;
  for (std::size_t p = 0; p < kFleetPhaseCount; ++p) {
    const std::string name(p == kFleetUnobserved ? "no_data" : kFleetPhaseNames[p]);
    json[name] = static_cast<double>(gpus[p]) / 1000;
  }
  json["total"] = static_cast<double>(TotalOf(gpus)) / 1000;
  return json;
}

nlohmann::ordered_json BoardRowJson(const BoardRow& row, const FleetBoard& board, bool team, bool job) {
  nlohmann::ordered_json json;
  if (job) json["job"] = Printable(row.job);
  if (team) {
    json["cluster"] = Printable(row.cluster);
    json["team"] = Printable(row.team);
  }
  if (job) {
    json["user"] = Printable(row.user);
    json["experiment"] = Printable(row.experiment);
  }
  json["gpus"] = BoardGpusJson(row.gpus);
  PutMoney(json, "idle_cost_per_hour", row.idle_per_hour, board.currency);
  return json;
}

}  // namespace

std::string FleetBoardText(const FleetBoard& board, const BoardAge& age, int columns) {
  columns = std::max(columns, 40);
  std::vector<std::string> head;
  if (!age.why.empty()) {
    AppendWrapped("STALE for " + AgeText(age.stale_s) + ": " + Printable(age.why), columns, 3, &head);
  }
  AppendWrapped(Printable(BoardVerdict(board)), columns, 6, &head);
  AppendWrapped(BoardBasis(board, age), columns, 9, &head);
  std::vector<std::string> notes;
  for (const std::string& note : board.notes) AppendWrapped(Printable(note), columns, kMostNoteLines, &notes);
  // What is left for teams and jobs: less two empty lines, two headers, the sum, and up to three rows without a team.
  const auto used = static_cast<int>(head.size() + notes.size()) + 2 + 2 + 1 + 3;
  const int room = std::max(kBoardLines - 1 - used, 4);  // the last line is the screen's
  const auto worst = std::count_if(board.jobs.begin(), board.jobs.end(),
                                   [](const BoardRow& job) { return BoardGpuText(job.gpus[0]) != BoardGpuText(0); });
  const int jobs = std::min({kMostShownJobs, static_cast<int>(worst), room / 2});
  const int teams = std::min(static_cast<int>(board.teams.size()), room - jobs);
  std::string text = JoinedLines(head) + "\n" + TeamsTable(board, static_cast<std::size_t>(teams), columns);
  if (jobs > 0) text += "\n" + JobsTable(board, static_cast<std::size_t>(jobs), columns);
  return text + JoinedLines(notes);
}

std::string FleetBoardJson(const FleetBoard& board, const BoardAge& age) {
  auto json = BeginDocument<nlohmann::ordered_json>("idleburn.fleet_board/1", board.ids);
  json["time"] = FormatUnixTime(board.at);
  json["age_s"] = age.data_s;
  json["stale_s"] = age.why.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(age.stale_s);
  json["stale_reason"] = TextOrNull<nlohmann::ordered_json>(age.why);
  json["engine"] = EngineJson<nlohmann::ordered_json>(board.engine);
  json["source"] = board.counter.empty() ? "agents" : "exporter";
  json["counter"] = TextOrNull<nlohmann::ordered_json>(board.counter);
  json["gpus"] = BoardGpusJson(board.whole.gpus);
  json["currency"] = board.currency;
  json["rate_source"] = TextOrNull<nlohmann::ordered_json>(board.rate_source);
  PutMoney(json, "cost_per_hour", board.cost_per_hour, board.currency);
  PutMoney(json, "idle_cost_per_hour", board.whole.idle_per_hour, board.currency);
  json["team_count"] = board.team_count;
  json["teams"] = nlohmann::ordered_json::array();
  for (const BoardRow& row : board.teams) json["teams"].push_back(BoardRowJson(row, board, true, false));
  json["other_teams"] = BoardRowJson(board.other_teams, board, false, false);
  json["no_job"] = BoardRowJson(board.no_job, board, false, false);
  json["no_sample"] = {{"gpus", static_cast<double>(TotalOf(board.lost.gpus)) / 1000}};
  json["job_count"] = board.job_count;
  json["jobs"] = nlohmann::ordered_json::array();
  for (const BoardRow& row : board.jobs) json["jobs"].push_back(BoardRowJson(row, board, true, true));
  json["notes"] = nlohmann::ordered_json::array();
  for (const std::string& note : board.notes) json["notes"].push_back(Printable(note));
  json["questions"] = board.questions;
  return JsonLine(json) + "\n";
}

}  // namespace idleburn
