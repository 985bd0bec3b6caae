#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

// Every rule of a bill, as one table of facts: those that a row or a file can break by itself, and those that only the
// whole bill or telemetry beside it shows. `bill validate` and `bill reconcile` print the names.
namespace idleburn {

enum class BillRule : std::uint8_t {
  // The file.
  kColumnMissing,
  kCustomColumn,
  kMalformedRow,
  // How a cell is written.
  kLiteralNull,
  kQuotedEmpty,
  kNullNotAllowed,
  kBadNumber,
  kBadTime,
  kBadCurrency,
  kBadKeyValues,
  kSkuPriceKey,
  kUnknownValue,
  kUnitForm,
  // What goes together.
  kSubcategoryParent,
  kCorrectionInOpenPeriod,
  kFrequencyOfPurchase,
  kTaxNotNull,
  kUsageNull,
  kConsumedQuantity,
  kPurchaseCommitted,
  kPurchaseResource,
  kUnusedResource,
  kUsedResource,
  kCommitmentStatus,
  kCreditAmounts,
  kCommitmentSum,
  // Money and time of a row.
  kListProduct,
  kContractedProduct,
  kCommitmentBilledTwice,
  kPurchaseHasEffectiveCost,
  kQuantityExceedsPeriod,
  kForeignCurrency,
  kOutsideBillingPeriod,
  kNegativeUsage,
  kEmptyPeriod,
  kAboveList,
  kUntagged,
  kDuplicateRow,
  kOverlappingPeriod,
  kMissingHour,
  // The bill beside telemetry, prices and contracts.
  kBilledNotSeen,
  kSeenNotBilled,
  kPrice,
  kCommitmentUnused,
};
inline constexpr std::size_t kBillRuleCount = 44;

// Who prints a rule.
enum class RuleUse : std::uint8_t {
  kForm,      // FOCUS only: validate prints it, reconcile counts it
  kBoth,      // validate prints it, and reconcile lists it as a mismatch
  kMismatch,  // reconcile only
};

struct BillRuleFacts {
  BillRule id;
  std::string_view name;
  RuleUse use;
  std::string_view sentence;  // what is wrong
};

inline constexpr std::array<BillRuleFacts, kBillRuleCount> kBillRules = {{
    {BillRule::kColumnMissing, "column_missing", RuleUse::kForm, "a mandatory column is missing"},
    {BillRule::kCustomColumn, "custom_column", RuleUse::kForm,
     "a column of your own needs a name like x_Name, and a place after all FOCUS columns"},
    {BillRule::kMalformedRow, "malformed_row", RuleUse::kForm, "the row does not have the cells of the header"},
    {BillRule::kLiteralNull, "literal_null", RuleUse::kBoth, "a word such as NULL instead of an empty cell"},
    {BillRule::kQuotedEmpty, "quoted_empty", RuleUse::kForm, "a quoted empty text instead of an empty cell"},
    {BillRule::kNullNotAllowed, "null_not_allowed", RuleUse::kForm, "the cell must have a value"},
    {BillRule::kBadNumber, "bad_number", RuleUse::kBoth, "the number is not written as FOCUS writes numbers"},
    {BillRule::kBadTime, "bad_time", RuleUse::kForm, "the time is not written as YYYY-MM-DDTHH:mm:ssZ"},
    {BillRule::kBadCurrency, "bad_currency", RuleUse::kForm, "the currency is not a code of ISO 4217"},
    {BillRule::kBadKeyValues, "bad_key_values", RuleUse::kForm,
     "the cell is not one flat JSON object with unique keys"},
    {BillRule::kSkuPriceKey, "sku_price_key", RuleUse::kForm,
     "a key of SkuPriceDetails that FOCUS does not have needs a name like x_Name"},
    {BillRule::kUnknownValue, "unknown_value", RuleUse::kForm, "FOCUS does not have this value"},
    {BillRule::kUnitForm, "unit_form", RuleUse::kForm, "the unit is not written as GPU-Hours, Hours or GB-Hours"},
    {BillRule::kSubcategoryParent, "subcategory_parent", RuleUse::kForm,
     "the subcategory belongs to another service category"},
    {BillRule::kCorrectionInOpenPeriod, "correction_in_open_period", RuleUse::kForm,
     "a correction must be about a period that was invoiced before"},
    {BillRule::kFrequencyOfPurchase, "frequency_of_purchase", RuleUse::kForm, "a purchase cannot be Usage-Based"},
    {BillRule::kTaxNotNull, "tax_not_null", RuleUse::kForm, "a tax has no price, quantity or SKU"},
    {BillRule::kUsageNull, "usage_null", RuleUse::kForm, "usage and purchases need prices, a quantity and a SKU"},
    {BillRule::kConsumedQuantity, "consumed_quantity", RuleUse::kForm,
     "only usage that is not an unused commitment has a consumed quantity"},
    {BillRule::kPurchaseCommitted, "purchase_committed", RuleUse::kForm,
     "Committed is for covered usage, not for the purchase"},
    {BillRule::kPurchaseResource, "purchase_resource", RuleUse::kForm,
     "the ResourceId of a commitment purchase must be the commitment"},
    {BillRule::kUnusedResource, "unused_resource", RuleUse::kForm,
     "the unused part must be a Usage row, and its ResourceId the commitment"},
    {BillRule::kUsedResource, "used_resource", RuleUse::kForm,
     "the ResourceId of covered usage must be the resource, not the commitment"},
    {BillRule::kCommitmentStatus, "commitment_status", RuleUse::kForm, "usage of a commitment must be Used or Unused"},
    {BillRule::kCreditAmounts, "credit_amounts", RuleUse::kForm,
     "a credit or adjustment without a unit price has one amount in all four costs"},
    {BillRule::kCommitmentSum, "commitment_sum", RuleUse::kForm,
     "used and unused EffectiveCost do not sum to the BilledCost of the commitment"},
    {BillRule::kListProduct, "list_product", RuleUse::kBoth, "ListUnitPrice x PricingQuantity is not ListCost"},
    {BillRule::kContractedProduct, "contracted_product", RuleUse::kBoth,
     "ContractedUnitPrice x PricingQuantity is not ContractedCost"},
    {BillRule::kCommitmentBilledTwice, "commitment_billed_twice", RuleUse::kBoth,
     "usage under a commitment carries BilledCost; the purchase already bills it"},
    {BillRule::kPurchaseHasEffectiveCost, "purchase_has_effective_cost", RuleUse::kBoth,
     "a commitment purchase must have EffectiveCost 0"},
    {BillRule::kQuantityExceedsPeriod, "quantity_exceeds_period", RuleUse::kBoth,
     "more hours than the charge period of one resource has"},
    {BillRule::kForeignCurrency, "foreign_currency", RuleUse::kBoth,
     "the currency differs from the invoice; the row is not in the sums"},
    {BillRule::kOutsideBillingPeriod, "outside_billing_period", RuleUse::kBoth,
     "the charge period lies outside the billing period, and the row is not a correction"},
    {BillRule::kNegativeUsage, "negative_usage", RuleUse::kBoth, "negative usage that is not a correction"},
    {BillRule::kEmptyPeriod, "empty_period", RuleUse::kBoth, "the charge period does not end after its start"},
    {BillRule::kAboveList, "above_list", RuleUse::kBoth, "the contracted unit price is above the list price"},
    {BillRule::kUntagged, "untagged", RuleUse::kMismatch, "usage of a resource has no tags, so its cost has no owner"},
    {BillRule::kDuplicateRow, "duplicate_row", RuleUse::kBoth, "the same row occurs again"},
    {BillRule::kOverlappingPeriod, "overlapping_period", RuleUse::kMismatch,
     "charge periods of one resource overlap and bill more hours than there are"},
    {BillRule::kMissingHour, "missing_hour", RuleUse::kMismatch, "an hour of a running resource has no row"},
    {BillRule::kBilledNotSeen, "billed_not_seen", RuleUse::kMismatch, "billed, but telemetry never saw it"},
    {BillRule::kSeenNotBilled, "seen_not_billed", RuleUse::kMismatch, "telemetry saw it, but it is not billed"},
    {BillRule::kPrice, "price", RuleUse::kMismatch, "the price differs from the contract or the price you gave"},
    {BillRule::kCommitmentUnused, "commitment_unused", RuleUse::kMismatch,
     "a part of the commitment was neither used nor reported as unused"},
}};

constexpr const BillRuleFacts& Facts(BillRule rule) { return kBillRules[static_cast<std::size_t>(rule)]; }

constexpr bool BillRulesInOrder() {
  for (std::size_t i = 0; i < kBillRuleCount; ++i) {
    if (static_cast<std::size_t>(kBillRules[i].id) != i) return false;
  }
  return true;
}
static_assert(BillRulesInOrder());

}  // namespace idleburn
