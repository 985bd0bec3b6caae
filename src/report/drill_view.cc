#include "report/drill_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "config/flag_values.h"
#include "plan/spot_formulas.h"
#include "text/number.h"
#include "trial/drill_request.h"

namespace idleburn {
namespace {

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
    {"lost_steps", "work lost an interruption", "steps", &DrillFigures::lost_steps, kSaySteps},
    {"lost_samples", "work lost an interruption", "samples", &DrillFigures::lost_samples,
     "idleburn.step(first=POSITION)"},
    {"lost_s", "work lost an interruption", "s", &DrillFigures::lost_s, kSaySteps},
}};

std::string TimeText(double seconds) {
  const double size = std::abs(seconds);
  if (size == 0) return "0 s";
  if (size < 1) return fmt::format("{:.3g} ms", seconds * 1e3);
  if (size < 120) return fmt::format("{:.3g} s", seconds);
  if (size < 7200) return fmt::format("{:.3g} min", seconds / 60);
  return fmt::format("{:.3g} h", seconds / 3600);
}

std::string SizeText(double bytes) {
  constexpr std::array<std::string_view, 5> kUnits = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  while (bytes >= 1024 && unit + 1 < kUnits.size()) {
    bytes /= 1024;
    ++unit;
  }
  return fmt::format("{:.4g} {}", bytes, kUnits[unit]);
}

std::string ValueText(double value, std::string_view unit) {
  if (unit == "s") return TimeText(value);
  if (unit == "bytes") return SizeText(value);
  return fmt::format("{:.4g} {}", value, unit);
}

std::string KnownText(const std::optional<std::int64_t>& value) { return value ? std::to_string(*value) : "unknown"; }
std::string KnownTime(const std::optional<Nanos>& time) { return time ? TimeText(InSeconds(*time)) : "unknown"; }

std::string Interrupted(const DrillReport& report) {
  const Interruption& how = report.spec.leg.interruption;
  std::string text = SignalName(how.signal);
  if (how.signal != SIGKILL) text += ", " + KnownTime(how.grace) + " of grace";
  if (!report.cloud.empty()) text += ", as " + report.cloud;
  if (report.spec.mid_checkpoint) text += ", while a checkpoint is written";
  return text;
}

std::string Verdict(const DrillReport& report) {
  const DrillReading& reading = report.reading;
  const std::size_t rounds = report.result.rounds.size();
  const std::string how = " (" + Interrupted(report) + ")";
  switch (reading.verdict) {
    case DrillVerdict::kPass: {
      const bool samples = reading.figures.lost_samples.has_value();
      return fmt::format("PASS: {} of {} interruptions{}: it went on where its state stood{}.", reading.clean_rounds,
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
  if (rounds == 0) return "CANNOT TELL: it was ended before the first interruption was over.";
  return fmt::format("CANNOT TELL{}: {}.", how, InfoOf(reading.reasons.front()).means);
}

// Of each reason the first round that shows it.
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

void AddSpot(const DrillReport& report, DrillView& view) {
  const DrillFigures& figures = report.reading.figures;
  if (figures.checkpoint_s) {
    const double write = figures.checkpoint_s->mean;
    std::string fits;
    for (const CloudNotice& notice : kCloudNotices) {
      const double grace = InSeconds(notice.grace);
      fits += fmt::format("{}{}: {}", fits.empty() ? "" : "; ", notice.says, write < grace ? "fits" : "does not fit");
    }
    view.spot.push_back(fmt::format("A last checkpoint ({}) within the notice: {}.", TimeText(write), fits));
  }
  const std::optional<DrillOutlook> outlook = OutlookOf(report);
  if (!outlook) {
    view.spot.emplace_back(
        "What it would cost on spot capacity: unknown; say the mean time between losses of a node with "
        "--uptime 6h.");
    return;
  }
  const std::string each = fmt::format("One loss every {} on the mean", TimeText(outlook->uptime_s));
  if (!figures.checkpoint_s || !figures.restart_s) {
    view.spot.push_back(each + ": its cost is unknown without the time of a checkpoint and of a restart.");
    return;
  }
  const auto pays = [](double overhead) {
    if (overhead < 0) return fmt::format("{:.2g} % less time than on demand as it is now", -100 * overhead);
    return fmt::format("{:.2g} % more time than on demand, cheaper from a discount of {:.2g} % on", 100 * overhead,
                       100 * BreakEvenDiscount(overhead));
  };
  if (outlook->overhead_now) {
    view.spot.push_back(fmt::format("{}, as it is now (a checkpoint every {}): {}.", each,
                                    TimeText(figures.checkpoint_interval_s->mean), pays(*outlook->overhead_now)));
  }
  if (outlook->overhead_young) {
    view.spot.push_back(fmt::format("{}, with a checkpoint every {} (Young's interval), half of it lost: {}.", each,
                                    TimeText(*outlook->young_interval_s), pays(*outlook->overhead_young)));
  }
  if (outlook->outside) {
    view.spot.push_back(
        fmt::format("These are too low: restart and interval are {:.0f} % of the time between losses, "
                    "and the formula is good to about {:.0f} %.",
                    100 * *outlook->outside, 100 * kFirstOrderReach));
  }
  view.spot.emplace_back("The time a cloud takes to bring another machine is not in it.");
}

void AddNotes(const DrillReport& report, DrillView& view) {
  const DrillSpec& spec = report.spec;
  const auto seconds = [](Nanos time) { return TimeText(InSeconds(time)); };
  if (report.result.interrupted) {
    view.notes.push_back(
        fmt::format("Ended by signal {}; this is what was measured until then.", *report.result.interrupted));
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
    view.notes.push_back(fmt::format("Steps are printed every {}: those lost are known to {}.",
                                     leg.trace.printed()->stride, leg.trace.printed()->stride));
    break;
  }
  if (report.reading.figures.checkpoint_from_files) {
    view.notes.emplace_back("Checkpoints are as their files show them: C is at least that (docs/drill.md).");
  }
  view.notes.push_back("Command: " + report.command);
  if (report.resume != report.command) view.notes.push_back("Resumed by: " + report.resume);
}

}  // namespace

std::span<const DrillQuantity> DrillQuantities() { return kQuantities; }

std::optional<DrillOutlook> OutlookOf(const DrillReport& report) {
  if (!report.uptime) return std::nullopt;
  return OutlookOf(report.reading.figures, InSeconds(*report.uptime), report.nodes);
}

DrillView ViewOf(const DrillReport& report) {
  DrillView view;
  view.verdict = Verdict(report);
  AddReasons(report, view);
  AddSpot(report, view);
  AddFigures(report, view);
  AddRounds(report, view);
  AddNotes(report, view);
  return view;
}

}  // namespace idleburn
