#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/int128.h"
#include "base/time.h"
#include "bill/bill_rules.h"
#include "bill/focus_columns.h"

// One charge of a bill. It has two parts, because bills repeat themselves: an hour of a machine differs from the hour
// before only in its numbers. What repeats is a BillItem and is kept once; a million hours may have a hundred items.
namespace idleburn {

enum class ChargeCategory : std::uint8_t { kUsage, kPurchase, kTax, kCredit, kAdjustment, kUnknown };
inline constexpr std::array<std::string_view, 6> kChargeCategories = {"Usage",  "Purchase",   "Tax",
                                                                      "Credit", "Adjustment", "unknown"};

// A broken rule in one cell or row.
struct RowFinding {
  BillRule rule = BillRule::kMalformedRow;
  std::optional<FocusColumn> column = std::nullopt;
  std::int64_t amount = 0;          // the money that it is about, in billionths; 0 if it is about none
  std::int64_t billed_over = 0;     // of BilledCost: what the row has beyond what it should have
  std::int64_t effective_over = 0;  // of EffectiveCost
};

// The part of a charge that repeats, as text. Null is an empty text. Numbers and the charge period are not in it.
struct BillItem {
  std::array<std::string, kFocusColumnCount> text;
  ChargeCategory category = ChargeCategory::kUnknown;
  bool correction = false;
  bool committed = false;  // PricingCategory Committed
  bool dynamic = false;    // PricingCategory Dynamic: spot
  bool used = false;       // CommitmentDiscountStatus
  bool unused = false;
  bool by_hour = false;              // the pricing unit is hours of one resource
  std::optional<std::int64_t> gpus;  // of the resource; absent: the item does not tell
  std::string gpu_model;
  Instant billing_start;
  Instant billing_end;
  bool billing_known = false;
  std::vector<RowFinding> findings;  // of every row that has the item

  [[nodiscard]] const std::string& Of(FocusColumn column) const { return text[Index(column)]; }
  // The name of the resource for people, or its id.
  [[nodiscard]] const std::string& Resource() const {
    const std::string& name = Of(FocusColumn::kResourceName);
    return name.empty() ? Of(FocusColumn::kResourceId) : name;
  }
};

// The numbers of a charge, in the order of kFocusColumns.
inline constexpr std::size_t kFocusNumberCount = 12;
constexpr std::array<FocusColumn, kFocusNumberCount> FocusNumberColumns() {
  std::array<FocusColumn, kFocusNumberCount> columns{};
  std::size_t count = 0;
  for (const FocusColumnFacts& column : kFocusColumns) {
    if (IsNumber(column.kind)) columns[count++] = column.id;
  }
  return columns;
}
inline constexpr std::array<FocusColumn, kFocusNumberCount> kFocusNumbers = FocusNumberColumns();
constexpr std::size_t NumberIndex(FocusColumn column) {
  std::size_t at = 0;
  while (kFocusNumbers[at] != column) ++at;
  return at;
}

struct BillRow {
  std::int64_t line = 0;
  std::int64_t item = 0;           // number of its item, from 1
  const BillItem* what = nullptr;  // valid until the next row
  std::uint64_t hash = 0;          // of all cells
  Instant start;                   // of the charge period
  Instant end;
  bool period_known = false;
  std::array<std::int64_t, kFocusNumberCount> numbers{};  // billionths
  std::uint16_t known = 0;                                // a bit for each number that has a value
  std::uint16_t rounded = 0;                              // numbers that had more than nine decimals
  std::vector<RowFinding> findings;

  [[nodiscard]] bool Has(FocusColumn column) const { return (known >> NumberIndex(column) & 1) != 0; }
  [[nodiscard]] bool Rounded(FocusColumn column) const { return (rounded >> NumberIndex(column) & 1) != 0; }
  // 0 without a value.
  [[nodiscard]] std::int64_t Number(FocusColumn column) const { return numbers[NumberIndex(column)]; }
};

}  // namespace idleburn
