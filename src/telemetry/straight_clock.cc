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

void StraightClock::NoteInterval(std::int64_t interval, Track& track) {
  if (track.intervals.size() == kIntervals) return;
  track.intervals.push_back(interval);
  std::vector<std::int64_t> intervals = track.intervals;
  const auto middle = intervals.begin() + static_cast<std::ptrdiff_t>(intervals.size() / 2);
  std::nth_element(intervals.begin(), middle, intervals.end());
  track.period = *middle;
}

// Sets the clock of a device to that of its row. False if the row is dropped.
bool StraightClock::Place(const Sample& sample, Track& track) {
  const std::int64_t stamp = sample.time.nanos();
  DeviceClock& clock = track.clock;
  if (rows_ > 0 && shift_ > clock.shift() && stamp - stamp_ <= kSweep && stamp_ - stamp <= kSweep) {
    clock.set_shift(shift_);
  }
  if (!track.newest) {
    clock.Begin(stamp, sample.present);
    return true;
  }
  if (stamp + clock.shift() == *track.newest) return true;
  if (*track.newest + std::max<std::int64_t>(track.period, 1) - stamp > kMostShift) {
    ++rows_back_;
    return true;
  }
  const std::int64_t hold = std::max(track.period / 2 * 5, kNanosPerSecond);  // 2.5 periods
  switch (clock.Place(stamp, sample.present, *track.newest, hold, track.period)) {
    case DeviceClock::Row::kAgain:
      quality_.Count(QualityId::kDuplicateRow);
      return false;
    case DeviceClock::Row::kStep:
    case DeviceClock::Row::kLate:
      ++rows_back_;
      return true;
    default:
      return true;
  }
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
    const std::int64_t shift_before = track.clock.shift();
    if (!Place(s, track)) continue;
    const std::int64_t shift = track.clock.shift();
    const std::int64_t time = stamp + shift;
    if (track.newest && shift != shift_before) {
      quality_.Count(QualityId::kClockStep);
      if (track.counters != 0) {
        Sample& mark = batch_.emplace_back();
        mark.time = Instant::FromNanos(*track.newest + 1);
        mark.device = s.device;
        mark.unavailable = track.counters;
        mark.reason = Unobserved::kClock;
      }
    } else if (track.newest && time > *track.newest) {
      NoteInterval(time - *track.newest, track);
    }
    track.newest = std::max(time, track.newest.value_or(time));
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
