#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/int128.h"
#include "base/money.h"
#include "base/result.h"
#include "classify/totals.h"
#include "price/cost_report.h"
#include "price/gpu_time.h"

namespace idleburn {
// From a cost to its parts: over devices, over the runs of a log, and over units of work. The parts always sum to the
// whole, to the billionth, because readers add columns up. Rounding is by largest remainder (docs/money.md,
// "Rounding").

// Nano-units on each line of the bill.
using CostLines = std::array<std::int64_t, kLineCount>;

// Splits the costs of the lines over the devices. Both borders of the table are given: the lines, and the totals of
// the devices, which are the total split by their time. Every cell is its exact part of the total, rounded down or
// up, and a cell without time costs nothing.
//
// Both borders cannot always be met. If rounding up does not suffice, a cell may be a billionth or so beside its
// part. If no table meets both, the lines win. Example: one device was only idle, another only busy, and their totals
// are rounded the other way than the lines.
Result<std::vector<CostLines>> SplitOverDevices(const CostLines& lines, std::span<const DeviceTime> devices);

// Splits what each device held and cost over the runs of its log (RunResult::runs), line by line and by largest
// remainder: the runs of a device sum to the device, and the devices of a run to the run. Weights are the device's
// own times in each run. Unallocated slices, and lines of a MIG board that only sharing made, go by the length of the
// runs. Sets `runs` of the report and of its devices.
Result<void> SplitOverRuns(const RunResult& run, const DeviceTable& devices, CostReport* report);

// Work done in the window of a run, as stated by --work or counted live.
struct WorkDone {
  static constexpr Int128 kOne = 1'000'000'000;
  // "samples" -> count in billionths, so that 2.64 epochs is exact.
  std::map<std::string, Int128> units;
};

// Reads the text of --work: "samples=200000,epochs=2.64". Units are samples, tokens, steps and epochs; counts are
// decimals above 0 with at most nine decimals. A bad text is a usage error.
Result<WorkDone> ParseWork(std::string_view text);

// The unit without its plural s: "samples" becomes "sample". A view into `unit`.
std::string_view Singular(std::string_view unit);

// What one unit of work costs: digits x 10^-decimals. Usually nine decimals, as other money. If those would show
// fewer than three digits, nine digits are kept: a token may cost $0.00000000270872 (docs/money.md, "Rounding").
struct CostOfOne {
  std::int64_t digits = 0;
  int decimals = 9;

  // NOLINTNEXTLINE(google-explicit-constructor)
  constexpr CostOfOne(Money m = {}) : digits(m.nano()) {}
  // `whole` (not negative) divided by a count in billionths, which must be above 0. Absent if it exceeds what Money
  // can hold.
  static std::optional<CostOfOne> Of(Money whole, Int128 count_in_billionths);

  // Whether it has more decimals than money. Reports then print the cost of a million units.
  [[nodiscard]] bool beyond_money() const { return decimals > 9; }
  [[nodiscard]] CostOfOne PerMillion() const;  // only if beyond_money()
  friend bool operator==(const CostOfOne&, const CostOfOne&) = default;
};

// As FormatExact of money: "0.0004", "0.00000000270872". At least `min_digits` decimals.
std::string FormatExact(const CostOfOne& cost, int min_digits = 2);

}  // namespace idleburn
