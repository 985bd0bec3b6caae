#include "report/drill_output.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "config/flag_values.h"
#include "report/drill_view.h"
#include "report/ids_json.h"
#include "report/json_values.h"
#include "text/escape.h"
#include "text/json.h"
#include "text/number.h"
#include "text/table.h"
#include "trial/drill_request.h"

namespace idleburn {
namespace {

using Json = nlohmann::ordered_json;

Json SecondsOrNull(const std::optional<Nanos>& time) { return time ? Json(InSeconds(*time)) : Json(nullptr); }
Json MeanOrNull(const std::optional<DrillFigure>& figure) { return figure ? Json(figure->mean) : Json(nullptr); }

Json SpecJson(const DrillReport& report) {
  const DrillSpec& spec = report.spec;
  const Interruption& how = spec.leg.interruption;
  Json json;
  json["command"] = Printable(report.command);
  json["resume"] = Printable(report.resume);
  json["signal"] = SignalName(how.signal);
  json["grace_s"] = how.signal == SIGKILL ? Json(nullptr) : SecondsOrNull(how.grace);
  json["as"] = TextOrNull<Json>(report.cloud);
  json["after_low_s"] = spec.after ? SecondsOrNull(spec.after->low) : Json(nullptr);
  json["after_high_s"] = spec.after ? SecondsOrNull(spec.after->high) : Json(nullptr);
  json["after_low_steps"] = spec.after_steps ? Json(spec.after_steps->low) : Json(nullptr);
  json["after_high_steps"] = spec.after_steps ? Json(spec.after_steps->high) : Json(nullptr);
  json["mid_checkpoint"] = spec.mid_checkpoint;
  json["seed"] = spec.seed;
  json["timeout_s"] = SecondsOrNull(spec.leg.timeout);
  json["rounds"] = spec.rounds;
  return json;
}

Json FiguresJson(const DrillFigures& figures) {
  Json rows = Json::array();
  for (const DrillQuantity& quantity : DrillQuantities()) {
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

Json RoundJson(const DrillRound& round) {
  const RoundReading& reading = round.reading;
  Json json;
  json["after_s"] = SecondsOrNull(round.goal.time);
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
  json["stop_s"] = SecondsOrNull(round.stop);
  json["restart_s"] = SecondsOrNull(round.restart);
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

Json SpotJson(const DrillReport& report) {
  const std::optional<DrillOutlook> outlook = OutlookOf(report);
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

void AppendMarkdownList(std::string_view title, const std::vector<std::string>& lines, std::string* out) {
  if (lines.empty()) return;
  *out += "\n## " + std::string(title) + "\n\n";
  for (const std::string& line : lines) *out += "- " + MarkdownEscaped(line) + "\n";
}

}  // namespace

std::string DrillText(const DrillReport& report, int width) {
  const DrillView view = ViewOf(report);
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
  const DrillView view = ViewOf(report);
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

std::string DrillJson(const DrillReport& report) {
  const DrillReading& reading = report.reading;
  const DrillFigures& figures = reading.figures;
  Json document = BeginDocument<Json>("idleburn.drill/1", report.ids);
  document["version"] = IDLEBURN_VERSION;
  document["verdict"] = kDrillVerdicts[static_cast<std::size_t>(reading.verdict)];
  document["sentence"] = Printable(ViewOf(report).verdict);
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
  document["spot"] = SpotJson(report);
  return JsonDocument(document);
}

}  // namespace idleburn
