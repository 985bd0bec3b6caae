#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "base/int128.h"
#include "base/time.h"
#include "telemetry/histograms.h"
#include "telemetry/sample.h"

namespace idleburn {

// What is known of devices and runs once their readings are classified. These are sums: they add up over time, devices
// and runs, in whole numbers, so that no order of adding changes a figure. Prices and reports begin here.

// What a GPU was doing, by its mean utilisation (Thresholds), and its name in documents.
enum class Phase : std::uint8_t { kIdle, kUnderutilized, kProductive, kComputeBound };
inline constexpr std::size_t kPhaseCount = 4;
inline constexpr std::array<std::string_view, kPhaseCount> kPhaseNames = {"idle", "underutilized", "productive",
                                                                          "compute_bound"};

// Sets of event reasons (telemetry/sample.h).
inline constexpr std::int64_t kThrottledMask = 0xEC;  // power cap, slowdowns, thermal; not idle, not application clocks
inline constexpr std::int64_t kSlowdownMask = 0xE8;   // without the power cap
inline constexpr std::int64_t kPowerCapMask = 0x04;

// Time, and a quantity integrated over it: mean = area / ns. The area is in the unit of the quantity x ns.
struct Integral {
  std::int64_t ns = 0;
  Int128 area = 0;
  void Add(std::int64_t d, std::int64_t value) {
    ns += d;
    area += static_cast<Int128>(value) * d;
  }
  void Merge(const Integral& o) {
    ns += o.ns;
    area += o.area;
  }
  // The same `n` times. A product of 128 bits costs more than to see that n is 1, as it mostly is.
  [[nodiscard]] Integral Times(std::int64_t n) const { return n == 1 ? *this : Integral{ns * n, area * n}; }
  // Absent without time.
  [[nodiscard]] std::optional<double> Mean() const {
    return ns == 0 ? std::nullopt : std::optional(static_cast<double>(area) / static_cast<double>(ns));
  }
  friend bool operator==(const Integral&, const Integral&) = default;
};

// A histogram over whole watts, of time and of utilisation integrated over it. Grows to the watts seen.
struct WattHistogram {
  // The index is the floor of watts; the integrated quantity is utilisation.
  std::vector<Integral> bins;
  // Adds `ns` at that power and utilisation.
  void Add(std::int64_t watts, std::int64_t ns, std::int64_t utilization);
  // Time and utilisation of all bins whose watts are below `watts`.
  [[nodiscard]] Integral Below(std::int64_t watts) const;
  [[nodiscard]] std::int64_t TotalNs() const;
  // The smallest watts w such that at least `percent` of the time lies at or below w; absent when empty.
  [[nodiscard]] std::optional<std::int64_t> Percentile(std::int64_t percent) const;
  friend bool operator==(const WattHistogram&, const WattHistogram&) = default;
};

// Time without a break in which utilisation was exactly 0 and read throughout. Nanoseconds.
struct ZeroRun {
  std::int64_t from = 0;
  std::int64_t ns = 0;
  // The end, which is not part of it.
  [[nodiscard]] std::int64_t to() const { return from + ns; }
  friend bool operator==(const ZeroRun&, const ZeroRun&) = default;
};

// A part of a device's time, for reports and for what several devices did at once. Units are those of DeviceTotals.
struct TimelineBucket {
  std::array<std::int64_t, kPhaseCount> phase_ns{};
  Integral utilization;  // micro-percent
  Integral power;        // milliwatts
  Integral sm_active;
  // Idle while a process holds memory.
  std::int64_t held_ns = 0;
  std::int64_t throttled_ns = 0;  // kThrottledMask
  // Power while compute_bound: spin-wait shows as a low mean.
  Integral busy_power;
  // The highest mean memory used of one second, in MiB; absent where it was not read.
  std::optional<std::int32_t> memory_mib;
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
  // In the unit of the signal.
  std::int64_t peak = kNever;
  ValueSpread seconds;  // in steps of SpreadStep
  void Merge(const SignalRange& o) {
    peak = peak > o.peak ? peak : o.peak;
    seconds.Merge(o.seconds);
  }
  friend bool operator==(const SignalRange&, const SignalRange&) = default;
};

// The signals for which a report shows mean, p95 and peak. All but the last are averaged in cells, by Slot.
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
// The place of a signal of kMeasured.
constexpr std::size_t Slot(Signal measured) { return kMeasuredSlot[Index(measured)]; }

// Of sums of readings of the busy counter: a hundredth of a per cent.
inline constexpr std::int64_t kTickUnit = kPercent / 100;

// Everything known of one device's time, in integer nanoseconds.
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
  // Spin-wait that SM activity decides, and candidate cells by the power below which they would be spin-wait.
  Integral spin_by_activity;
  WattHistogram spin_by_power;
  // Busy at little power for Thresholds::dim_after or longer, by power as in spin_by_power. Without what SM activity
  // settles.
  WattHistogram dim_by_power;
  // Power of cells deep in a stretch of utilisation 0 (Thresholds::idle_power_after), with a context; and without one,
  // or unknown.
  WattHistogram idle_power_held;
  WattHistogram idle_power_empty;
  // In order of time, of Thresholds::idle_after or longer.
  std::vector<ZeroRun> zero_runs;

  std::int64_t throttled_ns = 0;            // kThrottledMask
  std::int64_t slowdown_with_loss_ns = 0;   // kSlowdownMask and clock loss
  std::int64_t power_cap_with_loss_ns = 0;  // kPowerCapMask alone below the board's default limit, and clock loss
  std::int64_t throttled_told_ns = 0;       // kThrottledMask while not idle: the SM clock and its maximum are known
  std::int64_t throttled_untold_ns = 0;     // and where they are not
  std::int64_t reasons_ns = 0;              // the mask is known
  std::array<std::int64_t, kEventReasonCount> reason_ns{};
  // The SM clock (kHz) while in compute_bound, and while a slowdown (kSlowdownMask) cost clock.
  Integral busy_clock;
  Integral throttled_clock;

  Integral power;  // milliwatts
  // Of the energy counter, with its resets added up.
  Int128 energy_mj = 0;
  std::int64_t energy_resets = 0;
  // Increases that are none.
  std::int64_t energy_out_of_range = 0;
  // The time between its readings.
  std::int64_t energy_ns = 0;
  bool has_energy_counter = false;

  std::array<std::int64_t, kPhaseCount> ticks{};  // published readings by band
  std::int64_t tick_sum = 0;                      // of them, in kTickUnit
  Int128 tick_squares = 0;                        // of the same
  // Utilisation of blocks that alternate between both extremes.
  Integral burst;
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
  // A profiling counter stayed at exactly 0 while the GPU was busy.
  bool profiling_stuck = false;
  // Utilisation did, while the board drew what it draws only with work.
  bool utilization_stuck = false;
  std::int64_t samples = 0;
  // Rows beyond the first of their stamp that repeat a signal, and stamps of which several readings of one signal
  // differ.
  std::int64_t duplicates = 0;
  std::int64_t differing = 0;
  // Rows that were dropped, because they are a little older than the sample before.
  std::int64_t out_of_order = 0;
  // The wall clock went back. Time continues one period later.
  std::int64_t clock_steps = 0;
  Timeline timeline;

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
  // Rows a stamp, where stamps are coarser than the readings: at least one stamp in twenty has several rows, and some
  // of them differ. Absent elsewhere: rows that only repeat one another are of a log that is there twice. Wrong for
  // coarse stamps of a load so steady that no two rows differ: their mean is the same, and no burst can be hidden.
  [[nodiscard]] std::optional<double> RowsPerStamp() const;
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

// The time of one device in one run. It adds up.
struct RunTime {
  std::array<std::int64_t, kPhaseCount> phase_ns{};
  std::array<std::int64_t, kUnobservedCount> unobserved_ns{};
  Integral utilization;

  [[nodiscard]] static RunTime Of(const DeviceTotals& totals);
  void Merge(const RunTime& o);
  // What is left without `part` of it.
  [[nodiscard]] RunTime Less(const RunTime& part) const;
  [[nodiscard]] std::int64_t UnobservedNs() const;
  friend bool operator==(const RunTime&, const RunTime&) = default;
};

// From when to when a run lasted: from its first row to its last, or as its window says.
struct RunSpan {
  Instant start;
  Instant end;
  friend bool operator==(const RunSpan&, const RunSpan&) = default;
};

// How idle power and the limit of a board were known, and what spin-wait came to.
struct SpinVerdict {
  enum class Evidence : std::uint8_t { kNone, kPower, kActivity };
  // What power would have needed to decide: that it was read, a limit, 0 % for long enough, or an idle power that can
  // be one.
  enum class Lacks : std::uint8_t { kNothing, kPower, kLimit, kLongIdle, kIdlePower };
  Evidence evidence = Evidence::kNone;
  // The time of spin-wait and its utilisation.
  Integral time;
  std::optional<std::int64_t> idle_mw;   // P_idle used
  std::optional<std::int64_t> limit_mw;  // P_limit used
  // Cells below this were spin-wait.
  std::optional<std::int64_t> below_watts;
  Lacks lacks = Lacks::kNothing;
  // Idle power that was measured and is too high to be one.
  std::optional<std::int64_t> refused_mw;
  // Without P_idle: cells from here on are work, whatever the board draws idle.
  std::optional<std::int64_t> work_from_watts;
  // Busy at little power for long, and not spin-wait: whether that was work cannot be told.
  std::int64_t dim_ns = 0;

  // compute_bound time of `totals`, as it was read, of which it can be told whether it is spin-wait.
  [[nodiscard]] std::int64_t ToldNs(const DeviceTotals& totals) const;
};

inline constexpr std::array<std::string_view, 5> kSpinLacks = {"", "no_power", "no_power_limit", "no_long_idle",
                                                               "idle_power_too_high"};
// How often the exporter behind a scrape collects (CollectionRuns).
struct Collection {
  enum class Known : std::uint8_t {
    kNotScraped,  // each row was read from the driver for itself
    kTold,        // every `scrapes` scrapes
    kConstant,    // no gauge ever changed
    kTooFew,      // nearly none did
    kIrregular,   // they did at no regular distance; their median is `scrapes`
  };
  Known known = Known::kNotScraped;
  std::int64_t scrapes = 1;
  friend bool operator==(const Collection&, const Collection&) = default;
};

// A stretch in which a device was read at one pace.
struct PeriodPiece {
  Instant start;
  Nanos period{0};
  friend bool operator==(const PeriodPiece&, const PeriodPiece&) = default;
};

// One device after the end of input.
struct DeviceResult {
  DeviceId device = 0;
  std::optional<Signal> counter;  // that decided the phases; absent: none was reported
  Instant first;
  Instant last;
  std::optional<Nanos> period;       // of the piece that lasts longest
  std::vector<PeriodPiece> periods;  // in order of time; empty: no period is known
  Collection collection;
  bool fast = false;                 // cells are means of ticks
  bool spans = false;                // each reading lasts until the next: the source says when it ends
  std::optional<Nanos> tick_window;  // W: distance of independent readings; absent: not known
  DeviceTotals totals;               // window = observed + unobserved
  SpinVerdict spin;
  std::optional<std::int64_t> power_limit_mw;
  std::optional<std::int64_t> default_limit_mw;
  std::optional<std::int64_t> max_sm_khz;
  std::int64_t throttled_with_loss_ns = 0;
  struct InRun {
    std::size_t run = 0;  // its position in RunResult::runs
    Instant first;
    Instant last;
    RunTime time;
  };
  std::vector<InRun> runs;  // in which the device has a row, in order; their times sum to that of `totals`

  [[nodiscard]] std::int64_t WindowNs() const { return totals.ObservedNs() + totals.UnobservedNs(); }
};

// A whole run.
struct RunResult {
  Instant start;
  Instant end;
  std::vector<RunSpan> runs;          // in order of time (classify/stretch.h); the time between them is not recorded
  bool window_named = false;          // the user said what was rented: one run, and what has no row in it is unobserved
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

  // The part of [from, to) that lies in runs; all of it where no runs are known.
  [[nodiscard]] std::int64_t RecordedNs(Instant from, Instant to) const;
  [[nodiscard]] const DeviceResult* Of(DeviceId device) const;  // null: it is none of them
};

}  // namespace idleburn
