#include "bill/reconcile.h"

#include <algorithm>
#include <cstdlib>
#include <tuple>

#include "bill/bill_rows.h"
#include "bill/bill_value.h"
#include "os/output_file.h"
#include "text/figures.h"
#include "text/strings.h"

namespace idleburn {
namespace {

// Half a per cent of the invoice may stay unexplained.
constexpr std::int64_t kTolerance = 200;

std::int64_t RoundedTo(std::int64_t nano, std::int64_t unit) {
  return static_cast<std::int64_t>(DivHalfEven(nano, unit)) * unit;
}

// Sets the total, what is unexplained, and the residual. Either the invoice charges what the rows say, or what they
// would say without their deviations.
Result<void> Settle(const ReconcileQuestion& question, BillReport* report) {
  const std::int64_t unit = MinorUnit(report->currency);
  const std::int64_t rows = RoundedTo(report->rows_total.nano(), unit);
  report->total_given = question.invoice_total.has_value();
  report->total = Money::Nano(report->total_given ? question.invoice_total->nano() : rows);
  Int128 effects = 0;
  for (const BillMismatch& mismatch : report->mismatches) effects += mismatch.effect.nano();
  const Int128 right = static_cast<Int128>(report->rows_total.nano()) - effects;
  const std::int64_t as_printed = report->total.nano() - rows;
  const auto corrected = static_cast<std::int64_t>(report->total.nano() - DivHalfEven(right, unit) * unit);
  report->residual = Money::Nano(std::abs(corrected) < std::abs(as_printed) ? corrected : as_printed);
  report->reconciled = std::abs(report->residual.nano()) <= std::abs(report->total.nano()) / kTolerance;

  Int128 rest = report->total.nano();
  for (std::size_t p = 0; p < kUsePartCount; ++p) {
    if (p != static_cast<std::size_t>(UsePart::kUnexplained)) rest -= report->use[p].nano();
  }
  rest -= report->amortization.nano();
  if (!FitsInt64(rest)) return Fail("the total of the invoice is beyond 9.2 billion");
  report->use[static_cast<std::size_t>(UsePart::kUnexplained)] = Money::Nano(static_cast<std::int64_t>(rest));
  return {};
}

void AddDoubt(BillReport* report, const char* id, std::int64_t count, const char* severity, std::string sentence) {
  if (count > 0) report->doubts.push_back({id, count, severity, std::move(sentence)});
}

Result<void> AddDoubts(BillStore& store, BillReport* report) {
  DuckDbConnection& database = store.database();
  const auto sums =
      TRY(TextRows(database,
                   "SELECT coalesce(sum(malformed), 0), coalesce(sum(rounded), 0), coalesce(sum(no_amount), 0), "
                   "coalesce(sum(no_zone), 0) FROM import"));
  const auto count = [&](std::size_t i) { return ParseBillNumber(sums.front()[i]).nano / 1'000'000'000; };
  AddDoubt(
      report, "malformed_rows", count(0), "error",
      std::to_string(count(0)) + " rows cannot be read and are not in the sums; idleburn bill validate lists them");
  AddDoubt(report, "rounded_numbers", count(1), "info",
           std::to_string(count(1)) + " numbers have more than nine decimals; idleburn rounded them half to even");
  AddDoubt(report, "rows_without_amount", count(2), "error",
           std::to_string(count(2)) + " rows have no BilledCost that can be read; they count as 0");
  AddDoubt(report, "times_without_zone", count(3), "warn",
           std::to_string(count(3)) + " times name no zone; idleburn read them as UTC");
  for (const auto& row : TRY(TextRows(
           database, "SELECT rule, sum(\"rows\"), min(first_line) FROM rule_count GROUP BY rule ORDER BY rule"))) {
    for (const BillRuleFacts& rule : kBillRules) {
      if (rule.name != row[0] || rule.use != RuleUse::kForm || rule.id == BillRule::kMalformedRow) continue;
      AddDoubt(report, "focus_form", ParseBillNumber(row[1]).nano / 1'000'000'000, "info",
               row[1] + " times: " + std::string(rule.sentence) + " (" + row[0] + ", first in line " + row[2] + ")");
    }
  }
  AddDoubt(report, "mismatches_left_out", report->left_out, "warn",
           std::to_string(report->left_out) + " mismatches of telemetry are not listed");
  return {};
}

}  // namespace

Result<std::vector<std::string>> GpuModels(BillStore& store) {
  std::vector<std::string> models;
  for (const auto& row : TRY(TextRows(store.database(),
                                      "SELECT DISTINCT gpu_model FROM item WHERE gpu_model IS NOT "
                                      "NULL ORDER BY 1"))) {
    models.push_back(row.front());
  }
  return models;
}

Result<BillReport> Reconcile(BillStore& store, const ReconcileQuestion& question) {
  BillReport report;
  const Picked picked = TRY(PickRows(store, question, &report));
  TRY(CheckRows(store, question, &report));
  TRY(SplitByUse(store, question, picked, &report));
  std::stable_sort(report.mismatches.begin(), report.mismatches.end(),
                   [](const BillMismatch& a, const BillMismatch& b) {
                     return std::tuple(a.line == 0, a.file, a.line) < std::tuple(b.line == 0, b.file, b.line);
                   });
  TRY(Settle(question, &report));
  TRY(AddDoubts(store, &report));
  if (question.telemetry != nullptr && !question.telemetry->empty()) {
    report.seen_from = Instant::FromNanos(question.telemetry->from() * kNanosPerSecond);
    report.seen_to = Instant::FromNanos(question.telemetry->to() * kNanosPerSecond);
    AddDoubt(&report, "nameless_gpus", question.telemetry->nameless(), "warn",
             "some telemetry names no machine; name it with NODE=FILE");
  }
  return report;
}

Result<void> ReadInvoice(const std::string& text, ReconcileQuestion* question) {
  const std::optional<std::string> file = TRY(ReadFileIfThere(text, 1 << 20));
  std::string amount = text;
  if (file) {
    const KeyValues values = ParseKeyValues(*file);
    if (!values.known) return Fail(text + ": is not a JSON object with the total of an invoice");
    amount = values.Of("total");
    if (amount.empty()) amount = values.Of("amount");
    question->invoice_currency = values.Of("BillingCurrency");
    if (question->invoice_currency.empty()) question->invoice_currency = values.Of("currency");
    if (question->invoice_id.empty()) question->invoice_id = values.Of("InvoiceId");
  }
  const Result<Money> total = Money::Parse(amount);
  if (!total) {
    return FailUsage("bill: --invoice " + Printable(text) + ": " + (file ? "has no total" : total.error().message) +
                     "; give a JSON file with total, or an amount such as 47546.20");
  }
  question->invoice_total = *total;
  return {};
}

}  // namespace idleburn
