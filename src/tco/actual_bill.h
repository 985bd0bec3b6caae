#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/byte_source.h"
#include "base/result.h"
#include "tco/billing_tags.h"
#include "tco/plan.h"

namespace idleburn {

// Sums and differences of amounts within this stay within Money.
inline constexpr std::int64_t kMostUnits = 4'000'000'000;
constexpr std::int64_t Units(Money m) { return m.nano() / 1'000'000'000; }

// What was really paid, a row each.
struct ActualRow {
  std::string month;                     // "2026-07"
  std::optional<std::int64_t> day;       // since 1970-01-01, where it is known
  std::int64_t days = 1;                 // from that day on, that the amount is for
  std::optional<CostCategory> category;  // absent: unallocated
  std::optional<std::size_t> line;       // of the plan, where that is told
  Money amount;
  std::optional<Fraction> quantity;
  std::optional<bool> open;  // the month's bill is not complete; absent: nobody said
};

struct ActualBill {
  std::vector<ActualRow> rows;
  std::string column;               // which cost it is: "amount", "EffectiveCost", "BilledCost"
  std::vector<std::string> unread;  // columns that nothing was made of
  int rounded = 0;                  // amounts of an export with more than nine decimals
  int not_focus = 0;                // amounts of an export that FOCUS writes otherwise: 35.2E+7
  int beyond_month = 0;             // charges that run past the month in which they begin, where they count
  int untagged = 0;                 // rows left out: they have not the tags that were asked for
};

// Days since 1970 of a stamp; absent where it is no more than a month, or no such day is.
std::optional<std::int64_t> DayOf(std::string_view stamp);

// A CSV of month, amount and one of category and line (either may name a category or a line of `plan`), and if known
// quantity, currency and status (open, closed); or a billing export by FOCUS (ChargePeriodStart, EffectiveCost else
// BilledCost, ServiceCategory). A row that is not understood, or is in another currency than the plan, is an error with
// its line. Only rows with all of `tags` count: of an export those in its column Tags, else the column that a tag is
// named after.
Result<ActualBill> ReadActuals(ByteSource& in, const TcoPlan& plan, const BillingTags& tags = {});

}  // namespace idleburn
