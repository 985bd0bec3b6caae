#pragma once

#include <bitset>

#include "bill/bill_row.h"
#include "bill/gpu_instances.h"

// The rules that one row can break by itself: those of FOCUS, and those of exact money. Pure functions.
namespace idleburn {

// What the rules need to know of a file. Rules about how cells are written hold for FOCUS files only: other exports
// never promised that form.
struct RuleContext {
  bool focus = true;
  std::bitset<kFocusColumnCount> present;   // columns of the file
  const GpuInstances* instances = nullptr;  // for items that name an instance type and no GPUs; null: none is known
};

// Derives what an item is from its text, and finds the rules that the text breaks. The findings hold for each row of
// the item.
void JudgeItem(const RuleContext& context, BillItem* item);

// Finds the rules that the numbers and the period of a row break. Adds to row->findings, which already has what was
// wrong with the text of its numbers.
void JudgeRow(const RuleContext& context, BillRow* row);

// Half of the smallest unit of most currencies, in billionths. A provider may round each line by this much, so a
// smaller difference of a product is a rounding and not a mismatch.
inline constexpr std::int64_t kHalfCent = 5'000'000;

}  // namespace idleburn
