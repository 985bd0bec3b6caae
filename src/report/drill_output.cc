#include "report/drill_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "config/flag_values.h"
#include "plan/spot_formulas.h"
#include "report/json_values.h"
#include "text/json.h"
#include "text/number.h"
#include "text/strings.h"
#include "text/table.h"
#include "trial/drill.h"

// A drill as text, Markdown and JSON. Text and Markdown print one view, so they cannot differ in a sentence. JSON takes
// its figures from the report and only the verdict's sentence from the view.
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

// A drill in sentences and rows, before any format. Members are in the order of reading.
struct DrillView {
  std::string verdict;
  std::vector<std::string> why;
  std::vector<std::string> next;
  std::vector<std::string> spot;
  std::vector<TableColumn> figure_columns;
  std::vector<TableRow> figures;
  std::vector<TableColumn> round_columns;
  std::vector<TableRow> rounds;
  std::vector<std::string> notes;
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

// A time in the unit that shows three digits: "340 ms", "12.5 s", "3.2 min", "5.1 h". One unit for all times was
// rejected: 0.00034 h and 18,360 s are both hard to read.
std::string DurationText(double seconds) {
  const double size = std::abs(seconds);
  if (size == 0) return "0 s";
  if (size < 1) return fmt::format("{:.3g} ms", seconds * 1e3);
  if (size < 120) return fmt::format("{:.3g} s", seconds);
  if (size < 7200) return fmt::format("{:.3g} min", seconds / 60);
  return fmt::format("{:.3g} h", seconds / 3600);
}

// Bytes in binary units: "1.5 GiB".
std::string SizeText(double bytes) {
  constexpr std::array<std::string_view, 5> kUnits = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  while (bytes >= 1024 && unit + 1 < kUnits.size()) {
    bytes /= 1024;
    ++unit;
  }
  return fmt::format("{:.4g} {}", bytes, kUnits[unit]);
}

// A value in the unit of its quantity. Counts have four significant digits, since they may be means.
std::string ValueText(double value, std::string_view unit) {
  if (unit == "s") return DurationText(value);
  if (unit == "bytes") return SizeText(value);
  return fmt::format("{:.4g} {}", value, unit);
}

// What the command did not report is "unknown", never 0.
std::string KnownText(const std::optional<std::int64_t>& value) { return value ? std::to_string(*value) : "unknown"; }
std::string KnownTime(const std::optional<Nanos>& time) { return time ? DurationText(InSeconds(*time)) : "unknown"; }

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
void AddReasons(const DrillReport& report, DrillView& view) {
  for (const DrillReason reason : report.reading.reasons) {
    const DrillReasonInfo& info = InfoOf(reason);
    for (std::size_t i = 0; i < report.result.rounds.size(); ++i) {
      const std::vector<DrillFault>& faults = report.result.rounds[i].reading.faults;
      const auto fault =
          std::find_if(faults.begin(), faults.end(), [&](const DrillFault& f) { return f.reason == reason; });
      if (fault == faults.end()) continue;
      view.why.push_back(fmt::format("{}, round {}: {}", info.id, i + 1, fault->text));
      break;
    }
    view.next.push_back(fmt::format("{}: {}", info.id, info.next));
  }
}

// One row per quantity with its mean and interval. With too few values for an interval, the row shows minimum and
// maximum and says so. An unknown quantity shows what it needs.
void AddFigures(const DrillReport& report, DrillView& view) {
  view.figure_columns.resize(4);
  view.figure_columns[0].header = "measured";
  view.figure_columns[1].header = "mean";
  view.figure_columns[2].header = "95 % interval, or least to most";
  view.figure_columns[3].header = "of";
  for (const std::size_t column : {1U, 3U}) view.figure_columns[column].align = TableColumn::Align::kRight;
  view.figure_columns[2].wraps = true;
  for (const DrillQuantity& quantity : kQuantities) {
    const std::optional<DrillFigure>& figure = report.reading.figures.*quantity.figure;
    if (!figure) {
      const std::string add = quantity.unknown.empty() ? "" : "needs " + std::string(quantity.unknown);
      view.figures.push_back({std::string(quantity.title), "unknown", add, "0"});
      continue;
    }
    view.figures.push_back({std::string(quantity.title), ValueText(figure->mean, quantity.unit),
                            ValueText(figure->low, quantity.unit) + " to " + ValueText(figure->high, quantity.unit) +
                                (figure->interval() ? "" : " (least to most)"),
                            std::to_string(figure->count)});
  }
}

// One row per interruption: where the command stopped, where it went on, and what was lost between. A round is the
// evidence behind each figure.
void AddRounds(const DrillReport& report, DrillView& view) {
  constexpr std::array<const char*, 8> kHeaders = {"round",      "stopped at", "checkpoint", "resumed at",
                                                   "lost steps", "skipped",    "repeated",   "restart"};
  for (const char* header : kHeaders) {
    view.round_columns.push_back({});
    view.round_columns.back().header = header;
    view.round_columns.back().align = TableColumn::Align::kRight;
  }
  view.round_columns.push_back({});
  view.round_columns.back().header = "found";
  view.round_columns.back().wraps = true;
  for (std::size_t i = 0; i < report.result.rounds.size(); ++i) {
    const DrillRound& round = report.result.rounds[i];
    const RoundReading& reading = round.reading;
    std::string found;
    for (const DrillFault& fault : reading.faults) {
      found += (found.empty() ? "" : ", ") + std::string(InfoOf(fault.reason).id);
    }
    view.rounds.push_back({std::to_string(i + 1), KnownText(reading.stopped_at), KnownText(reading.checkpoint_at),
                           KnownText(reading.resumed_at), KnownText(reading.lost_steps), KnownText(reading.skipped),
                           KnownText(reading.repeated), KnownTime(round.restart), found.empty() ? "nothing" : found});
  }
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
void AddSpot(const DrillReport& report, DrillView& view) {
  const DrillFigures& figures = report.reading.figures;
  if (figures.checkpoint_s) {
    const double write = figures.checkpoint_s->mean;
    std::string fits;
    for (const CloudNotice& notice : kCloudNotices) {
      const double grace = InSeconds(notice.grace);
      fits += fmt::format("{}{}: {}", fits.empty() ? "" : "; ", notice.says, write < grace ? "fits" : "does not fit");
    }
    view.spot.push_back(fmt::format("A last checkpoint ({}) within the notice: {}.", DurationText(write), fits));
  }
  const std::optional<DrillOutlook> outlook = DrilledOutlook(report);
  if (!outlook) {
    view.spot.emplace_back(
        "Cost on spot capacity: unknown; give the mean time between losses of a node with --uptime 6h.");
    return;
  }
  const std::string each = fmt::format("One loss every {} on average", DurationText(outlook->uptime_s));
  if (!figures.checkpoint_s || !figures.restart_s) {
    view.spot.push_back(each + ": the cost is unknown without the times of a checkpoint and a restart.");
    return;
  }
  // An overhead can be negative: rarer checkpoints may cost less than those of today even with losses.
  const auto pays = [](double overhead) {
    if (overhead < 0) return fmt::format("{:.2g} % less time than on demand as it is now", -100 * overhead);
    return fmt::format("{:.2g} % more time than on demand, cheaper from a discount of {:.2g} % on", 100 * overhead,
                       100 * BreakEvenDiscount(overhead));
  };
  if (outlook->overhead_now) {
    view.spot.push_back(fmt::format("{}, as it is now (a checkpoint every {}): {}.", each,
                                    DurationText(figures.checkpoint_interval_s->mean), pays(*outlook->overhead_now)));
  }
  if (outlook->overhead_young) {
    view.spot.push_back(fmt::format("{}, with a checkpoint every {} (Young's interval), half of it lost: {}.", each,
                                    DurationText(*outlook->young_interval_s), pays(*outlook->overhead_young)));
  }
  // Beyond its range the first-order formula gives too low an overhead.
  if (outlook->outside) {
    view.spot.push_back(
        fmt::format("These are too low: restart and interval are {:.0f} % of the time between losses, "
                    "and the formula is good to about {:.0f} %.",
                    100 * *outlook->outside, 100 * kFirstOrderReach));
  }
  view.spot.emplace_back("This leaves out the time in which a cloud provides another machine.");
}

// What a reader must know to repeat or doubt the result: an early end, drawn times with their seed, coarse steps, and
// the commands. Notes come last, because they are about the drill and not about the job.
void AddNotes(const DrillReport& report, DrillView& view) {
  const DrillSpec& spec = report.spec;
  const auto seconds = [](Nanos time) { return DurationText(InSeconds(time)); };
  if (report.result.interrupted) {
    view.notes.push_back(
        fmt::format("Ended by signal {}; the report covers the time until then.", *report.result.interrupted));
  }
  if (!report.result.ended.empty()) {
    view.notes.push_back(
        fmt::format("{} of {} rounds: {}.", report.result.rounds.size(), spec.rounds, report.result.ended));
  }
  if (spec.after && spec.after->low != spec.after->high) {
    view.notes.push_back(
        fmt::format("Interrupted {} to {} after the first progress of a start; --seed {} draws the "
                    "same again.",
                    seconds(spec.after->low), seconds(spec.after->high), spec.seed));
  }
  if (spec.after_steps && spec.after_steps->low != spec.after_steps->high) {
    view.notes.push_back(fmt::format("Interrupted after {} to {} steps of a start; --seed {} draws the same again.",
                                     spec.after_steps->low, spec.after_steps->high, spec.seed));
  }
  for (const Leg& leg : report.result.legs) {
    if (leg.trace.from_markers() || !leg.trace.printed() || leg.trace.printed()->stride < 2) continue;
    view.notes.push_back(fmt::format("Steps are printed every {}: lost steps are known to {}.",
                                     leg.trace.printed()->stride, leg.trace.printed()->stride));
    break;
  }
  if (report.reading.figures.checkpoint_from_files) {
    view.notes.emplace_back("Checkpoints are as their files show them: C is at least that (docs/drill.md).");
  }
  view.notes.push_back("Command: " + report.command);
  if (report.resume != report.command) view.notes.push_back("Resumed by: " + report.resume);
}

// Builds the view in the order of reading.
DrillView DrillViewOf(const DrillReport& report) {
  DrillView view;
  view.verdict = DrillVerdictText(report);
  AddReasons(report, view);
  AddSpot(report, view);
  AddFigures(report, view);
  AddRounds(report, view);
  AddNotes(report, view);
  return view;
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

// A heading with a list; nothing without lines.
void AppendMarkdownList(std::string_view title, const std::vector<std::string>& lines, std::string* out) {
  if (lines.empty()) return;
  *out += "\n## " + std::string(title) + "\n\n";
  for (const std::string& line : lines) *out += "- " + MarkdownEscaped(line) + "\n";
}

}  // namespace

std::string DrillText(const DrillReport& report, int width) {
  const DrillView view = DrillViewOf(report);
  std::string text = IdsLine(report.ids);
  const auto add = [&](std::string_view first, const std::string& line) {
    const std::string more(first.size(), ' ');
    for (const std::string& part : WrapWords(Printable(line), std::max(width - static_cast<int>(first.size()), 20))) {
      text += std::string(first) + part + "\n";
      first = more;
    }
  };
  add("", view.verdict);
  for (const std::string& line : view.why) add("  why   ", line);
  for (const std::string& line : view.next) add("  next  ", line);
  for (const std::string& line : view.spot) add("  spot  ", line);
  text += "\n" + LayOutTable(view.figure_columns, view.figures, width, 0);
  if (!view.rounds.empty()) text += "\n" + LayOutTable(view.round_columns, view.rounds, width, 0);
  text += "\n";
  for (const std::string& line : view.notes) add("", line);
  return text;
}

std::string DrillMarkdown(const DrillReport& report) {
  const DrillView view = DrillViewOf(report);
  std::string out = "# " + MarkdownEscaped(TitleAndIds("Restart drill", report.ids)) + "\n\n**" +
                    MarkdownEscaped(view.verdict) + "**\n";
  AppendMarkdownList("Why", view.why, &out);
  AppendMarkdownList("Next", view.next, &out);
  AppendMarkdownList("On spot capacity", view.spot, &out);
  out += "\n## Measured\n\n";
  AppendMarkdownRows(view.figure_columns, view.figures, &out);
  if (!view.rounds.empty()) out += "\n## Rounds\n\n";
  AppendMarkdownRows(view.round_columns, view.rounds, &out);
  AppendMarkdownList("Notes", view.notes, &out);
  return out;
}

// The keys at the top are what a script needs to judge a job: verdict, checkpoint, restart and loss. Details follow.
std::string DrillJson(const DrillReport& report) {
  const DrillReading& reading = report.reading;
  const DrillFigures& figures = reading.figures;
  Json document = BeginDocument<Json>("idleburn.drill/1", report.ids);
  document["version"] = IDLEBURN_VERSION;
  document["verdict"] = kDrillVerdicts[static_cast<std::size_t>(reading.verdict)];
  document["sentence"] = Printable(DrillViewOf(report).verdict);
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
