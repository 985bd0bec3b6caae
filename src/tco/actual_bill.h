#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_source.h"
#include "base/result.h"
#include "history/run.h"
#include "tco/plan_cost.h"

namespace idleburn {

// What was really paid, from one of three sources: a small table that a person writes, a billing export by the FOCUS
// standard, or the runs in the history. All become rows of one kind, so that a comparison does not care where a bill
// came from.

// Keys and values that a row of a bill carries.
using BillingTags = std::map<std::string, std::string>;

// Reads the tags in a FOCUS cell `Tags`, a flat JSON object. A number or a truth value is taken by its text; null is
// left out. Empty where the cell is no such object.
BillingTags ReadBillingTags(std::string_view cell);

// The largest amount, in whole units of the currency, that sums and differences may reach without leaving Money.
inline constexpr std::int64_t kMostUnits = 4'000'000'000;
// Whole units of the currency in an amount.
constexpr std::int64_t Units(Money m) { return m.nano() / 1'000'000'000; }

// One row of a bill.
struct ActualRow {
  // "2026-07".
  std::string month;
  // The day since 1970-01-01, where it is known, and how many days from it on the amount is for.
  std::optional<std::int64_t> day;
  std::int64_t days = 1;
  // Absent where the amount is unallocated.
  std::optional<CostCategory> category;
  // The index of a line of the plan, where that is told.
  std::optional<std::size_t> line;
  Money amount;
  std::optional<Fraction> quantity;
  // Whether the month's bill is not complete yet. Absent if not given.
  std::optional<bool> open;
};

// A whole bill, and what was doubtful about reading it.
struct ActualBill {
  std::vector<ActualRow> rows;
  // Which cost it is: "amount", "EffectiveCost", "BilledCost", or "history".
  std::string column;
  // Columns that nothing was made of.
  std::vector<std::string> unread;
  // Amounts of an export with more than nine decimals.
  int rounded = 0;
  // Amounts that FOCUS writes otherwise: 35.2E+7.
  int not_focus = 0;
  // Charges that run past the month in which they begin, where they cost something.
  int beyond_month = 0;
  // Rows that were left out because they lack the tags asked for.
  int untagged = 0;
};

// The day of a stamp, counted from 1970-01-01. Absent where the stamp is no more than a month, or names no day that
// exists.
std::optional<std::int64_t> DayOf(std::string_view stamp);

// Reads a CSV. A plain table has month, amount and one of category and line (either may name a category or a line of
// `plan`), and if known quantity, currency and status (open, closed). A billing export by FOCUS has ChargePeriodStart,
// EffectiveCost (else BilledCost) and ServiceCategory. A row that is not understood, or that is in another currency
// than the plan, is an error with its line. Only rows with all of `tags` count. An export has them in its column Tags,
// a plain table in the column that a tag is named after.
Result<ActualBill> ReadActuals(ByteSource& in, const TcoPlan& plan, const BillingTags& tags = {});

// Makes a bill of compute from the runs in the history, by the month (UTC) in which each started, with the GPU-hours
// that its price was paid for. A run that still goes on makes its month open. Each kind of run that is left out adds a
// line to `told`.
ActualBill BillOfRuns(std::span<const HistoryRun> runs, const std::string& currency, std::vector<std::string>& told);

}  // namespace idleburn
