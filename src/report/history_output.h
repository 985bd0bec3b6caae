#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "history/ledger.h"
#include "history/run.h"
#include "report/format_writers.h"
#include "report/samples_csv.h"

namespace idleburn {

// Runs of a history that a query found, newest first, with what the query left out.
struct HistoryListing {
  std::string file;
  std::vector<HistoryRun> runs;
  std::size_t matched = 0;                         // runs that match, before a limit
  std::size_t unknown_cost = 0;                    // runs that a bound on cost leaves out because their cost is unknown
  bool empty = false;                              // no run is kept at all
  std::map<std::string, std::string> within = {};  // run id -> id of the run that counts its GPU time (CountedWithin)
};

// The value of HistoryListing::within for `runs`. Reads the whole history, because the run that counts the time may
// not be among them.
Result<std::map<std::string, std::string>> WithinOf(const SqliteDatabase& history, const std::vector<HistoryRun>& runs);

// Short forms of the ids that still differ from each other: at least 8 digits, in steps of 4. For people; documents
// have whole ids.
std::vector<std::string> ShortIds(const std::vector<HistoryRun>& runs);

// The writers of `idleburn history list`. The text is a table of `width` columns and one line of sums.
std::string HistoryText(const HistoryListing& listing, int width);
std::string HistoryMarkdown(const HistoryListing& listing);
// The document of docs/json.md, schema idleburn.history/1.
std::string HistoryJson(const HistoryListing& listing);
// A row for each run. Times are in GPU-hours, money is in units of its currency, unknown values are empty cells.
std::string HistoryCsv(const HistoryListing& listing);
inline constexpr auto kHistoryWriters = std::to_array<FormatWriter<HistoryListing>>({
    {ReportFormat::kText, [](const HistoryListing& a, const Paper& paper) { return HistoryText(a, paper.columns); }},
    {ReportFormat::kJson, OnAnyPaper<HistoryJson>},
    {ReportFormat::kCsv, OnAnyPaper<HistoryCsv>},
    {ReportFormat::kMarkdown, OnAnyPaper<HistoryMarkdown>},
});
// The columns of HistoryCsv with their SQL types, for the Parquet export.
std::vector<CsvColumn> HistoryColumns();
// JSON lines: one for each run, then one for each entry of the ledger. For an export that a script reads line by
// line.
std::string HistoryLines(const HistoryListing& listing, const std::vector<LedgerRow>& ledger);

// One run for people: what it was, what it cost, why, what would help.
std::string RunText(const HistoryRun& run, int width);

// The writers of `idleburn history show`, for a listing of that one run.
inline constexpr auto kRunWriters = std::to_array<FormatWriter<HistoryListing>>({
    {ReportFormat::kText,
     [](const HistoryListing& a, const Paper& paper) { return RunText(a.runs.front(), paper.columns); }},
    {ReportFormat::kJson, OnAnyPaper<HistoryJson>},
});

}  // namespace idleburn
