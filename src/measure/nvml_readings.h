#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/int128.h"
#include "base/time.h"
#include "measure/nvml_abi.h"
#include "measure/nvml_library.h"
#include "telemetry/sample.h"

namespace idleburn {

// Turns what the NVIDIA driver returns into readings: counters, field values, activity (GPM), the ring of
// utilizations, and their order in time. Apart from GpmPair these types know no driver, so tests feed them with
// numbers.

// Computes a rate per second from a counter that wraps. It serves the traffic of PCIe and NVLink, whose counters have
// 32 bits on some drivers.
class CounterRate {
 public:
  // `most_per_second` is the speed of the fastest link, in the counter's unit. A rate that is more than a tenth
  // higher means that the counter was reset.
  explicit CounterRate(std::int64_t most_per_second) : most_(most_per_second) {}

  // The rate since the last reading of a counter with `bits` bits. Absent for the first reading and for an impossible
  // rate. A 32-bit counter that goes from 2^32 - 10 to 20 counted 30.
  std::optional<std::int64_t> Take(std::uint64_t value, int bits, Instant at) {
    const std::uint64_t before = value_;
    const Nanos passed = at - at_;
    const bool first = !known_;
    value_ = value;
    at_ = at;
    known_ = true;
    if (first || passed <= Nanos(0)) return std::nullopt;
    std::uint64_t delta = value - before;
    if (bits < 64) delta &= (std::uint64_t{1} << bits) - 1;
    const Int128 rate = static_cast<Int128>(delta) * kNanosPerSecond / passed.count();
    if (rate * 10 > static_cast<Int128>(most_) * 11) return std::nullopt;
    return static_cast<std::int64_t>(rate);
  }
  // The next reading counts as the first.
  void Forget() { known_ = false; }

 private:
  std::int64_t most_;
  std::uint64_t value_ = 0;
  Instant at_;
  bool known_ = false;
};

// The integer in a value of that type. Absent for a double, a negative value, or all ones (the driver has no value).
// The driver chooses the type, and it differs between releases for the same field.
std::optional<std::uint64_t> IntegerOf(const nvml::Value& value, nvml::ValueType type);
// The width in bits of a counter of that type.
int BitsOf(nvml::ValueType type);

// Finds the field ids of the three slowdown counters (software thermal, hardware thermal, power brake). Driver
// releases number them differently, and the wrong ids return plausible numbers too. Ids are accepted after three
// readings in a row that are 64 bits wide, never fall, and rise by no more time than passed.
//
// Example: a counter that rises by 3 s between two readings one second apart counts something else. The other ids are
// tried next.
class SlowdownFields {
 public:
  using Ids = std::array<std::uint32_t, 3>;
  static constexpr int kReadings = 3;

  // The version, "13.580.65", decides which ids are tried first. It does not decide which are right.
  explicit SlowdownFields(std::string_view nvml_version);

  // The ids to try next. Absent if the ids are settled, or if neither set is right.
  [[nodiscard]] std::optional<Ids> Candidate() const;
  // Takes the readings of the candidate ids, read at `at` (monotonic clock).
  void Judge(const std::array<nvml::FieldValue, 3>& fields, Nanos at);

  // The accepted ids. Absent until settled, or if neither set is right.
  [[nodiscard]] const std::optional<Ids>& ids() const { return ids_; }

 private:
  std::array<Ids, 2> order_;
  std::size_t candidate_ = 0;
  int readings_ = 0;
  std::array<std::uint64_t, 3> last_{};
  Nanos last_at_{0};
  std::optional<Ids> ids_;
};

// The activity of one device between two samples of the driver (GPM; Hopper and later). It keeps the later sample of
// each pair as the earlier one of the next, so activity covers all time between two calls of Take.
class GpmPair {
 public:
  // Values that the device does not support are absent.
  struct Activity {
    std::optional<double> graphics_percent;
    std::optional<double> sm_percent;
    std::optional<double> tensor_percent;
    std::optional<double> dram_percent;
    std::optional<double> pcie_tx_mib_s;
    std::optional<double> pcie_rx_mib_s;
    std::optional<double> nvlink_tx_mib_s;
    std::optional<double> nvlink_rx_mib_s;
  };

  // `instance` is a MIG instance on `board`; absent for the whole board. Null if the device or the library does not
  // support GPM. `nvml` must outlive the pair, and must stay initialised as long.
  static std::unique_ptr<GpmPair> Open(NvmlLibrary& nvml, nvml::Device board, std::optional<std::uint32_t> instance);
  ~GpmPair();
  GpmPair(const GpmPair&) = delete;
  GpmPair& operator=(const GpmPair&) = delete;

  // The activity since the last call, which must be at least 200 ms ago. Absent the first time and when the driver
  // fails. *code has the result.
  std::optional<Activity> Take(nvml::Return* code);

 private:
  GpmPair(NvmlLibrary& nvml, nvml::Device board, std::optional<std::uint32_t> instance)
      : nvml_(nvml), board_(board), instance_(instance), request_(std::make_unique<nvml::GpmMetricsGet>()) {}

  NvmlLibrary& nvml_;
  nvml::Device board_;
  std::optional<std::uint32_t> instance_;
  std::array<nvml::GpmSample, 2> samples_{};
  bool primed_ = false;                           // samples_[0] has the earlier sample
  std::unique_ptr<nvml::GpmMetricsGet> request_;  // 13 kB
};

// Measures how often a source publishes: the median of its first twenty distances. The median, because a late reading
// or a missed value makes single distances too long.
class WindowMeter {
 public:
  static constexpr std::size_t kEnough = 20;
  // Adds a distance. True if it settles the window.
  bool Add(Nanos distance);
  // The window. Absent until settled.
  [[nodiscard]] const std::optional<Nanos>& window() const { return window_; }

 private:
  std::vector<Nanos> distances_;
  std::optional<Nanos> window_;
};

// Reads the driver's ring of published utilizations, and returns each value once.
//
// The ring is preferred to the gauge because it shows every window, however seldom it is read. The gauge shows the
// last window only.
//
// The driver stamps values with the wall clock and never changes a stamp. After the clock was set back, old values
// therefore have later stamps than new ones. Values are recognised as old because they were read before. A value that
// was published before a step and read after it is moved by the step.
//
// Example: at 10:00:00 somebody sets the clock back by a minute. The value of 09:59:59.9 was read already and is
// skipped. The first new value has the stamp 09:59:00.1.
class UtilizationRing {
 public:
  struct Reading {
    std::int64_t stamp_us = 0;          // end of its window, by the present wall clock
    std::optional<std::int64_t> value;  // micro-percent; absent: published without a valid value
    bool gap = false;                   // the ring overflowed before this reading, and values were lost
  };

  // Only values published after `now_us` (wall clock) count.
  explicit UtilizationRing(std::int64_t now_us) : last_seen_us_(now_us) {}

  // The new readings of one call, sorted by stamp. `wall_us` is the present wall clock. Values with stamps more than
  // a second after it are left out, because they are no time near now.
  std::vector<Reading> Take(std::span<const nvml::DriverSample> samples, std::uint32_t value_type,
                            std::int64_t wall_us);
  // The wall clock was just set by `step`. It is `wall_us` now. Call it before the next Take.
  void MoveWall(Nanos step, std::int64_t wall_us);

  // Ask the driver for values with stamps after this. The first call asks for all, so that they are known as old
  // whatever happens to the clock.
  [[nodiscard]] std::int64_t ask_from_us() const { return ask_from_us_; }
  // How often the driver publishes. Absent until measured.
  [[nodiscard]] const std::optional<Nanos>& window() const { return meter_.window(); }

 private:
  // A stamp by the present clock, whichever clock it was written with.
  [[nodiscard]] std::int64_t ByPresentClock(std::int64_t stamp_us, std::int64_t wall_us) const;

  std::int64_t last_seen_us_;      // the last stamp read, by the present wall clock
  std::int64_t ask_from_us_ = 0;   // the same, or lower while older stamps may be needed
  std::deque<std::int64_t> read_;  // the last kRemembered stamps, as the driver wrote them
  std::int64_t step_us_ = 0;       // the clock's step since the last call
  std::int64_t step_at_us_ = 0;    // the wall clock just before that step
  bool any_ = false;
  WindowMeter meter_;
};

// Sorts the readings of one device by time, because a LiveSink expects them in order. Values stamped by the driver
// become readable only after their time. So values stamped at reading are held until the driver's have caught up.
//
// Example: at 300 ms power is read, and the ring gives utilization of 250 ms. Power waits until the ring has reached
// 300 ms or a second passed.
class HeldSamples {
 public:
  // Holds a sample. One with the time of a held sample is merged into it; its signals win. One that comes after a
  // later sample was released is counted and dropped.
  void Add(const Sample& sample);
  // Holds a sample, then moves all samples up to `until` to `out`.
  void Pass(const Sample& sample, Instant until, std::vector<Sample>& out);
  // Moves all samples up to `until` to `out`.
  void Release(Instant until, std::vector<Sample>& out);
  // Drops all samples up to `time` from now on, because something was pushed for the device at that time. It drops
  // held ones too, and counts them as too late.
  void Forbid(Instant time);
  // The held samples, sorted by time.
  [[nodiscard]] const std::vector<Sample>& held() const { return held_; }
  // The number of readings that came too late and were left out.
  [[nodiscard]] std::int64_t too_late() const { return too_late_; }

 private:
  std::vector<Sample> held_;  // in order of time
  Instant released_ = Instant::FromNanos(INT64_MIN);
  std::int64_t too_late_ = 0;
};

}  // namespace idleburn
