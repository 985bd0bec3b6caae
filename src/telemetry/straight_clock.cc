#include "telemetry/straight_clock.h"

#include <algorithm>

namespace idleburn {
namespace {

constexpr std::uint32_t kCounters = Bit(Signal::kUtilization) | Bit(Signal::kGrEngineActive);
constexpr std::size_t kIntervals = 101;  // whose median is the period, as of a cadence
constexpr std::int64_t kSweep = kNanosPerSecond;
// Stamps before 1970, after 2116, and shifts of more than a century are no clock's: they stay as they are.
constexpr std::int64_t kLatest = INT64_MAX / 2;
constexpr std::int64_t kMostShift = 876'600 * kNanosPerHour;

}  // namespace

std::int64_t StraightClock::PeriodOf(const Track& track) {
  if (track.intervals.empty()) return 0;
  std::vector<std::int64_t> intervals = track.intervals;
  const auto middle = intervals.begin() + static_cast<std::ptrdiff_t>(intervals.size() / 2);
  std::nth_element(intervals.begin(), middle, intervals.end());
  return *middle;
}

// The shift of a row of a device.
std::int64_t StraightClock::ShiftOf(std::int64_t stamp, const Track& track) {
  std::int64_t shift = track.shift;
  if (rows_ > 0 && shift_ > shift && stamp - stamp_ <= kSweep && stamp_ - stamp <= kSweep) shift = shift_;
  if (!track.newest || stamp + shift >= *track.newest) return shift;
  ++rows_back_;
  const std::int64_t period = PeriodOf(track);
  // A reading is held for 2.5 periods.
  if (*track.newest - (stamp + shift) <= std::max(period / 2 * 5, kNanosPerSecond)) return shift;
  const std::int64_t straight = *track.newest + std::max<std::int64_t>(period, 1) - stamp;
  return straight <= kMostShift ? straight : shift;
}

void StraightClock::OnSamples(std::span<const Sample> samples) {
  batch_.clear();
  for (const Sample& s : samples) {
    const std::int64_t stamp = s.time.nanos();
    if (stamp < 0 || stamp > kLatest) {
      batch_.push_back(s);
      continue;
    }
    if (s.device >= tracks_.size()) tracks_.resize(s.device + 1);
    Track& track = tracks_[s.device];
    const std::int64_t shift = ShiftOf(stamp, track);
    const std::int64_t time = stamp + shift;
    if (track.newest && shift != track.shift) {
      quality_.Count(QualityId::kClockStep);
      if (track.counters != 0) {
        Sample& mark = batch_.emplace_back();
        mark.time = Instant::FromNanos(*track.newest + 1);
        mark.device = s.device;
        mark.unavailable = track.counters;
        mark.reason = Unobserved::kClock;
      }
    } else if (track.newest && time > *track.newest && track.intervals.size() < kIntervals) {
      track.intervals.push_back(time - *track.newest);
    }
    track.newest = std::max(time, track.newest.value_or(time));
    track.shift = shift;
    const std::uint32_t counters = (s.present | s.unavailable) & kCounters;
    if (counters != 0) track.counters = counters;
    stamp_ = stamp;
    shift_ = shift;
    ++rows_;
    batch_.push_back(s);
    batch_.back().time = Instant::FromNanos(time);
  }
  next_.OnSamples(batch_);
}

}  // namespace idleburn
