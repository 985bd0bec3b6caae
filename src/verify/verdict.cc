#include "verify/verdict.h"

#include <algorithm>
#include <array>

#include "base/result.h"

// The table of all reasons, and the rule that makes a verdict from an interval and reasons. Weights stand in this table
// and not where a reason is found. A reader can then check the whole policy on one page, and a test can hold it against
// docs/verification.md.
//
// A reason's id is part of the JSON document. It may be added but not renamed.

namespace idleburn {

namespace {

// Short names for the table below.
constexpr ReasonWeight kInvalid = ReasonWeight::kInvalid;
constexpr ReasonWeight kNotShown = ReasonWeight::kNotShown;
constexpr ReasonWeight kAtMost = ReasonWeight::kAtMost;
constexpr ReasonWeight kNotVerified = ReasonWeight::kNotVerified;
constexpr ReasonWeight kNote = ReasonWeight::kNote;

// Every reason with its weight and its remedy. docs/verification.md lists the same ids; the remedy is printed as
// "next".
constexpr std::array kReasons = {
    ReasonRow{"no_work_count", kInvalid, "give the work that was done (--work), in the same unit on both sides"},
    ReasonRow{"no_gpu_time", kInvalid, "give the GPU-seconds that were allocated"},
    ReasonRow{"unequal_units", kInvalid, "count the same work on both sides"},
    ReasonRow{"static_factor_changed", kInvalid,
              "run both sides with the same value, or measure what the difference costs and enter it as an adjustment"},
    ReasonRow{"observed_below_95", kInvalid, "measure again without gaps: unobserved time cannot be compared"},
    ReasonRow{"few_rows", kInvalid, "telemetry needs at least 30 readings a side: measure longer"},
    ReasonRow{"overlap", kInvalid, "measure in sequence, or on different GPUs in random order"},
    ReasonRow{"excluded_too_much", kInvalid, "at most 5 % may be left out after the fact: measure again"},
    ReasonRow{"clock_steps", kInvalid, "record again with a steady clock"},
    ReasonRow{"work_counter_restarted", kInvalid, "a counter that restarts unseen counts nothing: measure again"},
    ReasonRow{"unfit_run", kInvalid, "leave that run out, with the reason, or measure it again"},
    ReasonRow{"unequal_work", kInvalid, "capture the same work a step on both sides"},

    ReasonRow{"few_segments", kNotShown, "measure at least 3 runs a side, best 5, or give the rows of the runs"},
    ReasonRow{"too_few_independent_data", kNotShown, "measure longer, or at least 3 runs a side"},
    ReasonRow{"model_not_fit", kNotShown, "claim the ratio model, or measure a baseline that a line describes"},
    ReasonRow{"few_pairs", kAtMost, "a switchback needs at least 8 pairs"},
    ReasonRow{"before_first_look", kNotShown,
              "looks begin after 20 pairs of a switchback, or 20 runs after the change"},
    ReasonRow{"few_steps", kNotShown, "capture at least 20 steps a side besides the first and the last"},

    ReasonRow{"run_to_run_noise_not_seen", kAtMost, "measure at least 3 runs a side, best in random order"},
    ReasonRow{"low_effective_n", kAtMost, "measure longer: at least 30 independent readings a side"},
    ReasonRow{"drift_not_excluded", kAtMost, "alternate the setting (switchback), or run the sides in random order"},
    ReasonRow{"few_dated_runs", kAtMost, "give runs with dates, which separate a drift from the change"},
    ReasonRow{"retrospective", kNotVerified, "write the claim before the change (idleburn claim)"},
    ReasonRow{"baseline_differs_from_claim", kNotVerified, "compare with exactly the runs in the claim"},
    ReasonRow{"chosen_for_being_bad", kNotVerified, "use untouched jobs, or choose the baseline before looking"},
    ReasonRow{"choice_not_excluded", kNotVerified,
              "alternate the setting, run the sides in random order, or claim how the runs were picked (--picked all)"},
    ReasonRow{"smallest_effect_not_reached", kNotVerified, "measure longer, or in more runs, for a narrower interval"},
    ReasonRow{"short_blocks", kAtMost, "make every block at least 4 tau long"},
    ReasonRow{"fixed_order", kAtMost, "draw the order within each pair"},
    ReasonRow{"sequential_needs_switchback", kAtMost, "look once at the end, or alternate the setting"},
    ReasonRow{"equal_work_not_shown", kInvalid, "capture kernels, and mark each step (profiler.step() in PyTorch)"},
    ReasonRow{"few_captures", kAtMost, "a capture is one run: take at least 3 a side"},

    ReasonRow{"bootstrap_wider", kNote, "the result gives the wider interval"},
    ReasonRow{"baseline_model_fell_back", kNote, "the result uses the ratio of sums"},
    ReasonRow{"static_factor_unknown", kNote, "facts that were not recorded may have changed"},
    ReasonRow{"washout_not_dropped", kNote, "give the rows of the blocks; idleburn then drops the time after a switch"},
    ReasonRow{"blocks_unpaired", kNote, "give all blocks in pairs: neighbours in time, with and without the change"},
    ReasonRow{"comparators_not_used", kNote,
              "at least 3 untouched runs a side that move in parallel stand in for the guard"},
    ReasonRow{"not_cashable_from_capture", kNote, "money is the mean over whole evaluation and checkpoint cycles"},
    ReasonRow{"inside_the_noise", kNote,
              "this does not mean \"no effect\": see the smallest effect that these data could show"},
    ReasonRow{"blocks_may_be_short", kNote, "in blocks of at least 4 tau, neighbours share little"},
    ReasonRow{"use_switchback", kNote, "alternating the setting within a run needs fewer runs and sees no drift"},
};

}  // namespace

std::span<const ReasonRow> ReasonTable() { return kReasons; }

const ReasonRow& ReasonOf(std::string_view id) {
  const auto* row = std::find_if(kReasons.begin(), kReasons.end(), [id](const ReasonRow& r) { return r.id == id; });
  CHECK(row != kReasons.end());
  return *row;
}

bool AnyWeighs(std::span<const VerdictReason> reasons, ReasonWeight weight) {
  return std::any_of(reasons.begin(), reasons.end(),
                     [weight](const VerdictReason& r) { return ReasonOf(r.id).weight == weight; });
}

// The remedy comes from the table, so every reason tells the reader what to do next.
VerdictReason MakeReason(std::string_view id, std::string_view seen) {
  const ReasonRow& row = ReasonOf(id);
  return {row.id, std::string(seen) + "; " + std::string(row.settle)};
}

std::string_view VerdictName(Verdict verdict) {
  static constexpr std::array<std::string_view, 6> kNames = {"INVALID",   "REGRESSION",           "VERIFIED",
                                                             "INDICATED", "INDICATED_REGRESSION", "NOT_SHOWN"};
  return kNames[static_cast<std::size_t>(verdict)];
}

std::string_view RunLayoutName(RunLayout layout) {
  static constexpr std::array<std::string_view, 4> kNames = {"unknown", "before_after", "interleaved", "switchback"};
  return kNames[static_cast<std::size_t>(layout)];
}

Verdict VerdictOf(const SavingInterval& saving, const SavingInterval& saving90, double smallest_effect,
                  std::span<const VerdictReason> reasons) {
  // The order is that of docs/verification.md. A regression needs no claim: a loss is reported even if nobody
  // predicted it.
  const bool suffices = !AnyWeighs(reasons, ReasonWeight::kAtMost);
  const bool claimed = !AnyWeighs(reasons, ReasonWeight::kNotVerified);
  if (saving.high < 0 && suffices) return Verdict::kRegression;
  if (saving.low > smallest_effect && suffices && claimed) return Verdict::kVerified;
  if (saving90.low > 0) return Verdict::kIndicated;
  if (saving90.high < 0) return Verdict::kIndicatedRegression;
  return Verdict::kNotShown;
}

}  // namespace idleburn
