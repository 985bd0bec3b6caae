#pragma once

#include <string>
#include <vector>

#include "base/run_ids.h"
#include "history/ledger.h"
#include "recommend/saving_draws.h"

namespace idleburn {

// The ledger of a history as it is reported: its entries, where each claim stands, and which share of a prediction
// came true (docs/history.md, "The ledger of savings").
struct LedgerReport {
  std::string file;
  RunIds ids;
  std::vector<LedgerRow> rows;
  LedgerView view;
  RecoveredShares shares;
};

// The writers of `idleburn ledger`. Text and Markdown show one line per claim; CSV and JSON also have every entry.
std::string LedgerText(const LedgerReport& report, int width);
std::string LedgerMarkdown(const LedgerReport& report);
// One row per entry, exactly as it was written.
std::string LedgerCsv(const LedgerReport& report);
// The document of docs/json.md, schema idleburn.ledger/1.
std::string LedgerJson(const LedgerReport& report);
// One entry as one line of JSON, without a newline, for exports that are read line by line.
std::string LedgerRowJson(const LedgerRow& row);

}  // namespace idleburn
