#include "telemetry/reading_times.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/int128.h"
#include "telemetry/device.h"
#include "text/figures.h"

namespace idleburn {
namespace {

// The median; the mean of the middle two if the number is even. Sorts the values.
std::int64_t Median(std::vector<std::int64_t>& values) {
  std::sort(values.begin(), values.end());
  const std::int64_t lower = values[(values.size() - 1) / 2];
  return lower + (values[values.size() / 2] - lower) / 2;
}

// Whether at least four fifths of the values lie within `percent` of `middle`.
bool AreAbout(const std::vector<std::int64_t>& values, std::int64_t middle, int percent) {
  const auto near = std::count_if(values.begin(), values.end(), [=](std::int64_t value) {
    return static_cast<Int128>(value) * 100 <= static_cast<Int128>(middle) * (100 + percent) &&
           static_cast<Int128>(middle) * 100 <= static_cast<Int128>(value) * (100 + percent);
  });
  return static_cast<std::size_t>(near) * 5 >= values.size() * 4;
}

}  // namespace

// A regular source is decided by its median. Otherwise rounds of two to four readers are tried.
std::int64_t PeriodOf(const std::vector<std::int64_t>& intervals) {
  constexpr std::size_t kReaders = 4;
  constexpr std::size_t kRounds = 4;  // rounds needed to call a pattern regular
  constexpr int kLoose = 30;
  constexpr int kTight = 10;  // tight, because sums of arbitrary intervals become alike too
  std::vector<std::int64_t> values = intervals;
  const std::int64_t median = Median(values);
  if (AreAbout(values, median, kLoose)) return median;
  // Tries two to four readers. Every window of that many intervals is a round, so it does not matter which
  // reader comes first.
  for (std::size_t readers = 2; readers <= kReaders && intervals.size() >= kRounds * readers; ++readers) {
    values.clear();
    for (auto from = intervals.begin(); intervals.end() - from >= static_cast<std::ptrdiff_t>(readers); ++from) {
      values.push_back(std::accumulate(from, from + static_cast<std::ptrdiff_t>(readers), std::int64_t{0}));
    }
    const std::int64_t round = Median(values);
    if (AreAbout(values, round, kTight)) return round;
  }
  return median;
}

// Keeps the longest pauses. A short one counts as covered time, and errs by no more than its length.
void Coverage::Add(Pause pause) {
  if (pauses_.size() == kMostPauses) {
    if (pause.Length() <= pauses_.front().Length()) return;
    std::pop_heap(pauses_.begin(), pauses_.end(), Longer);
    pauses_.pop_back();
  }
  pauses_.push_back(pause);
  std::push_heap(pauses_.begin(), pauses_.end(), Longer);
}

void Coverage::See(Instant at) {
  constexpr std::int64_t kFar = INT64_MAX / 2;  // centuries from 1970, whose differences still fit
  const std::int64_t time = std::clamp(at.nanos(), -kFar, kFar);
  if (readings_ == 0) {
    first_ = last_ = time;
  } else if (time > last_) {
    Add({last_, time});
    last_ = time;
  } else if (time < first_) {
    Add({time, first_});
    first_ = time;
  } else {  // inside: a reading splits the pause around it
    const auto around =
        std::find_if(pauses_.begin(), pauses_.end(), [&](const Pause& p) { return p.from < time && time < p.to; });
    if (around == pauses_.end()) return;
    const Pause cut = *around;
    pauses_.erase(around);
    std::make_heap(pauses_.begin(), pauses_.end(), Longer);
    Add({cut.from, time});
    Add({time, cut.to});
    return;
  }
  ++readings_;
}

void Coverage::Settle() {
  const std::int64_t mean = readings_ < 2 ? 0 : (last_ - first_) / (readings_ - 1);
  const auto is_none = [&](const Pause& pause) { return pause.Length() / kPauseSteps <= mean; };
  pauses_.erase(std::remove_if(pauses_.begin(), pauses_.end(), is_none), pauses_.end());
  pauses_.shrink_to_fit();
}

Nanos Coverage::Step() const {
  const auto steps = readings_ - 1 - static_cast<std::int64_t>(pauses_.size());
  if (steps <= 0) return Nanos(0);
  std::int64_t covered = last_ - first_;
  for (const Pause& pause : pauses_) covered -= pause.Length();
  return Nanos(covered / steps);
}

// Walks over the pauses of both within the common span, and adds up what lies between them.
Nanos Coverage::Overlap(const Coverage& a, const Coverage& b) {
  if (a.readings_ == 0 || b.readings_ == 0) return Nanos(0);
  std::int64_t from = std::max(a.first_, b.first_);
  const std::int64_t to = std::min(a.last_, b.last_);
  std::vector<Pause> pauses = a.pauses_;
  pauses.insert(pauses.end(), b.pauses_.begin(), b.pauses_.end());
  std::sort(pauses.begin(), pauses.end(), [](const Pause& x, const Pause& y) { return x.from < y.from; });
  std::int64_t covered = 0;
  for (const Pause& pause : pauses) {
    if (pause.from >= to) break;
    covered += std::max<std::int64_t>(0, pause.from - from);
    from = std::max(from, pause.to);
  }
  return Nanos(covered + std::max<std::int64_t>(0, to - from));
}

namespace {

// Gaps that are kept for a device.
constexpr std::size_t kGaps = 64;

}  // namespace

// Keeps the longest gaps in bounded memory.
void DeviceClock::KeepGap(Gap gap) {
  if (gaps_.size() < kGaps) {
    gaps_.push_back(gap);
    return;
  }
  const auto length = [](const Gap& g) { return g.to - g.from; };
  const auto shortest =
      std::min_element(gaps_.begin(), gaps_.end(), [&](const Gap& a, const Gap& b) { return length(a) < length(b); });
  if (length(*shortest) < length(gap)) *shortest = gap;
}

// The order of the tests matters. A newer stamp is normal, or ends a step back. An older one is, in this order:
// part of a repeated log, slightly out of order, misplaced, or a step back.
DeviceClock::Row DeviceClock::Place(std::int64_t stamp, std::uint32_t signals, std::int64_t newest, std::int64_t hold,
                                    std::int64_t period) {
  const std::int64_t time = stamp + shift_;
  // The usual case: time goes on. It may also end a step back, if the stamp fits the clock before the step.
  if (time > newest) {
    again_ = false;
    if (time - newest <= hold) return Row::kOn;
    const std::int64_t before = stamp + shift_before_.value_or(shift_);
    if (before > newest && before - newest <= hold) {
      shift_ = *shift_before_;
      shift_before_.reset();
      return Row::kStep;
    }
    KeepGap({newest, time});
    return Row::kOn;
  }
  // A log that starts again repeats its first stamp, far back, with no new signal.
  again_ = again_ || (stamp == first_ && newest - time > hold && (signals & ~first_signals_) == 0);
  if (again_) return Row::kAgain;
  if (newest - time <= hold) return Row::kLate;
  // Rows with other signals are no repetition. A clock is not set back to exactly the first row of a log.
  const bool in_gap =
      std::any_of(gaps_.begin(), gaps_.end(), [&](const Gap& gap) { return gap.from < time && time < gap.to; });
  if (in_gap || stamp == first_) return Row::kMisplaced;
  // Nothing else explains the row, so someone set the clock back.
  shift_before_ = shift_;
  shift_ = newest + std::max<std::int64_t>(period, 1) - stamp;
  return Row::kStep;
}

namespace {

// The counters that tell whether a device is busy.
constexpr std::uint32_t kCounters = Bit(Signal::kUtilization) | Bit(Signal::kGrEngineActive);
// Rows within this distance belong to one sweep over the devices.
constexpr std::int64_t kSweep = kNanosPerSecond;
// Stamps before 1970 or after 2116, and shifts of more than a century, do not come from a clock. They stay
// unchanged.
constexpr std::int64_t kLatest = INT64_MAX / 2;
constexpr std::int64_t kMostShift = 876'600 * kNanosPerHour;

}  // namespace

// Keeps the first intervals of a device, and their median as its period so far.
void StraightClock::NoteInterval(std::int64_t interval, Track& track) {
  if (track.intervals.size() == kIntervals) return;
  track.intervals.push_back(interval);
  std::vector<std::int64_t> intervals = track.intervals;
  const auto middle = intervals.begin() + static_cast<std::ptrdiff_t>(intervals.size() / 2);
  std::nth_element(intervals.begin(), middle, intervals.end());
  track.period = *middle;
}

// Sets the device's clock by its row. Returns false if the row is dropped.
bool StraightClock::Place(const Sample& sample, Track& track) {
  const std::int64_t stamp = sample.time.nanos();
  DeviceClock& clock = track.clock;
  // Another device of the same sweep has shown a step. This device takes it over at once.
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

// Passes on the rows with their new times. Stamps that no clock can show pass unchanged.
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
    // A step makes the time since the last row unobserved. A sample without busy counters marks that.
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

std::string ReadingText(Unit unit, double value) {
  switch (unit) {
    case Unit::kMicroPercent:
      return StatedPercent(value / static_cast<double>(100 * kPercent));
    case Unit::kMilliwatt:
      return ThreeDigits(value / 1e3) + " W";
    case Unit::kMillijoule:
      return ThreeDigits(value / 1e6) + " kJ";
    case Unit::kKilohertz:
      return ThreeDigits(value / 1e3) + " MHz";
    case Unit::kByte:
      return BinaryBytes(value);
    case Unit::kMillicelsius:
      return ThreeDigits(value / 1e3) + " °C";
    case Unit::kMask:
      return fmt::format("{:#x}", static_cast<std::int64_t>(value));
    case Unit::kCount:
      return ThreeDigits(value);
    case Unit::kBytePerSecond:
      return DecimalBytes(value) + "/s";
  }
  return {};
}

std::string ShortName(const Device& device) {
  std::string name = "GPU " + (device.index ? std::to_string(*device.index) : device.uuid);
  if (device.mig) name += " MIG " + device.mig->profile + " #" + device.mig->id;
  return name;
}

std::string DeviceLabel(const DeviceTable& devices, DeviceId device) {
  constexpr std::size_t kShortUuid = 12;  // "GPU-5f3a2b1c"
  const Device& d = devices[device];
  std::string label;
  if (!d.host.empty() && OfSeveralHosts(devices)) label = d.host + " ";
  if (d.index) {
    label += "GPU " + std::to_string(*d.index);
  } else if (!d.uuid.empty()) {
    label += d.uuid.substr(0, kShortUuid);
  } else if (!d.bus_id.empty()) {
    label += d.bus_id;
  } else {
    label += d.name.empty() ? "device " + std::to_string(device) : d.name;  // a table may name GPUs as it likes
  }
  if (d.mig) label += " " + d.mig->profile + " #" + d.mig->id;
  return label;
}

}  // namespace idleburn
