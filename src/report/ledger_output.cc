#include "report/ledger_output.h"

#include <fmt/format.h>

#include <array>

#include "base/money.h"
#include "report/display.h"
#include "report/report_page.h"
#include "telemetry/run_facts.h"
#include "text/figures.h"
#include "text/strings.h"
#include "text/table.h"
#include "text/time_zone.h"

// The ledger of savings for people and for spreadsheets. The JSON is in report/history_output.cc, because the export of
// a history holds both.
//
// Sums are by standing, and only verified savings are called so. Cash and freed GPU-hours have separate columns and
// separate sums: freed hours are paid for until a bill gets smaller (docs/history.md, "The ledger of savings").

namespace idleburn {
namespace {

// By Standing.
constexpr auto kStandingWords = std::to_array<std::string_view>({"claimed", "verified", "lost again", "not shown"});

// Unknown figures are said, because 0 % would be a result.
std::string PercentOrUnknown(const std::optional<double>& share) { return share ? PercentText(*share) : "unknown"; }

// The interval of the found saving. A saving without an interval was not measured well enough to be quoted alone.
std::string IntervalText(const LedgerLine& line) {
  return line.low && line.high ? PercentInterval(*line.low, *line.high) : "unknown";
}

// What stops being billed, in the currency of the claim.
std::string CashText(const LedgerLine& line) {
  return line.cashable_nano ? Amount(Money::Nano(*line.cashable_nano), line.currency) : "unknown";
}

// One row per claim. Interval, jobs and date yield first on a narrow terminal.
const std::vector<TableColumn>& LineColumns() {
  static const std::vector<TableColumn> kColumns = {{"claim"},
                                                    {"what", kLeft, true},
                                                    {"jobs", kLeft, true, true},
                                                    {"claimed on", kLeft, false, true},
                                                    {"claimed", kRight},
                                                    {"found", kRight},
                                                    {"interval", kRight, false, true},
                                                    {"cashable", kRight},
                                                    {"freed GPU-hours", kRight},
                                                    {"stands as"}};
  return kColumns;
}

// Where each claim stands. A saving that was lost again says since when; one that was not shown says its verdict.
std::vector<TableRow> LineRows(const LedgerReport& report) {
  std::vector<TableRow> rows;
  for (const LedgerLine& line : report.view.lines) {
    std::string stands(kStandingWords[static_cast<std::size_t>(line.standing)]);
    if (line.lost) stands += " on " + FormatDay(*line.lost);
    if (line.standing == Standing::kNotShown) stands += " (" + line.verdict + ")";
    rows.push_back({line.claim.substr(0, 12), line.measure, line.boundary, FormatDay(line.claimed),
                    PercentOrUnknown(line.predicted), PercentOrUnknown(line.fraction), IntervalText(line),
                    CashText(line), DigitsOrUnknown(line.freed_gpu_hours), stands});
  }
  return rows;
}

// One row per kind of change. The last column is what later advice will expect of it.
const std::vector<TableColumn>& LeverColumns() {
  static const std::vector<TableColumn> kColumns = {{"what"},
                                                    {"verified", kRight},
                                                    {"regressions", kRight},
                                                    {"predicted", kRight},
                                                    {"realised", kRight},
                                                    {"ratio", kRight},
                                                    {"a fix is expected to recover", kLeft, true}};
  return kColumns;
}

// Predicted against realised by kind of change: means over the claims that have both figures.
std::vector<TableRow> LeverRows(const LedgerReport& report) {
  std::vector<TableRow> rows;
  for (const LeverOutcome& lever : report.view.levers) {
    const bool pairs = lever.pairs > 0;
    rows.push_back({lever.measure, std::to_string(lever.verified), std::to_string(lever.regressions),
                    pairs ? PercentText(lever.predicted / lever.pairs) : "unknown",
                    pairs ? PercentText(lever.realised / lever.pairs) : "unknown",
                    lever.predicted > 0 ? ThreeDigits(lever.realised / lever.predicted) : "unknown",
                    Describe(report.shares.Of(lever.measure))});
  }
  return rows;
}

// "2 claims: $12.00 cashable; apart from that 3.1 GPU-hours freed". Cash and freed hours are never added: freed
// hours are still paid for.
std::string TotalText(const LedgerView& view, Standing standing) {
  const auto found = view.totals.find(standing);
  if (found == view.totals.end()) return "nothing";
  std::string cash;
  double freed = 0;
  int lines = 0;
  for (const auto& [currency, total] : found->second) {
    if (!currency.empty()) cash += (cash.empty() ? "" : " and ") + Amount(Money::Nano(total.cashable_nano), currency);
    freed += total.freed_gpu_hours;
    lines += total.lines;
  }
  return fmt::format("{} claim{}: {} cashable, and {} freed", lines, lines == 1 ? "" : "s",
                     cash.empty() ? "nothing" : cash, GpuHoursForPeople(freed));
}

// The sums by standing. Claims that nobody judged are only counted: a claim is not a saving.
std::string Summary(const LedgerReport& report) {
  const auto open = report.view.totals.find(Standing::kClaimed);
  int claimed = 0;
  if (open != report.view.totals.end()) {
    for (const auto& [currency, total] : open->second) claimed += total.lines;
  }
  return IdsLine(report.ids) + "Verified: " + TotalText(report.view, Standing::kVerified) +
         ".\nLost again: " + TotalText(report.view, Standing::kLost) + ".\n" +
         fmt::format("Claimed and not yet judged: {}. A claim is not a saving.\n", claimed);
}

}  // namespace

// An empty ledger says how to begin.
std::string LedgerText(const LedgerReport& report, int width) {
  if (report.view.lines.empty()) {
    return "the ledger is empty: write a claim with idleburn claim, and judge it with idleburn compare\n";
  }
  std::string text = Summary(report) + "\n" + LayOutTable(LineColumns(), LineRows(report), width, 0);
  if (!report.view.levers.empty()) {
    text +=
        "\nPredicted and realised, for judged claims\n\n" + LayOutTable(LeverColumns(), LeverRows(report), width, 0);
  }
  return text;
}

std::string LedgerMarkdown(const LedgerReport& report) {
  std::string text = Summary(report) + "\n";
  AppendMarkdownRows(LineColumns(), LineRows(report), &text);
  text += "\n";
  AppendMarkdownRows(LeverColumns(), LeverRows(report), &text);
  return text;
}

namespace {

// The shortest text that reads back to the same number. Empty if unknown.
std::string RealText(const std::optional<double>& value) { return value ? fmt::format("{}", *value) : ""; }

// "before:run1.idleburn#sha256", one for each input.
std::string InputsText(const LedgerRow& row) {
  std::string text;
  for (const LedgerInput& input : row.inputs) {
    text +=
        (text.empty() ? "" : " ") + input.side + ":" + input.name + (input.sha256.empty() ? "" : "#" + input.sha256);
  }
  return text;
}

// A column of the CSV.
struct LedgerField {
  std::string_view name;
  std::string (*text)(const LedgerRow&);
};
// The order is the order of the columns and must not change: scripts read by position too.
constexpr auto kFields = std::to_array<LedgerField>({
    {"row", [](const LedgerRow& r) { return std::to_string(r.row); }},
    {"written", [](const LedgerRow& r) { return FormatRfc3339(r.written); }},
    {"tool", [](const LedgerRow& r) { return r.tool; }},
    {"kind", [](const LedgerRow& r) { return r.kind; }},
    {"claim", [](const LedgerRow& r) { return r.claim; }},
    {"boundary", [](const LedgerRow& r) { return r.boundary; }},
    {"unit", [](const LedgerRow& r) { return r.unit; }},
    {"measure", [](const LedgerRow& r) { return r.measure; }},
    {"verdict", [](const LedgerRow& r) { return r.verdict; }},
    {"predicted", [](const LedgerRow& r) { return RealText(r.predicted); }},
    {"bound", [](const LedgerRow& r) { return RealText(r.bound); }},
    {"fraction", [](const LedgerRow& r) { return RealText(r.fraction); }},
    {"low", [](const LedgerRow& r) { return RealText(r.low); }},
    {"high", [](const LedgerRow& r) { return RealText(r.high); }},
    {"avoided_gpu_seconds", [](const LedgerRow& r) { return RealText(r.avoided_gpu_seconds); }},
    {"currency", [](const LedgerRow& r) { return r.currency; }},
    {"cashable", [](const LedgerRow& r) { return r.cashable_nano ? FormatExact(Money::Nano(*r.cashable_nano)) : ""; }},
    {"freed_gpu_hours", [](const LedgerRow& r) { return RealText(r.freed_gpu_hours); }},
    {"corrects", [](const LedgerRow& r) { return r.corrects ? std::to_string(*r.corrects) : ""; }},
    {"note", [](const LedgerRow& r) { return r.note; }},
    {"inputs", InputsText},
});

}  // namespace

std::string LedgerCsv(const LedgerReport& report) {
  std::string text = ListText(kFields, ",", &LedgerField::name) + "\n";
  for (const LedgerRow& row : report.rows) {
    std::string line;
    for (const LedgerField& field : kFields) {
      line += (field.name == kFields.front().name ? "" : ",") + CsvCell(field.text(row));
    }
    text += line + "\n";
  }
  return text;
}

}  // namespace idleburn
