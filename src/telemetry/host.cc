#include "telemetry/host.h"

#include <algorithm>

namespace idleburn {
namespace {

// Whether a timeline keeps a signal. Counters and numbers of things add up over time; levels in bytes do not.
bool IsKept(const HostSignalInfo& info) { return info.counter || info.unit == HostUnit::kCount; }

}  // namespace

// Each signal has its own last reading, because some are read at every tick and others once a second.
void HostTimeline::Add(const HostSample& sample) {
  Scope& scope = scopes_[static_cast<std::size_t>(sample.scope)];
  for (const HostSignalInfo& info : kHostSignals) {
    if (!IsKept(info) || !sample.Has(info.id)) continue;
    std::optional<Last>& last = scope.last[Index(info.id)];
    const std::int64_t value = sample.Get(info.id);
    if (last && sample.time > last->time && sample.time - last->time <= kMostApart) {
      const std::int64_t ns = (sample.time - last->time).count();
      // A counter that fell has restarted, so its rise is unknown. A level holds until the next reading.
      const std::int64_t amount = info.counter ? value - last->value : last->value * ns;
      if (amount >= 0) Spread(info.id, *last, sample.time, amount, scope.buckets);
    }
    last = Last{sample.time, value};
  }
}

// Distributes an amount evenly over the time between two readings. The last part takes the rounding remainder,
// so the parts add up exactly.
void HostTimeline::Spread(HostSignal signal, const Last& from, Instant to, std::int64_t amount,
                          SecondBuckets<HostBucket>& buckets) {
  const std::int64_t start = from.time.nanos();
  const std::int64_t whole = to.nanos() - start;
  std::int64_t given = 0;
  for (std::int64_t at = start; at < to.nanos();) {
    const std::int64_t second = FloorSecond(at);
    const std::int64_t end = std::min((second + 1) * kNanosPerSecond, to.nanos());
    const auto until = static_cast<std::int64_t>(static_cast<Int128>(amount) * (end - start) / whole);
    buckets.At(second).sum[Index(signal)].Merge({end - at, until - given});
    given = until;
    at = end;
  }
}

namespace {

// The factor from the rise of a counter per nanosecond to its rate: micro-percent for counters of time, things
// per second otherwise.
std::int64_t RateScale(HostUnit unit) { return unit == HostUnit::kNanosecond ? kFull : kNanosPerSecond; }

}  // namespace

void HostStatistics::Add(const HostSample& sample) {
  for (std::size_t i = 0; i < kHostMeasures.size(); ++i) {
    const HostMeasure& measure = kHostMeasures[i];
    Series& series = series_[static_cast<std::size_t>(sample.scope)][i];
    if (sample.Lacks(measure.id)) series.lacked = true;
    if (!sample.Has(measure.id)) continue;
    const Reading now{sample.time, sample.Get(measure.id)};
    // An interval continues only without a long pause and without a restarted counter.
    const bool goes_on = series.last && now.time > series.last->time &&
                         now.time - series.last->time <= HostTimeline::kMostApart &&
                         !(Info(measure.id).counter && now.value < series.last->value);
    if (series.last && !goes_on) {
      if (series.from->time < series.last->time) Close(measure, *series.from, *series.last, series.range);
      series.from.reset();
    }
    if (!series.from) series.from = now;
    // Levels close at every reading, counters after a second at least.
    const bool due = !Info(measure.id).counter || now.time - series.from->time >= Nanos(kNanosPerSecond);
    if (goes_on && due) {
      Close(measure, *series.from, now, series.range);
      series.from = now;
    }
    series.last = now;
    if (!Info(measure.id).counter) series.range.peak = std::max(series.range.peak, now.value);
  }
}

// Adds the interval between two readings to a statistic.
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

// The open interval is closed in a copy, so that asking early changes nothing.
HostStatistic HostStatistics::Of(HostScope scope, std::size_t measure) const {
  const Series& series = At(scope, measure);
  HostStatistic range = series.range;
  if (series.from && series.from->time < series.last->time) {
    Close(kHostMeasures[measure], *series.from, *series.last, range);
  }
  return range;
}

}  // namespace idleburn
