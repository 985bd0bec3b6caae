#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "classify/thresholds.h"
#include "classify/totals.h"
#include "telemetry/reading_times.h"
#include "telemetry/sample.h"

namespace idleburn {

// How often a device reports, and how often the exporter behind its log reads it. Both are told from the log itself:
// its settings are not in it, and a user often does not know them.
//
// Cadence is fixed after the first samples, so that the rest can be read as a stream. What changes later is followed by
// CadenceWatch.

// What decides the phases: the first of these that has a reading.
inline constexpr std::array<Signal, 2> kBusyCounters = {Signal::kUtilization, Signal::kGrEngineActive};

// How a device is read.
struct Cadence {
  // The counter that decides the phases: utilisation, else graphics-engine activity. Absent: the device has none.
  std::optional<Signal> counter;
  // The period of the first kIntervals positive intervals; 0: there was only one sample.
  Nanos period{0};
  // W: readings closer than this are one published value unless it changed; 0: not known.
  Nanos tick_window{0};
  // A reading is held at most this long.
  Nanos max_gap{0};
  // The source says when a reading ends, so it lasts until the next.
  bool spans = false;
  // For at most so many nanoseconds a reading of another signal is held, by its own period; 0: too few were read at
  // first to tell.
  std::array<std::int64_t, kSignalCount> hold{};

  // Several readings a second: a second is their mean (DenseSecond). Else each is held (HeldReadings).
  [[nodiscard]] bool Fast(const Thresholds& t) const { return !spans && period > Nanos(0) && period <= t.fast_period; }
  // From here on readings last until the next, unless --max-gap says how long.
  void LastToTheNext(const Thresholds& thresholds);
  friend bool operator==(const Cadence&, const Cadence&) = default;
};

// The longest W of any product (nvml.h).
inline constexpr Nanos kLongestTickWindow{kNanosPerSecond};

// The first samples of a device, held until they tell its cadence. What is needed:
//
//   counter         kIntervals intervals of the rows that say something of it; other signals of the device may be read
//   a
//                   hundred times as often
//   other signals   a few intervals of each one that is held, which may be read more seldom
//   W               enough changes of a counter that is polled fast
class FirstSamples {
 public:
  // With so many samples something is told at the latest. Of a counter that is read once in 800 rows these are ten
  // intervals.
  static constexpr std::size_t kMost = 8192;
  // All devices together hold as many samples as eight do (13 MiB), or kIntervals + 1 each.
  static constexpr std::size_t MostOf(std::size_t devices) {
    return std::clamp(8 * kMost / std::max<std::size_t>(devices, 1), kIntervals + 1, kMost);
  }
  // With so many samples signals beside the counter are not waited for any more.
  static constexpr std::size_t kMostForOthers = 2048;
  // A period of fewer intervals than this may be chance.
  static constexpr std::size_t kIntervalsOfOthers = 3;

  // Takes the next sample, in order of time.
  void Add(const Sample& sample);
  // Whether the samples tell the cadence, or nothing more is waited for. `most` is how many are held at the most.
  [[nodiscard]] bool Tell(std::size_t most = kMost) const;
  [[nodiscard]] bool empty() const { return samples_.empty(); }
  [[nodiscard]] const std::vector<Sample>& samples() const { return samples_; }

 private:
  std::vector<Sample> samples_;
  // Signals with a value in any of them, and signals that were named with a value or without.
  std::uint32_t present_ = 0;
  std::uint32_t named_ = 0;
  std::array<Instant, kSignalCount> last_{};
  std::array<std::size_t, kSignalCount> intervals_{};
  std::array<std::size_t, kBusyCounters.size()> changes_{};
  std::array<std::optional<std::int64_t>, kBusyCounters.size()> value_{};
};

// The cadence of a device from its first samples. Its period is that of PeriodOf.
//
// W is measured where the driver's own stamps are not known. NVML refreshes utilisation every 1/6 s to 1 s by product
// (nvml.h). When it is polled faster, the shortest distances of value changes show the refresh. So W is their fifth
// percentile, over at least 20 changes wherever they lie in the first samples, and kept within 1/6 s and 1 s.
//
// With fewer changes W is not known. Then no two readings that repeat a value count within the longest it may be.
Cadence MeasureCadence(std::span<const Sample> first, const Thresholds& thresholds);

// How many scrapes see the same collection. An exporter that collects every 30 s and is scraped every 10 s says each
// reading three times, so the lengths of runs of equal scrapes tell. All gauges are looked at together: one of them may
// truly stay where it is, but hardly all do, unless the load is constant.
class CollectionRuns {
 public:
  // Takes a scrape. `changed`: a gauge differs from the scrape before.
  void OnScrape(bool changed);
  // The median run, where runs are regular. Constant throughout tells nothing (kConstant).
  //
  // Changes of a load come when they come, also early, so their runs are not regular. Of collections none is shorter
  // than n - 1 scrapes: if more than a tenth of the runs are shorter, n is refuted (kIrregular).
  //
  // Wrong for a load that itself changes in step with the scrapes, such as one step of work each 30 s and nothing that
  // moves within it. Then n is the period of the load, and the interval that is reported is too wide, never too narrow.
  [[nodiscard]] Collection Told() const;

 private:
  // Runs of this length and of longer ones are counted together.
  static constexpr std::size_t kLongest = 64;

  // Counts a run between two changes.
  void Close(std::int64_t length);

  std::int64_t scrapes_ = 0;
  // Scrapes before the first change, and since the last one.
  std::int64_t lead_ = 0;
  std::int64_t tail_ = 0;
  bool changed_ = false;
  // How many runs between two changes there were, by length.
  std::array<std::int64_t, kLongest + 1> runs_{};
};

// Tells from the samples of one device which of its scrapes differ. Rows of one time are one scrape.
class CollectionWatch {
 public:
  // Takes a row. `counter` is the bit of the counter that decides the phases.
  void OnRow(const Sample& sample, std::int64_t time, std::uint32_t counter);
  // Counts the scrape that is open, as a row of another time does.
  void Settle();
  // The next scrape is compared with none before it.
  void Forget();
  [[nodiscard]] const CollectionRuns& runs() const { return runs_; }

 private:
  CollectionRuns runs_;
  std::int64_t time_ = INT64_MIN;  // of the open scrape
  // The gauges of the scrape before, and of the open one.
  std::uint32_t before_ = 0;
  std::uint32_t now_ = 0;
  // The open scrape has a reading of the counter; others are not counted.
  bool counted_ = false;
  bool changed_ = false;
  std::array<std::int64_t, kSignalCount> value_{};
};

}  // namespace idleburn
