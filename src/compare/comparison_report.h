#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/run_ids.h"
#include "diagnose/trace_diagnosis.h"
#include "price/rate_book.h"
#include "verify/judge.h"
#include "verify/terms.h"

namespace idleburn {

// What a saving is worth. Cash and freed capacity are separate and never added, because freed hours are still paid for
// (docs/saving-money.md, "Dollars").
struct SavingMoney {
  std::string currency;
  std::optional<Money> rate_before, rate_after;  // per GPU-hour
  std::optional<TimeAndRate> parts;              // absent without a price
  std::optional<Money> cash;                     // what stops being billed, including a lower rate; absent if unknown
  double freed_gpu_hours = 0;                    // still paid for; negative if the work takes more
  std::optional<Money> bill_before, bill_after;  // of the tiers of --tier, if given
};

// Everything a comparison has to say. All writers print this and compute no statistics of their own.
struct ComparisonReport {
  SavingVerdict verdict;
  bool claimed = false;  // `claim` came from a file; else it is made of flags
  Claim claim;

  // A run or capture as given, and what it turned out to be.
  struct Input {
    bool after = false;
    std::string_view kind;  // "recording", ...
    std::string sha256;
    std::string name;
    std::optional<Instant> start, end;
    std::optional<double> gpu_seconds;  // absent for a capture
    std::optional<double> work;
    std::optional<double> observed;  // fraction
    RunIds ids;                      // that it tells
    std::string note;                // "exit 1: its time counts, its work does not"
  };
  std::vector<Input> inputs;
  std::vector<DataExclusion> exclusions;
  std::vector<NonRoutineAdjustment> adjustments;
  // How jobs that were picked for being bad change by themselves: ln(R after / R before), where R is GPU time per unit
  // of work. It is taken off the measured effect. Absent without --jobs.
  std::optional<double> reversion;

  Rate rate;  // before the change
  Rate rate_after;
  std::optional<SavingMoney> money;  // absent if no saving is shown
  std::string no_money;              // why there is none

  // What the saving would be if the work went on in the same way. An assumption, not a measurement.
  struct Projection {
    double hours = 0;  // wall time
    SavingInterval gpu_hours;
  };
  std::optional<Projection> projection;
  std::string no_projection;                 // why there is none, although it was asked for
  std::vector<BeforeAfter> captures;         // what the diagnosis predicted and what came of it, by pair
  std::optional<double> mean_step_fraction;  // of captures: the saving of the mean step
  std::string version;
};

// The ids that all inputs of one side share, or those of both sides if `after` is absent.
RunIds IdsOfSide(const ComparisonReport& report, std::optional<bool> after);

// Reads --tier, "NAME=GPU_HOURS:PRICE[:cancellable]", as in "reserved=46080:2.10". The price is per GPU-hour. A bad
// text is a usage error.
Result<CapacityTier> ParseTier(const std::string& text);

// Fills in what the saving is worth, or why no amount is given. Only a saving that is shown is worth anything.
//
// Avoided hours are cash if the claim says that they stop being billed. With `tiers` they are cash as far as
// cancellable tiers reach, dearest first. The rest is freed capacity. A lower rate is cash in any case. Fails if an
// amount exceeds Money, or if more than 2.5 million GPU-hours are compared at once.
//
// Example: a claim with --cashable, 10 GPU-hours avoided and 90 used at 2.00 before and 1.50 after. Less time is worth
// 20.00, the lower rate is worth 45.00, and cash is 65.00.
Result<void> FillMoney(const std::vector<CapacityTier>& tiers, ComparisonReport& report);

}  // namespace idleburn
