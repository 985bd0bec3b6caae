#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "import/importer.h"
#include "import/metric_table.h"

namespace idleburn {

// From values of metrics to samples: which metric tells a signal, how several metrics make one signal, and in which
// batches samples are delivered. Prometheus dumps, cloud stores and dcgmi dmon share this, so that a metric means the
// same wherever its values were stored.

// Delivers single readings as samples, in batches of 256. Doubtful readings are counted and become `unavailable`.
// Delivers what is left when it is destroyed.
class ReadingWriter {
 public:
  explicit ReadingWriter(ImportTarget& out) : out_(out) { batch_.reserve(kBatch); }
  ReadingWriter(const ReadingWriter&) = delete;
  ReadingWriter& operator=(const ReadingWriter&) = delete;
  ~ReadingWriter() { Flush(); }

  // Whether `field` may tell a signal of a device. The first field to ask becomes its source, and other fields are
  // refused, because two counters of one signal must not mix in one distribution. Only importers whose samples do not
  // pass through TimeSorter need it; the sorter chooses one counter by itself.
  bool Claim(DeviceId device, Signal signal, std::string_view field, std::string_view counter);
  // Says that the following readings of `signal` come from that counter. Earlier readings are delivered first, under
  // their own counter.
  void Use(DeviceId device, Signal signal, const std::string& counter);
  // Adds a reading with one signal. A doubt, or a value outside the range of its unit, is counted at `place`.
  void Put(Instant time, DeviceId device, Signal signal, const Reading& reading, Place place);
  void PutUnavailable(Instant time, DeviceId device, Signal signal, Unobserved reason);
  void PutSample(const Sample& sample);

 private:
  static constexpr std::size_t kBatch = 256;
  void Flush();

  ImportTarget& out_;
  std::vector<Sample> batch_;
  std::map<std::pair<DeviceId, Signal>, std::string, std::less<>> claims_;
};

// Why a doubtful reading leaves its time without data: a failed scrape is stale, an impossible value is an invalid
// counter.
Unobserved UnobservedReason(QualityId doubt);

// Joins two metrics of one device by time. Within a scrape the second follows at once. In a file ordered by metric,
// all stamps of the first come before the second, so readings wait for their partner, up to a limit. It expects each
// side in time order: a reading is dropped once the other side is past it.
class PairUp {
 public:
  struct Both {
    std::int64_t first = 0;
    std::int64_t second = 0;
  };
  // Returns the pair once both halves (`side` 0 or 1) are there. Sets *dropped if too many readings wait.
  std::optional<Both> Add(int side, Instant time, std::int64_t value, bool* dropped);

 private:
  struct Waiting {
    Instant time;
    std::int64_t value;
  };
  static constexpr std::size_t kMaxWaiting = 1 << 16;
  std::array<std::deque<Waiting>, 2> waiting_;
};

// Turns values of known metrics into samples. Most metrics are a signal themselves. Others are parts of one, and wait
// for the rest: transmitted and received bytes, single event reasons, processes, cycle counters.
//
//     DCGM_FI_PROF_NVLINK_TX_BYTES 3e9 and ..._RX_BYTES 1e9, one device and time   ->   kNvlink 4e9 B/s
//
// Memory grows with devices and, in files ordered by series, with the readings that wait, up to the limits below.
class MetricReadings {
 public:
  MetricReadings(ImportTarget& out, ReadingWriter& writer) : out_(out), writer_(writer) {}

  // Adds a value as written in the source. `code`: the value of an `xid` label, else 0.
  void Add(const Metric& metric, DeviceId device, std::int64_t code, Instant time, std::string_view value, Place place);
  // Says that the counter of a metric began at `created` (OpenMetrics _created). Between two readings that is a reset,
  // even if the counter is higher than before. May come before or after the readings.
  // Known limit: a counter may continue although its exporter restarted. Its increase then exceeds what a board can
  // draw, and is dropped for that reason.
  void Started(const Metric& metric, DeviceId device, Instant created);
  // Delivers what still waits. Call once, after the last value.
  void Finish();

 private:
  // A value and its time.
  struct At {
    Instant time;
    std::int64_t value = 0;
  };
  // The time between two readings of the cycle counters.
  struct Interval {
    Instant from, to;
    PairUp::Both before, now;
  };
  // The cycle counters of a device: the last pair, and intervals that were not delivered yet.
  struct Cycles {
    std::string counter;
    std::optional<PairUp::Both> last;
    Instant last_time;
    std::int64_t intervals = 0;
    std::deque<Interval> held;  // until it is known whether a counter restarted in them
    std::set<Instant> started;
  };
  // When a counter was read, and when it began to count.
  struct Life {
    Instant first, last;
    bool read = false;
    std::set<Instant> started;
  };
  // What is known of one device.
  struct State {
    bool xid_seen = false;
    std::optional<At> processes;  // of the current scrape
    // From the first scrape, for the total if it is not exported.
    bool has_total = false;
    std::optional<At> used, free, reserved;
    std::string free_counter;
    bool has_mask = false;
    std::map<Instant, std::int64_t> reasons;  // masks built from single reasons, until a whole mask appears
    bool nvlink_read = false;
    PairUp nvlink, cycles;
    Cycles cycle;
    std::map<const Metric*, Life> energy;
  };

  void Announce(const Metric& metric, DeviceId device);
  [[nodiscard]] std::string ChooseName(const Metric& metric, DeviceId device) const;
  void PutProcesses(DeviceId device, State& state);
  void AddReason(const Metric& metric, DeviceId device, Instant time, const Reading& reading, Place place);
  void PutReasons(DeviceId device, State& state, std::size_t kept);
  void AddSignal(const Metric& metric, DeviceId device, Instant time, const Reading& reading, Place place);
  void AddProcesses(DeviceId device, Instant time, std::int64_t count, bool whole);
  void AddXid(DeviceId device, Instant time, std::int64_t code, Place place);
  void AddNvlinkRate(const Metric& metric, DeviceId device, Instant time, const Reading& reading, Place place);
  void AddPart(const Metric& metric, DeviceId device, Instant time, std::int64_t value, Place place);
  void AddCycles(DeviceId device, Instant time, const PairUp::Both& now);
  void PutCycles(DeviceId device, Cycles& cycles, std::size_t kept);
  void PutInterval(DeviceId device, const Cycles& cycles, const Interval& interval);
  void FinishCycles(DeviceId device, Cycles& cycles);
  void PutStarts(DeviceId device, const Metric& metric, const Life& life);

  // Limits of what waits per device. Beyond them, the oldest is delivered as it is, or further starts are ignored.
  static constexpr std::size_t kMaxReasons = 1 << 14;  // in files ordered by series, one reason comes after another
  static constexpr std::size_t kMaxIntervals = 1 << 14;
  static constexpr std::size_t kMaxStarts = 1 << 12;  // per counter

  ImportTarget& out_;
  ReadingWriter& writer_;
  std::map<DeviceId, State> states_;
  struct Announced {
    const Metric* metric = nullptr;
    std::string counter;
  };
  std::map<std::pair<DeviceId, Signal>, Announced> announced_;  // the metric that told a signal last
  bool mislabelled_ = false;
};

}  // namespace idleburn
