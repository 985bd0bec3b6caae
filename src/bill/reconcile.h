#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/money.h"
#include "base/result.h"
#include "bill/bill_report.h"
#include "bill/bill_store.h"
#include "bill/bill_telemetry.h"
#include "bill/cost_owners.h"

// Lays the rows of a store beside the invoice and beside telemetry: what each dollar was for, and every deviation.
namespace idleburn {

// What is reconciled, and with what.
struct ReconcileQuestion {
  std::string month;       // "2026-09": rows of that billing period; empty: all
  std::string invoice_id;  // rows of that invoice; empty: all
  std::optional<Money> invoice_total;
  std::string invoice_currency;  // of the total; empty: that of most rows
  std::string owner_tag;         // the tag that names the owner; empty: team, owner, cost_center, project
  OwnerBy by = OwnerBy::kTag;    // other than tags: the owners that telemetry knows come first
  std::vector<TagRule> rules;    // for rows without an owner
  // The price of a GPU-hour that was agreed on, by GPU model; a model that is not in it is not compared.
  std::map<std::string, Money> gpu_hour;
  const BillTelemetry* telemetry = nullptr;  // null or empty: none
};

// Fails on an empty selection, or if a sum leaves the range of Money.
Result<BillReport> Reconcile(BillStore& store, const ReconcileQuestion& question);

// The GPU models that the rows of the store name.
Result<std::vector<std::string>> GpuModels(BillStore& store);

// Reads --invoice: a JSON object with total, and if known BillingCurrency and InvoiceId, or an amount: "47546.20".
Result<void> ReadInvoice(const std::string& text, ReconcileQuestion* question);

}  // namespace idleburn
