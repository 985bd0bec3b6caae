#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/run_ids.h"
#include "diagnose/trace_diagnosis.h"
#include "price/rate_card.h"
#include "verify/judge.h"
#include "verify/money_split.h"

namespace idleburn {

// What a saving is in money. Cash and freed capacity are two lines, never added.
struct SavingMoney {
  std::string currency;
  std::optional<Money> rate_before, rate_after;  // per GPU-hour
  std::optional<TimeAndRate> parts;              // absent without a price
  std::optional<Money> cash;                     // what stops being billed, a lower rate included
  double freed_gpu_hours = 0;                    // that are paid for as before; below 0 more are taken
  std::optional<Money> bill_before, bill_after;  // of the tiers, where they are given
};

// Everything a comparison has to say. All writers print this and compute no statistics of their own.
struct ComparisonReport {
  SavingVerdict verdict;
  bool claimed = false;  // `claim` was written to a file; else it is what the flags say
  Claim claim;

  // A run or capture as it was given, and what it turned out to be.
  struct Input {
    bool after = false;
    std::string_view kind;  // "recording", ...
    std::string sha256;
    std::string name;
    std::optional<Instant> start, end;
    std::optional<double> gpu_seconds;  // absent of a capture
    std::optional<double> work;
    std::optional<double> observed;  // fraction
    RunIds ids;                      // that it tells
    std::string note;                // "exit 1: its time counts, its work does not"
  };
  std::vector<Input> inputs;
  std::vector<DataExclusion> exclusions;
  std::vector<NonRoutineAdjustment> adjustments;
  std::optional<double> reversion;  // taken off: what jobs that were picked for being bad change by themselves, of ln R

  Rate rate;  // before the change
  Rate rate_after;
  std::optional<SavingMoney> money;  // absent where no saving is shown
  std::string no_money;              // why

  // If the work went on like that for so long.
  struct Projection {
    double hours = 0;  // of the clock
    SavingInterval gpu_hours;
  };
  std::optional<Projection> projection;
  std::string no_projection;                 // why there is none although it was asked for
  std::vector<BeforeAfter> captures;         // what the diagnosis foretold and what came of it, pair by pair
  std::optional<double> mean_step_fraction;  // of captures: off the mean step, which a bill follows
  std::string version;
};

// The ids of all inputs on one side, or of both.
RunIds IdsOfSide(const ComparisonReport& report, std::optional<bool> after);

// "NAME=GPU_HOURS:PRICE[:cancellable]": capacity as it is bought. A bad text is a usage error.
Result<CapacityTier> ParseTier(const std::string& text);

// Fills in what the saving is in money, or why it is not said: only a saving that is shown is worth anything. Avoided
// hours are cash if the claim says that they stop being billed; with `tiers`, as far as the dearest that can be
// cancelled reach. All else is freed capacity.
Result<void> FillMoney(const std::vector<CapacityTier>& tiers, ComparisonReport& report);

}  // namespace idleburn
