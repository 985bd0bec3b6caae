#include "report/comparison_writers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "report/display.h"
#include "report/json_values.h"
#include "report/report_page.h"
#include "telemetry/run_facts.h"
#include "text/figures.h"
#include "text/strings.h"
#include "text/time_zone.h"

// Everything that `idleburn compare` prints. The first part is the JSON of a comparison (docs/json.md, schema
// idleburn.compare/1), the second its page and CSV row, the third the answer of `compare --jobs`.
//
// No part computes a verdict. All figures are those of the report, so no format can disagree with another. A figure
// that is not known is null in JSON, "-" or "not known" on a page, and an empty cell in CSV: a reader must not take it
// for zero.
//
// Words follow the strength of the proof. VERIFIED and REGRESSION say "took"; anything weaker says "seems" or gives the
// smallest effect that could have been shown. A sentence is quoted without its table, so it must not claim more than
// the verdict.
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
// null without work. `summed` counts sums of neighbouring rows, on which the error rests.
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

// The test for drift: the step beside the trend, and whether a drift may explain it (docs/verification.md). `same_side`
// is true if the step is there beside the trend.
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

// The baseline as a line: a fixed part and a part per unit of work, in GPU-seconds. Null if the ratio of sums was used.
Json BaselineModelJson(const std::optional<LinearBaseline>& line) {
  if (!line) return nullptr;
  return {{"fixed_gpu_seconds", line->fixed},
          {"gpu_seconds_per_unit", line->per_unit},
          {"cv_rmse", line->cv_rmse},
          {"segments", line->segments}};
}

// How many false labellings of the blocks would also have shown an effect. About 5 % are expected at a level of .95.
// Many more mean that the method is not sound on this job's noise.
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

// One compared run, with the hash of its file and why it counts or does not. A hash lets anybody check that the same
// files were compared.
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

// Cash and freed capacity stay apart: freed GPU-hours are no money until something leaves the bill. Without a price
// the parts are null, and their keys stay. `total` is `time` + `rate`, exactly.
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

// A comparison as a page for people, and as one CSV row. The page is built once (PageOf) and printed by the shared
// printers of report/report_page.h, so text, Markdown and HTML say the same.

namespace {

// In seconds.
constexpr double kHour = 3600;

// "sample", "step", ...; "unit of work" where the sides count different units or none.
std::string_view WorkUnitWord(const ComparisonReport& report) {
  return report.verdict.unit ? kWorkUnitNames[static_cast<std::size_t>(*report.verdict.unit)] : "unit of work";
}

// Picks GPU-seconds below ten GPU-hours and GPU-hours above, so that figures of one line have one unit and few
// digits.
struct GpuTimeScale {
  double divisor;
  std::string_view name;
  explicit GpuTimeScale(double gpu_seconds)
      : divisor(std::abs(gpu_seconds) < 10 * kHour ? 1 : kHour), name(divisor == 1 ? "GPU-s" : "GPU-h") {}
  [[nodiscard]] std::string Text(double gpu_seconds) const { return ThreeDigits(gpu_seconds / divisor); }
};

// "28.2 % less GPU time (95 % interval 26.0 to 30.4 %)". A regression is said as "more": its interval changes sign and
// its ends swap, so that the lower end still stands first. An interval of -3 to 2 % of a regression prints as -2 to 3 %
// more.
std::string Change(const SavingVerdict& verdict) {
  const double fraction = verdict.fraction.value_or(0);
  const bool more = fraction < 0;
  const std::string text = PercentText(std::abs(fraction)) + (more ? " more" : " less") + " GPU time";
  if (!verdict.saving) return text + " (no interval: too little data)";
  const double low = more ? -verdict.saving->high : verdict.saving->low;
  const double high = more ? -verdict.saving->low : verdict.saving->high;
  return fmt::format("{} ({} interval {})", text, StatedPercent(verdict.level), PercentInterval(low, high));
}

// The verdict in one sentence. Only VERIFIED and REGRESSION say "took"; INDICATED says "seems to take", because the
// word must not outrun the proof.
std::string ComparisonVerdictText(const ComparisonReport& report) {
  const SavingVerdict& verdict = report.verdict;
  const std::string name = std::string(VerdictName(verdict.verdict)) + ": ";
  switch (verdict.verdict) {
    case Verdict::kInvalid:
      return name + "the two sides cannot be compared; no saving is given.";
    case Verdict::kVerified:
    case Verdict::kRegression:
      return name + "the same work took " + Change(verdict) + ".";
    case Verdict::kIndicated:
    case Verdict::kIndicatedRegression:
      return name + "the same work seems to take " + Change(verdict) + "; this is not proof yet.";
    case Verdict::kNotShown:
      break;
  }
  if (!verdict.fraction) return name + "the data do not show a saving.";
  return name + "no change for the same work stands out; the estimate is " + Change(verdict) + ".";
}

// The observation of a reason without its remedy. The remedy is printed under "next", so it is cut off here. Sentences
// of reasons are made as "seen; remedy" (MakeReason in verify/verdict.h).
std::string Seen(const VerdictReason& reason) {
  const std::string tail = "; " + std::string(ReasonOf(reason.id).settle);
  return reason.sentence.ends_with(tail) ? reason.sentence.substr(0, reason.sentence.size() - tail.size())
                                         : reason.sentence;
}

// Splits each reason into "why" and "next". A note does not stand in the way of a verdict, so it asks for nothing.
// Two reasons with one remedy print it once.
void AddWhyAndNext(const ComparisonReport& report, ReportPage* page) {
  for (const VerdictReason& reason : report.verdict.reasons) {
    page->why.push_back(Seen(reason) + ".");
    const std::string settle(ReasonOf(reason.id).settle);
    const bool gates = ReasonOf(reason.id).weight != ReasonWeight::kNote;
    if (gates && std::find(page->next.begin(), page->next.end(), settle) == page->next.end()) {
      page->next.push_back(settle);
    }
  }
  if (report.verdict.more_hours) {
    page->next.push_back(fmt::format("about {} more of measuring (both sides together) would settle it",
                                     SecondsForPeople(*report.verdict.more_hours * kHour)));
  }
}

// The rows of the table of figures, in the order of docs/verification.md. A class rather than one function: the rows
// share the report, and each method explains one figure. A row with an empty name continues the row above.
class Figures {
 public:
  explicit Figures(const ComparisonReport& report) : report_(report), verdict_(report.verdict) {}

  std::vector<TableRow> Rows() && {
    Avoided();
    Fraction();
    Dollars();
    LeftOut();
    Runs();
    Independence();
    Guard();
    ClaimHash();
    Put("confidence",
        fmt::format("{}, draws of the cross-check from seed {}", StatedPercent(verdict_.level), verdict_.seed));
    Projected();
    return std::move(rows_);
  }

 private:
  // Adds one row.
  void Put(std::string name, std::string value) { rows_.push_back({std::move(name), std::move(value)}); }

  // GPU-seconds avoided, relative to what the work after would have needed before. The scale is that of the need, so
  // that both figures have one unit.
  void Avoided() {
    if (!verdict_.avoided_gpu_seconds) return Put("avoided", "not known");
    const SavingInterval& avoided = *verdict_.avoided_gpu_seconds;
    const double needed = avoided.fraction + verdict_.after.gpu_seconds;
    const GpuTimeScale scale(needed);
    std::string text = fmt::format("{} of the {} {} that the work done after would have needed before",
                                   scale.Text(avoided.fraction), scale.Text(needed), scale.name);
    if (verdict_.saving) {
      text += fmt::format(" ({} interval {} to {})", StatedPercent(verdict_.level), scale.Text(avoided.low),
                          scale.Text(avoided.high));
    }
    Put("avoided", text);
    if (verdict_.adjustment_gpu_seconds != 0) {
      Put("", fmt::format("{} {} of that come from adjustments for other changed factors",
                          scale.Text(verdict_.adjustment_gpu_seconds), scale.name));
    }
  }
  // The saved fraction with its interval and the claimed fraction. If nothing was shown, also the smallest effect
  // that these data could have shown.
  void Fraction() {
    if (!verdict_.fraction) return Put("saved", "not known");
    std::string text = PercentText(*verdict_.fraction) + " of the GPU time per " + std::string(WorkUnitWord(report_));
    if (verdict_.saving) {
      text += fmt::format(" (interval {})", PercentInterval(verdict_.saving->low, verdict_.saving->high));
    }
    if (report_.claimed && report_.claim.predicted) text += ", claimed " + PercentText(*report_.claim.predicted);
    Put("saved", text);
    if (report_.mean_step_fraction) {
      Put("", "the median step; the mean step, which a bill follows over whole cycles, says " +
                  PercentText(*report_.mean_step_fraction));
    }
    if (verdict_.bootstrap_is_wider) Put("", "the interval is the bootstrap's, because it is wider");
    if (verdict_.verdict == Verdict::kNotShown && verdict_.smallest_shown) {
      Put("", "these data could have shown " + PercentText(*verdict_.smallest_shown) + " or more");
    }
  }
  void Dollars();
  // What was left out, adjusted or taken off before judging. "nothing" is printed too: a reader must see that it was
  // checked.
  void LeftOut() {
    for (const DataExclusion& out : report_.exclusions) Put("left out", PercentText(out.share) + ": " + out.reason);
    if (report_.exclusions.empty()) Put("left out", "nothing");
    for (const NonRoutineAdjustment& nra : report_.adjustments) {
      const std::string amount = nra.gpu_seconds ? ThreeDigits(*nra.gpu_seconds) + " GPU-s" : "not measured";
      Put("adjusted", fmt::format("{}: {} -> {}, {} ({})", nra.factor, nra.before, nra.after, amount, nra.basis));
    }
    if (report_.reversion && *report_.reversion < 0) {
      Put("taken off",
          PercentText(-std::expm1(*report_.reversion)) + " that jobs picked for bad values save without a change");
    } else if (report_.reversion) {
      Put("taken off", PercentText(std::expm1(*report_.reversion)) + " that these jobs cost more without a change");
    }
    if (verdict_.comparators) {
      const ComparatorChange& untouched = *verdict_.comparators;
      const std::string moved = !untouched.parallel   ? "too few runs to see whether they move alike"
                                : *untouched.parallel ? "they moved alike before the change"
                                                      : "they did not move alike before the change";
      Put("untouched", PercentText(untouched.fraction) + " less GPU time without a change; " + moved);
    }
  }
  // How many runs each side has, and in which order they were made.
  void Runs() {
    const auto in_time = [&]() -> std::string_view {
      if (verdict_.layout == RunLayout::kUnknown) return "order in time unknown";
      return verdict_.layout == RunLayout::kBeforeAfter ? "one after the other" : RunLayoutName(verdict_.layout);
    };
    std::string text = fmt::format("{} before, {} after, {}", verdict_.before.runs, verdict_.after.runs, in_time());
    if (verdict_.pairs > 0) text += fmt::format(", {} pairs", verdict_.pairs);
    Put("runs", text);
  }
  // How many independent readings the data are worth. Neighbouring steps resemble each other, so n readings are worth
  // n / tau of them.
  void Independence() {
    if (!verdict_.before.n_eff && !verdict_.after.n_eff) return Put("independent", "only totals of the runs are known");
    const auto worth = [](const SideEstimate& side, std::string_view when) {
      if (!side.n_eff) return fmt::format("totals only {}", when);
      const std::string sums = side.summed == side.rows ? "" : fmt::format(", summed to {},", side.summed);
      return fmt::format("{} readings {}{} are worth {} (tau {})", side.rows, when, sums, ThreeDigits(*side.n_eff),
                         ThreeDigits(static_cast<double>(side.summed) / *side.n_eff));
    };
    std::string text = worth(verdict_.before, "before") + "; " + worth(verdict_.after, "after");
    // A switchback estimates its correlation over the whole series; the rows above are about a single block.
    if (verdict_.pairs > 0 && verdict_.before.tau) text += "; over all blocks tau " + ThreeDigits(*verdict_.before.tau);
    Put("independent", text);
  }
  // Whether a drift could explain the change. A switchback needs no guard, because its neighbouring blocks share the
  // drift.
  void Guard() {
    if (verdict_.layout == RunLayout::kSwitchback) {
      return Put("guard", "none needed: neighbouring blocks share the drift");
    }
    if (!verdict_.guard) return Put("guard", "none: the data cannot separate a drift from the change");
    const DriftGuard& guard = *verdict_.guard;
    Put("guard", fmt::format("step next to the trend {} ({} to {}) over {}: a drift {} the change",
                             SignedDigits(guard.delta), SignedDigits(guard.low), SignedDigits(guard.high),
                             guard.over_runs ? "runs" : "rows", guard.same_side ? "does not explain" : "may explain"));
  }
  // The hash and time of the claim. Without a claim written before the change, the choice of data may have followed
  // the result.
  void ClaimHash() {
    if (!report_.claimed) return Put("claim", "none: the measured result may have decided how to judge it");
    Put("claim", fmt::format("{} of {}, {}", report_.claim.sha256, FormatRfc3339(report_.claim.written),
                             verdict_.retrospective ? "not before the change" : "before the change"));
  }
  // What the saving would be if the future resembles the past. The line says that this is an assumption.
  void Projected() {
    if (!report_.no_projection.empty()) Put("projection", report_.no_projection);
    if (!report_.projection) return;
    const auto& [hours, gpu_hours] = *report_.projection;
    Put("projection", fmt::format("if the next {} h do the same work at the same mix: {} GPU-h ({} to {}); an "
                                  "assumption, not a saving",
                                  ThreeDigits(hours), ThreeDigits(gpu_hours.fraction), ThreeDigits(gpu_hours.low),
                                  ThreeDigits(gpu_hours.high)));
  }

  const ComparisonReport& report_;
  const SavingVerdict& verdict_;
  std::vector<TableRow> rows_;
};

// Money in three separate rows: the saving by time and by rate, the cash that leaves the bill, and the capacity
// that is free but still paid for. Adding the last two would count hours as money.
void Figures::Dollars() {
  if (!report_.money) return Put("dollars", report_.no_money);
  const SavingMoney& money = *report_.money;
  const auto amount = [&](Money m) { return Amount(m, money.currency); };
  if (money.parts) {
    const char* by = money.parts->time.nano() < 0 ? "more" : "less";
    std::string text = fmt::format("{} by {} time at {} per GPU-hour ({})", amount(money.parts->time), by,
                                   UnitPrice(*money.rate_before, money.currency), report_.rate.source);
    if (money.rate_after != money.rate_before) {
      text += fmt::format(", {} by the rate of {} after ({}); {} in all", amount(money.parts->rate),
                          UnitPrice(*money.rate_after, money.currency), report_.rate_after.source,
                          amount(money.parts->total));
    }
    Put("dollars", text);
  } else {
    // Says which side lacks a price, because that is the price that the reader must give.
    const bool after = report_.rate.per_gpu_hour.has_value();
    const Rate& missing = after ? report_.rate_after : report_.rate;
    const std::string where = after ? " of the GPUs after the change" : "";
    Put("dollars", missing.source.empty() ? "not known: no price" + where + "; give --price"
                                          : "not known: no price of some GPUs" + (after ? " after the change" : where) +
                                                " (others: " + missing.source + "); give --price for each");
  }
  if (money.cash && money.bill_before) {
    Put("cash", amount(*money.cash) + " off the bill of " + amount(*money.bill_before));
  } else if (money.cash && money.cash->nano() < 0) {
    Put("cash", amount(Money::Nano(-money.cash->nano())) + " more on the bill");
  } else if (money.cash) {
    Put("cash", amount(*money.cash) +
                    (*money.cash == Money() ? ": no hours leave the bill (--cashable, --tier)" : " leaves the bill"));
  }
  const std::string freed = GpuHoursForPeople(std::abs(money.freed_gpu_hours));
  if (money.freed_gpu_hours < 0) return Put("freed", "none: the same work needs " + freed + " more");
  if (money.freed_gpu_hours == 0) return Put("freed", "none");
  Put("freed", freed + " that you still pay for; they save money only if other jobs use them or you do not renew them");
}

// Names and values in two columns; long values wrap. The table is the evidence for the verdict; a reader who doubts it
// can follow each figure into docs/verification.md.
ReportTable FigureTable(const ComparisonReport& report) {
  ReportTable table;
  table.title = "Figures";
  table.columns = {{"figure"}, {"value"}};
  table.columns[1].wraps = true;
  table.rows = Figures(report).Rows();
  return table;
}

// The end of a long path, 28 bytes with its dots: the file name tells runs apart, the folder rarely does. A cut inside
// a UTF-8 character would print as garbage, so it moves to the start of the next one.
std::string ShortPath(std::string_view path) {
  constexpr std::size_t kShown = 28;
  if (path.size() <= kShown) return std::string(path);
  std::size_t from = path.size() - kShown + 3;
  while (from < path.size() && (static_cast<unsigned char>(path[from]) & 0xC0U) == 0x80U) ++from;  // inside a character
  return "..." + std::string(path.substr(from));
}

// One row per compared run. Runs that do not count are listed too, with the reason as a note.
ReportTable InputTable(const ComparisonReport& report) {
  ReportTable table;
  table.title = "Runs";
  const auto right = TableColumn::Align::kRight;
  const std::string unit(WorkUnitWord(report));
  table.columns = {{"side"},
                   {"kind"},
                   {"start (UTC)"},
                   {"GPU-s", right},
                   {report.verdict.unit ? unit + "s" : "units of work", right},
                   {"GPU-s per " + unit, right},
                   {"observed", right},
                   {"run"},
                   {"note"}};
  table.columns[1].expendable = true;
  table.columns[8].wraps = true;
  for (const ComparisonReport::Input& input : report.inputs) {
    const bool counted = input.gpu_seconds && input.work && *input.work > 0;
    table.rows.push_back({input.after ? "after" : "before", std::string(input.kind),
                          input.start ? FormatRfc3339(*input.start).substr(0, 19) : "-",
                          input.gpu_seconds ? ThreeDigits(*input.gpu_seconds) : "-",
                          input.work ? ThreeDigits(*input.work) : "-",
                          counted ? ThreeDigits(*input.gpu_seconds / *input.work) : "-",
                          input.observed ? PercentText(*input.observed) : "-", ShortPath(input.name), input.note});
  }
  return table;
}

// What the diagnosis of the capture before predicted, beside what came of it. No rows without captures. The user sees
// how far the advice of this program came true.
ReportTable CaptureTable(const ComparisonReport& report) {
  ReportTable table;
  table.title = "Predicted and realised";
  table.columns = {{"cause before"}, {"bound"}, {"expected"}, {"realised"}, {"of the bound"}, {"next bottleneck"}};
  for (const BeforeAfter& pair : report.captures) {
    table.rows.push_back({pair.cause.empty() ? "none" : std::string(pair.cause), PercentText(pair.bound),
                          PercentText(pair.expected), pair.realised ? PercentText(*pair.realised) : "-",
                          pair.recovered ? ThreeDigits(*pair.recovered) : "-",
                          pair.next.empty() ? "none" : std::string(pair.next)});
  }
  return table;
}

// "; before: job 1, experiment bert; after: job 2, experiment bert". If both sides have the same ids, they are
// printed once and without a side. Empty if no id is known.
std::string SidesIds(const ComparisonReport& report) {
  const std::string before = IdsText(IdsOfSide(report, false));
  const std::string after = IdsText(IdsOfSide(report, true));
  if (before == after) return before.empty() ? "" : "; " + before;
  return (before.empty() ? "" : "; before: " + before) + (after.empty() ? "" : "; after: " + after);
}

}  // namespace

ReportPage ComparisonPage(const ComparisonReport& report) {
  ReportPage page;
  page.heading = "GPU saving";
  page.verdict = ComparisonVerdictText(report);
  page.title = "GPU-seconds per " + std::string(WorkUnitWord(report)) +
               (report.claim.boundary.empty() ? "" : " of " + report.claim.boundary) +
               (report.claim.measure.empty() ? "" : ": " + report.claim.measure) + SidesIds(report);
  AddWhyAndNext(report, &page);
  page.tables = {FigureTable(report), CaptureTable(report), InputTable(report)};
  return page;
}

namespace {

// The CSV row has the columns of this header. Numbers keep 12 digits, and an unknown figure is an empty cell.
constexpr std::string_view kComparisonCsvHeader =
    "verdict,unit,saving_fraction,low,high,confidence,gpu_seconds_avoided,gpu_seconds_avoided_low,"
    "gpu_seconds_avoided_high,runs_before,runs_after,gpu_seconds_per_unit_before,gpu_seconds_per_unit_after,"
    "effective_samples_before,effective_samples_after,plan,claim_sha256,reasons\n";

// Twelve digits hold any measured figure; more would be noise of the double.
std::string Number(const std::optional<double>& value) { return value ? fmt::format("{:.12g}", *value) : ""; }
std::string Ratio(const SideEstimate& side) { return side.work > 0 ? fmt::format("{:.12g}", side.ratio) : ""; }

}  // namespace

std::string ComparisonCsv(const ComparisonReport& report) {
  const SavingVerdict& verdict = report.verdict;
  const auto part = [](const std::optional<SavingInterval>& interval, double SavingInterval::*which) {
    return interval ? fmt::format("{:.12g}", (*interval).*which) : std::string();
  };
  std::string reasons;
  for (const VerdictReason& reason : verdict.reasons) reasons += (reasons.empty() ? "" : " ") + std::string(reason.id);
  const std::optional<SavingInterval>& avoided = verdict.avoided_gpu_seconds;
  std::string row(VerdictName(verdict.verdict));
  for (const std::string& cell :
       {verdict.unit ? std::string(kWorkUnitNames[static_cast<std::size_t>(*verdict.unit)]) : std::string(),
        Number(verdict.fraction), part(verdict.saving, &SavingInterval::low),
        part(verdict.saving, &SavingInterval::high), fmt::format("{:g}", verdict.level),
        part(avoided, &SavingInterval::fraction), part(avoided, &SavingInterval::low),
        part(avoided, &SavingInterval::high), std::to_string(verdict.before.runs), std::to_string(verdict.after.runs),
        Ratio(verdict.before), Ratio(verdict.after), Number(verdict.before.n_eff), Number(verdict.after.n_eff),
        std::string(verdict.retrospective ? "retrospective" : "claimed"), report.claimed ? report.claim.sha256 : "",
        reasons}) {
    row += "," + CsvCell(cell);
  }
  return std::string(kComparisonCsvHeader) + row + "\n";
}

// Whether jobs that were selected for being bad gained more than they would have by themselves, as a page and as JSON
// (docs/claim-and-compare.md, "Runs and jobs that were picked for being bad").

namespace {

// A change with its standard error.
std::string WithError(double value, double error) {
  return fmt::format("{} (standard error {})", SignedDigits(value), ThreeDigits(error));
}

// The verdict in one sentence. It can only indicate: without a claim written before, nothing is proven here.
std::string ReversionVerdictText(const ReversionReport& report) {
  const ReversionReading& reading = report.reading;
  const std::string change =
      fmt::format("{} more than without a change ({} interval {} to {})", SignedDigits(reading.net_change),
                  StatedPercent(report.level), SignedDigits(reading.low), SignedDigits(reading.high));
  const std::string name = std::string(VerdictName(reading.verdict)) + ": the selected jobs ";
  switch (reading.verdict) {
    case Verdict::kIndicated:
      return name + "seem to have gained " + change + "; this is not proof yet.";
    case Verdict::kIndicatedRegression:
      return name + "seem to have lost: " + change + "; this is not proof yet.";
    default:
      return name + "changed by " + change + ", which may be nothing.";
  }
}

}  // namespace

// All values are in the unit of the input file. `df` are the degrees of freedom behind the interval.
std::string ReversionJson(const ReversionReport& report) {
  const ReversionReading& reading = report.reading;
  auto json = BeginDocument<nlohmann::ordered_json>("idleburn.reversion/1", report.ids);
  json["version"] = report.version;
  json["verdict"] = VerdictName(reading.verdict);
  json["jobs"] = {{"selected", reading.chosen}, {"untouched", reading.untouched}};
  json["raw_change"] = reading.raw_change;
  json["slope"] = {{"estimate", reading.slope}, {"standard_error", reading.slope_error}};
  json["expected_change"] = {{"estimate", reading.expected_change}, {"standard_error", reading.expected_error}};
  json["net_change"] = {{"estimate", reading.net_change}, {"standard_error", reading.net_error}, {"low", reading.low},
                        {"high", reading.high},           {"confidence", report.level},          {"df", reading.df}};
  json["input"] = {{"name", Printable(report.name)}, {"sha256", report.sha256}};
  return json.dump(2) + "\n";
}

ReportPage ReversionPage(const ReversionReport& report) {
  const ReversionReading& reading = report.reading;
  ReportPage page;
  page.heading = "Selected jobs";
  page.title = TitleAndIds(
      fmt::format("{} selected jobs of {}, next to {} untouched jobs", reading.chosen, report.name, reading.untouched),
      report.ids);
  page.verdict = ReversionVerdictText(report);
  page.why = {fmt::format(
      "jobs selected for a bad value drift back without a change: of the raw {}, {} is expected with no effect at all.",
      SignedDigits(reading.raw_change), SignedDigits(reading.expected_change))};
  page.next = {
      "to prove a saving, claim it before the change and measure GPU-seconds per unit of work: idleburn claim"};
  ReportTable figures;
  figures.title = "Figures, in the unit of the file; a larger value is better";
  figures.columns = {{"figure"}, {"value"}};
  figures.columns[1].wraps = true;
  figures.rows = {{"raw change", SignedDigits(reading.raw_change) + " mean of the selected jobs, after minus before"},
                  {"slope", WithError(reading.slope, reading.slope_error) + " of after on before, untouched jobs"},
                  {"expected", WithError(reading.expected_change, reading.expected_error) + " with no effect"},
                  {"net change", WithError(reading.net_change, reading.net_error) + ", raw less expected"}};
  page.tables = {figures};
  return page;
}

}  // namespace idleburn
