#include "report/history_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "audit/keep_run.h"
#include "base/money.h"
#include "history/runs.h"
#include "report/display.h"
#include "report/json_values.h"
#include "report/ledger_output.h"
#include "report/report_page.h"
#include "report/view_context.h"
#include "text/figures.h"
#include "text/json.h"
#include "text/number.h"
#include "text/strings.h"
#include "text/table.h"
#include "text/time_zone.h"

// What the history prints: lists of runs, one run, and the JSON of history and ledger.
//
// Figures are those that were kept when a run ended. They are never priced or classified again here, because a past
// report must not change with a price list. Columns of tables and exports are rows of the tables below, so that text,
// CSV and Parquet cannot drift apart.
//
// A figure that is unknown is "unknown" for people, an empty cell in exports and null in JSON.

namespace idleburn {
namespace {

// How a run fills a cell. Columns are rows of tables, so that a new column is one line.
using RunCell = std::string (*)(const HistoryRun&);

// The word of the state, the same in all formats.
std::string StateText(const HistoryRun& run) {
  return std::string(kRunStateNames[static_cast<std::size_t>(run.state)]);
}

// How the run ended, as it is known: "exit 0", "failed 1", "signal 9", "interrupted", "running". Only "ended" for an
// audit and a recording, which run no command.
std::string EndText(const HistoryRun& run) {
  const std::string& exit = run.exit;
  if (run.state != RunState::kEnded || exit.empty()) return StateText(run);
  if (exit.starts_with("exit ") && exit != "exit 0") return "failed " + exit.substr(5);
  // "signal 11 (SIGSEGV), core dumped" is too wide for a column.
  return std::string(Trim(std::string_view(exit).substr(0, exit.find_first_of("(,"))));
}

// The time from start to end. Absent for a run that did not end, or whose end is not known.
std::optional<Nanos> DurationOf(const HistoryRun& run) {
  return run.ended ? std::optional(*run.ended - run.started) : std::nullopt;
}

// GPU-hours of an export. Nine decimals resolve four microseconds.
std::string ExactHours(const std::optional<std::int64_t>& ns) {
  return ns ? fmt::format("{:.9f}", InHours(*ns)) : std::string();
}

// An amount with all its decimals, for programs. Empty if unknown.
std::string ExactMoneyText(const std::optional<std::int64_t>& nano) {
  return nano ? FormatExact(Money::Nano(*nano)) : std::string();
}

// Empty if unknown.
std::string TimeText(const std::optional<Instant>& time) { return time ? FormatRfc3339(*time) : std::string(); }

// "key=value" pairs, separated by spaces.
std::string LabelText(const std::map<std::string, std::string>& labels) {
  std::string text;
  for (const auto& [key, value] : labels) text += (text.empty() ? "" : " ") + key + "=" + value;
  return text;
}

// "2026-11-21 20:15" in UTC. Seconds would take the width of the command.
std::string MinuteText(Instant time) {
  std::string text = FormatRfc3339(time).substr(0, 16);
  std::replace(text.begin(), text.end(), 'T', ' ');
  return text;
}

// An amount in the run's own currency.
std::string MoneyText(const HistoryRun& run, const std::optional<std::int64_t>& nano) {
  return nano ? Amount(Money::Nano(*nano), run.figures.currency) : "unknown";
}

// "$0.04 (37.0 %)"; the share alone if there is no price. The share is of observed time.
std::string WasteText(const HistoryRun& run) {
  if (!run.figures.waste_share) return "unknown";
  const std::string share = PercentText(*run.figures.waste_share);
  return run.figures.waste_nano ? MoneyText(run, run.figures.waste_nano) + " (" + share + ")" : share;
}

// The number of GPUs, or "unknown" for a run that ended before a reading.
std::string GpusText(const HistoryRun& run) {
  return run.figures.gpus ? std::to_string(*run.figures.gpus) : std::string("unknown");
}

std::string ShownHours(const HistoryRun& run) {
  return run.figures.window_ns ? ThreeDigits(InHours(*run.figures.window_ns)) : "unknown";
}

// What the run was: its command, or for an audit its first input, or at least its kind.
std::string WhatText(const HistoryRun& run) {
  if (!run.command.empty()) return run.command;
  return run.inputs.empty() ? run.kind : run.inputs.front().path;
}

// A column of the table for people. The id stands before all of them, as long as the other ids require.
struct ListColumn {
  std::string_view header;
  TableColumn::Align align;
  bool wraps;
  bool expendable;
  RunCell text;
};
// The columns after the id. Project and GPUs go first where a terminal is narrow.
constexpr auto kListColumns = std::to_array<ListColumn>({
    {"started (UTC)", kLeft, false, false, [](const HistoryRun& run) { return MinuteText(run.started); }},
    {"project", kLeft, false, true, [](const HistoryRun& run) { return run.project; }},
    {"command", kLeft, true, false, WhatText},
    {"duration", kRight, false, false,
     [](const HistoryRun& run) { return DurationOf(run) ? DurationForPeople(*DurationOf(run)) : "unknown"; }},
    {"GPUs", kRight, false, true, GpusText},
    {"GPU-hours", kRight, false, false, ShownHours},
    {"cost", kRight, false, false, [](const HistoryRun& run) { return MoneyText(run, run.figures.cost_nano); }},
    {"waste", kRight, false, false, WasteText},
    {"state", kLeft, false, false, EndText},
});

// A column of the CSV and Parquet exports.
struct CsvField {
  std::string_view name;
  std::string_view sql_type;
  RunCell text;
};
// SQL types of the columns.
constexpr std::string_view kText = "VARCHAR";
constexpr std::string_view kTime = "TIMESTAMP";
constexpr std::string_view kReal = "DOUBLE";
constexpr std::string_view kCount = "BIGINT";
constexpr std::string_view kMoney = "DECIMAL(38,9)";
// Names and types are part of the interface: scripts and databases read them.
constexpr auto kCsvFields = std::to_array<CsvField>({
    {"id", kText, [](const HistoryRun& run) { return run.id; }},
    {"kind", kText, [](const HistoryRun& run) { return run.kind; }},
    {"state", kText, StateText},
    {"started", kTime, [](const HistoryRun& run) { return TimeText(run.started); }},
    {"ended", kTime, [](const HistoryRun& run) { return TimeText(run.ended); }},
    {"host", kText, [](const HistoryRun& run) { return run.host; }},
    {"project", kText, [](const HistoryRun& run) { return run.project; }},
    {"command", kText, [](const HistoryRun& run) { return run.command; }},
    {"exit", kText, [](const HistoryRun& run) { return run.exit; }},
    {"gpus", kCount, [](const HistoryRun& run) { return run.figures.gpus ? std::to_string(*run.figures.gpus) : ""; }},
    {"gpu_models", kText, [](const HistoryRun& run) { return run.figures.gpu_models; }},
    {"window_gpu_hours", kReal, [](const HistoryRun& run) { return ExactHours(run.figures.window_ns); }},
    {"observed_gpu_hours", kReal, [](const HistoryRun& run) { return ExactHours(run.figures.observed_ns); }},
    {"unobserved_gpu_hours", kReal, [](const HistoryRun& run) { return ExactHours(run.figures.unobserved_ns); }},
    {"idle_gpu_hours", kReal, [](const HistoryRun& run) { return ExactHours(run.figures.idle_ns); }},
    {"underutilized_gpu_hours", kReal, [](const HistoryRun& run) { return ExactHours(run.figures.underutilized_ns); }},
    {"productive_gpu_hours", kReal, [](const HistoryRun& run) { return ExactHours(run.figures.productive_ns); }},
    {"compute_bound_gpu_hours", kReal, [](const HistoryRun& run) { return ExactHours(run.figures.compute_bound_ns); }},
    {"currency", kText, [](const HistoryRun& run) { return run.figures.currency; }},
    {"rate_per_gpu_hour", kMoney, [](const HistoryRun& run) { return ExactMoneyText(run.figures.rate_nano); }},
    {"rate_source", kText, [](const HistoryRun& run) { return run.figures.rate_source; }},
    {"cost", kMoney, [](const HistoryRun& run) { return ExactMoneyText(run.figures.cost_nano); }},
    {"waste", kMoney, [](const HistoryRun& run) { return ExactMoneyText(run.figures.waste_nano); }},
    {"work_unit", kText, [](const HistoryRun& run) { return run.figures.work_unit; }},
    {"work", kReal, [](const HistoryRun& run) { return run.figures.work ? fmt::format("{}", *run.figures.work) : ""; }},
    {"recording", kText, [](const HistoryRun& run) { return run.recording; }},
    {"experiments", kText, [](const HistoryRun& run) { return LabelText(run.experiments); }},
    {"tags", kText, [](const HistoryRun& run) { return LabelText(run.tags); }},
    {"version", kText, [](const HistoryRun& run) { return run.version; }},
    {"parent", kText, [](const HistoryRun& run) { return run.parent; }},
});

// One row per run, in the order of the listing. Ids are shortened together, so that each is unique in the list.
std::vector<TableRow> ListRows(const HistoryListing& listing) {
  const std::vector<std::string> ids = ShortIds(listing.runs);
  std::vector<TableRow> rows;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    TableRow row = {ids[i]};
    for (const ListColumn& column : kListColumns) row.push_back(column.text(listing.runs[i]));
    rows.push_back(std::move(row));
  }
  return rows;
}

// Runs without a known cost may or may not lie within a bound, so they are counted and not listed.
std::string UnknownCost(std::size_t runs) {
  return fmt::format("{} more {} of unknown cost, which --cost leaves out", runs, runs == 1 ? "is" : "are");
}

// "3 runs: 4.2 GPU-hours, $12.34, 5.00 EUR; 7 more match, --limit shows them". Currencies have no sum. A run inside
// another listed run is not added again, because its GPU time is part of that run. Unknown figures are counted beside
// the sum, so that the sum is not taken for all.
std::string SumLine(const HistoryListing& listing) {
  std::int64_t window_ns = 0;
  std::map<std::string, std::int64_t> costs;
  std::size_t unmeasured = 0;
  std::size_t unpriced = 0;
  std::size_t parts = 0;
  std::set<std::string> shown;
  for (const HistoryRun& run : listing.runs) shown.insert(run.id);
  for (const HistoryRun& run : listing.runs) {
    const auto within = listing.within.find(run.id);
    // The time of this run is counted by a run that is listed too.
    if (within != listing.within.end() && shown.count(within->second) > 0) {
      ++parts;
      continue;
    }
    window_ns += run.figures.window_ns.value_or(0);
    unmeasured += run.figures.window_ns ? 0U : 1U;
    if (run.figures.cost_nano) costs[run.figures.currency] += *run.figures.cost_nano;
    unpriced += run.figures.cost_nano ? 0U : 1U;
  }
  const std::size_t count = listing.runs.size();
  const std::size_t added = count - parts;
  const std::string hours = unmeasured == added ? "unknown GPU-hours" : GpuHoursForPeople(InHours(window_ns));
  std::string line = fmt::format("{} run{}: {}", count, count == 1 ? "" : "s", hours);
  if (unmeasured > 0 && unmeasured < added) line += fmt::format(" ({} without known ones)", unmeasured);
  for (const auto& [currency, nano] : costs) line += ", " + Amount(Money::Nano(nano), currency);
  if (unpriced > 0) line += fmt::format(", {} without a known cost", unpriced);
  if (parts > 0) {
    line += fmt::format("; {} ran inside another run of this list and {} not added again", parts,
                        parts == 1 ? "is" : "are");
  }
  if (listing.unknown_cost > 0) line += fmt::format("; {}", UnknownCost(listing.unknown_cost));
  if (listing.matched > count) line += fmt::format("; {} more match, --limit shows them", listing.matched - count);
  return line + "\n";
}

// An empty history and a query without a match need different next steps.
std::string NoneMatches(const HistoryListing& listing) {
  if (listing.empty) return "no run is kept yet; idleburn run -- CMD keeps one\n";
  const std::string more = listing.unknown_cost > 0 ? "; " + UnknownCost(listing.unknown_cost) : "";
  return "no run matches in " + Printable(listing.file) + more + "\n";
}

// The header of the table, shared by text and Markdown.
std::vector<TableColumn> ShownColumns() {
  std::vector<TableColumn> columns = {{"id"}};
  for (const ListColumn& column : kListColumns) {
    columns.push_back({std::string(column.header), column.align, column.wraps, column.expendable});
  }
  return columns;
}

}  // namespace

Result<std::map<std::string, std::string>> WithinOf(const SqliteDatabase& history,
                                                    const std::vector<HistoryRun>& runs) {
  std::map<std::string, std::string> by_id;
  // Most histories have no nested runs. Reading all runs would then be in vain.
  if (std::all_of(runs.begin(), runs.end(), [](const HistoryRun& run) { return run.parent.empty(); })) return by_id;
  const std::vector<HistoryRun> all = TRY(ListRuns(history));
  const std::vector<std::string> within = CountedWithin(runs, all);
  for (std::size_t i = 0; i < within.size(); ++i) {
    if (!within[i].empty()) by_id[runs[i].id] = within[i];
  }
  return by_id;
}

// Steps of 4 keep the column stable: one more run seldom widens it.
std::vector<std::string> ShortIds(const std::vector<HistoryRun>& runs) {
  for (std::size_t length = 8;; length += 4) {
    std::set<std::string> starts;
    std::vector<std::string> ids;
    bool whole = true;
    for (const HistoryRun& run : runs) {
      ids.push_back(run.id.substr(0, length));
      starts.insert(ids.back());
      whole = whole && run.id.size() <= length;
    }
    // Equal ids cannot be told apart by any length, so the search ends at whole ids.
    if (starts.size() == runs.size() || whole) return ids;
  }
}

std::string HistoryText(const HistoryListing& listing, int width) {
  if (listing.runs.empty()) return NoneMatches(listing);
  return LayOutTable(ShownColumns(), ListRows(listing), width, 0) + "\n" + SumLine(listing);
}

// The same table, without a width.
std::string HistoryMarkdown(const HistoryListing& listing) {
  if (listing.runs.empty()) return NoneMatches(listing);
  std::string text;
  AppendMarkdownRows(ShownColumns(), ListRows(listing), &text);
  return text + "\n" + SumLine(listing);
}

std::vector<CsvColumn> HistoryColumns() {
  std::vector<CsvColumn> columns;
  for (const CsvField& field : kCsvFields) columns.push_back({std::string(field.name), field.sql_type});
  return columns;
}

// Programs join exports over time, so the columns stay the same for any query.
std::string HistoryCsv(const HistoryListing& listing) {
  std::string text = ListText(kCsvFields, ",", &CsvField::name) + "\n";
  for (const HistoryRun& run : listing.runs) {
    std::string line;
    for (const CsvField& field : kCsvFields) line += (line.empty() ? "" : ",") + CsvCell(field.text(run));
    text += line + "\n";
  }
  return text;
}

namespace {

// The findings kept with the run. Shares are of observed time. A run without a finding has no table.
void AppendCauses(const HistoryRun& run, int width, std::string& text) {
  std::vector<TableRow> rows;
  for (const KeptFinding& f : run.figures.findings) {
    rows.push_back(
        {f.cause, f.status, PercentText(f.share), ThreeDigits(InHours(f.gpu_ns)), MoneyText(run, f.cost_nano)});
  }
  if (rows.empty()) return;
  const std::vector<TableColumn> columns = {
      {"why"}, {"status"}, {"of observed time", kRight}, {"GPU-hours", kRight}, {"cost", kRight}};
  text += "\n" + LayOutTable(columns, rows, width, 2);
}

// The recommendations that have a figure. Advice without one is left out: the report of the run lists it.
void AppendAdvice(const HistoryRun& run, int width, std::string& text) {
  std::vector<TableRow> rows;
  for (const KeptAdvice& a : run.figures.advice) {
    if (!a.expected) continue;
    rows.push_back({a.id, a.cause.empty() ? a.axis : a.cause, PercentText(*a.expected),
                    PercentInterval(a.low.value_or(0), a.high.value_or(0)), MoneyText(run, a.cost_nano)});
  }
  if (rows.empty()) return;
  const std::vector<TableColumn> columns = {
      {"what would help"}, {"for"}, {"expected", kRight}, {"between", kRight}, {"saves", kRight}};
  text += "\n" + LayOutTable(columns, rows, width, 2);
}

// The first sentence: cost, hours and waste, or what of them is unknown. The price follows below, with its source and
// date.
std::string RunHeadline(const HistoryRun& run) {
  const RunFigures& f = run.figures;
  if (!f.window_ns) return "No GPU-hours are known of this run.";
  const std::string hours = GpuHoursForPeople(InHours(*f.window_ns));
  if (!f.cost_nano) return hours + ", of unknown cost; waste: " + WasteText(run) + ".";
  return "It cost " + MoneyText(run, f.cost_nano) + " for " + hours + "; waste: " + WasteText(run) + ".";
}

}  // namespace

std::string RunText(const HistoryRun& run, int width) {
  const RunFigures& f = run.figures;
  std::string text = RunHeadline(run) + "\n\n";
  // A fact that is not known has no line.
  const auto line = [&text](std::string_view key, const std::string& value) {
    if (!value.empty()) text += fmt::format("  {:<12} {}\n", key, Printable(value));
  };
  line("id", run.id);
  line("state", StateText(run) + (run.exit.empty() ? "" : ", " + run.exit));
  line("command", WhatText(run));
  line("started", TimeText(run.started));
  line("ended", TimeText(run.ended));
  line("project", run.project);
  line("host", run.host);
  line("GPUs", f.gpus ? GpusText(run) + (f.gpu_models.empty() ? "" : " (" + f.gpu_models + ")") : "");
  if (f.rate_nano) {
    const std::string date =
        f.rate_as_of_ns ? " of " + TimeText(Instant::FromNanos(*f.rate_as_of_ns)).substr(0, 10) : "";
    line("price", UnitPrice(Money::Nano(*f.rate_nano), f.currency) + " a GPU-hour (" + f.rate_source + date + ")");
  } else if (f.cost_nano) {
    line("price", "several rates in " + f.currency + " (" + f.rate_source + ")");
  }
  if (run.forecast && run.forecast->hours) {
    line("forecast", fmt::format("{} ({})", SecondsForPeople(*run.forecast->hours * 3600), run.forecast->basis));
  }
  if (f.work) line("work", fmt::format("{} {}s", ThreeDigits(*f.work), f.work_unit));
  line("experiment", LabelText(run.experiments));
  line("tags", LabelText(run.tags));
  line("inside run", run.parent);
  line("recording", run.recording);
  for (const KeptInput& input : run.inputs) line("input", input.path);
  AppendCauses(run, width, text);
  AppendAdvice(run, width, text);
  return text;
}

// The JSON of the history and of the ledger (docs/json.md). Every document starts with its schema and ids, so that a
// program can join it with other documents. Unknown values are null.

namespace {

using Json = nlohmann::ordered_json;

// The history stores amounts as integers in nano-units.
std::optional<Money> MoneyOf(const std::optional<std::int64_t>& nano) {
  return nano ? std::optional(Money::Nano(*nano)) : std::nullopt;
}
Json GpuHoursOrNull(const std::optional<std::int64_t>& ns) { return ns ? Json(InHours(*ns)) : Json(); }

// The price and cost that were valid when the run ended. Nothing is priced again here. `rates` holds the prices of a
// run with several, in the form that --price takes.
Json KeptCostJson(const RunFigures& f) {
  Json cost;
  cost["currency"] = TextOrNull<Json>(f.currency);
  PutMoney(cost, "rate_per_gpu_hour", MoneyOf(f.rate_nano), f.currency);
  cost["rate_source"] = TextOrNull<Json>(f.rate_source);
  cost["rates"] = TextOrNull<Json>(f.rates);
  cost["rate_as_of"] = f.rate_as_of_ns ? Json(FormatRfc3339(Instant::FromNanos(*f.rate_as_of_ns))) : Json();
  PutMoney(cost, "total", MoneyOf(f.cost_nano), f.currency);
  PutMoney(cost, "waste", MoneyOf(f.waste_nano), f.currency);
  cost["waste_share"] = OrNull<Json>(f.waste_share);
  return cost;
}

// The kept figures of a run: hours, phases, cost, work, findings and recommendations. Hours are doubles here: the exact
// nanoseconds are in the history itself.
void PutFigures(Json& json, const RunFigures& f) {
  json["gpus"] = OrNull<Json>(f.gpus);
  json["gpu_models"] = TextOrNull<Json>(f.gpu_models);
  json["gpu_hours"] = {{"window", GpuHoursOrNull(f.window_ns)},
                       {"observed", GpuHoursOrNull(f.observed_ns)},
                       {"unobserved", GpuHoursOrNull(f.unobserved_ns)},
                       {"effective", f.effective_ns ? Json(InHours(*f.effective_ns)) : Json()}};
  json["phases"] = {{"idle", GpuHoursOrNull(f.idle_ns)},
                    {"underutilized", GpuHoursOrNull(f.underutilized_ns)},
                    {"productive", GpuHoursOrNull(f.productive_ns)},
                    {"compute_bound", GpuHoursOrNull(f.compute_bound_ns)}};
  json["cost"] = KeptCostJson(f);
  json["work"] = {{"unit", TextOrNull<Json>(f.work_unit)}, {"count", OrNull<Json>(f.work)}};
  json["findings"] = Json::array();
  for (const KeptFinding& finding : f.findings) {
    Json row = {{"cause", finding.cause},
                {"status", finding.status},
                {"share", finding.share},
                {"gpu_hours", GpuHoursOrNull(finding.gpu_ns)}};
    PutMoney(row, "cost", MoneyOf(finding.cost_nano), f.currency);
    json["findings"].push_back(std::move(row));
  }
  json["recommendations"] = Json::array();
  for (const KeptAdvice& advice : f.advice) {
    Json row = {{"id", advice.id}, {"axis", advice.axis}, {"cause", TextOrNull<Json>(advice.cause)}};
    row["saving"] = !advice.expected ? Json()
                                     : Json{{"low", OrNull<Json>(advice.low)},
                                            {"expected", *advice.expected},
                                            {"high", OrNull<Json>(advice.high)}};
    PutMoney(row, "saving_cost", MoneyOf(advice.cost_nano), f.currency);
    json["recommendations"].push_back(std::move(row));
  }
}

// Pairs as objects: a label may be any text, so it cannot be a key of the document.
Json LabelsJson(const std::map<std::string, std::string>& labels) {
  Json json = Json::array();
  for (const auto& [key, value] : labels) json.push_back({{"key", Printable(key)}, {"value", Printable(value)}});
  return json;
}

// One kept run. `counted_in` names the run whose GPU time includes this one, so that a program does not add both.
// `folder` and `command` are as they were when the run began.
Json RunJson(const HistoryRun& run, const HistoryListing& listing) {
  Json json;
  json["id"] = run.id;
  PutIds(json, IdsOfKept(run));
  json["kind"] = run.kind;
  json["state"] = kRunStateNames[static_cast<std::size_t>(run.state)];
  json["started"] = FormatRfc3339(run.started);
  json["ended"] = TimeOrNull<Json>(run.ended);
  json["duration_s"] = DurationOf(run) ? Json(InSeconds(*DurationOf(run))) : Json();
  json["end_state"] = EndText(run);
  json["host"] = TextOrNull<Json>(run.host);
  json["command"] = TextOrNull<Json>(run.command);
  json["folder"] = TextOrNull<Json>(run.folder);
  json["project"] = TextOrNull<Json>(run.project);
  json["exit"] = TextOrNull<Json>(run.exit);
  json["recording"] = TextOrNull<Json>(run.recording);
  json["version"] = TextOrNull<Json>(run.version);
  json["parent"] = TextOrNull<Json>(run.parent);
  const auto within = listing.within.find(run.id);
  json["counted_in"] = within == listing.within.end() ? Json() : Json(within->second);
  PutFigures(json, run.figures);
  json["forecast"] = run.forecast ? ForecastJson<Json>(run) : Json();
  json["inputs"] = Json::array();
  for (const KeptInput& input : run.inputs) {
    json["inputs"].push_back({{"path", Printable(input.path)}, {"sha256", TextOrNull<Json>(input.sha256)}});
  }
  json["experiments"] = LabelsJson(run.experiments);
  json["tags"] = LabelsJson(run.tags);
  return json;
}

// One entry of the ledger exactly as it was written: a claim, a verdict or a correction. The ledger is append-only, so
// its entries are evidence, and nothing of them is left out.
Json EntryJson(const LedgerRow& row) {
  Json json;
  json["kind"] = row.kind;
  json["row"] = row.row;
  json["written"] = FormatRfc3339(row.written);
  json["tool"] = Printable(row.tool);
  json["claim"] = row.claim;
  json["boundary"] = TextOrNull<Json>(row.boundary);
  json["unit"] = TextOrNull<Json>(row.unit);
  json["measure"] = TextOrNull<Json>(row.measure);
  json["verdict"] = TextOrNull<Json>(row.verdict);
  json["plan"] = !row.retrospective ? Json() : Json(*row.retrospective != 0 ? "retrospective" : "claimed");
  json["predicted"] = OrNull<Json>(row.predicted);
  json["bound"] = OrNull<Json>(row.bound);
  json["saving"] =
      !row.fraction
          ? Json()
          : Json{{"fraction", *row.fraction}, {"low", OrNull<Json>(row.low)}, {"high", OrNull<Json>(row.high)}};
  json["avoided_gpu_seconds"] = OrNull<Json>(row.avoided_gpu_seconds);
  json["currency"] = TextOrNull<Json>(row.currency);
  PutMoney(json, "cashable", MoneyOf(row.cashable_nano), row.currency);
  json["freed_gpu_hours"] = OrNull<Json>(row.freed_gpu_hours);
  json["corrects"] = OrNull<Json>(row.corrects);
  json["note"] = TextOrNull<Json>(row.note);
  json["inputs"] = Json::array();
  for (const LedgerInput& input : row.inputs) {
    json["inputs"].push_back(
        {{"side", input.side}, {"name", Printable(input.name)}, {"sha256", TextOrNull<Json>(input.sha256)}});
  }
  return json;
}

// Where one claim stands now, after all its entries. `lost` is when a verified saving was gone again.
Json LineJson(const LedgerLine& line) {
  Json json;
  json["claim"] = line.claim;
  json["standing"] = kStandingNames[static_cast<std::size_t>(line.standing)];
  json["measure"] = TextOrNull<Json>(line.measure);
  json["boundary"] = TextOrNull<Json>(line.boundary);
  json["claimed"] = FormatRfc3339(line.claimed);
  json["judged"] = TimeOrNull<Json>(line.judged);
  json["lost"] = TimeOrNull<Json>(line.lost);
  json["verdict"] = TextOrNull<Json>(line.verdict);
  json["predicted"] = OrNull<Json>(line.predicted);
  json["saving"] =
      !line.fraction
          ? Json()
          : Json{{"fraction", *line.fraction}, {"low", OrNull<Json>(line.low)}, {"high", OrNull<Json>(line.high)}};
  json["currency"] = TextOrNull<Json>(line.currency);
  PutMoney(json, "cashable", MoneyOf(line.cashable_nano), line.currency);
  json["freed_gpu_hours"] = OrNull<Json>(line.freed_gpu_hours);
  return json;
}

// Sums by standing and currency. Claims without a currency have no amount, so their cash is null; their freed hours
// count. Currencies have no common sum, so each has a row.
Json TotalsJson(const LedgerView& view) {
  Json json = Json::array();
  for (const auto& [standing, by_currency] : view.totals) {
    for (const auto& [currency, total] : by_currency) {
      Json row;
      row["standing"] = kStandingNames[static_cast<std::size_t>(standing)];
      row["claims"] = total.lines;
      row["currency"] = TextOrNull<Json>(currency);
      PutMoney(row, "cashable",
               currency.empty() ? std::optional<Money>() : std::optional(Money::Nano(total.cashable_nano)), currency);
      row["freed_gpu_hours"] = total.freed_gpu_hours;
      json.push_back(std::move(row));
    }
  }
  return json;
}

// Predicted against realised for one kind of change. `pairs` counts claims that have both figures; the means are over
// those. `recovered_share` is what later estimates expect of this kind of change.
Json LeverJson(const LeverOutcome& lever, const RecoveredShare& share) {
  Json json;
  json["measure"] = Printable(lever.measure);
  json["verified"] = lever.verified;
  json["regressions"] = lever.regressions;
  json["pairs"] = lever.pairs;
  json["predicted"] = lever.pairs > 0 ? Json(lever.predicted / lever.pairs) : Json();
  json["realised"] = lever.pairs > 0 ? Json(lever.realised / lever.pairs) : Json();
  json["ratio"] = lever.predicted > 0 ? Json(lever.realised / lever.predicted) : Json();
  json["recovered_share"] = {{"mean", share.mean}, {"own_changes", share.own}, {"prior", RecoveredShares::kPriorMean}};
  return json;
}

}  // namespace

std::string LedgerRowJson(const LedgerRow& row) { return JsonLine(EntryJson(row)); }

std::string LedgerJson(const LedgerReport& report) {
  Json json = BeginDocument<Json>("idleburn.ledger/1", report.ids);
  json["file"] = Printable(report.file);
  json["claims"] = Json::array();
  for (const LedgerLine& line : report.view.lines) json["claims"].push_back(LineJson(line));
  json["totals"] = TotalsJson(report.view);
  json["levers"] = Json::array();
  for (const LeverOutcome& lever : report.view.levers) {
    json["levers"].push_back(LeverJson(lever, report.shares.Of(lever.measure)));
  }
  json["entries"] = Json::array();
  for (const LedgerRow& row : report.rows) json["entries"].push_back(EntryJson(row));
  return JsonDocument(json);
}

std::string HistoryJson(const HistoryListing& listing) {
  std::vector<RunIds> ids;
  for (const HistoryRun& run : listing.runs) ids.push_back(IdsOfKept(run));
  Json json = BeginDocument<Json>("idleburn.history/1", SharedIds(ids));
  json["file"] = Printable(listing.file);
  json["matched"] = listing.matched;
  json["unknown_cost"] = listing.unknown_cost;
  json["runs"] = Json::array();
  for (const HistoryRun& run : listing.runs) json["runs"].push_back(RunJson(run, listing));
  return JsonDocument(json);
}

// Each line is complete by itself, so a reader can start anywhere and stop at a damaged line.
std::string HistoryLines(const HistoryListing& listing, const std::vector<LedgerRow>& ledger) {
  std::string text;
  for (const HistoryRun& run : listing.runs) text += JsonLine(RunJson(run, listing)) + "\n";
  for (const LedgerRow& row : ledger) text += LedgerRowJson(row) + "\n";
  return text;
}

}  // namespace idleburn
