#include "bill/bill_rows.h"

#include <algorithm>

#include "bill/bill_value.h"
#include "text/number.h"
#include "text/strings.h"

namespace idleburn {
namespace {

// Names an owner for items that match a rule. FindUntagged asks for them too.
Result<void> ApplyRules(DuckDbConnection& database, const std::vector<TagRule>& rules) {
  TRY(database.Execute("ALTER TABLE picked ADD COLUMN rule_owner VARCHAR"));
  for (const TagRule& rule : rules) {
    TRY(database.Execute("UPDATE picked SET rule_owner = " + SqlText(rule.owner) + " WHERE rule_owner IS NULL AND " +
                         SqlName(rule.column) + " = " + SqlText(rule.value)));
  }
  return {};
}

// The currency of each invoice is that of most of its rows. Rows of an invoice in another currency are foreign.
Result<void> PickCurrency(DuckDbConnection& database, const ReconcileQuestion& question, Picked* picked,
                          BillReport* report) {
  TRY(database.Execute(
      "CREATE OR REPLACE TEMP TABLE invoice AS WITH counted AS (SELECT coalesce(InvoiceId, '') AS invoice, "
      "BillingCurrency AS currency, count(*) AS n FROM charge JOIN picked ON charge.item = picked.id GROUP BY ALL) "
      "SELECT invoice, arg_max(currency, n) AS currency, sum(n) AS n FROM counted GROUP BY invoice"));
  const auto currencies =
      TRY(TextRows(database, "SELECT currency FROM invoice GROUP BY currency ORDER BY sum(n) DESC, currency"));
  picked->currency = question.invoice_currency.empty() ? currencies.front().front() : question.invoice_currency;
  report->currency = picked->currency;
  const std::string mine = SqlText(picked->currency);
  TRY(database.Execute("CREATE OR REPLACE TEMP TABLE picked AS SELECT picked.*, BillingCurrency IS NOT DISTINCT FROM " +
                       mine + " AND invoice.currency = " + mine + " AS mine, BillingCurrency IS DISTINCT FROM " + mine +
                       " AND invoice.currency = " + mine +
                       " AS \"foreign\" FROM picked JOIN invoice ON coalesce(picked.InvoiceId, '') = invoice.invoice"));
  for (const auto& row :
       TRY(TextRows(database,
                    "SELECT BillingCurrency, count(*), sum(BilledCost)::HUGEINT FROM charge JOIN picked ON charge.item "
                    "= picked.id WHERE NOT mine GROUP BY ALL ORDER BY 1"))) {
    report->others.push_back({row[0], ParseInteger(row[1]).value_or(0), TRY(SumOfNanos(row[2]))});
  }
  return {};
}

}  // namespace

CostClass ClassOf(const std::string& category, const std::string& charge_class, const std::string& status) {
  if (category == "Tax") return CostClass::kTax;
  if (category == "Credit") return CostClass::kCredit;
  if (category == "Adjustment") return CostClass::kAdjustment;
  if (category == "Purchase") return CostClass::kPurchase;
  if (charge_class == "Correction") return CostClass::kCorrection;
  if (category != "Usage") return CostClass::kOther;
  return status == "Unused" ? CostClass::kUnused : CostClass::kUsage;
}

Result<Money> ToMoney(Int128 nano) {
  if (!FitsInt64(nano)) return Fail("a sum of the bill is beyond 9.2 billion; reconcile fewer rows with --month");
  return Money::Nano(static_cast<std::int64_t>(nano));
}

Result<Money> SumOfNanos(const std::string& text) {
  if (text.empty()) return Money();
  const std::optional<std::int64_t> nano = ParseInteger(text);
  if (!nano) return Fail("a sum of the bill is beyond 9.2 billion; reconcile fewer rows with --month or --invoice-id");
  return Money::Nano(*nano);
}

Result<void> ForEachRow(DuckDbConnection& database, const std::string& sql,
                        const std::function<Result<void>(const std::vector<std::int64_t>&)>& take) {
  const std::unique_ptr<TableStream> stream = TRY(database.Query("SELECT COLUMNS(*)::BIGINT FROM (" + sql + ")"));
  std::vector<std::int64_t> numbers(stream->columns().size());
  std::vector<TableVector> vectors(numbers.size());
  while (const std::unique_ptr<TableChunk> chunk = TRY(stream->Next())) {
    for (std::size_t c = 0; c < numbers.size(); ++c) vectors[c] = chunk->Vector(c);
    for (std::size_t row = 0; row < chunk->rows(); ++row) {
      for (std::size_t c = 0; c < numbers.size(); ++c) {
        numbers[c] = vectors[c].IsNull(row) ? kNoNumber : vectors[c].Get<std::int64_t>(row);
      }
      TRY(take(numbers));
    }
  }
  return {};
}

Result<Picked> PickRows(BillStore& store, const ReconcileQuestion& question, BillReport* report) {
  DuckDbConnection& database = store.database();
  std::string where = " WHERE true";
  if (!question.month.empty()) {
    where += " AND starts_with(BillingPeriodStart, " + SqlText(question.month) + ")";
  }
  if (!question.invoice_id.empty()) where += " AND InvoiceId = " + SqlText(question.invoice_id);
  // A resource is a GPU's if any of its rows says so. A SKU and a commitment are, if all that tell it say so.
  TRY(database.Execute(
      "CREATE OR REPLACE TEMP TABLE picked AS WITH gpu_resource AS (SELECT DISTINCT ResourceId AS id FROM item WHERE "
      "gpus > 0 AND ResourceId IS NOT NULL), gpu_sku AS (SELECT SkuId AS id FROM item WHERE SkuId IS NOT NULL AND "
      "ChargeCategory = 'Usage' AND gpus IS NOT NULL GROUP BY SkuId HAVING min(gpus) > 0), gpu_commitment AS (SELECT "
      "CommitmentDiscountId AS id FROM item WHERE CommitmentDiscountStatus = 'Used' GROUP BY 1 HAVING "
      "min(coalesce(gpus, 0)) > 0) SELECT item.*, coalesce(gpus > 0, false) OR ResourceId IN (SELECT id FROM "
      "gpu_resource) OR (ChargeCategory IN ('Usage', 'Purchase') AND (SkuId IN (SELECT id FROM gpu_sku) OR "
      "(ResourceId IS NOT DISTINCT FROM CommitmentDiscountId AND CommitmentDiscountId IN (SELECT id FROM "
      "gpu_commitment)))) AS gpu FROM item" +
      where));
  TRY(database.Execute("UPDATE picked SET gpu = false WHERE gpu IS NULL"));
  TRY(
      database.Execute("CREATE OR REPLACE TEMP TABLE spare(import BIGINT, line BIGINT, billed BIGINT, effective "
                       "BIGINT)"));
  const auto count = TRY(TextRows(database, "SELECT count(*) FROM charge JOIN picked ON charge.item = picked.id"));
  if (count.front().front() == "0") {
    return Fail("bill: there are no imported rows" + (question.month.empty() && question.invoice_id.empty()
                                                          ? "; import a file first, or name one"
                                                          : std::string(" of this month or invoice")));
  }
  Picked picked;
  TRY(PickCurrency(database, question, &picked, report));
  TRY(ApplyRules(database, question.rules));
  // Sums by commitment may contradict the rule above for rows of another month, which does not matter here.
  for (const auto& row : TRY(TextRows(
           database,
           "SELECT id, ResourceId, coalesce(ResourceName, ResourceId), Tags, gpus, ChargeCategory, "
           "ChargeClass, CommitmentDiscountStatus, rule_owner FROM picked WHERE gpu AND (mine OR \"foreign\")"))) {
    PickedItem item;
    item.id = ParseInteger(row[0]).value_or(0);
    item.resource_id = row[1];
    item.resource = row[2];
    item.owner = OwnerOfTags(row[3], question.owner_tag);
    if (item.owner.team.empty()) item.owner.team = row[8];
    item.gpus = ParseInteger(row[4]).value_or(0);
    item.what = ClassOf(row[5], row[6], row[7]);
    if (question.telemetry != nullptr) item.node = question.telemetry->NodeOf(row[1], row[2]);
    picked.gpu_items.emplace(item.id, std::move(item));
  }
  return picked;
}

}  // namespace idleburn
