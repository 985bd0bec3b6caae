#include "telemetry/host_statistics.h"

#include <algorithm>

#include "telemetry/host_timeline.h"

namespace idleburn {
namespace {

// The unit of a rate in the counter's own unit: micro-percent of a nanosecond per nanosecond, a thing per second.
std::int64_t RateScale(HostUnit unit) { return unit == HostUnit::kNanosecond ? kFull : kNanosPerSecond; }

}  // namespace

void HostStatistics::Add(const HostSample& sample) {
  for (std::size_t i = 0; i < kHostMeasures.size(); ++i) {
    const HostMeasure& measure = kHostMeasures[i];
    Series& series = series_[static_cast<std::size_t>(sample.scope)][i];
    if (sample.Lacks(measure.id)) series.lacked = true;
    if (!sample.Has(measure.id)) continue;
    const Reading now{sample.time, sample.Get(measure.id)};
    const bool goes_on = series.last && now.time > series.last->time &&
                         now.time - series.last->time <= HostTimeline::kMostApart &&
                         !(Info(measure.id).counter && now.value < series.last->value);
    if (series.last && !goes_on) {
      if (series.from->time < series.last->time) Close(measure, *series.from, *series.last, series.range);
      series.from.reset();
    }
    if (!series.from) series.from = now;
    const bool due = !Info(measure.id).counter || now.time - series.from->time >= Nanos(kNanosPerSecond);
    if (goes_on && due) {
      Close(measure, *series.from, now, series.range);
      series.from = now;
    }
    series.last = now;
    if (!Info(measure.id).counter) series.range.peak = std::max(series.range.peak, now.value);
  }
}

void HostStatistics::Close(const HostMeasure& measure, const Reading& from, const Reading& to, HostStatistic& range) {
  const HostSignalInfo& info = Info(measure.id);
  const std::int64_t ns = (to.time - from.time).count();
  const Int128 area = info.counter ? static_cast<Int128>(to.value - from.value) * RateScale(info.unit)
                                   : static_cast<Int128>(from.value) * ns;
  const auto value = static_cast<std::int64_t>(area / ns);
  range.ns += ns;
  range.area += area;
  range.peak = std::max(range.peak, value);
  range.spread.Add(std::max<std::int64_t>(value, 0) / SpreadStep(measure.unit), ns);
}

HostStatistic HostStatistics::Of(HostScope scope, std::size_t measure) const {
  const Series& series = At(scope, measure);
  HostStatistic range = series.range;
  if (series.from && series.from->time < series.last->time) {
    Close(kHostMeasures[measure], *series.from, *series.last, range);
  }
  return range;
}

}  // namespace idleburn
