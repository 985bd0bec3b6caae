#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/int128.h"
#include "base/money.h"
#include "base/result.h"
#include "stats/random.h"
#include "verify/claim.h"
#include "verify/verdict.h"

namespace idleburn {

// What is asked of every comparison before a saving is VERIFIED, for runs and captures alike: an honest choice of the
// baseline, a claim older than the change, and few exclusions.
//
// Regression to the mean is the main trap: runs that were picked for being bad are better the next time, whatever is
// done to them (docs/verification.md, "Regression to the mean"). All values here are ln of GPU-seconds per unit of
// work.

// How bad the runs of a baseline are among all known runs of the same jobs.
struct ChoiceReading {
  double chance = 1;  // that a blind draw of as many runs looks at least as bad on the mean
  bool looks_picked = false;
};
// Absent with fewer than twice as many others: too few to tell a pick from an accident.
std::optional<ChoiceReading> ReadChoice(std::span<const double> baseline, std::span<const double> others,
                                        Random& random);

// What a pick of the worst tenth would gain without any change, for runs that vary like these. `mean` is the expected
// gain, `most` adds the accidents of both means at `level`. There must be at least 2 runs a side.
struct WorstTenth {
  double mean = 0;
  double most = 0;
};
WorstTenth WorstTenthOf(std::span<const double> before, std::span<const double> after, double level);

// Data that were left out after the fact.
struct DataExclusion {
  std::string reason;
  double share = 0;  // of the allocated GPU time of both sides; for captures, of their number
};

// The baseline, and all other runs of the same jobs before the change that the history knows.
struct KnownRuns {
  std::vector<double> baseline;
  std::vector<double> others;
};

// The conditions of a comparison.
struct VerdictTerms {
  std::optional<Claim> claim;  // without one, the defaults of Claim apply and the verdict is retrospective
  std::vector<DataExclusion> exclusions;
  bool chosen_for_being_bad = false;  // the runs were picked by the value that is judged
  std::optional<KnownRuns> known;     // from a history
};

// What the terms need to know of a run or a capture.
struct JudgedRun {
  std::string name;
  std::string sha256;            // of the input; empty if it was no file
  std::optional<Instant> start;  // absent: no date is known
};
template <typename Run>
std::vector<JudgedRun> AsJudged(std::span<const Run> runs) {
  std::vector<JudgedRun> judged;
  for (const Run& run : runs) judged.push_back({run.name, run.sha256, run.start});
  return judged;
}

// Before and after, or interleaved; unknown if a run has no date.
RunLayout LayoutOf(std::span<const JudgedRun> before, std::span<const JudgedRun> after);

// A saving that a pick of bad runs may have made by itself.
struct SeenSaving {
  double fraction = 0;
  std::vector<double> before, after;  // ln of GPU-seconds per work of each run
};

// Which terms are not met.
struct TermsReading {
  std::vector<VerdictReason> reasons;
  bool retrospective = false;  // no claim, or none that is known to be older than the change
};
// Checks exclusions, choice, date and baseline. `saving` is absent if there is none, or if a pick of bad runs cannot
// matter.
TermsReading HoldToTerms(const VerdictTerms& terms, std::span<const JudgedRun> before, std::span<const JudgedRun> after,
                         const std::optional<SeenSaving>& saving, Random& random);

// What changed a bill, in two parts: less time at the old rate, and the remaining time at the new rate. The order of
// the two is a convention; it makes the parts add up to the total exactly. Amounts are rounded to billionths.
struct TimeAndRate {
  Money time;   // (Q0* - Q1) x P0: avoided time at the old rate
  Money rate;   // Q1 x (P0 - P1): used time at the lower rate
  Money total;  // Q0* x P0 - Q1 x P1
};

// `adjusted_baseline_nanos` is Q0*, the GPU-nanoseconds that the work would have needed before; `used_nanos` is Q1.
// Rates are per GPU-hour. Fails if an amount exceeds what Money can hold.
Result<TimeAndRate> SplitTimeAndRate(std::int64_t adjusted_baseline_nanos, std::int64_t used_nanos, Money rate_before,
                                     Money rate_after);

// One way in which capacity was bought: on demand, a commitment, own hardware.
struct CapacityTier {
  Int128 gpu_nanos = 0;  // bought in the period: GPUs x its length
  Money per_gpu_hour;
  bool cancellable = false;  // unused hours stop being billed within the period
};

// What a reduction of GPU-time is worth: cash where hours stop being billed, and freed capacity for the rest. The two
// are never added, because freed GPU-hours are still paid for.
struct CashAndFreed {
  Money cash;
  std::vector<Int128> cancelled_gpu_nanos;  // by tier
  Int128 freed_gpu_nanos = 0;
  Money bill_before;
  Money bill_after;
};

// `reduction_gpu_nanos` is GPU-time that is no longer needed; a negative one counts as 0. The dearest tiers that can be
// cancelled go first. Example: 10 GPU-hours less, 4 of them on demand at $3 and the others reserved, are $12 of cash
// and 6 freed GPU-hours. Fails if an amount exceeds what Money can hold.
Result<CashAndFreed> SplitCashAndFreed(std::span<const CapacityTier> tiers, Int128 reduction_gpu_nanos);

}  // namespace idleburn
