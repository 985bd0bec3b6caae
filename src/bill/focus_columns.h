#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

// The 57 columns of FOCUS 1.2 as one table of facts. Import, validation and export use it, so a column has one name,
// one level and one kind everywhere. Older versions have a part of these columns.
namespace idleburn {

enum class FocusColumn : std::uint8_t {
  kBilledCost,
  kEffectiveCost,
  kListCost,
  kContractedCost,
  kListUnitPrice,
  kContractedUnitPrice,
  kPricingQuantity,
  kPricingUnit,
  kConsumedQuantity,
  kConsumedUnit,
  kBillingPeriodStart,
  kBillingPeriodEnd,
  kChargePeriodStart,
  kChargePeriodEnd,
  kChargeCategory,
  kChargeClass,
  kChargeDescription,
  kChargeFrequency,
  kPricingCategory,
  kBillingAccountId,
  kBillingCurrency,
  kBillingAccountName,
  kBillingAccountType,
  kSubAccountId,
  kSubAccountName,
  kSubAccountType,
  kInvoiceIssuerName,
  kProviderName,
  kPublisherName,
  kInvoiceId,
  kServiceCategory,
  kServiceName,
  kServiceSubcategory,
  kResourceId,
  kResourceName,
  kResourceType,
  kRegionId,
  kRegionName,
  kAvailabilityZone,
  kTags,
  kSkuId,
  kSkuPriceId,
  kSkuMeter,
  kSkuPriceDetails,
  kCommitmentDiscountId,
  kCommitmentDiscountName,
  kCommitmentDiscountCategory,
  kCommitmentDiscountType,
  kCommitmentDiscountStatus,
  kCommitmentDiscountQuantity,
  kCommitmentDiscountUnit,
  kCapacityReservationId,
  kCapacityReservationStatus,
  kPricingCurrency,
  kPricingCurrencyContractedUnitPrice,
  kPricingCurrencyEffectiveCost,
  kPricingCurrencyListUnitPrice,
};
inline constexpr std::size_t kFocusColumnCount = 57;

// Whether a file must have the column: always, preferably, or if the provider supports the subject.
enum class FocusLevel : std::uint8_t { kMandatory, kRecommended, kConditional };

// What a cell holds. Money is an amount of the billing currency; a price is for one pricing unit.
enum class FocusKind : std::uint8_t {
  kText,
  kMoney,
  kPrice,
  kQuantity,
  kUnit,
  kTime,
  kCurrency,
  kChoice,     // one of a list of words (bill/row_rules.cc)
  kKeyValues,  // a flat JSON object
};

// One column.
struct FocusColumnFacts {
  FocusColumn id;
  std::string_view name;
  FocusLevel level;
  bool may_be_null;
  FocusKind kind;
};

inline constexpr std::array<FocusColumnFacts, kFocusColumnCount> kFocusColumns = {{
    {FocusColumn::kBilledCost, "BilledCost", FocusLevel::kMandatory, false, FocusKind::kMoney},
    {FocusColumn::kEffectiveCost, "EffectiveCost", FocusLevel::kMandatory, false, FocusKind::kMoney},
    {FocusColumn::kListCost, "ListCost", FocusLevel::kMandatory, false, FocusKind::kMoney},
    {FocusColumn::kContractedCost, "ContractedCost", FocusLevel::kMandatory, false, FocusKind::kMoney},
    {FocusColumn::kListUnitPrice, "ListUnitPrice", FocusLevel::kConditional, true, FocusKind::kPrice},
    {FocusColumn::kContractedUnitPrice, "ContractedUnitPrice", FocusLevel::kConditional, true, FocusKind::kPrice},
    {FocusColumn::kPricingQuantity, "PricingQuantity", FocusLevel::kMandatory, true, FocusKind::kQuantity},
    {FocusColumn::kPricingUnit, "PricingUnit", FocusLevel::kMandatory, true, FocusKind::kUnit},
    {FocusColumn::kConsumedQuantity, "ConsumedQuantity", FocusLevel::kConditional, true, FocusKind::kQuantity},
    {FocusColumn::kConsumedUnit, "ConsumedUnit", FocusLevel::kConditional, true, FocusKind::kUnit},
    {FocusColumn::kBillingPeriodStart, "BillingPeriodStart", FocusLevel::kMandatory, false, FocusKind::kTime},
    {FocusColumn::kBillingPeriodEnd, "BillingPeriodEnd", FocusLevel::kMandatory, false, FocusKind::kTime},
    {FocusColumn::kChargePeriodStart, "ChargePeriodStart", FocusLevel::kMandatory, false, FocusKind::kTime},
    {FocusColumn::kChargePeriodEnd, "ChargePeriodEnd", FocusLevel::kMandatory, false, FocusKind::kTime},
    {FocusColumn::kChargeCategory, "ChargeCategory", FocusLevel::kMandatory, false, FocusKind::kChoice},
    {FocusColumn::kChargeClass, "ChargeClass", FocusLevel::kMandatory, true, FocusKind::kChoice},
    {FocusColumn::kChargeDescription, "ChargeDescription", FocusLevel::kMandatory, true, FocusKind::kText},
    {FocusColumn::kChargeFrequency, "ChargeFrequency", FocusLevel::kRecommended, false, FocusKind::kChoice},
    {FocusColumn::kPricingCategory, "PricingCategory", FocusLevel::kConditional, true, FocusKind::kChoice},
    {FocusColumn::kBillingAccountId, "BillingAccountId", FocusLevel::kMandatory, false, FocusKind::kText},
    {FocusColumn::kBillingCurrency, "BillingCurrency", FocusLevel::kMandatory, false, FocusKind::kCurrency},
    {FocusColumn::kBillingAccountName, "BillingAccountName", FocusLevel::kMandatory, true, FocusKind::kText},
    {FocusColumn::kBillingAccountType, "BillingAccountType", FocusLevel::kConditional, false, FocusKind::kText},
    {FocusColumn::kSubAccountId, "SubAccountId", FocusLevel::kConditional, true, FocusKind::kText},
    {FocusColumn::kSubAccountName, "SubAccountName", FocusLevel::kConditional, true, FocusKind::kText},
    {FocusColumn::kSubAccountType, "SubAccountType", FocusLevel::kConditional, true, FocusKind::kText},
    {FocusColumn::kInvoiceIssuerName, "InvoiceIssuerName", FocusLevel::kMandatory, false, FocusKind::kText},
    {FocusColumn::kProviderName, "ProviderName", FocusLevel::kMandatory, false, FocusKind::kText},
    {FocusColumn::kPublisherName, "PublisherName", FocusLevel::kMandatory, false, FocusKind::kText},
    {FocusColumn::kInvoiceId, "InvoiceId", FocusLevel::kRecommended, true, FocusKind::kText},
    {FocusColumn::kServiceCategory, "ServiceCategory", FocusLevel::kMandatory, false, FocusKind::kChoice},
    {FocusColumn::kServiceName, "ServiceName", FocusLevel::kMandatory, false, FocusKind::kText},
    {FocusColumn::kServiceSubcategory, "ServiceSubcategory", FocusLevel::kRecommended, false, FocusKind::kChoice},
    {FocusColumn::kResourceId, "ResourceId", FocusLevel::kConditional, true, FocusKind::kText},
    {FocusColumn::kResourceName, "ResourceName", FocusLevel::kConditional, true, FocusKind::kText},
    {FocusColumn::kResourceType, "ResourceType", FocusLevel::kConditional, true, FocusKind::kText},
    {FocusColumn::kRegionId, "RegionId", FocusLevel::kConditional, true, FocusKind::kText},
    {FocusColumn::kRegionName, "RegionName", FocusLevel::kConditional, true, FocusKind::kText},
    {FocusColumn::kAvailabilityZone, "AvailabilityZone", FocusLevel::kRecommended, true, FocusKind::kText},
    {FocusColumn::kTags, "Tags", FocusLevel::kConditional, true, FocusKind::kKeyValues},
    {FocusColumn::kSkuId, "SkuId", FocusLevel::kConditional, true, FocusKind::kText},
    {FocusColumn::kSkuPriceId, "SkuPriceId", FocusLevel::kConditional, true, FocusKind::kText},
    {FocusColumn::kSkuMeter, "SkuMeter", FocusLevel::kConditional, true, FocusKind::kText},
    {FocusColumn::kSkuPriceDetails, "SkuPriceDetails", FocusLevel::kConditional, true, FocusKind::kKeyValues},
    {FocusColumn::kCommitmentDiscountId, "CommitmentDiscountId", FocusLevel::kConditional, true, FocusKind::kText},
    {FocusColumn::kCommitmentDiscountName, "CommitmentDiscountName", FocusLevel::kConditional, true, FocusKind::kText},
    {FocusColumn::kCommitmentDiscountCategory, "CommitmentDiscountCategory", FocusLevel::kConditional, true,
     FocusKind::kChoice},
    {FocusColumn::kCommitmentDiscountType, "CommitmentDiscountType", FocusLevel::kConditional, true, FocusKind::kText},
    {FocusColumn::kCommitmentDiscountStatus, "CommitmentDiscountStatus", FocusLevel::kConditional, true,
     FocusKind::kChoice},
    {FocusColumn::kCommitmentDiscountQuantity, "CommitmentDiscountQuantity", FocusLevel::kConditional, true,
     FocusKind::kQuantity},
    {FocusColumn::kCommitmentDiscountUnit, "CommitmentDiscountUnit", FocusLevel::kConditional, true, FocusKind::kUnit},
    {FocusColumn::kCapacityReservationId, "CapacityReservationId", FocusLevel::kConditional, true, FocusKind::kText},
    {FocusColumn::kCapacityReservationStatus, "CapacityReservationStatus", FocusLevel::kConditional, true,
     FocusKind::kChoice},
    {FocusColumn::kPricingCurrency, "PricingCurrency", FocusLevel::kConditional, true, FocusKind::kCurrency},
    {FocusColumn::kPricingCurrencyContractedUnitPrice, "PricingCurrencyContractedUnitPrice", FocusLevel::kConditional,
     true, FocusKind::kPrice},
    {FocusColumn::kPricingCurrencyEffectiveCost, "PricingCurrencyEffectiveCost", FocusLevel::kConditional, true,
     FocusKind::kMoney},
    {FocusColumn::kPricingCurrencyListUnitPrice, "PricingCurrencyListUnitPrice", FocusLevel::kConditional, true,
     FocusKind::kPrice},
}};

constexpr std::size_t Index(FocusColumn column) { return static_cast<std::size_t>(column); }
constexpr const FocusColumnFacts& Facts(FocusColumn column) { return kFocusColumns[Index(column)]; }

// Whether cells of a kind are decimal numbers.
constexpr bool IsNumber(FocusKind kind) {
  return kind == FocusKind::kMoney || kind == FocusKind::kPrice || kind == FocusKind::kQuantity;
}

constexpr bool FocusTableInOrder() {
  for (std::size_t i = 0; i < kFocusColumnCount; ++i) {
    if (Index(kFocusColumns[i].id) != i) return false;
  }
  return true;
}
static_assert(FocusTableInOrder());

// The column of a name as a file spells it: "BilledCost", "billed_cost". Absent if FOCUS has none.
std::optional<FocusColumn> FocusColumnNamed(std::string_view name);

}  // namespace idleburn
