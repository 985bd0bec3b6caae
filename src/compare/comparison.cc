#include "compare/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "compare/ledger_entry.h"
#include "config/common_flags.h"
#include "price/find_rate.h"
#include "terminal/output.h"
#include "text/figures.h"
#include "text/number.h"

// The judge is in verify/ and sees numbers alone. Nothing here may change a verdict after Judge returned it: a report
// that improves its verdict would be worthless.

namespace idleburn {
namespace {

// Reads --nra (non-routine adjustment), "FACTOR=before:after:gpu_seconds:basis", as in "driver=550:570:-120:re-run". It
// states what a factor cost that changed besides the measure. GPU-seconds may be empty: the cost was not measured, and
// the adjustment then does not count.
Result<NonRoutineAdjustment> ParseAdjustment(const std::string& text) {
  NonRoutineAdjustment entry;
  const std::size_t equals = text.find('=');
  std::string_view rest = equals == std::string::npos ? std::string_view() : std::string_view(text).substr(equals + 1);
  std::array<std::string, 3> parts;
  bool whole = equals != std::string::npos && equals > 0;
  for (std::string& part : parts) {
    const std::size_t colon = rest.find(':');
    whole = whole && colon != std::string_view::npos;
    part = std::string(Trim(rest.substr(0, colon)));
    rest.remove_prefix(colon == std::string_view::npos ? rest.size() : colon + 1);
  }
  const ScaledNumber seconds = ParseScaled(parts[2], 6);
  if (!whole || (!parts[2].empty() && seconds.fault != NumberFault::kNone)) {
    return FailUsage("compare: --nra '" + text.substr(0, 60) +
                     "' is not FACTOR=before:after:gpu_seconds:basis, as in driver=550:570:-120:re-run");
  }
  entry.factor = std::string(Trim(text.substr(0, equals)));
  entry.before = parts[0];
  entry.after = parts[1];
  if (!parts[2].empty()) entry.gpu_seconds = static_cast<double>(seconds.value) / 1e6;
  entry.basis = std::string(Trim(rest));
  return entry;
}

// A price that the claim or --rate-after fixed. It is one number without a catalogue row, so it has no date and cannot
// be stale.
Rate FixedRate(const ComparisonTerms& terms, Money per_gpu_hour, const std::string& source) {
  Rate rate;
  rate.kind = RateKind::kGiven;
  rate.currency = terms.claim.currency;
  rate.per_gpu_hour = per_gpu_hour;
  rate.source = source;
  return rate;
}

// Whether settings decide the prices. The claim's price takes precedence. It also holds after the change if both sides
// have the same GPUs. Other GPUs cost something else, so their price must be found.
bool AsksSettings(const ComparisonTerms& terms, const ComparedSides& sides) {
  const bool fixed = terms.claimed && terms.claim.rate_before;
  return !fixed || (!terms.claim.rate_after && !HaveSameGpus(sides.before, sides.after));
}

// The price of each side: the claim's, or what an audit of these runs would use. Fails if the sides have different
// currencies.
Result<SideRates> SideRatesOf(const ComparisonTerms& terms, const ComparedSides& sides, const Settings& settings,
                              Instant now) {
  SideRates rates;
  if (AsksSettings(terms, sides)) {
    const Prices prices = TRY(OpenRates(settings, now));
    Result<SideRates> found = RatesOfSides(prices.For({}), sides.before, sides.after);
    if (!found) return found;
    rates = *std::move(found);
  }
  if (terms.claimed && terms.claim.rate_before) {
    rates.before = FixedRate(terms, *terms.claim.rate_before, "the claim");
    if (!AsksSettings(terms, sides)) rates.after = rates.before;
  }
  if (terms.claim.rate_after) {
    rates.after = FixedRate(terms, *terms.claim.rate_after, terms.claimed ? "the claim" : "--rate-after");
    if (!terms.claimed || !terms.claim.rate_before) rates.after.currency = rates.before.currency;
  }
  if (rates.before.per_gpu_hour && rates.after.per_gpu_hour && rates.before.currency != rates.after.currency) {
    return Fail("compare: prices in " + rates.before.currency + " before and in " + rates.after.currency +
                " after cannot be compared; give both in one currency");
  }
  return rates;
}

// Says on standard error that a price given now does not replace the claim's, which was fixed before the change.
// Otherwise the user would read the report as if it did.
void SayWhichPrice(const ComparisonTerms& terms, const ComparedSides& sides, const Settings& settings) {
  if (AsksSettings(terms, sides)) return;
  for (const char* key : {"price.rate", "price.owned"}) {
    const Settings::Value& given = settings.Get(key);
    const Result<Money> same = Money::Parse(given.text);
    if (given.text.empty() || (same && *same == *terms.claim.rate_before)) continue;
    Say(fmt::format("compare: {} of {} has no effect: the claim fixes {} a GPU-hour", given.text.substr(0, 40),
                    given.origin, UnitPrice(*terms.claim.rate_before, terms.claim.currency)));
  }
}

// The wall-clock hours of all runs together; 0 if one has no dates.
double HoursOf(const std::vector<MeasuredRun>& runs) {
  double hours = 0;
  for (const MeasuredRun& run : runs) {
    if (!run.start || !run.end) return 0;
    hours += InHours(*run.end - *run.start);
  }
  return hours;
}

// Scales the saving to a number of hours, under the assumption that the same work goes on. That needs the duration of
// the runs after the change. Without it, or without a saving, the report says why there is no projection.
Result<void> Project(const std::string& text, const Comparison& comparison, ComparisonReport& report) {
  if (text.empty()) return {};
  const ScaledNumber hours = ParseScaled(text, 6);
  if (hours.fault != NumberFault::kNone || hours.value <= 0) {
    return FailUsage("compare: --projection '" + text.substr(0, 20) + "' is not a number of hours; write 720");
  }
  const double measured = HoursOf(comparison.after);
  const std::optional<SavingInterval>& avoided = report.verdict.avoided_gpu_seconds;
  if (!avoided || measured <= 0) {
    report.no_projection = avoided ? "none: the runs after the change have no dates" : "none: no saving is given";
    return {};
  }
  // Hours are read exactly to the millionth; the estimate itself is a double.
  const double wanted = static_cast<double>(hours.value) / 1e6;
  const double scale = wanted / measured / 3600;
  report.projection =
      ComparisonReport::Projection{wanted, {avoided->fraction * scale, avoided->low * scale, avoided->high * scale}};
  return {};
}

// Flags are judged like a claim with a date after the change, and the judge says so in its reasons. But nothing was
// claimed at all, so the reason is replaced.
void SayNothingWasClaimed(SavingVerdict& verdict) {
  for (VerdictReason& reason : verdict.reasons) {
    if (reason.id == "retrospective") reason = MakeReason(reason.id, "nothing was claimed before the change");
  }
}

// What is known about how the runs were chosen, from outside of these runs.
struct KnownChoice {
  std::optional<KnownRuns> runs;               // from the history
  std::optional<ExpectedReversion> reversion;  // from a table of jobs
};
Result<KnownChoice> ReadKnownChoice(const ComparisonRequest& request, const ComparedSides& sides,
                                    const Settings& settings, Instant now) {
  KnownChoice known;
  if (!request.no_history && !request.claim.empty()) known.runs = KnownRunsOf(sides, settings, now);
  if (request.jobs.empty()) return known;
  known.reversion = TRY(ReadExpectedReversion(request.jobs));
  return known;
}

// Judges runs: settles the unit, fills in the comparison, calls the judge. Then it adds the projection, which is no
// part of the verdict.
Result<void> JudgeRuns(const ComparisonRequest& request, const ComparisonTerms& terms, const KnownChoice& known,
                       ComparedSides& sides, ComparisonReport& report, const ProgressWatch& draws) {
  Comparison comparison;
  // Without a stated unit, the runs decide. A claim always states one.
  const bool unit_given = terms.claimed || !request.judged.unit.empty();
  const std::optional<WorkUnit> unit = UnitOfSides(sides, unit_given ? std::optional(terms.claim.unit) : std::nullopt);
  if (unit) report.claim.unit = *unit;
  FillComparison(sides, unit, request.sides.kept, comparison);
  comparison.design = terms.claim.design;
  // Without terms of its own the comparison has no claim, and the judge uses its defaults.
  if (unit_given || request.judged.Given()) comparison.claim = report.claim;
  comparison.chosen_for_being_bad = request.chosen_for_being_bad;
  comparison.known = known.runs;
  comparison.reversion = known.reversion;
  for (const std::string& text : request.adjustments) {
    NonRoutineAdjustment entry = TRY(ParseAdjustment(text));
    comparison.adjustments.push_back(std::move(entry));
  }
  report.verdict = Judge(comparison, draws);
  if (!terms.claimed) SayNothingWasClaimed(report.verdict);
  report.adjustments = comparison.adjustments;
  if (known.reversion) report.reversion = known.reversion->log_ratio;
  return Project(request.projection, comparison, report);
}

}  // namespace

Result<ComparisonTerms> CompareTerms(const ComparisonRequest& request) {
  ComparisonTerms terms;
  if (request.claim.empty()) {
    TRY(request.judged.Take("compare", terms.claim));
    // The date is after any change, so flags never pass for a claim that was written before.
    terms.claim.written = Instant::FromNanos(INT64_MAX);
    return terms;
  }
  if (request.judged.Given() || !request.judged.unit.empty()) {
    return FailUsage(
        "compare: --claim fixes unit, level, effect, design and price; give the claim or these flags, not both");
  }
  Claim claim = TRY(ReadClaim(request.claim));
  terms.claimed = true;
  terms.claim = std::move(claim);
  return terms;
}

Result<ComparisonReport> JudgeSides(const ComparisonRequest& request, const ComparisonTerms& terms, ComparedSides sides,
                                    const Settings& settings, Instant now, const ProgressWatch& draws) {
  std::vector<CapacityTier> tiers;
  for (const std::string& text : request.tiers) {
    const CapacityTier tier = TRY(ParseTier(text));
    tiers.push_back(tier);
  }
  // Prices come first. Failed runs are joined with others later, and would then be priced at the wrong GPUs.
  SideRates rates = TRY(SideRatesOf(terms, sides, settings, now));
  SayWhichPrice(terms, sides, settings);
  ComparisonReport report;
  report.rate = std::move(rates.before);
  report.rate_after = std::move(rates.after);
  report.version = IDLEBURN_VERSION;
  report.claimed = terms.claimed;
  report.claim = terms.claim;
  report.exclusions = sides.exclusions;
  if (!request.jobs.empty() && (sides.captures() || terms.claim.design == ClaimDesign::kSwitchback)) {
    return FailUsage("compare: --jobs corrects runs before and after; it has no effect on a switchback or captures");
  }
  if (sides.captures()) {
    VerdictTerms held;
    if (terms.claimed) held.claim = terms.claim;
    held.exclusions = sides.exclusions;
    held.chosen_for_being_bad = request.chosen_for_being_bad;
    TRY(JudgeCaptureSides(sides, held, report));
  } else {
    const KnownChoice known = TRY(ReadKnownChoice(request, sides, settings, now));
    TRY(JudgeRuns(request, terms, known, sides, report, draws));
  }
  // Money comes after the verdict, which decides whether there is any.
  TRY(FillMoney(tiers, report));
  report.inputs = std::move(sides.inputs);
  return report;
}

Result<ReversionReport> JudgeJobsAlone(const ComparisonRequest& request, const Settings& settings) {
  JudgedBy other = request.judged;
  other.level.clear();
  const SideRequest& sides = request.sides;
  for (const auto* texts : {&sides.before, &sides.after, &sides.untouched_before, &sides.untouched_after,
                            &sides.exclude, &request.factors, &request.work, &request.adjustments, &request.tiers}) {
    if (!texts->empty()) {
      return FailUsage("compare: --jobs without runs before the change stands alone; remove the flags about runs");
    }
  }
  // Flags of settings count too: --price beside a table of jobs would do nothing.
  const auto table = SettingTable();
  const bool idle_flag = std::any_of(table.begin(), table.end(), [&settings](const SettingInfo& info) {
    return !info.flag.empty() && info.flag != "--format" && settings.Get(info.key).origin == info.flag;
  });
  if (idle_flag || other.Given() || !other.unit.empty() || sides.kept || !sides.arms.empty() ||
      !request.claim.empty() || !request.projection.empty()) {
    return FailUsage("compare: --jobs alone allows only --level, --fail-on, --format and --output");
  }
  Claim judged;
  TRY(request.judged.Take("compare", judged));
  return ReadComparedJobs(request.jobs, judged.level);
}

}  // namespace idleburn
