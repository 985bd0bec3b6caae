#include "report/drill_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "config/flag_values.h"
#include "plan/spot_formulas.h"
#include "report/json_values.h"
#include "text/figures.h"
#include "text/json.h"
#include "text/number.h"
#include "text/strings.h"
#include "trial/drill.h"

// A drill as a page and as JSON.
//
// A drill decides whether a job is moved to machines that may vanish. So the report separates three things that are
// easily mixed up: what failed, what could not be seen, and what was not asked. What the command did not report is
// "unknown" and names the marker that would tell it; it is never 0.
namespace idleburn {
namespace {

// One measured quantity of a drill. The table of figures and the JSON rows are built from these.
struct DrillQuantity {
  std::string_view id;  // in JSON
  std::string_view title;
  std::string_view unit;  // "s", "bytes", "steps", "samples"
  std::optional<DrillFigure> DrillFigures::*figure;
  std::string_view unknown;  // what the command must report so that it becomes known
};

// How a command reports what idleburn cannot see from outside. Several unknown figures have the same remedy.
constexpr std::string_view kSayCheckpoints = "idleburn.checkpoint(step, path), or --checkpoint PATH";
constexpr std::string_view kSaySteps = "idleburn.resumed(step), or print steps";
constexpr std::array<DrillQuantity, 9> kQuantities = {{
    {"step_s", "time a step", "s", &DrillFigures::step_s, "more than one step between interruptions"},
    {"checkpoint_s", "writing a checkpoint (C)", "s", &DrillFigures::checkpoint_s, kSayCheckpoints},
    {"checkpoint_bytes", "size of a checkpoint", "bytes", &DrillFigures::checkpoint_bytes, kSayCheckpoints},
    {"checkpoint_interval_s", "from one checkpoint to the next", "s", &DrillFigures::checkpoint_interval_s,
     "two checkpoints between interruptions: raise --after"},
    {"restart_s", "from its start to its first step (R)", "s", &DrillFigures::restart_s, "print steps, or markers"},
    {"stop_s", "from the signal to its end", "s", &DrillFigures::stop_s, ""},
    {"lost_steps", "work lost per interruption", "steps", &DrillFigures::lost_steps, kSaySteps},
    {"lost_samples", "work lost per interruption", "samples", &DrillFigures::lost_samples,
     "idleburn.step(first=POSITION)"},
    {"lost_s", "work lost per interruption", "s", &DrillFigures::lost_s, kSaySteps},
}};

// A value in the unit of its quantity. Counts may be means.
std::string ValueText(double value, std::string_view unit) {
  if (unit == "s") return SecondsForPeople(value);
  if (unit == "bytes") return BinaryBytes(value);
  return ThreeDigits(value) + " " + std::string(unit);
}

// What the command did not report is "unknown", never 0.
std::string KnownText(const std::optional<std::int64_t>& value) { return value ? std::to_string(*value) : "unknown"; }
std::string KnownTime(const std::optional<Nanos>& time) { return time ? DurationForPeople(*time) : "unknown"; }

// "SIGTERM, 30 s of grace, as aws": how the command was interrupted. SIGKILL gives no grace.
std::string Interrupted(const DrillReport& report) {
  const Interruption& how = report.spec.leg.interruption;
  std::string text = SignalName(how.signal);
  if (how.signal != SIGKILL) text += ", " + KnownTime(how.grace) + " of grace";
  if (!report.cloud.empty()) text += ", as " + report.cloud;
  if (report.spec.mid_checkpoint) text += ", while a checkpoint is written";
  return text;
}

// The first line. A pass says what was seen; only a command that reports its samples can be told that none was lost. A
// fail names every reason that fails; "cannot tell" names the first. A pass claims no more than the rounds that were
// made.
std::string DrillVerdictText(const DrillReport& report) {
  const DrillReading& reading = report.reading;
  const std::size_t rounds = report.result.rounds.size();
  const std::string how = " (" + Interrupted(report) + ")";
  switch (reading.verdict) {
    case DrillVerdict::kPass: {
      const bool samples = reading.figures.lost_samples.has_value();
      return fmt::format("PASS: {} of {} interruptions{}: it resumed at the step of its state{}.", reading.clean_rounds,
                         rounds, how, samples ? "; no sample was skipped or repeated" : "");
    }
    case DrillVerdict::kFail: {
      std::string all;
      for (const DrillReason reason : reading.reasons) {
        if (InfoOf(reason).fails) all += (all.empty() ? "" : "; ") + std::string(InfoOf(reason).means);
      }
      return fmt::format("FAIL{}: {}.", how, all);
    }
    case DrillVerdict::kCannotTell:
      break;
  }
  // No round was finished, so there is no reason to name.
  if (rounds == 0) return "CANNOT TELL: the drill ended before the first interruption was over.";
  return fmt::format("CANNOT TELL{}: {}.", how, InfoOf(reading.reasons.front()).means);
}

// Each reason once, with the first round that shows it. One round is enough to find the fault; the table has the
// others.
void AddReasons(const DrillReport& report, ReportPage* page) {
  for (const DrillReason reason : report.reading.reasons) {
    const DrillReasonInfo& info = InfoOf(reason);
    for (std::size_t i = 0; i < report.result.rounds.size(); ++i) {
      const std::vector<DrillFault>& faults = report.result.rounds[i].reading.faults;
      const auto fault =
          std::find_if(faults.begin(), faults.end(), [&](const DrillFault& f) { return f.reason == reason; });
      if (fault == faults.end()) continue;
      page->why.push_back(fmt::format("{}, round {}: {}", info.id, i + 1, fault->text));
      break;
    }
    page->next.push_back(fmt::format("{}: {}", info.id, info.next));
  }
}

// One row per quantity with its mean and interval. With too few values for an interval, the row shows minimum and
// maximum and says so. An unknown quantity shows what it needs.
ReportTable DrillFigureTable(const DrillReport& report) {
  ReportTable table;
  table.title = "Measured";
  table.columns = {{"measured"}, {"mean", kRight}, {"95 % interval, or least to most", kLeft, true}, {"of", kRight}};
  for (const DrillQuantity& quantity : kQuantities) {
    const std::optional<DrillFigure>& figure = report.reading.figures.*quantity.figure;
    if (!figure) {
      const std::string add = quantity.unknown.empty() ? "" : "needs " + std::string(quantity.unknown);
      table.rows.push_back({std::string(quantity.title), "unknown", add, "0"});
      continue;
    }
    table.rows.push_back({std::string(quantity.title), ValueText(figure->mean, quantity.unit),
                          ValueText(figure->low, quantity.unit) + " to " + ValueText(figure->high, quantity.unit) +
                              (figure->interval() ? "" : " (least to most)"),
                          std::to_string(figure->count)});
  }
  return table;
}

// One row per interruption: where the command stopped, where it went on, and what was lost between. A round is the
// evidence behind each figure.
ReportTable RoundTable(const DrillReport& report) {
  ReportTable table;
  table.title = "Rounds";
  table.columns = {{"round", kRight},      {"stopped at", kRight}, {"checkpoint", kRight},
                   {"resumed at", kRight}, {"lost steps", kRight}, {"skipped", kRight},
                   {"repeated", kRight},   {"restart", kRight},    {"found", kLeft, true}};
  for (std::size_t i = 0; i < report.result.rounds.size(); ++i) {
    const DrillRound& round = report.result.rounds[i];
    const RoundReading& reading = round.reading;
    const std::string found =
        ListText(reading.faults, ", ", [](const DrillFault& fault) { return InfoOf(fault.reason).id; });
    table.rows.push_back({std::to_string(i + 1), KnownText(reading.stopped_at), KnownText(reading.checkpoint_at),
                          KnownText(reading.resumed_at), KnownText(reading.lost_steps), KnownText(reading.skipped),
                          KnownText(reading.repeated), KnownTime(round.restart), found.empty() ? "nothing" : found});
  }
  return table;
}

// What the measured figures cost on spot capacity. Absent without --uptime, which no drill can measure. How often a
// cloud takes machines back is a property of the market and of the day.
std::optional<DrillOutlook> DrilledOutlook(const DrillReport& report) {
  if (!report.uptime) return std::nullopt;
  return OutlookOf(report.reading.figures, InSeconds(*report.uptime), report.nodes);
}

// What the figures mean on spot capacity: whether a last checkpoint fits into each cloud's notice, and which discount
// makes up for the losses (docs/spot.md). The first-order formula is marked where it no longer holds. Figures that are
// unknown make the cost unknown: no typical restart time is assumed.
std::vector<std::string> DrillSpotLines(const DrillReport& report) {
  std::vector<std::string> lines;
  const DrillFigures& figures = report.reading.figures;
  if (figures.checkpoint_s) {
    const double write = figures.checkpoint_s->mean;
    std::string fits;
    for (const CloudNotice& notice : kCloudNotices) {
      const double grace = InSeconds(notice.grace);
      fits += fmt::format("{}{}: {}", fits.empty() ? "" : "; ", notice.says, write < grace ? "fits" : "does not fit");
    }
    lines.push_back(fmt::format("A last checkpoint ({}) within the notice: {}.", SecondsForPeople(write), fits));
  }
  const std::optional<DrillOutlook> outlook = DrilledOutlook(report);
  if (!outlook) {
    lines.emplace_back("Cost on spot capacity: unknown; give the mean time between losses of a node with --uptime 6h.");
    return lines;
  }
  const std::string each = fmt::format("One loss every {} on average", SecondsForPeople(outlook->uptime_s));
  if (!figures.checkpoint_s || !figures.restart_s) {
    lines.push_back(each + ": the cost is unknown without the times of a checkpoint and a restart.");
    return lines;
  }
  // An overhead can be negative: rarer checkpoints may cost less than those of today even with losses.
  const auto pays = [](double overhead) {
    if (overhead < 0) return StatedPercent(-overhead) + " less time than on demand as it is now";
    return fmt::format("{} more time than on demand, cheaper from a discount of {} on", StatedPercent(overhead),
                       StatedPercent(BreakEvenDiscount(overhead)));
  };
  if (outlook->overhead_now) {
    lines.push_back(fmt::format("{}, as it is now (a checkpoint every {}): {}.", each,
                                SecondsForPeople(figures.checkpoint_interval_s->mean), pays(*outlook->overhead_now)));
  }
  if (outlook->overhead_young) {
    lines.push_back(fmt::format("{}, with a checkpoint every {} (Young's interval), half of it lost: {}.", each,
                                SecondsForPeople(*outlook->young_interval_s), pays(*outlook->overhead_young)));
  }
  // Beyond its range the first-order formula gives too low an overhead.
  if (outlook->outside) {
    lines.push_back(
        fmt::format("These are too low: restart and interval are {} of the time between losses, "
                    "and the formula is good to about {}.",
                    PercentText(*outlook->outside), StatedPercent(kFirstOrderReach)));
  }
  lines.emplace_back("This leaves out the time in which a cloud provides another machine.");
  return lines;
}

// What a reader must know to repeat or doubt the result: an early end, drawn times with their seed, coarse steps, and
// the commands. Notes come last, because they are about the drill and not about the job.
ReportTable DrillNotes(const DrillReport& report) {
  std::vector<std::string> notes;
  const DrillSpec& spec = report.spec;
  if (report.result.interrupted) {
    notes.push_back(
        fmt::format("Ended by signal {}; the report covers the time until then.", *report.result.interrupted));
  }
  if (!report.result.ended.empty()) {
    notes.push_back(fmt::format("{} of {} rounds: {}.", report.result.rounds.size(), spec.rounds, report.result.ended));
  }
  if (spec.after && spec.after->low != spec.after->high) {
    notes.push_back(
        fmt::format("Interrupted {} to {} after the first progress of a start; --seed {} draws the "
                    "same again.",
                    DurationForPeople(spec.after->low), DurationForPeople(spec.after->high), spec.seed));
  }
  if (spec.after_steps && spec.after_steps->low != spec.after_steps->high) {
    notes.push_back(fmt::format("Interrupted after {} to {} steps of a start; --seed {} draws the same again.",
                                spec.after_steps->low, spec.after_steps->high, spec.seed));
  }
  for (const Leg& leg : report.result.legs) {
    if (leg.trace.from_markers() || !leg.trace.printed() || leg.trace.printed()->stride < 2) continue;
    notes.push_back(fmt::format("Steps are printed every {}: lost steps are known to {}.", leg.trace.printed()->stride,
                                leg.trace.printed()->stride));
    break;
  }
  if (report.reading.figures.checkpoint_from_files) {
    notes.emplace_back("Checkpoints are as their files show them: C is at least that (docs/drill.md).");
  }
  notes.push_back("Command: " + report.command);
  if (report.resume != report.command) notes.push_back("Resumed by: " + report.resume);
  return {"Notes", {}, {}, std::move(notes)};
}

using Json = nlohmann::ordered_json;

// The mean as one number, for the keys at the top of the document. The interval is in `figures`. Null if the quantity
// is unknown.
Json MeanOrNull(const std::optional<DrillFigure>& figure) { return figure ? Json(figure->mean) : Json(nullptr); }

// What was asked, so that the drill can be repeated. `grace_s` is null for SIGKILL. Bounds of drawn times are both
// given; equal bounds mean a fixed time.
Json SpecJson(const DrillReport& report) {
  const DrillSpec& spec = report.spec;
  const Interruption& how = spec.leg.interruption;
  Json json;
  json["command"] = Printable(report.command);
  json["resume"] = Printable(report.resume);
  json["signal"] = SignalName(how.signal);
  json["grace_s"] = how.signal == SIGKILL ? Json(nullptr) : SecondsOrNull<Json>(how.grace);
  json["as"] = TextOrNull<Json>(report.cloud);
  json["after_low_s"] = spec.after ? SecondsOrNull<Json>(spec.after->low) : Json(nullptr);
  json["after_high_s"] = spec.after ? SecondsOrNull<Json>(spec.after->high) : Json(nullptr);
  json["after_low_steps"] = spec.after_steps ? Json(spec.after_steps->low) : Json(nullptr);
  json["after_high_steps"] = spec.after_steps ? Json(spec.after_steps->high) : Json(nullptr);
  json["mid_checkpoint"] = spec.mid_checkpoint;
  json["seed"] = spec.seed;
  json["timeout_s"] = SecondsOrNull<Json>(spec.leg.timeout);
  json["rounds"] = spec.rounds;
  return json;
}

// Every quantity, measured or not. `bounds` says whether low and high are an interval or minimum and maximum. `count`
// is 0 for a quantity that was not measured, and its values are null.
Json FiguresJson(const DrillFigures& figures) {
  Json rows = Json::array();
  for (const DrillQuantity& quantity : kQuantities) {
    const std::optional<DrillFigure>& figure = figures.*quantity.figure;
    Json row;
    row["id"] = quantity.id;
    row["unit"] = quantity.unit;
    row["count"] = figure ? figure->count : 0;
    row["mean"] = MeanOrNull(figure);
    row["low"] = figure ? Json(figure->low) : Json(nullptr);
    row["high"] = figure ? Json(figure->high) : Json(nullptr);
    row["bounds"] = !figure ? Json(nullptr) : figure->interval() ? Json("interval") : Json("least_most");
    rows.push_back(std::move(row));
  }
  return rows;
}

// One interruption. Null means that the command did not report it. A program can compute all figures again from the
// rounds.
Json RoundJson(const DrillRound& round) {
  const RoundReading& reading = round.reading;
  Json json;
  json["after_s"] = SecondsOrNull<Json>(round.goal.time);
  json["after_steps"] = OrNull<Json>(round.goal.steps);
  json["stopped_at_step"] = OrNull<Json>(reading.stopped_at);
  json["checkpoint_step"] = OrNull<Json>(reading.checkpoint_at);
  json["resumed_at_step"] = OrNull<Json>(reading.resumed_at);
  json["lost_steps"] = OrNull<Json>(reading.lost_steps);
  json["lost_samples"] = OrNull<Json>(reading.lost_samples);
  json["lost_beyond_checkpoint_steps"] = OrNull<Json>(reading.lost_beyond_checkpoint);
  json["skipped_samples"] = OrNull<Json>(reading.skipped);
  json["repeated_samples"] = OrNull<Json>(reading.repeated);
  json["order_kept"] = OrNull<Json>(reading.order_kept);
  json["stop_s"] = SecondsOrNull<Json>(round.stop);
  json["restart_s"] = SecondsOrNull<Json>(round.restart);
  json["faults"] = Json::array();
  for (const DrillFault& fault : reading.faults) {
    Json row;
    row["id"] = InfoOf(fault.reason).id;
    row["fails"] = InfoOf(fault.reason).fails;
    row["text"] = Printable(fault.text);
    json["faults"].push_back(std::move(row));
  }
  return json;
}

// Null without --uptime. The two halves answer different questions: with the checkpoints as they are now, and with
// Young's interval.
Json OutlookJson(const DrillReport& report) {
  const std::optional<DrillOutlook> outlook = DrilledOutlook(report);
  if (!outlook) return nullptr;
  const auto discount = [](const std::optional<double>& overhead) {
    return overhead ? Json(BreakEvenDiscount(*overhead)) : Json(nullptr);
  };
  Json json;
  json["uptime_s"] = outlook->uptime_s;
  json["nodes"] = report.nodes;
  json["overhead_now"] = OrNull<Json>(outlook->overhead_now);
  json["break_even_discount_now"] = discount(outlook->overhead_now);
  json["young_interval_s"] = OrNull<Json>(outlook->young_interval_s);
  json["overhead_young"] = OrNull<Json>(outlook->overhead_young);
  json["break_even_discount_young"] = discount(outlook->overhead_young);
  json["outside_first_order"] = OrNull<Json>(outlook->outside);
  return json;
}

}  // namespace

ReportPage DrillPage(const DrillReport& report) {
  ReportPage page;
  page.heading = "Restart drill";
  page.title = TitleAndIds("Restart drill of " + report.command, report.ids);
  page.verdict = DrillVerdictText(report);
  AddReasons(report, &page);
  page.points = {{"spot", "On spot capacity", DrillSpotLines(report)}};
  page.tables = {DrillFigureTable(report), RoundTable(report), DrillNotes(report)};
  return page;
}

// The keys at the top are what a script needs to judge a job: verdict, checkpoint, restart and loss. Details follow.
std::string DrillJson(const DrillReport& report) {
  const DrillReading& reading = report.reading;
  const DrillFigures& figures = reading.figures;
  Json document = BeginDocument<Json>("idleburn.drill/1", report.ids);
  document["version"] = IDLEBURN_VERSION;
  document["verdict"] = kDrillVerdicts[static_cast<std::size_t>(reading.verdict)];
  document["sentence"] = Printable(DrillVerdictText(report));
  document["reasons"] = Json::array();
  for (const DrillReason reason : reading.reasons) document["reasons"].push_back(InfoOf(reason).id);
  document["checkpoint_s"] = MeanOrNull(figures.checkpoint_s);
  document["checkpoint_bytes"] = MeanOrNull(figures.checkpoint_bytes);
  document["checkpoint_interval_s"] = MeanOrNull(figures.checkpoint_interval_s);
  document["restart_s"] = MeanOrNull(figures.restart_s);
  document["lost_s"] = MeanOrNull(figures.lost_s);
  document["checkpoint_from"] = !figures.checkpoint_s           ? Json(nullptr)
                                : figures.checkpoint_from_files ? Json("files")
                                                                : Json("markers");
  document["spec"] = SpecJson(report);
  document["rounds_done"] = report.result.rounds.size();
  document["rounds_clean"] = reading.clean_rounds;
  document["ended"] = TextOrNull<Json>(report.result.ended);
  document["interrupted"] = OrNull<Json>(report.result.interrupted);
  document["confidence"] = kDrillConfidence;
  document["figures"] = FiguresJson(figures);
  document["rounds"] = Json::array();
  for (const DrillRound& round : report.result.rounds) document["rounds"].push_back(RoundJson(round));
  document["spot"] = OutlookJson(report);
  return JsonDocument(document);
}

}  // namespace idleburn
