#include "bill/row_rules.h"

#include <algorithm>
#include <span>

#include "base/money.h"
#include "bill/bill_value.h"
#include "text/strings.h"

namespace idleburn {
namespace {

using C = FocusColumn;

// The words that a column may have. A column that is not here may have any text.
struct ChoiceRow {
  C column;
  std::string_view word;
};
constexpr auto kChoices = std::to_array<ChoiceRow>({
    {C::kChargeCategory, "Usage"},
    {C::kChargeCategory, "Purchase"},
    {C::kChargeCategory, "Tax"},
    {C::kChargeCategory, "Credit"},
    {C::kChargeCategory, "Adjustment"},
    {C::kChargeClass, "Correction"},
    {C::kChargeFrequency, "One-Time"},
    {C::kChargeFrequency, "Recurring"},
    {C::kChargeFrequency, "Usage-Based"},
    {C::kPricingCategory, "Standard"},
    {C::kPricingCategory, "Dynamic"},
    {C::kPricingCategory, "Committed"},
    {C::kPricingCategory, "Other"},
    {C::kServiceCategory, "AI and Machine Learning"},
    {C::kServiceCategory, "Analytics"},
    {C::kServiceCategory, "Business Applications"},
    {C::kServiceCategory, "Compute"},
    {C::kServiceCategory, "Databases"},
    {C::kServiceCategory, "Developer Tools"},
    {C::kServiceCategory, "Identity"},
    {C::kServiceCategory, "Integration"},
    {C::kServiceCategory, "Internet of Things"},
    {C::kServiceCategory, "Management and Governance"},
    {C::kServiceCategory, "Media"},
    {C::kServiceCategory, "Migration"},
    {C::kServiceCategory, "Mobile"},
    {C::kServiceCategory, "Multicloud"},
    {C::kServiceCategory, "Networking"},
    {C::kServiceCategory, "Security"},
    {C::kServiceCategory, "Storage"},
    {C::kServiceCategory, "Web"},
    {C::kServiceCategory, "Other"},
    {C::kCommitmentDiscountCategory, "Spend"},
    {C::kCommitmentDiscountCategory, "Usage"},
    {C::kCommitmentDiscountStatus, "Used"},
    {C::kCommitmentDiscountStatus, "Unused"},
    {C::kCapacityReservationStatus, "Used"},
    {C::kCapacityReservationStatus, "Unused"},
});

// Subcategories of GPU charges and the one category that has them.
struct SubcategoryRow {
  std::string_view subcategory;
  std::string_view category;
};
constexpr auto kSubcategories = std::to_array<SubcategoryRow>({
    {"Virtual Machines", "Compute"},
    {"Containers", "Compute"},
    {"Serverless Compute", "Compute"},
    {"AI Platforms", "AI and Machine Learning"},
    {"Generative AI", "AI and Machine Learning"},
    {"Machine Learning", "AI and Machine Learning"},
});

// The keys of SkuPriceDetails that FOCUS has.
constexpr auto kSkuPriceKeys = std::to_array<std::string_view>(
    {"CoreCount", "DiskMaxIops", "DiskSpace", "DiskType", "GpuCount", "InstanceSeries", "InstanceType", "MemorySize",
     "NetworkMaxIops", "NetworkMaxThroughput", "OperatingSystem", "Redundancy", "StorageClass"});

// Columns that a tax must not have, and usage and purchases must.
constexpr auto kPricedColumns =
    std::to_array<C>({C::kPricingQuantity, C::kListUnitPrice, C::kContractedUnitPrice, C::kSkuId, C::kSkuPriceId});

void Find(std::vector<RowFinding>* findings, BillRule rule, std::optional<C> column, std::int64_t amount = 0,
          std::int64_t billed_over = 0, std::int64_t effective_over = 0) {
  findings->push_back({rule, column, amount, billed_over, effective_over});
}

bool IsUnit(std::string_view text) {
  return (IsUpper(text[0]) || IsDigit(text[0])) && std::all_of(text.begin(), text.end(), [](char c) {
           return IsAlnum(c) || c == '-' || c == ' ' || c == '/' || c == '.';
         });
}

bool HasKey(const std::pair<std::string, std::string>& pair) {
  return pair.first.starts_with("x_") ||
         std::find(kSkuPriceKeys.begin(), kSkuPriceKeys.end(), pair.first) != kSkuPriceKeys.end();
}

bool HasChoice(C column, std::string_view word) {
  return std::any_of(kChoices.begin(), kChoices.end(),
                     [&](const ChoiceRow& row) { return row.column == column && row.word == word; });
}

// --- how the cells of an item are written

void JudgeText(const FocusColumnFacts& column, const std::string& text, std::vector<RowFinding>* findings) {
  switch (column.kind) {
    case FocusKind::kCurrency:
      if (!IsCurrencyCode(text)) Find(findings, BillRule::kBadCurrency, column.id);
      break;
    case FocusKind::kChoice:
      if (column.id != C::kServiceSubcategory && !HasChoice(column.id, text)) {
        Find(findings, BillRule::kUnknownValue, column.id);
      }
      break;
    case FocusKind::kUnit:
      if (!IsUnit(text)) Find(findings, BillRule::kUnitForm, column.id);
      break;
    case FocusKind::kKeyValues: {
      const KeyValues values = ParseKeyValues(text);
      if (!values.known || !values.flat || !values.unique_keys) {
        Find(findings, BillRule::kBadKeyValues, column.id);
      } else if (column.id == C::kSkuPriceDetails && !std::all_of(values.pairs.begin(), values.pairs.end(), HasKey)) {
        Find(findings, BillRule::kSkuPriceKey, column.id);
      }
      break;
    }
    default:
      break;
  }
}

void JudgeParent(const BillItem& item, std::vector<RowFinding>* findings) {
  const std::string& sub = item.Of(C::kServiceSubcategory);
  const std::string& category = item.Of(C::kServiceCategory);
  if (sub.empty() || category.empty()) return;
  const auto* row = std::find_if(kSubcategories.begin(), kSubcategories.end(),
                                 [&](const SubcategoryRow& r) { return r.subcategory == sub; });
  const bool wrong = row != kSubcategories.end() ? row->category != category
                                                 : sub.starts_with("Other (") && sub != "Other (" + category + ")";
  if (wrong) Find(findings, BillRule::kSubcategoryParent, C::kServiceSubcategory);
}

void JudgeCommitment(const BillItem& item, std::vector<RowFinding>* findings) {
  const std::string& commitment = item.Of(C::kCommitmentDiscountId);
  if (commitment.empty()) return;
  const bool is_resource = item.Of(C::kResourceId) == commitment;
  if (item.category == ChargeCategory::kPurchase && !is_resource) {
    Find(findings, BillRule::kPurchaseResource, C::kResourceId);
  }
  if (item.unused && (!is_resource || item.category != ChargeCategory::kUsage)) {
    Find(findings, BillRule::kUnusedResource, C::kResourceId);
  }
  if (item.used && is_resource) Find(findings, BillRule::kUsedResource, C::kResourceId);
  const bool usage = item.category == ChargeCategory::kUsage && !item.correction;
  if (usage && item.Of(C::kCommitmentDiscountStatus).empty()) {
    Find(findings, BillRule::kCommitmentStatus, C::kCommitmentDiscountStatus);
  }
}

// GpuCount and the model as SkuPriceDetails name them; else those of the instance type, wherever it is named.
void TellGpus(const RuleContext& context, BillItem* item) {
  const std::string& details = item->Of(C::kSkuPriceDetails);
  const KeyValues values = details.empty() ? KeyValues() : ParseKeyValues(details);
  const BillNumber count = ParseBillNumber(values.Of("GpuCount"));
  if (count.known && count.nano % 1'000'000'000 == 0) item->gpus = count.nano / 1'000'000'000;
  for (const std::string_view key : {"x_GpuModel", "GpuModel", "GpuType"}) {
    if (item->gpu_model.empty()) item->gpu_model = values.Of(key);
  }
  if (item->gpus || item->category != ChargeCategory::kUsage || context.instances == nullptr) return;
  const std::string_view meter = item->Of(C::kSkuMeter);
  for (const std::string_view name :
       {values.Of("InstanceType"), values.Of("ServiceType"), std::string_view(item->Of(C::kResourceType)),
        meter.substr(meter.find(':') + 1)}) {
    const GpuInstance* const instance = context.instances->Find(name);
    if (instance == nullptr) continue;
    item->gpus = instance->gpus;
    item->gpu_model = instance->model;
    return;
  }
}

bool IsHours(std::string_view unit) {
  const std::string plain = Squash(unit);
  return plain == "hours" || plain == "hour" || plain == "hrs";
}

// --- money of a row

// price x quantity - cost, in billionths of billionths, which is exact. Absent if one has no value.
std::optional<Int128> ProductOver(const BillRow& row, C price, C quantity, C cost) {
  if (!row.Has(price) || !row.Has(quantity) || !row.Has(cost)) return std::nullopt;
  // A factor that was rounded at the ninth decimal cannot prove an exact product.
  if (row.Rounded(price) || row.Rounded(quantity)) return std::nullopt;
  const Int128 over = static_cast<Int128>(row.Number(cost)) * 1'000'000'000 -
                      static_cast<Int128>(row.Number(price)) * row.Number(quantity);
  // A cost with more decimals is right if the product rounds to the same.
  const Int128 half = 500'000'000;
  return row.Rounded(cost) && over >= -half && over <= half ? Int128{0} : over;
}

// An amount that does not fit is shown as 0; no bill has one.
std::int64_t Fitting(Int128 nano) { return FitsInt64(nano) ? static_cast<std::int64_t>(nano) : 0; }

std::int64_t Rounded(Int128 nano_nano) { return Fitting(DivHalfEven(nano_nano, 1'000'000'000)); }

void JudgeProducts(BillRow* row) {
  const BillItem& item = *row->what;
  if (item.correction) return;
  if (const auto over = ProductOver(*row, C::kListUnitPrice, C::kPricingQuantity, C::kListCost); over && *over != 0) {
    Find(&row->findings, BillRule::kListProduct, C::kListCost, Rounded(*over));
  }
  const auto over = ProductOver(*row, C::kContractedUnitPrice, C::kPricingQuantity, C::kContractedCost);
  if (!over || *over == 0) return;
  const std::int64_t amount = Rounded(*over);
  // The bill follows the wrong cost only where it charges just that.
  const auto follows = [&](C cost) { return row->Number(cost) == row->Number(C::kContractedCost) ? amount : 0; };
  const bool covered = !item.Of(C::kCommitmentDiscountStatus).empty();
  Find(&row->findings, BillRule::kContractedProduct, C::kContractedCost, amount, covered ? 0 : follows(C::kBilledCost),
       covered ? 0 : follows(C::kEffectiveCost));
}

void JudgeCommitmentMoney(BillRow* row) {
  const BillItem& item = *row->what;
  if (item.Of(C::kCommitmentDiscountId).empty()) return;
  const std::int64_t billed = row->Number(C::kBilledCost);
  const std::int64_t effective = row->Number(C::kEffectiveCost);
  if (item.category == ChargeCategory::kUsage && (item.used || item.unused) && billed != 0) {
    Find(&row->findings, BillRule::kCommitmentBilledTwice, C::kBilledCost, billed, billed, 0);
  }
  if (item.category == ChargeCategory::kPurchase && effective != 0) {
    Find(&row->findings, BillRule::kPurchaseHasEffectiveCost, C::kEffectiveCost, effective, 0, effective);
  }
}

// More hours than the period has. The part beyond the period is what was billed too much.
void JudgeHours(BillRow* row) {
  const BillItem& item = *row->what;
  if (!item.by_hour || !row->Has(C::kPricingQuantity)) return;
  const std::int64_t quantity = row->Number(C::kPricingQuantity);
  const Int128 hours = static_cast<Int128>((row->end - row->start).count()) * 1'000'000'000 / kNanosPerHour;
  if (quantity <= 0 || quantity <= hours) return;
  const auto beyond = [&](C cost) {
    return static_cast<std::int64_t>(
        DivHalfEven(static_cast<Int128>(row->Number(cost)) * (quantity - hours), quantity));
  };
  const std::int64_t over = beyond(C::kBilledCost);
  Find(&row->findings, BillRule::kQuantityExceedsPeriod, C::kPricingQuantity, over, over, beyond(C::kEffectiveCost));
}

void JudgePeriod(BillRow* row) {
  const BillItem& item = *row->what;
  if (!row->period_known) return;
  const std::int64_t billed = row->Number(C::kBilledCost);
  if (row->end <= row->start) {
    Find(&row->findings, BillRule::kEmptyPeriod, C::kChargePeriodEnd, billed);
    return;
  }
  JudgeHours(row);
  if (!item.billing_known) return;
  const bool before = row->start < item.billing_start;
  if (item.correction) {
    if (!before) Find(&row->findings, BillRule::kCorrectionInOpenPeriod, C::kChargeClass, billed);
  } else if ((before || row->start >= item.billing_end) && item.category == ChargeCategory::kUsage) {
    Find(&row->findings, BillRule::kOutsideBillingPeriod, C::kChargePeriodStart, billed);
  }
}

// Usage below zero, and prices above the list.
void JudgeSigns(BillRow* row) {
  const BillItem& item = *row->what;
  if (item.correction) return;
  const std::int64_t billed = row->Number(C::kBilledCost);
  const std::int64_t effective = row->Number(C::kEffectiveCost);
  if (item.category == ChargeCategory::kUsage && (billed < 0 || effective < 0)) {
    // The contracted cost of the row tells the right amount, if it is the same with the other sign.
    const std::int64_t right = row->Number(C::kContractedCost);
    const auto over = [&](std::int64_t cost) { return right > 0 && cost == -right ? Fitting(Int128{2} * cost) : 0; };
    Find(&row->findings, BillRule::kNegativeUsage, C::kBilledCost, billed, over(billed), over(effective));
  }
  if (row->Has(C::kListUnitPrice) && row->Has(C::kContractedUnitPrice) &&
      row->Number(C::kContractedUnitPrice) > row->Number(C::kListUnitPrice)) {
    const Int128 over = Int128{row->Number(C::kContractedUnitPrice)} - row->Number(C::kListUnitPrice);
    const Int128 amount = over * row->Number(C::kPricingQuantity);
    Find(&row->findings, BillRule::kAboveList, C::kContractedUnitPrice, Rounded(amount), Rounded(amount),
         item.committed ? 0 : Rounded(amount));
  }
}

void JudgeCredit(BillRow* row) {
  const BillItem& item = *row->what;
  const bool credit = item.category == ChargeCategory::kCredit || item.category == ChargeCategory::kAdjustment;
  if (!credit || row->Has(C::kListUnitPrice) || row->Has(C::kContractedUnitPrice)) return;
  const std::int64_t billed = row->Number(C::kBilledCost);
  for (const C cost : {C::kEffectiveCost, C::kListCost, C::kContractedCost}) {
    if (row->Number(cost) == billed) continue;
    Find(&row->findings, BillRule::kCreditAmounts, cost, Fitting(Int128{row->Number(cost)} - billed));
    return;
  }
}

void JudgeNulls(const RuleContext& context, BillRow* row) {
  const BillItem& item = *row->what;
  const auto present = [&](C column) { return context.present[Index(column)]; };
  const auto given = [&](C column) {
    return IsNumber(Facts(column).kind) ? row->Has(column) : !item.Of(column).empty();
  };
  for (const C cost : {C::kBilledCost, C::kEffectiveCost, C::kListCost, C::kContractedCost}) {
    const bool told =
        std::any_of(row->findings.begin(), row->findings.end(), [&](const RowFinding& f) { return f.column == cost; });
    if (present(cost) && !given(cost) && !told) Find(&row->findings, BillRule::kNullNotAllowed, cost);
  }
  const bool priced = item.category == ChargeCategory::kUsage || item.category == ChargeCategory::kPurchase;
  for (const C column : kPricedColumns) {
    if (item.category == ChargeCategory::kTax && given(column)) Find(&row->findings, BillRule::kTaxNotNull, column);
    if (priced && !item.correction && present(column) && !given(column)) {
      Find(&row->findings, BillRule::kUsageNull, column);
    }
  }
  const bool consumes = item.category == ChargeCategory::kUsage && !item.unused;
  if (!consumes && given(C::kConsumedQuantity)) {
    Find(&row->findings, BillRule::kConsumedQuantity, C::kConsumedQuantity);
  }
}

}  // namespace

void JudgeItem(const RuleContext& context, BillItem* item) {
  const std::string& category = item->Of(C::kChargeCategory);
  const auto* const known = std::find(kChargeCategories.begin(), kChargeCategories.end(), category);
  item->category = static_cast<ChargeCategory>(
      std::min<std::ptrdiff_t>(known - kChargeCategories.begin(), static_cast<int>(ChargeCategory::kUnknown)));
  item->correction = item->Of(C::kChargeClass) == "Correction";
  item->committed = item->Of(C::kPricingCategory) == "Committed";
  item->dynamic = item->Of(C::kPricingCategory) == "Dynamic";
  item->used = item->Of(C::kCommitmentDiscountStatus) == "Used";
  item->unused = item->Of(C::kCommitmentDiscountStatus) == "Unused";
  const std::string& service = item->Of(C::kServiceCategory);
  const bool compute = service == "Compute" || service == "AI and Machine Learning" || service.empty();
  item->by_hour = compute && IsHours(item->Of(C::kPricingUnit)) && item->category == ChargeCategory::kUsage &&
                  !item->unused && !item->correction && !item->Of(C::kResourceId).empty();
  const BillTime start = ParseBillTime(item->Of(C::kBillingPeriodStart));
  const BillTime end = ParseBillTime(item->Of(C::kBillingPeriodEnd));
  item->billing_start = start.time;
  item->billing_end = end.time;
  item->billing_known = start.known && end.known && start.time < end.time;
  TellGpus(context, item);

  std::vector<RowFinding>* const findings = &item->findings;
  const bool resource = item->category == ChargeCategory::kUsage && !item->correction && !item->unused &&
                        !item->Of(C::kResourceId).empty();
  if (resource && context.present[Index(C::kTags)] && item->Of(C::kTags).empty()) {
    Find(findings, BillRule::kUntagged, C::kTags);
  }
  if (!context.focus) return;
  for (const FocusColumnFacts& column : kFocusColumns) {
    const std::string& text = item->Of(column.id);
    const bool in_item =
        !IsNumber(column.kind) && column.id != C::kChargePeriodStart && column.id != C::kChargePeriodEnd;
    if (!in_item || !context.present[Index(column.id)]) continue;
    const bool told = std::any_of(findings->begin(), findings->end(), [&](const RowFinding& f) {
      return f.column == column.id && f.rule != BillRule::kUntagged;  // NULL or ""
    });
    if (!text.empty()) {
      JudgeText(column, text, findings);
    } else if (!column.may_be_null && !told) {
      Find(findings, BillRule::kNullNotAllowed, column.id);
    }
  }
  for (const auto& [time, column] :
       {std::pair(&start, C::kBillingPeriodStart), std::pair(&end, C::kBillingPeriodEnd)}) {
    if (!item->Of(column).empty() && !time->well) Find(findings, BillRule::kBadTime, column);
  }
  JudgeParent(*item, findings);
  JudgeCommitment(*item, findings);
  const bool purchase = item->category == ChargeCategory::kPurchase;
  if (purchase && item->Of(C::kChargeFrequency) == "Usage-Based") {
    Find(findings, BillRule::kFrequencyOfPurchase, C::kChargeFrequency);
  }
  if (purchase && item->committed) Find(findings, BillRule::kPurchaseCommitted, C::kPricingCategory);
  if (item->category == ChargeCategory::kTax && !item->Of(C::kPricingCategory).empty()) {
    Find(findings, BillRule::kTaxNotNull, C::kPricingCategory);
  }
}

void JudgeRow(const RuleContext& context, BillRow* row) {
  JudgeProducts(row);
  JudgeCommitmentMoney(row);
  JudgePeriod(row);
  JudgeSigns(row);
  if (!context.focus) return;
  JudgeCredit(row);
  JudgeNulls(context, row);
}

}  // namespace idleburn
