#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/int128.h"
#include "bill/bill_report.h"
#include "bill/reconcile.h"

// The rows of a reconciliation, selected once as temporary tables of the store:
//
//   picked  items of the selection, with what the steps ask: gpu, mine (in the currency of the invoice), rule_owner
//   spare   rows that bill more than they should: import, line, billed, effective (bill_checks.cc fills it)
namespace idleburn {

// What the steps know of an item.
struct PickedItem {
  std::int64_t id = 0;
  std::string resource_id;
  std::string resource;  // its name, or its id
  CostOwner owner;       // by its tags, or by a rule
  CostClass what = CostClass::kUsage;
  std::int64_t gpus = 0;  // 0: not told
  int node = -1;          // of the telemetry
};

// The selection of a reconciliation.
struct Picked {
  std::string currency;
  std::unordered_map<std::int64_t, PickedItem> gpu_items;  // those of GPUs
};

// Makes `picked` and an empty `spare`.
Result<Picked> PickRows(BillStore& store, const ReconcileQuestion& question, BillReport* report);

// Finds every deviation; fills report->mismatches but for those of telemetry, and `spare`.
Result<void> CheckRows(BillStore& store, const ReconcileQuestion& question, BillReport* report);

// Splits the money of each row by use. Fills use, gpu, amortization, lines, owners, and mismatches of telemetry.
Result<void> SplitByUse(BillStore& store, const ReconcileQuestion& question, const Picked& picked, BillReport* report);

// Calls `take` with the integers of each row of a query with BIGINT columns. NULL is kNoNumber.
inline constexpr std::int64_t kNoNumber = INT64_MIN;
Result<void> ForEachRow(DuckDbConnection& database, const std::string& sql,
                        const std::function<Result<void>(const std::vector<std::int64_t>&)>& take);

// The class of a charge by its columns.
CostClass ClassOf(const std::string& category, const std::string& charge_class, const std::string& status);

// A sum that may have left 64 bits on its way. Fails if it still has.
Result<Money> ToMoney(Int128 nano);
// An exact sum of billionths as the database prints it, as Money.
Result<Money> SumOfNanos(const std::string& text);

}  // namespace idleburn
