#include "bill/bill_formats.h"

#include <algorithm>
#include <optional>

#include "base/money.h"
#include "bill/bill_value.h"
#include "os/output_file.h"
#include "text/number.h"
#include "text/strings.h"
#include "text/time_zone.h"

namespace idleburn {
namespace {

using C = FocusColumn;

// A source column that becomes a FOCUS column. The first row that a header has counts.
struct SourceColumn {
  BillFormat format;
  C column;
  std::string_view name;
};

constexpr auto kSources = std::to_array<SourceColumn>({
    {BillFormat::kAwsCur, C::kBilledCost, "line_item_unblended_cost"},
    {BillFormat::kAwsCur, C::kListCost, "pricing_public_on_demand_cost"},
    {BillFormat::kAwsCur, C::kListUnitPrice, "pricing_public_on_demand_rate"},
    {BillFormat::kAwsCur, C::kPricingQuantity, "line_item_usage_amount"},
    {BillFormat::kAwsCur, C::kPricingUnit, "pricing_unit"},
    {BillFormat::kAwsCur, C::kChargePeriodStart, "line_item_usage_start_date"},
    {BillFormat::kAwsCur, C::kChargePeriodEnd, "line_item_usage_end_date"},
    {BillFormat::kAwsCur, C::kBillingPeriodStart, "bill_billing_period_start_date"},
    {BillFormat::kAwsCur, C::kBillingPeriodEnd, "bill_billing_period_end_date"},
    {BillFormat::kAwsCur, C::kChargeCategory, "line_item_line_item_type"},
    {BillFormat::kAwsCur, C::kChargeDescription, "line_item_line_item_description"},
    {BillFormat::kAwsCur, C::kBillingAccountId, "bill_payer_account_id"},
    {BillFormat::kAwsCur, C::kSubAccountId, "line_item_usage_account_id"},
    {BillFormat::kAwsCur, C::kSubAccountName, "line_item_usage_account_name"},
    {BillFormat::kAwsCur, C::kBillingCurrency, "line_item_currency_code"},
    {BillFormat::kAwsCur, C::kInvoiceId, "bill_invoice_id"},
    {BillFormat::kAwsCur, C::kInvoiceIssuerName, "bill_invoicing_entity"},
    {BillFormat::kAwsCur, C::kServiceName, "line_item_product_code"},
    {BillFormat::kAwsCur, C::kResourceId, "line_item_resource_id"},
    {BillFormat::kAwsCur, C::kResourceType, "product_instance_type"},
    {BillFormat::kAwsCur, C::kRegionId, "product_region_code"},
    {BillFormat::kAwsCur, C::kAvailabilityZone, "line_item_availability_zone"},
    {BillFormat::kAwsCur, C::kTags, "resource_tags"},
    {BillFormat::kAwsCur, C::kSkuId, "product_sku"},
    {BillFormat::kAwsCur, C::kSkuMeter, "line_item_usage_type"},
    {BillFormat::kAzure, C::kBilledCost, "costInBillingCurrency"},
    {BillFormat::kAzure, C::kBilledCost, "cost"},
    {BillFormat::kAzure, C::kBilledCost, "preTaxCost"},
    {BillFormat::kAzure, C::kBillingCurrency, "billingCurrency"},
    {BillFormat::kAzure, C::kBillingCurrency, "billingCurrencyCode"},
    {BillFormat::kAzure, C::kBillingCurrency, "currency"},
    {BillFormat::kAzure, C::kPricingQuantity, "quantity"},
    {BillFormat::kAzure, C::kPricingUnit, "unitOfMeasure"},
    {BillFormat::kAzure, C::kListUnitPrice, "payGPrice"},
    {BillFormat::kAzure, C::kContractedUnitPrice, "unitPrice"},
    {BillFormat::kAzure, C::kChargePeriodStart, "date"},
    {BillFormat::kAzure, C::kChargePeriodStart, "usageDateTime"},
    {BillFormat::kAzure, C::kBillingPeriodStart, "billingPeriodStartDate"},
    {BillFormat::kAzure, C::kBillingPeriodEnd, "billingPeriodEndDate"},
    {BillFormat::kAzure, C::kChargeCategory, "chargeType"},
    {BillFormat::kAzure, C::kChargeFrequency, "frequency"},
    {BillFormat::kAzure, C::kPricingCategory, "pricingModel"},
    {BillFormat::kAzure, C::kChargeDescription, "productName"},
    {BillFormat::kAzure, C::kBillingAccountId, "billingAccountId"},
    {BillFormat::kAzure, C::kBillingAccountName, "billingAccountName"},
    {BillFormat::kAzure, C::kSubAccountId, "subscriptionId"},
    {BillFormat::kAzure, C::kSubAccountName, "subscriptionName"},
    {BillFormat::kAzure, C::kInvoiceId, "invoiceId"},
    {BillFormat::kAzure, C::kServiceName, "meterCategory"},
    {BillFormat::kAzure, C::kSkuMeter, "meterName"},
    {BillFormat::kAzure, C::kSkuId, "meterId"},
    {BillFormat::kAzure, C::kResourceId, "resourceId"},
    {BillFormat::kAzure, C::kResourceId, "instanceId"},
    {BillFormat::kAzure, C::kResourceName, "resourceName"},
    {BillFormat::kAzure, C::kResourceType, "meterSubCategory"},
    {BillFormat::kAzure, C::kRegionId, "resourceLocation"},
    {BillFormat::kAzure, C::kTags, "tags"},
    {BillFormat::kAzure, C::kCommitmentDiscountId, "reservationId"},
    {BillFormat::kAzure, C::kCommitmentDiscountId, "benefitId"},
    {BillFormat::kAzure, C::kCommitmentDiscountName, "reservationName"},
    {BillFormat::kAzure, C::kCommitmentDiscountName, "benefitName"},
    {BillFormat::kGcp, C::kBilledCost, "cost"},
    {BillFormat::kGcp, C::kListCost, "cost_at_list"},
    {BillFormat::kGcp, C::kBillingCurrency, "currency"},
    {BillFormat::kGcp, C::kChargePeriodStart, "usage_start_time"},
    {BillFormat::kGcp, C::kChargePeriodEnd, "usage_end_time"},
    {BillFormat::kGcp, C::kChargeCategory, "cost_type"},
    {BillFormat::kGcp, C::kPricingQuantity, "usage.amount_in_pricing_units"},
    {BillFormat::kGcp, C::kPricingUnit, "usage.pricing_unit"},
    {BillFormat::kGcp, C::kBillingAccountId, "billing_account_id"},
    {BillFormat::kGcp, C::kSubAccountId, "project.id"},
    {BillFormat::kGcp, C::kSubAccountName, "project.name"},
    {BillFormat::kGcp, C::kServiceName, "service.description"},
    {BillFormat::kGcp, C::kSkuId, "sku.id"},
    {BillFormat::kGcp, C::kChargeDescription, "sku.description"},
    {BillFormat::kGcp, C::kResourceId, "resource.global_name"},
    {BillFormat::kGcp, C::kResourceName, "resource.name"},
    {BillFormat::kGcp, C::kRegionId, "location.region"},
    {BillFormat::kGcp, C::kAvailabilityZone, "location.zone"},
    {BillFormat::kGcp, C::kTags, "labels"},
});

// Columns by which a header is known.
struct Signature {
  BillFormat format;
  std::array<std::string_view, 3> columns;
};
constexpr auto kSignatures = std::to_array<Signature>({
    {BillFormat::kFocus, {"BilledCost", "ChargePeriodStart", "ChargeCategory"}},
    {BillFormat::kAwsCur, {"line_item_unblended_cost", "line_item_usage_start_date", "line_item_line_item_type"}},
    {BillFormat::kGcp, {"cost", "usage_start_time", "sku.description"}},
    {BillFormat::kAzure, {"chargeType", "meterCategory", "quantity"}},
});

// A word of the source for what FOCUS says in several columns. Empty: as it was.
struct SourceWord {
  BillFormat format;
  std::string_view word;
  std::string_view category;
  std::string_view pricing = {};
  std::string_view status = {};
};
constexpr auto kSourceWords = std::to_array<SourceWord>({
    {BillFormat::kAwsCur, "Usage", "Usage", "Standard"},
    {BillFormat::kAwsCur, "DiscountedUsage", "Usage", "Committed", "Used"},
    {BillFormat::kAwsCur, "SavingsPlanCoveredUsage", "Usage", "Committed", "Used"},
    {BillFormat::kAwsCur, "SavingsPlanNegation", "Adjustment"},
    {BillFormat::kAwsCur, "SavingsPlanUpfrontFee", "Purchase"},
    {BillFormat::kAwsCur, "SavingsPlanRecurringFee", "Purchase"},
    {BillFormat::kAwsCur, "RIFee", "Purchase"},
    {BillFormat::kAwsCur, "Fee", "Purchase"},
    {BillFormat::kAwsCur, "Tax", "Tax"},
    {BillFormat::kAwsCur, "Credit", "Credit"},
    {BillFormat::kAwsCur, "Refund", "Credit"},
    {BillFormat::kAzure, "Usage", "Usage"},
    {BillFormat::kAzure, "Purchase", "Purchase"},
    {BillFormat::kAzure, "UnusedReservation", "Usage", "Committed", "Unused"},
    {BillFormat::kAzure, "UnusedSavingsPlan", "Usage", "Committed", "Unused"},
    {BillFormat::kAzure, "Refund", "Credit"},
    {BillFormat::kAzure, "RoundingAdjustment", "Adjustment"},
    {BillFormat::kAzure, "Tax", "Tax"},
    {BillFormat::kGcp, "regular", "Usage", "Standard"},
    {BillFormat::kGcp, "tax", "Tax"},
    {BillFormat::kGcp, "adjustment", "Adjustment"},
    {BillFormat::kGcp, "rounding_error", "Adjustment"},
});

// The sum of the amounts in a JSON list of credits, as GCP nests them in a row: [{"name":"x","amount":-1.5}, ...].
Int128 CreditSum(std::string_view json) {
  constexpr std::string_view kKey = "\"amount\":";
  Int128 sum = 0;
  for (std::size_t at = json.find(kKey); at != std::string_view::npos; at = json.find(kKey, at)) {
    at += kKey.size();
    const std::size_t end = std::min(json.find_first_of(",}]", at), json.size());
    std::string_view text = Trim(json.substr(at, end - at));
    if (text.size() > 1 && text.front() == '"') text = text.substr(1, text.size() - 2);
    sum += ParseBillNumber(text).nano;
  }
  return sum;
}

// Azure writes days as 09/30/2026.
std::string IsoDay(std::string_view text) {
  if (text.size() >= 10 && text[2] == '/' && text[5] == '/') {
    return std::string(text.substr(6, 4)) + "-" + std::string(text.substr(0, 2)) + "-" + std::string(text.substr(3, 2));
  }
  return std::string(text);
}

// --columns as pairs "FocusColumn=source".
Result<std::vector<std::pair<C, std::string>>> ReadMapping(const std::string& mapping) {
  const std::optional<std::string> file = TRY(ReadFileIfThere(mapping, 1 << 20));
  std::string list = file.value_or(mapping);
  std::replace(list.begin(), list.end(), '\n', ',');
  std::vector<std::pair<C, std::string>> pairs;
  for (const std::string_view part : Split(list, ',')) {
    if (part.empty() || part.front() == '#') continue;
    const std::size_t equals = part.find('=');
    const std::string_view name = Trim(part.substr(0, equals));
    const auto column = FocusColumnNamed(name);
    if (equals == std::string_view::npos || !column) {
      return FailUsage("bill: --columns: '" + Printable(part) + "' does not begin with a FOCUS column and =; " +
                       "an example is BilledCost=amount");
    }
    pairs.emplace_back(*column, std::string(Trim(part.substr(equals + 1))));
  }
  return pairs;
}

}  // namespace

Result<ColumnPlan> ColumnPlan::Make(const std::vector<std::string>& header, const std::string& mapping,
                                    const std::string& file) {
  ColumnPlan plan;
  for (const std::string& column : header) plan.header_.push_back(Squash(column));
  const auto place = [&](std::string_view name) {
    const auto at = std::find(plan.header_.begin(), plan.header_.end(), Squash(name));
    return at == plan.header_.end() ? -1 : static_cast<int>(at - plan.header_.begin());
  };
  plan.place_.fill(-1);
  if (!mapping.empty()) {
    plan.format_ = BillFormat::kMapped;
    for (const auto& [column, source] : TRY(ReadMapping(mapping))) {
      plan.place_[Index(column)] = place(source);
      if (place(source) < 0) return Fail(file + ": has no column '" + Printable(source) + "', which --columns names");
    }
    for (const C needed : {C::kBilledCost, C::kChargePeriodStart}) {
      if (!plan.Has(needed)) {
        return FailUsage("bill: --columns must name a column for " + std::string(Facts(needed).name));
      }
    }
  } else {
    const auto* known = std::find_if(kSignatures.begin(), kSignatures.end(), [&](const Signature& s) {
      return std::all_of(s.columns.begin(), s.columns.end(), [&](std::string_view c) { return place(c) >= 0; });
    });
    if (known == kSignatures.end()) {
      return Fail(file +
                  ": is not a known billing export (no BilledCost, ChargePeriodStart and ChargeCategory); "
                  "name its columns with --columns");
    }
    plan.format_ = known->format;
    if (plan.format_ == BillFormat::kFocus) {
      for (const FocusColumnFacts& column : kFocusColumns) plan.place_[Index(column.id)] = place(column.name);
    }
    for (const SourceColumn& source : kSources) {
      if (source.format == plan.format_ && !plan.Has(source.column)) {
        plan.place_[Index(source.column)] = place(source.name);
      }
    }
  }
  for (std::size_t i = 0; i < header.size(); ++i) {
    if (std::find(plan.place_.begin(), plan.place_.end(), static_cast<int>(i)) == plan.place_.end()) {
      plan.extra_.push_back(i);
    }
  }
  return plan;
}

void ColumnPlan::Read(std::span<const BillCell> row, FocusCells* cells) {
  for (std::size_t c = 0; c < kFocusColumnCount; ++c) {
    (*cells)[c] = place_[c] < 0 ? BillCell() : row[static_cast<std::size_t>(place_[c])];
  }
  switch (format_) {
    case BillFormat::kFocus:
      return;
    case BillFormat::kAwsCur:
      TranslateAws(row, cells);
      break;
    case BillFormat::kAzure:
      TranslateAzure(row, cells);
      break;
    case BillFormat::kGcp:
      TranslateGcp(row, cells);
      break;
    case BillFormat::kMapped:
      break;
  }
  FillGaps(cells);
}

BillCell ColumnPlan::Source(std::span<const BillCell> row, std::string_view column) const {
  const auto at = std::find(header_.begin(), header_.end(), Squash(column));
  return at == header_.end() ? BillCell() : row[static_cast<std::size_t>(at - header_.begin())];
}

void ColumnPlan::Put(FocusCells* cells, FocusColumn column, std::string text) {
  std::string& made = made_[Index(column)];
  made = std::move(text);
  (*cells)[Index(column)] = {made, made.empty()};
}

// Usage under a savings plan is listed at its price on demand, and one negation takes all of it back. Both are 0 here:
// the fee of the plan is what was billed.
void ColumnPlan::TranslateAws(std::span<const BillCell> row, FocusCells* cells) {
  const std::string_view type = (*cells)[Index(C::kChargeCategory)].text;
  const bool plan = type == "SavingsPlanCoveredUsage";
  if (plan || type == "SavingsPlanNegation") Put(cells, C::kBilledCost, "0");
  if (plan) (*cells)[Index(C::kEffectiveCost)] = Source(row, "savings_plan_savings_plan_effective_cost");
  if (type.starts_with("SavingsPlan")) {
    (*cells)[Index(C::kCommitmentDiscountId)] = Source(row, "savings_plan_savings_plan_a_r_n");
  }
  if (type == "DiscountedUsage") (*cells)[Index(C::kEffectiveCost)] = Source(row, "reservation_effective_cost");
  if (type == "DiscountedUsage" || type == "RIFee") {
    (*cells)[Index(C::kCommitmentDiscountId)] = Source(row, "reservation_reservation_a_r_n");
  }
  if (Source(row, "line_item_usage_type").text.find("SpotUsage") != std::string_view::npos) {
    Put(cells, C::kPricingCategory, "Dynamic");
  }
}

void ColumnPlan::TranslateAzure(std::span<const BillCell> row, FocusCells* cells) {
  for (const C time : {C::kChargePeriodStart, C::kBillingPeriodStart, C::kBillingPeriodEnd}) {
    if (!(*cells)[Index(time)].null) Put(cells, time, IsoDay((*cells)[Index(time)].text));
  }
  // The day of the last charge becomes the end of the period.
  if (const BillTime end = ParseBillTime((*cells)[Index(C::kBillingPeriodEnd)].text); end.known) {
    Put(cells, C::kBillingPeriodEnd, FormatRfc3339(end.time + Nanos(24 * kNanosPerHour)));
  }
  if (const BillTime day = ParseBillTime((*cells)[Index(C::kChargePeriodStart)].text); day.known) {
    Put(cells, C::kChargePeriodEnd, FormatRfc3339(day.time + Nanos(24 * kNanosPerHour)));
  }
  const std::string_view model = (*cells)[Index(C::kPricingCategory)].text;
  const bool covered = model == "Reservation" || model == "SavingsPlan";
  Put(cells, C::kPricingCategory, covered ? "Committed" : model == "Spot" ? "Dynamic" : "Standard");
  if (covered && EqualsIgnoreCase((*cells)[Index(C::kChargeCategory)].text, "Usage")) {
    Put(cells, C::kCommitmentDiscountStatus, "Used");
  }
  // Tags come without the braces of an object.
  const std::string_view tags = Trim((*cells)[Index(C::kTags)].text);
  if (!tags.empty() && tags.front() == '"') Put(cells, C::kTags, "{" + std::string(tags) + "}");
  const BillCell size = Source(row, "additionalInfo");
  if (!size.null) (*cells)[Index(C::kSkuPriceDetails)] = size;
}

// Credits are nested in the row that they reduce, so the amount to pay is the cost with its credits.
void ColumnPlan::TranslateGcp(std::span<const BillCell> row, FocusCells* cells) {
  const BillCell credits = Source(row, "credits");
  const BillNumber cost = ParseBillNumber((*cells)[Index(C::kBilledCost)].text);
  const Int128 billed = CreditSum(credits.text) + cost.nano;
  if (!credits.null && cost.known && FitsInt64(billed)) {
    Put(cells, C::kBilledCost, FormatExact(Money::Nano(static_cast<std::int64_t>(billed)), 0));
  }
  const std::string_view sku = (*cells)[Index(C::kChargeDescription)].text;
  // A GPU has a SKU of its own, apart from the machine that it is in.
  if (sku.find(" GPU") != std::string_view::npos) {
    Put(cells, C::kSkuPriceDetails, R"({"GpuCount": 1})");
    Put(cells, C::kPricingUnit, "GPU-Hours");
  }
  if (sku.starts_with("Spot ") || sku.find("Preemptible") != std::string_view::npos) {
    Put(cells, C::kPricingCategory, "Dynamic");
  }
}

// What FOCUS needs and a source does not have: an hour for a charge without an end, and one amount for all costs.
void ColumnPlan::FillGaps(FocusCells* cells) {
  const auto cell = [&](C column) -> BillCell& { return (*cells)[Index(column)]; };
  const std::string word(cell(C::kChargeCategory).text);
  const auto* known = std::find_if(kSourceWords.begin(), kSourceWords.end(), [&](const SourceWord& w) {
    return w.format == format_ && EqualsIgnoreCase(w.word, word);
  });
  if (known != kSourceWords.end()) {
    Put(cells, C::kChargeCategory, std::string(known->category));
    if (!known->pricing.empty() && cell(C::kPricingCategory).null) {
      Put(cells, C::kPricingCategory, std::string(known->pricing));
    }
    if (!known->status.empty()) Put(cells, C::kCommitmentDiscountStatus, std::string(known->status));
  } else if (word.empty()) {
    Put(cells, C::kChargeCategory, "Usage");
  } else if (format_ != BillFormat::kMapped) {
    Put(cells, C::kChargeCategory, "Adjustment");  // discounts, and words that are newer than this table
  }
  if (cell(C::kBillingCurrency).null) Put(cells, C::kBillingCurrency, "USD");
  if (cell(C::kEffectiveCost).null) {
    Put(cells, C::kEffectiveCost,
        cell(C::kChargeCategory).text == "Purchase" && !cell(C::kCommitmentDiscountId).null
            ? "0"
            : std::string(cell(C::kBilledCost).text));
  }
  if (cell(C::kChargePeriodEnd).null) {
    if (const BillTime start = ParseBillTime(cell(C::kChargePeriodStart).text); start.known) {
      Put(cells, C::kChargePeriodEnd, FormatRfc3339(start.time + Nanos(kNanosPerHour)));
    }
  }
}

}  // namespace idleburn
