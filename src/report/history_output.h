#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "history/ledger.h"
#include "history/run.h"
#include "report/samples_csv.h"

namespace idleburn {

// Some runs of a history, the newest first.
struct HistoryListing {
  std::string file;
  std::vector<HistoryRun> runs;
  std::size_t matched = 0;                         // before a limit
  std::size_t unknown_cost = 0;                    // that a bound of the cost leaves out because it is not known
  bool empty = false;                              // no run is kept at all
  std::map<std::string, std::string> within = {};  // of some: the run that counts their GPU time (CountedWithin), by id
};

// HistoryListing::within of such runs, whatever else the history holds.
Result<std::map<std::string, std::string>> WithinOf(const SqliteDatabase& history, const std::vector<HistoryRun>& runs);

// The shortest starts of the ids, of 8 digits at least, that tell them apart.
std::vector<std::string> ShortIds(const std::vector<HistoryRun>& runs);

// A table for people; `width`: columns of a line.
std::string HistoryText(const HistoryListing& listing, int width);
std::string HistoryMarkdown(const HistoryListing& listing);
// The document of docs/json.md, schema idleburn.history/1.
std::string HistoryJson(const HistoryListing& listing);
// A row for each run, times in GPU-hours, money in units of its currency.
std::string HistoryCsv(const HistoryListing& listing);
// Its columns, with the types of a table that holds them.
std::vector<CsvColumn> HistoryColumns();
// One line of JSON for each run, and for each entry of the ledger.
std::string HistoryLines(const HistoryListing& listing, const std::vector<LedgerRow>& ledger);

// One run for people: what it was, what it cost, why, what would help.
std::string RunText(const HistoryRun& run, int width);

}  // namespace idleburn
