#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <vector>

#include "classify/thresholds.h"
#include "telemetry/reading_times.h"
#include "telemetry/sample.h"

namespace idleburn {

// What decides the phases: the first of which there is a reading.
inline constexpr std::array<Signal, 2> kBusyCounters = {Signal::kUtilization, Signal::kGrEngineActive};

// How often a device reports, fixed after its first samples.
struct Cadence {
  std::optional<Signal> counter;  // that decides the phases: utilisation, else graphics-engine activity
  Nanos period{0};                // of the first kIntervals positive intervals; 0: only one sample
  Nanos tick_window{0};           // W: readings closer than this are one published value unless it changed; 0: unknown
  Nanos max_gap{0};               // a reading is held at most this long
  bool spans = false;             // the source says when a reading ends: it lasts until the next
  // At most so many nanoseconds a reading of another signal is held, by its own period; 0: too few at first to tell.
  std::array<std::int64_t, kSignalCount> hold{};

  [[nodiscard]] bool Fast(const Thresholds& t) const { return !spans && period > Nanos(0) && period <= t.fast_period; }
  // From here on readings last until the next, unless --max-gap says how long.
  void LastToTheNext(const Thresholds& thresholds);
  friend bool operator==(const Cadence&, const Cadence&) = default;
};

inline constexpr Nanos kLongestTickWindow{kNanosPerSecond};  // of any product (nvml.h)

// The first samples of a device, held until they tell its cadence: kIntervals intervals of the rows that say something
// of the counter, and not of whatever else is read of the device, perhaps a hundred times as often; a few of every
// other signal that is held, which may be read more seldom; and enough changes of a counter that is polled fast to tell
// W.
class FirstSamples {
 public:
  // Of these something can be told at the latest: ten intervals of a counter that is read once in 800 rows. All devices
  // together hold as many as eight do (13 MiB), or kIntervals + 1 each.
  static constexpr std::size_t kMost = 8192;
  static constexpr std::size_t MostOf(std::size_t devices) {
    return std::clamp(8 * kMost / std::max<std::size_t>(devices, 1), kIntervals + 1, kMost);
  }
  static constexpr std::size_t kMostForOthers = 2048;
  static constexpr std::size_t kIntervalsOfOthers = 3;

  void Add(const Sample& sample);
  // `most`: samples that are held at the most.
  [[nodiscard]] bool Tell(std::size_t most = kMost) const;
  [[nodiscard]] bool empty() const { return samples_.empty(); }
  [[nodiscard]] const std::vector<Sample>& samples() const { return samples_; }

 private:
  std::vector<Sample> samples_;
  std::uint32_t present_ = 0;  // in any
  std::uint32_t named_ = 0;    // with a value or without
  std::array<Instant, kSignalCount> last_{};
  std::array<std::size_t, kSignalCount> intervals_{};
  std::array<std::size_t, kBusyCounters.size()> changes_{};
  std::array<std::optional<std::int64_t>, kBusyCounters.size()> value_{};
};

// The cadence of a device from its first samples, its period that of PeriodOf.
//
// W, where the driver's own stamps are not known: NVML refreshes utilisation every 1/6 s to 1 s by product
// (nvml.h). When polled faster, the shortest distances of value changes show the refresh: W is their fifth
// percentile over at least 20 changes, wherever they lie in the first samples, kept within 1/6 s and 1 s; with fewer
// changes it is not known, and no two readings that repeat a value count within the longest it may be.
Cadence MeasureCadence(std::span<const Sample> first, const Thresholds& thresholds);

}  // namespace idleburn
