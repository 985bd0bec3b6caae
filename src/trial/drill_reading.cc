#include "trial/drill_reading.h"

#include <algorithm>
#include <chrono>

#include "plan/spot_formulas.h"
#include "stats/mean.h"
#include "text/number.h"

namespace idleburn {
namespace {

// What is not known is left out of a mean; it does not count as 0.
template <typename T>
void AddKnown(const std::optional<T>& value, std::vector<double>& values) {
  if (value) values.push_back(static_cast<double>(*value));
}

// One value for each checkpoint, in seconds and bytes; intervals are between two of one leg.
struct CheckpointValues {
  std::vector<double> seconds;
  std::vector<double> bytes;
  std::vector<double> intervals;
  // From one begin to the next; what the interruption made the job write is not of its own interval.
  void AddInterval(std::optional<Nanos>& last, Nanos begin) {
    if (last) intervals.push_back(InSeconds(begin - *last));
    last = begin;
  }
};

// Ranks that write shards of one step write one checkpoint. It lasts from the first begin to the last end.
CheckpointValues FromMarkers(const DrillResult& result) {
  CheckpointValues values;
  for (const Leg& leg : result.legs) {
    struct Whole {
      Nanos begin{0};
      Nanos end{0};
      std::optional<std::int64_t> bytes;
      bool all = true;
    };
    std::map<std::int64_t, Whole> steps;
    for (const CheckpointSeen& seen : leg.trace.checkpoints()) {
      Whole& whole = steps.try_emplace(seen.step, Whole{seen.begin, seen.begin, {}, true}).first->second;
      whole.begin = std::min(whole.begin, seen.begin);
      whole.all = whole.all && seen.end.has_value();
      whole.end = std::max(whole.end, seen.end.value_or(whole.end));
      if (seen.bytes) whole.bytes = whole.bytes.value_or(0) + *seen.bytes;
    }
    std::optional<Nanos> last;
    for (const auto& [step, whole] : steps) {
      if (!leg.told || whole.begin < *leg.told) values.AddInterval(last, whole.begin);
      if (!whole.all) continue;
      values.seconds.push_back(InSeconds(whole.end - whole.begin));
      AddKnown(whole.bytes, values.bytes);
    }
  }
  return values;
}

// Where no marker tells of checkpoints.
CheckpointValues FromFiles(const DrillResult& result) {
  CheckpointValues values;
  for (const Leg& leg : result.legs) {
    std::optional<Nanos> last;
    for (const CheckpointWrite& write : leg.writes) {
      values.AddInterval(last, write.begin);
      values.seconds.push_back(InSeconds(write.end - write.begin));
      values.bytes.push_back(static_cast<double>(write.bytes));
    }
  }
  return values;
}

// Markers go before files: they know what is done before the first byte and after the last one.
DrillFigures FiguresOf(const DrillResult& result) {
  DrillFigures figures;
  std::vector<double> steps;
  for (const Leg& leg : result.legs) AddKnown(leg.trace.SecondsPerStep(), steps);
  figures.step_s = FigureOf(steps);
  CheckpointValues checkpoints = FromMarkers(result);
  if (checkpoints.seconds.empty()) {
    checkpoints = FromFiles(result);
    figures.checkpoint_from_files = !checkpoints.seconds.empty();
  }
  figures.checkpoint_s = FigureOf(checkpoints.seconds);
  figures.checkpoint_bytes = FigureOf(checkpoints.bytes);
  figures.checkpoint_interval_s = FigureOf(checkpoints.intervals);
  std::vector<double> restarts;
  std::vector<double> stops;
  std::vector<double> lost_steps;
  std::vector<double> lost_samples;
  std::vector<double> lost_seconds;
  for (const DrillRound& round : result.rounds) {
    if (round.restart) restarts.push_back(InSeconds(*round.restart));
    if (round.stop) stops.push_back(InSeconds(*round.stop));
    AddKnown(round.reading.lost_steps, lost_steps);
    AddKnown(round.reading.lost_samples, lost_samples);
    if (round.reading.lost_steps && figures.step_s) {
      lost_seconds.push_back(static_cast<double>(*round.reading.lost_steps) * figures.step_s->mean);
    }
  }
  figures.restart_s = FigureOf(restarts);
  figures.stop_s = FigureOf(stops);
  figures.lost_steps = FigureOf(lost_steps);
  figures.lost_samples = FigureOf(lost_samples);
  figures.lost_s = FigureOf(lost_seconds);
  return figures;
}

}  // namespace

std::optional<DrillFigure> FigureOf(std::span<const double> values) {
  if (values.empty()) return std::nullopt;
  DrillFigure figure;
  figure.count = values.size();
  figure.mean = MeanOf(values);
  const auto [least, largest] = std::minmax_element(values.begin(), values.end());
  figure.low = *least;
  figure.high = *largest;
  if (figure.interval()) {
    const std::optional<ConfidenceInterval> interval = IntervalOfMean(values, kDrillConfidence);
    // None of these quantities can be below 0, but an interval by t can.
    figure.low = std::max(interval->low, 0.0);
    figure.high = interval->high;
  }
  return figure;
}

DrillReading ReadDrill(const DrillResult& result) {
  DrillReading reading;
  bool fails = false;
  std::array<bool, kDrillReasons.size()> met{};
  for (const DrillRound& round : result.rounds) {
    if (round.reading.clean()) ++reading.clean_rounds;
    for (const DrillFault& fault : round.reading.faults) {
      met[static_cast<std::size_t>(fault.reason)] = true;
      fails = fails || InfoOf(fault.reason).fails;
    }
  }
  for (std::size_t i = 0; i < met.size(); ++i) {
    if (met[i]) reading.reasons.push_back(static_cast<DrillReason>(i));
  }
  if (fails) {
    reading.verdict = DrillVerdict::kFail;
  } else if (reading.clean_rounds > 0) {
    reading.verdict = DrillVerdict::kPass;
  }
  reading.figures = FiguresOf(result);
  return reading;
}

DrillOutlook OutlookOf(const DrillFigures& figures, double uptime_s, std::int64_t nodes) {
  using Seconds = std::chrono::duration<double>;
  DrillOutlook outlook;
  outlook.uptime_s = uptime_s / static_cast<double>(nodes);
  if (!figures.checkpoint_s || !figures.restart_s) return outlook;
  const Hours uptime = Seconds(outlook.uptime_s);
  const Hours write = Seconds(figures.checkpoint_s->mean);
  const Hours restart = Seconds(figures.restart_s->mean);
  std::optional<Hours> now;
  if (figures.checkpoint_interval_s && figures.checkpoint_interval_s->mean > 0) {
    now = Seconds(figures.checkpoint_interval_s->mean);
  }
  // The work of the run cancels out, so an hour of it stands for any.
  const auto overhead = [&](Hours interval, Hours lost) {
    const CheckpointedWork endless{Hours(1), interval, write, Hours(0)};
    const Hours billed = FixedLossTime(UninterruptedTime(endless), uptime, restart + lost);
    return SpotOverhead(billed, endless.work, write, now);
  };
  Hours longest(0);
  if (now && figures.lost_s) {
    longest = *now;
    outlook.overhead_now = overhead(longest, Seconds(figures.lost_s->mean));
  }
  if (write.count() > 0) {
    const Hours young = YoungInterval(write, uptime);
    outlook.young_interval_s = Seconds(young).count();
    outlook.overhead_young = overhead(young, young / 2);
    longest = std::max(longest, young);
  }
  const double share = (restart + longest) / uptime;
  if (share > kFirstOrderReach) outlook.outside = share;
  return outlook;
}

}  // namespace idleburn
