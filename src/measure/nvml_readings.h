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

// A counter of `bits` bits that wraps, as a rate per second.
class CounterRate {
 public:
  // No link is faster: what would be is a counter that began anew.
  explicit CounterRate(std::int64_t most_per_second) : most_(most_per_second) {}

  // The rate since the last reading; absent for the first, and where it cannot be.
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
  void Forget() { known_ = false; }

 private:
  std::int64_t most_;
  std::uint64_t value_ = 0;
  Instant at_;
  bool known_ = false;
};

// The integer a value of that type holds; absent for a double, a negative one, or all ones (the driver has none).
std::optional<std::uint64_t> IntegerOf(const nvml::Value& value, nvml::ValueType type);
// Width in bits of a counter of that type.
int BitsOf(nvml::ValueType type);

// Finds the field ids of the three slowdown counters (software thermal, hardware thermal, power brake). Releases of
// the driver number them differently, and what stands under the other ids looks like a number too: ids are believed
// when three readings in a row are 64 bits wide, never fall, and count no more time than passed.
class SlowdownFields {
 public:
  using Ids = std::array<std::uint32_t, 3>;
  static constexpr int kReadings = 3;

  explicit SlowdownFields(std::string_view nvml_version);

  // The ids to read next; absent when settled, or when neither set is right.
  [[nodiscard]] std::optional<Ids> Candidate() const;
  // What reading the candidates gave.
  void Judge(const std::array<nvml::FieldValue, 3>& fields, Nanos at);

  // Absent until settled, and where neither set is right.
  [[nodiscard]] const std::optional<Ids>& ids() const { return ids_; }

 private:
  std::array<Ids, 2> order_;
  std::size_t candidate_ = 0;
  int readings_ = 0;
  std::array<std::uint64_t, 3> last_{};
  Nanos last_at_{0};
  std::optional<Ids> ids_;
};

// Activity of one device over the time between two of the driver's samples (GPM; Hopper and later).
class GpmPair {
 public:
  struct Activity {  // absent: not on this device
    std::optional<double> graphics_percent;
    std::optional<double> sm_percent;
    std::optional<double> tensor_percent;
    std::optional<double> dram_percent;
    std::optional<double> pcie_tx_mib_s;
    std::optional<double> pcie_rx_mib_s;
    std::optional<double> nvlink_tx_mib_s;
    std::optional<double> nvlink_rx_mib_s;
  };

  // `board` is asked for; `instance` is the MIG instance on it, absent for the whole of it. Null if the device or the
  // library cannot do it. `nvml` outlives the pair.
  static std::unique_ptr<GpmPair> Open(NvmlLibrary& nvml, nvml::Device board, std::optional<std::uint32_t> instance);
  ~GpmPair();
  GpmPair(const GpmPair&) = delete;
  GpmPair& operator=(const GpmPair&) = delete;

  // What happened since the last call, which lies at least 200 ms back; absent the first time, and when the driver
  // fails. `code` says how.
  std::optional<Activity> Take(nvml::Return* code);

 private:
  GpmPair(NvmlLibrary& nvml, nvml::Device board, std::optional<std::uint32_t> instance)
      : nvml_(nvml), board_(board), instance_(instance), request_(std::make_unique<nvml::GpmMetricsGet>()) {}

  NvmlLibrary& nvml_;
  nvml::Device board_;
  std::optional<std::uint32_t> instance_;
  std::array<nvml::GpmSample, 2> samples_{};
  bool primed_ = false;                           // samples_[0] holds the earlier one
  std::unique_ptr<nvml::GpmMetricsGet> request_;  // 13 kB
};

// The median of the first twenty distances between what a source publishes: how often it does.
class WindowMeter {
 public:
  static constexpr std::size_t kEnough = 20;
  // True when this distance was the one that settles the window.
  bool Add(Nanos distance);
  [[nodiscard]] const std::optional<Nanos>& window() const { return window_; }

 private:
  std::vector<Nanos> distances_;
  std::optional<Nanos> window_;
};

// Utilizations as the driver keeps them: a ring of published values with stamps, of which each is wanted once.
//
// A stamp is the wall clock at publication, and stays what it was when somebody sets that clock. So after a step back
// what was read before bears later stamps than what is new, and is known by having been read; what was published before
// a step and is read after it is moved by the step.
class UtilizationRing {
 public:
  struct Reading {
    std::int64_t stamp_us = 0;          // end of what it describes; by the wall clock as it is set now
    std::optional<std::int64_t> value;  // micro-percent; absent: published, but no valid value
    bool gap = false;                   // before this one the ring overflowed: what was published there is lost
  };

  // Only what is published after `now_us` (wall clock) is of interest.
  explicit UtilizationRing(std::int64_t now_us) : last_seen_us_(now_us) {}

  // The readings of one call that are new, in order of stamp. `wall_us`: the wall clock, now. Stamps that lie beyond it
  // are no time of ours, and what bears them is left out.
  std::vector<Reading> Take(std::span<const nvml::DriverSample> samples, std::uint32_t value_type,
                            std::int64_t wall_us);
  // The wall clock was set by `step`, a moment ago; it is `wall_us` now.
  void MoveWall(Nanos step, std::int64_t wall_us);

  // Later than this is what the driver is to be asked for. The first call asks for all it has, so that this is known to
  // be old whatever becomes of the clock.
  [[nodiscard]] std::int64_t ask_from_us() const { return ask_from_us_; }
  // W: how often the driver publishes. Absent until measured.
  [[nodiscard]] const std::optional<Nanos>& window() const { return meter_.window(); }

 private:
  [[nodiscard]] std::int64_t ByPresentClock(std::int64_t stamp_us, std::int64_t wall_us) const;

  std::int64_t last_seen_us_;      // of what was read, by the wall clock as it is set now
  std::int64_t ask_from_us_ = 0;   // likewise, or lower while older stamps may be wanted
  std::deque<std::int64_t> read_;  // stamps as the driver gave them, the last kRemembered
  std::int64_t step_us_ = 0;       // by which the clock was set since the last call
  std::int64_t step_at_us_ = 0;    // the wall clock then, as it was before
  bool any_ = false;
  WindowMeter meter_;
};

// Puts the readings of one device in order of time: those the driver stamps describe a moment before they can be
// read, those stamped when read are held until the driver's have caught up.
class HeldSamples {
 public:
  void Add(const Sample& sample);
  // Adds a sample, and moves what then stands at or before `until` to `out`.
  void Pass(const Sample& sample, Instant until, std::vector<Sample>& out);
  // Moves what stands at or before `until` to `out`.
  void Release(Instant until, std::vector<Sample>& out);
  // Somebody else said something about the device at `time`: nothing before it may be said any more.
  void Forbid(Instant time);
  [[nodiscard]] const std::vector<Sample>& held() const { return held_; }
  // Readings that came after something later had been passed on, and were left out.
  [[nodiscard]] std::int64_t too_late() const { return too_late_; }

 private:
  std::vector<Sample> held_;  // in order of time
  Instant released_ = Instant::FromNanos(INT64_MIN);
  std::int64_t too_late_ = 0;
};

}  // namespace idleburn
