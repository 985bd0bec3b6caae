#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "classify/thresholds.h"
#include "import/importer.h"
#include "price/find_rate.h"

// `idleburn bill export --focus`: what GPUs did, as rows of FOCUS 1.2, so that hardware of one's own stands in the same
// tables as a provider's bill. The rules are on docs/bill-export.md.
//
// A row is a GPU, a job and an hour. Its quantity is the GPU-hours of its phases, and its cost their exact product with
// the price. So quantities of a GPU's hour sum to 1, costs to the price, and the costs of the phases to EffectiveCost.
namespace idleburn {

struct FocusExportOptions {
  std::int64_t from = 0;  // Unix seconds: charge periods that begin in [from, to)
  std::int64_t to = 0;
  std::string provider;  // empty: hardware of one's own
  std::string account;   // BillingAccountId
  const Prices& prices;
};

// What was written, and what was not.
struct FocusExportFacts {
  std::int64_t rows = 0;
  std::int64_t gpu_ms = 0;
  std::int64_t unpriced_ms = 0;    // of GPUs without a price: no rows
  std::int64_t over_month_ms = 0;  // of spans that reach over the end of a month: no rows
  std::int64_t several_jobs = 0;   // rows of GPUs whose owner cannot be told
};

// A column of the table, with its type in SQL.
struct FocusExportColumn {
  std::string name;
  std::string_view sql_type;
};
std::vector<FocusExportColumn> FocusExportColumns();

// Receives the text of the table piece by piece, its header first.
using WriteText = std::function<Result<void>(std::string_view)>;

// The hours of a fleet's ledger. Fails without a price.
Result<FocusExportFacts> ExportLedger(const std::string& ledger, const FocusExportOptions& options,
                                      const WriteText& write);
// Logs and recordings. A GPU is priced for every hour in which any GPU of the inputs was read.
Result<FocusExportFacts> ExportInputs(const std::vector<std::string>& inputs, const ImportOptions& import,
                                      const Thresholds& thresholds, const FocusExportOptions& options,
                                      const WriteText& write);

}  // namespace idleburn
