#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "base/int128.h"
#include "base/time.h"
#include "telemetry/event_reasons.h"
#include "telemetry/sample.h"
#include "telemetry/second_buckets.h"
#include "telemetry/value_spread.h"

namespace idleburn {

enum class Phase : std::uint8_t { kIdle, kUnderutilized, kProductive, kComputeBound };
inline constexpr std::size_t kPhaseCount = 4;
inline constexpr std::array<std::string_view, kPhaseCount> kPhaseNames = {"idle", "underutilized", "productive",
                                                                          "compute_bound"};

// Sets of event reasons (telemetry/event_reasons.h).
inline constexpr std::int64_t kThrottledMask = 0xEC;  // power cap, slowdowns, thermal; not idle, not application clocks
inline constexpr std::int64_t kSlowdownMask = 0xE8;   // without the power cap
inline constexpr std::int64_t kPowerCapMask = 0x04;

// Time, and a quantity integrated over it: mean = area / ns.
struct Integral {
  std::int64_t ns = 0;
  Int128 area = 0;  // unit of the quantity x ns
  void Add(std::int64_t d, std::int64_t value) {
    ns += d;
    area += static_cast<Int128>(value) * d;
  }
  void Merge(const Integral& o) {
    ns += o.ns;
    area += o.area;
  }
  [[nodiscard]] std::optional<double> Mean() const {
    return ns == 0 ? std::nullopt : std::optional(static_cast<double>(area) / static_cast<double>(ns));
  }
  friend bool operator==(const Integral&, const Integral&) = default;
};

// A histogram over whole watts, of time and of utilisation integrated over it. Grows to the watts seen.
struct WattHistogram {
  std::vector<Integral> bins;  // index: floor of watts; the integrated quantity is utilisation
  void Add(std::int64_t watts, std::int64_t ns, std::int64_t utilization);
  void Merge(const WattHistogram& o);
  // Time and utilisation of all bins whose watts are below `watts`.
  [[nodiscard]] Integral Below(std::int64_t watts) const;
  [[nodiscard]] std::int64_t TotalNs() const;
  // The smallest watts w such that at least `percent` of the time lies at or below w; absent when empty.
  [[nodiscard]] std::optional<std::int64_t> Percentile(std::int64_t percent) const;
  friend bool operator==(const WattHistogram&, const WattHistogram&) = default;
};

// A part of a device's time, for reports and for what several devices did at once.
struct TimelineBucket {
  std::array<std::int64_t, kPhaseCount> phase_ns{};
  Integral utilization;  // micro-percent
  Integral power;        // milliwatts
  Integral sm_active;
  std::int64_t held_ns = 0;       // idle while a process holds memory
  std::int64_t throttled_ns = 0;  // kThrottledMask
  Integral busy_power;            // power while compute_bound: spin-wait shows as a low mean
  [[nodiscard]] std::int64_t ObservedNs() const;
  void Merge(const TimelineBucket& o);
  friend bool operator==(const TimelineBucket&, const TimelineBucket&) = default;
};

// A coarse picture of a device over time.
struct Timeline : SecondBuckets<TimelineBucket> {
  using Bucket = TimelineBucket;
  friend bool operator==(const Timeline&, const Timeline&) = default;
};

// Which values a signal had, beside its mean: of what one-second means how long, and its highest single reading.
struct SignalRange {
  static constexpr std::int64_t kNever = INT64_MIN;
  std::int64_t peak = kNever;  // in the signal's unit
  ValueSpread seconds;         // in steps of SpreadStep
  void Merge(const SignalRange& o) {
    peak = peak > o.peak ? peak : o.peak;
    seconds.Merge(o.seconds);
  }
  friend bool operator==(const SignalRange&, const SignalRange&) = default;
};

// The signals of which a report shows mean, p95 and peak. All but the last are averaged in cells, by Slot.
inline constexpr std::array<Signal, 16> kMeasured = {Signal::kPower,
                                                     Signal::kSmClock,
                                                     Signal::kMemoryUsed,
                                                     Signal::kProcesses,
                                                     Signal::kSmActive,
                                                     Signal::kTensorActive,
                                                     Signal::kDramActive,
                                                     Signal::kGrEngineActive,
                                                     Signal::kPcieRx,
                                                     Signal::kPcieTx,
                                                     Signal::kNvlink,
                                                     Signal::kTemperature,
                                                     Signal::kMemoryUtilization,
                                                     Signal::kEncoderUtilization,
                                                     Signal::kDecoderUtilization,
                                                     Signal::kUtilization};
inline constexpr std::size_t kNotMeasured = kMeasured.size();

constexpr std::array<std::uint8_t, kSignalCount> MeasuredSlots() {
  std::array<std::uint8_t, kSignalCount> slots{};
  slots.fill(static_cast<std::uint8_t>(kNotMeasured));
  for (std::size_t i = 0; i < kMeasured.size(); ++i) slots[Index(kMeasured[i])] = static_cast<std::uint8_t>(i);
  return slots;
}
// The place of each signal in kMeasured; kNotMeasured for one that is not in it.
inline constexpr std::array<std::uint8_t, kSignalCount> kMeasuredSlot = MeasuredSlots();
constexpr std::size_t Slot(Signal measured) { return kMeasuredSlot[Index(measured)]; }

// Of sums of readings of the busy counter: a hundredth of a per cent.
inline constexpr std::int64_t kTickUnit = kPercent / 100;

// Everything known of one device's time, in integer nanoseconds. Additive: see DevicePartial::Append for the
// exact merge of consecutive stretches.
struct DeviceTotals {
  std::array<std::int64_t, kPhaseCount> phase_ns{};
  std::array<std::int64_t, kUnobservedCount> unobserved_ns{};
  std::int64_t idle_held_ns = 0;
  std::int64_t idle_empty_ns = 0;
  std::int64_t idle_unknown_ns = 0;
  Integral utilization;  // of observed time, micro-percent: effective time = area / kFull

  // compute_bound time of which it can be told whether it is spin-wait: by SM activity; without, by power, where it is
  // known what that means (SpinVerdict::below_watts).
  std::int64_t bound_with_activity_ns = 0;
  std::int64_t bound_with_power_ns = 0;
  Integral spin_by_activity;       // spin-wait decided by SM activity: time, utilisation
  WattHistogram spin_by_power;     // candidate cells by the power below which they would be spin-wait
  WattHistogram idle_power_held;   // power of cells at utilisation 0, with a context
  WattHistogram idle_power_empty;  // without one, or unknown

  std::int64_t throttled_ns = 0;            // kThrottledMask
  std::int64_t slowdown_with_loss_ns = 0;   // kSlowdownMask and clock loss
  std::int64_t power_cap_with_loss_ns = 0;  // kPowerCapMask alone below the board's default limit, and clock loss
  std::int64_t throttled_told_ns = 0;       // kThrottledMask while not idle: the SM clock and its maximum are known
  std::int64_t throttled_untold_ns = 0;     // and where they are not
  std::int64_t reasons_ns = 0;              // the mask is known
  std::array<std::int64_t, kEventReasonCount> reason_ns{};
  Integral busy_clock;       // SM clock (kHz) while in compute_bound
  Integral throttled_clock;  // SM clock (kHz) while a slowdown (kSlowdownMask) cost clock

  Integral power;        // milliwatts
  Int128 energy_mj = 0;  // of the energy counter, resets added up
  std::int64_t energy_resets = 0;
  std::int64_t energy_out_of_range = 0;  // increases that are none
  std::int64_t energy_ns = 0;            // between its readings
  bool has_energy_counter = false;

  std::array<std::int64_t, kPhaseCount> ticks{};  // published readings by band
  std::int64_t tick_sum = 0;                      // of them, in kTickUnit
  Int128 tick_squares = 0;                        // of the same
  std::int64_t burst_ns = 0;                      // blocks that alternate between both extremes
  Integral sm_active;
  Integral tensor_active;
  Integral dram_active;
  Integral gr_engine;
  Integral pcie_rx;  // bytes per second
  Integral pcie_tx;
  Integral nvlink;
  // A rate over the interval before each reading, so every reading counts alike: ns is their number.
  Integral nvlink_readings;  // bytes per second
  Integral sm_clock;         // kilohertz, busy or not
  Integral memory_used;      // bytes
  Integral processes;
  Integral temperature;  // thousandths of a degree
  Integral memory_utilization;
  Integral encoder;
  Integral decoder;
  std::array<SignalRange, kMeasured.size()> range{};  // by Slot
  std::int64_t memory_total = -1;
  bool profiling_stuck = false;  // a profiling counter stayed at exactly 0 while the GPU was busy
  std::int64_t samples = 0;
  std::int64_t duplicates = 0;    // dropped: the device and time were already read
  std::int64_t differing = 0;     // times of which several readings of one signal differ
  std::int64_t out_of_order = 0;  // dropped: a little older than the sample before
  std::int64_t clock_steps = 0;   // the wall clock went back; time continues one period later
  Timeline timeline;

  void Merge(const DeviceTotals& o);
  [[nodiscard]] const SignalRange& RangeOf(Signal measured) const { return range[Slot(measured)]; }
  // The highest reading, in the signal's unit; absent: never read.
  [[nodiscard]] std::optional<std::int64_t> Peak(Signal measured) const {
    const std::int64_t peak = RangeOf(measured).peak;
    return peak == SignalRange::kNever ? std::nullopt : std::optional(peak);
  }
  // The highest reading of memory used, of all that the board or instance has; absent where either was not read.
  [[nodiscard]] std::optional<double> PeakMemoryShare() const {
    const std::optional<std::int64_t> used = Peak(Signal::kMemoryUsed);
    if (!used || memory_total <= 0) return std::nullopt;
    return static_cast<double>(*used) / static_cast<double>(memory_total);
  }
  // Where profiling_stuck: what the device's profiling counters said, the one that decided the phases apart, is as if
  // it had never been read. A counter that is stuck now and then does not tell when its neighbours are.
  void ForgetProfiling(std::optional<Signal> busy_counter);
  [[nodiscard]] std::int64_t ObservedNs() const;
  [[nodiscard]] std::int64_t UnobservedNs() const;
  friend bool operator==(const DeviceTotals&, const DeviceTotals&) = default;
};

// Where the means of the signals of kMeasured are, in its order.
inline constexpr std::array<Integral DeviceTotals::*, kMeasured.size()> kMeasuredMean = {
    &DeviceTotals::power,
    &DeviceTotals::sm_clock,
    &DeviceTotals::memory_used,
    &DeviceTotals::processes,
    &DeviceTotals::sm_active,
    &DeviceTotals::tensor_active,
    &DeviceTotals::dram_active,
    &DeviceTotals::gr_engine,
    &DeviceTotals::pcie_rx,
    &DeviceTotals::pcie_tx,
    &DeviceTotals::nvlink,
    &DeviceTotals::temperature,
    &DeviceTotals::memory_utilization,
    &DeviceTotals::encoder,
    &DeviceTotals::decoder,
    &DeviceTotals::utilization};

// How idle power and the limit of a board were known, and what spin-wait came to.
struct SpinVerdict {
  enum class Evidence : std::uint8_t { kNone, kPower, kActivity };
  Evidence evidence = Evidence::kNone;
  Integral time;                            // spin-wait time and utilisation
  std::optional<std::int64_t> idle_mw;      // P_idle used
  std::optional<std::int64_t> limit_mw;     // P_limit used
  std::optional<std::int64_t> below_watts;  // cells below this were spin-wait
};

// One device after the end of input.
struct DeviceResult {
  DeviceId device = 0;
  std::optional<Signal> counter;  // that decided the phases; absent: none was reported
  Instant first;
  Instant last;
  std::optional<Nanos> period;
  bool fast = false;                 // cells are means of ticks
  bool spans = false;                // each reading lasts until the next: the source says when it ends
  std::optional<Nanos> tick_window;  // W: distance of independent readings; absent: not known
  DeviceTotals totals;               // window = observed + unobserved
  SpinVerdict spin;
  std::optional<std::int64_t> power_limit_mw;
  std::optional<std::int64_t> default_limit_mw;
  std::optional<std::int64_t> max_sm_khz;
  std::int64_t throttled_with_loss_ns = 0;

  [[nodiscard]] std::int64_t WindowNs() const { return totals.ObservedNs() + totals.UnobservedNs(); }
};

// A whole run.
struct RunResult {
  Instant start;
  Instant end;
  std::vector<DeviceResult> devices;  // in order of DeviceId; without a window, only those with a sample
  // Devices of the machine that are none of the run's. They stay known, because a MIG instance of another job has its
  // share of a board all the same. Without a result: nothing was read of it.
  struct LeftOut {
    DeviceId device = 0;
    std::optional<DeviceResult> result;
  };
  std::vector<LeftOut> left_out;

  // Leaves these out; returns those of them that have a result.
  std::vector<DeviceId> LeaveOut(std::span<const DeviceId> ids);

  [[nodiscard]] const DeviceResult* Of(DeviceId device) const;  // null: it is none of them
};

}  // namespace idleburn
