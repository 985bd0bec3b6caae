#pragma once

#include <string>
#include <vector>

#include "base/run_ids.h"
#include "history/ledger.h"
#include "recommend/saving_draws.h"

namespace idleburn {

// The ledger of a history, and what it teaches.
struct LedgerReport {
  std::string file;
  RunIds ids;
  std::vector<LedgerRow> rows;
  LedgerView view;
  RecoveredShares shares;
};

std::string LedgerText(const LedgerReport& report, int width);
std::string LedgerMarkdown(const LedgerReport& report);
// Its entries as they were written, a row each.
std::string LedgerCsv(const LedgerReport& report);
// The document of docs/json.md, schema idleburn.ledger/1.
std::string LedgerJson(const LedgerReport& report);
// One entry on one line.
std::string LedgerRowJson(const LedgerRow& row);

}  // namespace idleburn
