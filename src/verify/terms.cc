#include "verify/terms.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include "base/time.h"
#include "stats/order.h"
#include "text/figures.h"

// Holds a comparison to its terms, and splits a saving into money. The terms are in one place because runs and profiler
// captures are judged by two classes: a rule that only one of them checked would be a way around it.
//
// The money of a saving is exact. Q0*, Q1 and the rates are integers, sums stay in 128 bits, and each amount is rounded
// once.

namespace idleburn {
namespace {

// Blind draws of runs. If fewer than one in twenty looks as bad as the baseline, the baseline looks picked.
constexpr int kDraws = 2000;
constexpr double kTooUnlikely = 0.05;
// Other runs that must be known for each run of the baseline. With fewer, most draws would repeat a part of the
// baseline.
constexpr std::size_t kOthersForEach = 2;
// Sums of the same values in another order differ by rounding.
constexpr double kRounding = 1e-12;
// The mean of the worst tenth of normal values, in standard deviations: phi(q) / 0.1, q the quantile of 0.9.
constexpr double kWorstTenth = 1.7550;

}  // namespace

std::optional<ChoiceReading> ReadChoice(std::span<const double> baseline, std::span<const double> others,
                                        Random& random) {
  const std::size_t given = baseline.size();
  if (given == 0 || others.size() < kOthersForEach * given) return std::nullopt;
  std::vector<double> all(baseline.begin(), baseline.end());
  all.insert(all.end(), others.begin(), others.end());
  const double seen = MeanOf(baseline);
  // The choice itself is one of those that could have been drawn.
  int as_bad = 1;
  for (int draw = 0; draw < kDraws; ++draw) {
    // The first steps of a Fisher-Yates shuffle: a draw without replacement.
    for (std::size_t i = 0; i < given; ++i) {
      const double left = static_cast<double>(all.size() - i);
      std::swap(all[i], all[i + static_cast<std::size_t>(random.Uniform() * left)]);
    }
    as_bad += MeanOf(std::span(all).first(given)) >= seen - kRounding ? 1 : 0;
  }
  const double chance = static_cast<double>(as_bad) / (kDraws + 1);
  return ChoiceReading{chance, chance < kTooUnlikely};
}

WorstTenth WorstTenthOf(std::span<const double> before, std::span<const double> after, double level) {
  // A picked side varies less than the runs it was picked from. The wider side tells more about those.
  const double deviation = std::sqrt(std::max(VarianceOf(before), VarianceOf(after)));
  const auto fewer = static_cast<double>(std::min(before.size(), after.size()));
  const double accident = StudentTQuantile(fewer - 1, (1 + level) / 2) *
                          std::sqrt(1 / static_cast<double>(before.size()) + 1 / static_cast<double>(after.size()));
  return {kWorstTenth * deviation, (kWorstTenth + accident) * deviation};
}

namespace {

// Share of the data that may be left out after the fact.
constexpr double kMostExcluded = 0.05;

// Too many exclusions after the fact make the comparison INVALID: with enough of them any data show a saving.
void CheckExclusions(const VerdictTerms& terms, std::vector<VerdictReason>& reasons) {
  double share = 0;
  for (const DataExclusion& exclusion : terms.exclusions) share += exclusion.share;
  if (share > kMostExcluded) {
    reasons.push_back(MakeReason("excluded_too_much", PercentText(share) + " of the data were left out"));
  }
}

// Whether the saving may be all due to a picked baseline. Checks in the order of docs/verification.md: what is said,
// what the known runs show, and, if nothing is known, the worst case. Absent if a pick cannot explain the saving.
std::optional<VerdictReason> ReasonOfChoice(const VerdictTerms& terms, const SeenSaving& saving, bool alternating,
                                            Random& random) {
  const Claim judged = terms.claim.value_or(Claim{});
  if (terms.chosen_for_being_bad || judged.choice == BaselineChoice::kWorst) {
    return MakeReason("chosen_for_being_bad",
                      "these runs were picked by the value under judgement, so they would have improved anyway");
  }
  const std::optional<ChoiceReading> seen =
      terms.known ? ReadChoice(terms.known->baseline, terms.known->others, random) : std::nullopt;
  if (seen && seen->looks_picked) {
    return MakeReason("chosen_for_being_bad",
                      fmt::format("the history has {} runs from before the change, and these {} look picked: a random "
                                  "draw is this bad in {} of cases",
                                  terms.known->baseline.size() + terms.known->others.size(),
                                  terms.known->baseline.size(), ThreeDigits(100 * seen->chance) + " %"));
  }
  // A blind draw that looks like the baseline clears it; interleaved runs need no guard; a loss is no gain by a
  // pick.
  if (seen || judged.choice == BaselineChoice::kAll || alternating || saving.fraction <= 0) return std::nullopt;
  if (std::min(saving.before.size(), saving.after.size()) < kRunsThatSuffice) return std::nullopt;
  const WorstTenth worst = WorstTenthOf(saving.before, saving.after, judged.level);
  if (std::log(1 - saving.fraction) < -worst.most) return std::nullopt;
  return MakeReason(
      "choice_not_excluded",
      fmt::format("picking the worst tenth of such runs saves {} without a change, and up to {} by accident",
                  PercentText(-std::expm1(-worst.mean)), PercentText(-std::expm1(-worst.most))));
}

// When the change was: the start of the first run after it. Absent if one of them has no date, because it may be the
// first.
std::optional<Instant> ChangeOf(std::span<const JudgedRun> after) {
  std::optional<Instant> first;
  for (const JudgedRun& run : after) {
    if (!run.start) return std::nullopt;
    first = first ? std::min(*first, *run.start) : *run.start;
  }
  return first;
}

// Why the claim is not known to be older than the change; null if it is known. The date is the claim's own: an edit
// of it would change the hash that the result states.
const char* WhyRetrospective(const VerdictTerms& terms, std::span<const JudgedRun> after) {
  if (!terms.claim) return "nothing was claimed before the change";
  const std::optional<Instant> change = ChangeOf(after);
  if (!change) return "the runs after the change have no dates, so the claim may postdate them";
  return terms.claim->written >= *change ? "the claim postdates the change" : nullptr;
}

// Whether the runs before are those that the claim names. Compares by hash, else by name. The two are compared as sets,
// because several blocks of a switchback may come from one file.
bool IsClaimedBaseline(const Claim& claim, std::span<const JudgedRun> before) {
  std::set<std::string> claimed;
  std::set<std::string> given;
  const auto key = [](const auto& run) { return run.sha256.empty() ? run.name : run.sha256; };
  for (const Claim::BaselineRun& run : claim.baseline) claimed.insert(key(run));
  for (const JudgedRun& run : before) given.insert(key(run));
  return claimed == given;
}

}  // namespace

// One switch from before to after is a plain change. More than one means that the sides took turns and share a drift.
RunLayout LayoutOf(std::span<const JudgedRun> before, std::span<const JudgedRun> after) {
  std::vector<std::pair<Instant, bool>> starts;  // and whether after the change
  for (const bool is_after : {false, true}) {
    for (const JudgedRun& run : is_after ? after : before) {
      if (!run.start) return RunLayout::kUnknown;
      starts.emplace_back(*run.start, is_after);
    }
  }
  std::sort(starts.begin(), starts.end());
  std::size_t switches = 0;
  for (std::size_t i = 1; i < starts.size(); ++i) switches += starts[i].second != starts[i - 1].second ? 1U : 0U;
  return switches > 1 ? RunLayout::kInterleaved : RunLayout::kBeforeAfter;
}

TermsReading HoldToTerms(const VerdictTerms& terms, std::span<const JudgedRun> before, std::span<const JudgedRun> after,
                         const std::optional<SeenSaving>& saving, Random& random) {
  TermsReading reading;
  CheckExclusions(terms, reading.reasons);
  if (saving) {
    const bool alternating = LayoutOf(before, after) == RunLayout::kInterleaved;
    const std::optional<VerdictReason> choice = ReasonOfChoice(terms, *saving, alternating, random);
    if (choice) reading.reasons.push_back(*choice);
  }
  const char* why = WhyRetrospective(terms, after);
  reading.retrospective = why != nullptr;
  if (why != nullptr) reading.reasons.push_back(MakeReason("retrospective", why));
  if (terms.claim && !terms.claim->baseline.empty() && !IsClaimedBaseline(*terms.claim, before)) {
    reading.reasons.push_back(
        MakeReason("baseline_differs_from_claim", "the runs before are not the runs in the claim"));
  }
  return reading;
}

namespace {

// Sums are kept exact, in nano-units x GPU-nanoseconds per hour, and rounded once, here.
Result<Money> Rounded(Int128 nano_gpu_nanos) { return Scale(Money::Nano(1), nano_gpu_nanos, kNanosPerHour); }

}  // namespace

Result<TimeAndRate> SplitTimeAndRate(std::int64_t adjusted_baseline_nanos, std::int64_t used_nanos, Money rate_before,
                                     Money rate_after) {
  const Int128 avoided = (Int128{adjusted_baseline_nanos} - used_nanos) * rate_before.nano();
  const Int128 cheaper = (Int128{rate_before.nano()} - rate_after.nano()) * used_nanos;
  const Result<Money> time = Rounded(avoided);
  const Result<Money> total = Rounded(avoided + cheaper);
  TRY(time);
  TRY(total);
  // The rate's part is the difference, so that both parts sum to the rounded total.
  return TimeAndRate{*time, Money::Nano(total->nano() - time->nano()), *total};
}

Result<CashAndFreed> SplitCashAndFreed(std::span<const CapacityTier> tiers, Int128 reduction_gpu_nanos) {
  CashAndFreed split;
  split.cancelled_gpu_nanos.assign(tiers.size(), 0);
  std::vector<std::size_t> dearest_first(tiers.size());
  std::iota(dearest_first.begin(), dearest_first.end(), std::size_t{0});
  std::stable_sort(dearest_first.begin(), dearest_first.end(),
                   [&](std::size_t a, std::size_t b) { return tiers[a].per_gpu_hour > tiers[b].per_gpu_hour; });
  Int128 left = std::max<Int128>(reduction_gpu_nanos, 0);
  Int128 bought = 0;
  Int128 saved = 0;
  for (const std::size_t i : dearest_first) {
    const CapacityTier& tier = tiers[i];
    bought += tier.gpu_nanos * tier.per_gpu_hour.nano();
    if (!tier.cancellable) continue;
    split.cancelled_gpu_nanos[i] = std::min(left, tier.gpu_nanos);
    left -= split.cancelled_gpu_nanos[i];
    saved += split.cancelled_gpu_nanos[i] * tier.per_gpu_hour.nano();
  }
  split.freed_gpu_nanos = left;
  const Result<Money> cash = Rounded(saved);
  const Result<Money> bill = Rounded(bought);
  TRY(cash);
  TRY(bill);
  split.cash = *cash;
  split.bill_before = *bill;
  split.bill_after = Money::Nano(bill->nano() - cash->nano());
  return split;
}

}  // namespace idleburn
