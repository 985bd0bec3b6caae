#include <nlohmann/json.hpp>

#include "report/bill_charges_output.h"
#include "report/bill_forecast_output.h"
#include "report/bill_output.h"
#include "report/charge_json.h"
#include "report/json_values.h"
#include "text/strings.h"
#include "text/time_zone.h"

// The documents of `idleburn bill` (docs/json/bill.md). Amounts of a column are rounded together, so the column adds
// up; K_exact is exact.
namespace idleburn {
namespace {

using Json = nlohmann::ordered_json;

Json MismatchesJson(const BillReport& report) {
  Json rows = Json::array();
  for (const BillMismatch& mismatch : report.mismatches) {
    Json row = {{"kind", Facts(mismatch.kind).name}};
    row["file"] = TextOrNull<Json>(mismatch.file);
    row["line"] = mismatch.line > 0 ? Json(mismatch.line) : Json(nullptr);
    if (mismatch.again > 0) row["again"] = mismatch.again;
    row["resource"] = TextOrNull<Json>(mismatch.resource);
    row["hour"] = TimeOrNull<Json>(mismatch.hour);
    PutMoney(row, "billed", mismatch.billed, report.currency);
    row["observed"] = OrNull<Json>(mismatch.observed);
    PutMoney(row, "amount", mismatch.amount, report.currency);
    PutMoney(row, "effect", mismatch.effect, report.currency);
    rows.push_back(std::move(row));
  }
  return rows;
}

Json UseJson(const BillReport& report) {
  const std::vector<Money> parts = RoundedParts(report);
  const int digits = MinorUnitDigits(report.currency);
  Json use;
  const auto put = [&](const std::string& key, Money rounded, Money exact) {
    use[key] = FormatMoney(rounded, digits);
    use[key + "_exact"] = FormatExact(exact, digits);
  };
  for (std::size_t p = 0; p < kUsePartCount; ++p) put(std::string(kUsePartNames[p]), parts[p], report.use[p]);
  put("amortization", parts[kUsePartCount], report.amortization);
  return use;
}

Json UntaggedJson(const BillChargeback& all) {
  Json rows = Json::array();
  for (const UntaggedCost& cost : all.untagged) {
    Json row = {{"resource", TextOrNull<Json>(cost.resource)}, {"rows", cost.rows}};
    PutMoney(row, "cost", cost.cost, all.currency);
    row["rule"] = nullptr;
    if (cost.rule.owner.empty()) {
      row["rule_reason"] = cost.why;
    } else {
      row["rule"] = {{"column", cost.rule.column},
                     {"value", Printable(cost.rule.value)},
                     {"owner", Printable(cost.rule.owner)},
                     {"alike_rows", cost.alike}};
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

Json BillPartsJson(const std::vector<BillStatementPart>& parts, const std::string& currency) {
  Json rows = Json::array();
  for (const BillStatementPart& part : parts) {
    Json row = {{"name", Printable(part.name)}, {"gpu_hours", GpuHoursOf(part.gpu_ms)}};
    PutMoney(row, "direct", part.direct, currency);
    for (std::size_t p = 0; p < kUsePartCount; ++p) {
      PutMoney(row, std::string(kUsePartNames[p]), part.use[p], currency);
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

void PutBillRules(Json& json, const BillChargeback& all) {
  json["month"] = TextOrNull<Json>(all.month);
  json["currency"] = all.currency;
  json["by"] = kOwnerByNames[static_cast<std::size_t>(all.by)];
  json["share"] = Name(all.policy);
}

Json MonthEndJson(const MonthEnd& sum, const BillForecast& forecast) {
  const std::string& currency = forecast.currency;
  const auto day = [](const std::optional<std::int64_t>& second) {
    return second ? Json(FormatDay(Instant::FromNanos(*second * kNanosPerSecond))) : Json(nullptr);
  };
  Json row;
  if (!sum.name.empty()) row["team"] = Printable(sum.name);
  PutMoney(row, "spent", sum.spent, currency);
  PutMoney(row, "low", sum.low, currency);
  PutMoney(row, "expected", sum.expected, currency);
  PutMoney(row, "high", sum.high, currency);
  if (!sum.expected) row["expected_reason"] = sum.why;
  PutMoney(row, "budget", sum.budget, currency);
  row["budget_verdict"] = TextOrNull<Json>(sum.verdict);
  row["budget_exceeded_day"] = day(sum.exceeded_day);
  return row;
}

Json ClosedJson(const BillChargeback& all) {
  if (!all.closed) return nullptr;
  Json json = {{"sha256", all.closed->sha256}, {"at", TimeOrNull<Json>(all.closed->at)}};
  PutMoney(json, "total", all.closed->total, all.currency);
  return json;
}

}  // namespace

std::string BillJson(const BillReport& report) {
  Json json = BeginDocument<Json>("idleburn.bill/1", report.ids);
  Json invoice = {{"currency", report.currency}};
  PutMoney(invoice, "total", report.total, report.currency);
  PutMoney(invoice, "gpu", report.gpu, report.currency);
  PutMoney(invoice, "rows", report.rows_total, report.currency);
  invoice["total_from"] = report.total_given ? "invoice" : "rows";
  json["invoice"] = std::move(invoice);
  json["use"] = UseJson(report);
  PutMoney(json, "residual", report.residual, report.currency);
  json["reconciled"] = report.total_given ? Json(report.reconciled) : Json(nullptr);
  json["mismatches"] = MismatchesJson(report);
  json["lines"] = Json::array();
  for (const BillLine& line : report.lines) {
    Json row = {{"category", Printable(line.category)},
                {"service", TextOrNull<Json>(line.service)},
                {"gpu", line.gpu},
                {"rows", line.rows}};
    PutMoney(row, "billed", line.billed, report.currency);
    PutMoney(row, "effective", line.effective, report.currency);
    json["lines"].push_back(std::move(row));
  }
  json["commitments"] = Json::array();
  for (const BillCommitment& commitment : report.commitments) {
    Json row = {{"id", Printable(commitment.id)}, {"name", TextOrNull<Json>(commitment.name)}};
    PutMoney(row, "billed", commitment.billed, report.currency);
    PutMoney(row, "used", commitment.used, report.currency);
    PutMoney(row, "unused", commitment.unused, report.currency);
    row["ended"] = commitment.ended;
    json["commitments"].push_back(std::move(row));
  }
  json["owners"] = Json::array();
  for (const BillOwner& owner : report.owners) {
    Json row = {{"name", Printable(owner.name)}};
    PutMoney(row, "cost", owner.cost, report.currency);
    row["share"] = report.gpu.nano() == 0
                       ? Json(nullptr)
                       : Json(static_cast<double>(owner.cost.nano()) / static_cast<double>(report.gpu.nano()));
    json["owners"].push_back(std::move(row));
  }
  json["other_currencies"] = Json::array();
  for (const OtherCurrency& other : report.others) {
    Json row = {{"currency", Printable(other.currency)}, {"rows", other.rows}};
    PutMoney(row, "billed", other.billed, other.currency);
    json["other_currencies"].push_back(std::move(row));
  }
  json["telemetry"] = {{"start", TimeOrNull<Json>(report.seen_from)}, {"end", TimeOrNull<Json>(report.seen_to)}};
  json["data_quality"] = DoubtsJson<Json>(report.doubts);
  return JsonDocument(json);
}

std::string ChargebackJson(const BillChargeback& all) {
  const ShownCharges shown = ShownChargesOf(all.charge, all.currency);
  Json json = BeginDocument<Json>("idleburn.bill_chargeback/1", all.ids);
  PutBillRules(json, all);
  PutShown(json, "total", shown.total, all.charge.total, all.currency);
  json["total_from"] = all.total_given ? "invoice" : "rows";
  json["owners"] = Json::array();
  json["buckets"] = Json::array();
  for (std::size_t i = 0; i < all.owners.size(); ++i) {
    const BillStatement& owner = all.owners[i];
    Json row = {{"owner", Printable(owner.charge.name)}, {"gpu_hours", GpuHoursOf(owner.whole.gpu_ms)}};
    if (!owner.charge.bucket) row["statement_id"] = BillStatementId(all, owner);
    if (!owner.charge.bucket) row["file"] = TextOrNull<Json>(BillStatementFile(all, owner));
    PutCharge(row, shown.rows[i], owner.charge, all.currency);
    json[owner.charge.bucket ? "buckets" : "owners"].push_back(std::move(row));
  }
  json["shared_costs"] = Json::array();
  for (std::size_t line = 0; line < all.lines.size(); ++line) {
    Json row = {{"name", all.lines[line].name}};
    PutMoney(row, "amount", all.lines[line].amount, all.currency);
    PutShown(row, "not_charged", shown.left[line], all.charge.left[line], all.currency);
    json["shared_costs"].push_back(std::move(row));
  }
  json["untagged"] = UntaggedJson(all);
  json["closed"] = ClosedJson(all);
  json["corrections"] = Json::array();
  for (const BillCorrection& correction : all.corrections) {
    Json row = {{"name", Printable(correction.name)}, {"not_charged", correction.line}};
    PutMoney(row, "closed", correction.closed, all.currency);
    PutMoney(row, "now", correction.now, all.currency);
    PutMoney(row, "amount", Money::Nano(correction.now.nano() - correction.closed.nano()), all.currency);
    json["corrections"].push_back(std::move(row));
  }
  json["data_quality"] = DoubtsJson<Json>(all.doubts);
  return JsonDocument(json);
}

std::string BillForecastJson(const BillForecast& forecast) {
  const auto day = [](std::int64_t second) { return FormatDay(Instant::FromNanos(second * kNanosPerSecond)); };
  Json json = BeginDocument<Json>("idleburn.bill_forecast/1", forecast.ids);
  json["month"] = forecast.month;
  json["currency"] = forecast.currency;
  json["price_source"] = TextOrNull<Json>(forecast.rate_source);
  json["days"] = forecast.days;
  json["days_left"] = forecast.days_left;
  json["history"] = {{"start", day(forecast.from)}, {"end", day(forecast.to)}};
  json["whole"] = MonthEndJson(forecast.whole, forecast);
  json["teams"] = Json::array();
  for (const MonthEnd& team : forecast.teams) json["teams"].push_back(MonthEndJson(team, forecast));
  json["anomalies"] = Json::array();
  for (const CostAnomaly& anomaly : forecast.anomalies) {
    Json row = {{"day", day(anomaly.day)}, {"team", Printable(anomaly.team)}};
    PutMoney(row, "cost", anomaly.cost, forecast.currency);
    PutMoney(row, "usual", anomaly.usual, forecast.currency);
    row["score"] = anomaly.score;
    row["cause"] = anomaly.cause;
    row["job"] = TextOrNull<Json>(anomaly.job);
    json["anomalies"].push_back(std::move(row));
  }
  json["budgets_without_team"] = Json::array();
  for (const std::string& team : forecast.unmatched) json["budgets_without_team"].push_back(Printable(team));
  json["data_quality"] = DoubtsJson<Json>(forecast.doubts);
  return JsonDocument(json);
}

std::string BillStatementJson(const OwnerStatement& statement) {
  const BillChargeback& all = statement.all;
  const BillStatement& owner = statement.owner;
  const ShownCharges charges = ShownChargesOf(all.charge, all.currency);
  const ShownCharge& shown = charges.rows[static_cast<std::size_t>(&owner - all.owners.data())];
  Json json = BeginDocument<Json>("idleburn.bill_statement/1", {});
  json["statement_id"] = BillStatementId(all, owner);
  json["owner"] = Printable(owner.charge.name);
  PutBillRules(json, all);
  json["gpu_hours"] = GpuHoursOf(owner.whole.gpu_ms);
  PutCharge(json, shown, owner.charge, all.currency);
  json["shared_costs"] = Json::array();
  for (std::size_t line = 0; line < all.lines.size(); ++line) {
    Json row = {{"name", all.lines[line].name}};
    PutShown(row, "amount", shown.of_lines[line], owner.charge.of_lines[line], all.currency);
    json["shared_costs"].push_back(std::move(row));
  }
  json["resources"] = BillPartsJson(owner.resources, all.currency);
  json["jobs"] = BillPartsJson(owner.jobs, all.currency);
  json["experiments"] = BillPartsJson(owner.experiments, all.currency);
  return JsonDocument(json);
}

std::string ValidationJson(const BillValidation& validation) {
  Json json = BeginDocument<Json>("idleburn.bill_validation/1", validation.ids);
  json["file"] = Printable(validation.file.name);
  json["sha256"] = validation.file.sha256;
  json["rows"] = validation.file.rows;
  json["broken"] = Json::array();
  for (const BrokenRule& broken : validation.broken) {
    Json row = {{"rule", Facts(broken.rule).name}, {"times", broken.times}, {"sentence", Facts(broken.rule).sentence}};
    row["first"] = Json::array();
    for (const RuleHit& hit : broken.first) {
      row["first"].push_back({{"line", hit.line},
                              {"column", hit.column ? Json(Facts(*hit.column).name) : Json(nullptr)},
                              {"resource", TextOrNull<Json>(hit.resource)}});
    }
    json["broken"].push_back(std::move(row));
  }
  json["absent_columns"] = Json::array();
  for (const FocusColumn column : validation.absent) json["absent_columns"].push_back(Facts(column).name);
  return JsonDocument(json);
}

std::string SqlJson(const SqlAnswer& answer) {
  Json json = BeginDocument<Json>("idleburn.bill_sql/1", {});
  json["columns"] = Json::array();
  for (const std::string& column : answer.columns) json["columns"].push_back(Printable(column));
  json["rows"] = Json::array();
  for (const auto& row : answer.rows) {
    Json cells = Json::array();
    for (const std::string& cell : row) cells.push_back(TextOrNull<Json>(cell));
    json["rows"].push_back(std::move(cells));
  }
  json["cut"] = answer.cut;
  return JsonDocument(json);
}

}  // namespace idleburn
