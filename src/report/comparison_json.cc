#include <cmath>
#include <nlohmann/json.hpp>

#include "report/comparison_writers.h"
#include "report/json_values.h"
#include "text/escape.h"
#include "text/time_zone.h"

// The JSON of a comparison (docs/json.md, schema idleburn.compare/1). It repeats the figures of the report and
// computes no verdict, so it cannot disagree with the page. A figure that is not known is null: a reader must not
// take it for zero.
namespace idleburn {
namespace {

using Json = nlohmann::ordered_json;

// An interval with its centre under the key `estimate`. Null where there are too few data for an interval.
Json SavingIntervalJson(const char* estimate, const std::optional<SavingInterval>& interval) {
  if (!interval) return nullptr;
  return {{estimate, interval->fraction}, {"low", interval->low}, {"high", interval->high}};
}

// The saving as fractions of the GPU time before: 0.28 is 28 % less. `confidence` is the level of the interval.
Json SavingJson(const SavingVerdict& verdict) {
  Json json;
  json["fraction"] = OrNull<Json>(verdict.fraction);
  json["low"] = verdict.saving ? Json(verdict.saving->low) : Json(nullptr);
  json["high"] = verdict.saving ? Json(verdict.saving->high) : Json(nullptr);
  json["confidence"] = verdict.level;
  return json;
}

// What is known of one side: runs, readings, GPU-seconds, units of work, and their ratio with its error. The ratio is
// null without work.
Json SideJson(const SideEstimate& side) {
  Json json;
  json["runs"] = side.runs;
  json["rows"] = side.rows;
  json["summed"] = side.summed;
  json["gpu_seconds"] = side.gpu_seconds;
  json["work"] = side.work;
  json["gpu_seconds_per_unit"] = side.work > 0 ? Json(side.ratio) : Json(nullptr);
  json["relative_error"] = side.relative_error;
  json["df"] = side.df;
  return json;
}

// The test for drift: the step beside the trend, and whether a drift may explain it (docs/verification.md).
Json GuardJson(const std::optional<DriftGuard>& guard) {
  if (!guard) return nullptr;
  Json json;
  json["over"] = guard->over_runs ? "runs" : "rows";
  json["delta"] = guard->delta;
  json["low"] = guard->low;
  json["high"] = guard->high;
  json["same_side"] = guard->same_side;
  return json;
}

// How jobs that were not changed moved meanwhile, and whether they moved alike before.
Json ComparatorsJson(const std::optional<ComparatorChange>& untouched) {
  if (!untouched) return nullptr;
  return {{"fraction", untouched->fraction}, {"parallel", OrNull<Json>(untouched->parallel)}};
}

// The baseline as a line: a fixed part and a part per unit of work, in GPU-seconds.
Json BaselineModelJson(const std::optional<LinearBaseline>& line) {
  if (!line) return nullptr;
  return {{"fixed_gpu_seconds", line->fixed},
          {"gpu_seconds_per_unit", line->per_unit},
          {"cv_rmse", line->cv_rmse},
          {"segments", line->segments}};
}

// How many false labellings of the blocks would also have shown an effect.
Json PlaceboJson(const std::optional<PlaceboTest>& placebo) {
  if (!placebo) return nullptr;
  return {
      {"labellings", placebo->labellings}, {"blocks", placebo->blocks}, {"excluding_zero", placebo->excluding_zero}};
}

// The claim by its hash, so that a reader can check which file was judged.
Json ClaimJson(const ComparisonReport& report) {
  if (!report.claimed) return nullptr;
  Json json;
  json["id"] = Printable(report.claim.id);
  json["sha256"] = Printable(report.claim.sha256);
  json["written"] = FormatRfc3339(report.claim.written);
  json["predicted"] = OrNull<Json>(report.claim.predicted);
  return json;
}

// One compared run, with the hash of its file and why it counts or does not.
Json InputJson(const ComparisonReport::Input& input) {
  Json json;
  json["side"] = input.after ? "after" : "before";
  json["name"] = Printable(input.name);
  json["kind"] = input.kind;
  json["sha256"] = TextOrNull<Json>(input.sha256);
  json["start"] = TimeOrNull<Json>(input.start);
  json["end"] = TimeOrNull<Json>(input.end);
  json["gpu_seconds"] = OrNull<Json>(input.gpu_seconds);
  json["work"] = OrNull<Json>(input.work);
  json["observed_fraction"] = OrNull<Json>(input.observed);
  json["note"] = TextOrNull<Json>(input.note);
  PutIds(json, input.ids);
  return json;
}

// What the diagnosis of the capture before expected of the fix, and what the capture after shows. Times in
// milliseconds.
Json CaptureJson(const BeforeAfter& pair) {
  Json json;
  json["cause"] = TextOrNull<Json>(pair.cause);
  json["bound"] = pair.bound;
  json["expected"] = pair.expected;
  json["median_step_before_ms"] = pair.before_ns ? Json(*pair.before_ns / 1e6) : Json(nullptr);
  json["median_step_after_ms"] = pair.after_ns ? Json(*pair.after_ns / 1e6) : Json(nullptr);
  json["realised"] = OrNull<Json>(pair.realised);
  json["recovered"] = OrNull<Json>(pair.recovered);
  json["kernels_change"] = OrNull<Json>(pair.kernels_change);
  json["compute_change"] = OrNull<Json>(pair.compute_change);
  json["next"] = TextOrNull<Json>(pair.next);
  return json;
}

// Data that the comparison left out, each with its reason and its share.
Json ExcludedJson(const ComparisonReport& report) {
  Json json = Json::array();
  for (const DataExclusion& out : report.exclusions) {
    json.push_back({{"reason", Printable(out.reason)}, {"share", out.share}});
  }
  return json;
}

// Factors other than the measure that changed between both sides, with the GPU-seconds that were added or taken off.
Json AdjustmentsJson(const ComparisonReport& report) {
  Json json = Json::array();
  for (const NonRoutineAdjustment& nra : report.adjustments) {
    json.push_back({{"factor", Printable(nra.factor)},
                    {"before", Printable(nra.before)},
                    {"after", Printable(nra.after)},
                    {"gpu_seconds", OrNull<Json>(nra.gpu_seconds)},
                    {"basis", Printable(nra.basis)}});
  }
  return json;
}

// Cash and freed capacity stay apart: freed GPU-hours are no money until something stops being billed. Without a
// price the parts are null, and their keys stay.
void AddMoney(const ComparisonReport& report, Json& json) {
  const SavingMoney money = report.money.value_or(SavingMoney{});
  PutMoney(json, "cashable", money.cash, money.currency);
  json["freed_capacity"] = report.money ? Json(money.freed_gpu_hours) : Json(nullptr);
  Json& parts = json["money"];
  parts["currency"] = TextOrNull<Json>(money.currency);
  parts["rate_source"] = TextOrNull<Json>(report.rate.source);
  parts["rate_after_source"] = TextOrNull<Json>(report.rate_after.source);
  PutMoney(parts, "rate_before", money.rate_before, money.currency);
  PutMoney(parts, "rate_after", money.rate_after, money.currency);
  const auto part = [&](Money TimeAndRate::*which) {
    return money.parts ? std::optional((*money.parts).*which) : std::nullopt;
  };
  PutMoney(parts, "time", part(&TimeAndRate::time), money.currency);
  PutMoney(parts, "rate", part(&TimeAndRate::rate), money.currency);
  PutMoney(parts, "total", part(&TimeAndRate::total), money.currency);
  PutMoney(parts, "bill_before", money.bill_before, money.currency);
  PutMoney(parts, "bill_after", money.bill_after, money.currency);
}

}  // namespace

std::string ComparisonJson(const ComparisonReport& report) {
  const SavingVerdict& verdict = report.verdict;
  Json json = BeginDocument<Json>("idleburn.compare/1", IdsOfSide(report, {}));
  json["version"] = report.version;
  json["verdict"] = VerdictName(verdict.verdict);
  json["unit"] = verdict.unit ? Json(kWorkUnitNames[static_cast<std::size_t>(*verdict.unit)]) : Json(nullptr);
  json["saving"] = SavingJson(verdict);
  json["saving_90"] = SavingIntervalJson("fraction", verdict.saving90);
  json["bootstrap"] = SavingIntervalJson("fraction", verdict.bootstrap);
  json["seed"] = verdict.seed;
  json["gpu_seconds_avoided"] = SavingIntervalJson("estimate", verdict.avoided_gpu_seconds);
  AddMoney(report, json);
  json["runs"] = {{"before", verdict.before.runs}, {"after", verdict.after.runs}};
  json["layout"] = RunLayoutName(verdict.layout);
  json["pairs"] = verdict.pairs;
  json["sides"] = {{"before", SideJson(verdict.before)}, {"after", SideJson(verdict.after)}};
  json["effective_samples"] = {{"before", OrNull<Json>(verdict.before.n_eff)},
                               {"after", OrNull<Json>(verdict.after.n_eff)}};
  json["tau"] = {{"before", OrNull<Json>(verdict.before.tau)}, {"after", OrNull<Json>(verdict.after.tau)}};
  json["guard"] = GuardJson(verdict.guard);
  json["comparators"] = ComparatorsJson(verdict.comparators);
  // The report holds the logarithm of the ratio after/before; the document holds the saved fraction.
  json["reversion"] = report.reversion ? Json(-std::expm1(*report.reversion)) : Json(nullptr);
  json["baseline_model"] = BaselineModelJson(verdict.model);
  json["placebo"] = PlaceboJson(verdict.placebo);
  json["fsu"] = OrNull<Json>(verdict.fsu);
  json["smallest_shown"] = OrNull<Json>(verdict.smallest_shown);
  json["more_hours"] = OrNull<Json>(verdict.more_hours);
  json["plan"] = verdict.retrospective ? "retrospective" : "claimed";
  json["claim"] = ClaimJson(report);
  // `reasons` has stable ids for programs, `reason_sentences` the text of each at the same position.
  json["reasons"] = Json::array();
  json["reason_sentences"] = Json::array();
  for (const VerdictReason& reason : verdict.reasons) {
    json["reasons"].push_back(reason.id);
    json["reason_sentences"].push_back(Printable(reason.sentence));
  }
  json["excluded"] = ExcludedJson(report);
  json["adjustments"] = AdjustmentsJson(report);
  // Null unless a projection was asked for: it is an assumption, not a measurement.
  json["projection"] = nullptr;
  if (report.projection) {
    json["projection"] = SavingIntervalJson("gpu_hours", report.projection->gpu_hours);
    json["projection"]["hours"] = report.projection->hours;
  }
  json["captures"] = Json::array();
  json["mean_step_fraction"] = OrNull<Json>(report.mean_step_fraction);
  for (const BeforeAfter& pair : report.captures) json["captures"].push_back(CaptureJson(pair));
  json["inputs"] = Json::array();
  for (const ComparisonReport::Input& input : report.inputs) json["inputs"].push_back(InputJson(input));
  return json.dump(2) + "\n";
}

}  // namespace idleburn
