#include "classify/device_classifier.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <array>
#include <map>

#include "support/naive_twin.h"
#include "support/property.h"

namespace idleburn {
namespace {

using testing::NaiveFast;
using testing::NaiveSlow;
using testing::NaiveTotals;

constexpr std::int64_t kStart = 1'772'445'600 * kNanosPerSecond;
constexpr std::int64_t kMs = 1'000'000;

// A plausible device: stretches of a level with noise, gaps, missing values, a memory that comes and goes.
std::vector<Sample> RandomTrace(std::int64_t period_ns) {
  std::vector<Sample> trace;
  std::int64_t time = kStart + *rc::gen::inRange<std::int64_t>(0, 3 * kNanosPerSecond);
  const int stretches = *rc::gen::inRange(1, 7);
  for (int i = 0; i < stretches; ++i) {
    const auto level = *rc::gen::element<std::int64_t>(0, 5, 9, 10, 40, 69, 70, 85, 90, 100);
    const auto noise = *rc::gen::element<std::int64_t>(0, 0, 3, 60);
    const auto watts = *rc::gen::element<std::int64_t>(60, 120, 170, 390, 650);
    const auto memory = *rc::gen::element<std::int64_t>(-1, 17, 99, 100, 60'000);
    const auto masks = *rc::gen::element(0, 10, 18);  // of 20 rows so many say nothing of them
    const int rows = *rc::gen::inRange(1, 60);
    for (int r = 0; r < rows; ++r) {
      Sample s;
      s.time = Instant::FromNanos(time);
      const std::int64_t u =
          std::clamp<std::int64_t>(level + *rc::gen::inRange<std::int64_t>(-noise, noise + 1), 0, 100);
      if (*rc::gen::inRange(0, 40) == 0) {
        s.SetUnavailable(Signal::kUtilization, Unobserved::kSentinel);
      } else {
        s.Set(Signal::kUtilization, u * kPercent);
      }
      if (const int said = *rc::gen::inRange(0, 20); said > 1) {
        s.Set(Signal::kPower, watts * 1000 + *rc::gen::inRange<std::int64_t>(0, 2000));
      } else if (said == 1) {
        s.SetUnavailable(Signal::kPower, Unobserved::kSentinel);
      }
      if (memory >= 0 && *rc::gen::inRange(0, 4) != 0) s.Set(Signal::kMemoryUsed, memory << 20);
      if (const int said = *rc::gen::inRange(0, 20); said > masks) {
        s.Set(Signal::kEventReasons, *rc::gen::element<std::int64_t>(0, 0, 0, 1, 4, 0x68));
      } else if (said == 0) {
        s.SetUnavailable(Signal::kEventReasons, Unobserved::kSentinel);
      }
      trace.push_back(s);
      time += period_ns * *rc::gen::inRange<std::int64_t>(85, 116) / 100;
    }
    if (*rc::gen::inRange(0, 3) == 0) time += *rc::gen::inRange<std::int64_t>(0, 90) * kNanosPerSecond / 2;
  }
  return trace;
}

Cadence CadenceOf(std::int64_t period_ns) {
  return {Signal::kUtilization, Nanos(period_ns), Nanos(kNanosPerSecond / 6), Nanos(period_ns * 5 / 2)};
}

// The same, of a device whose other signals are read at their own paces, known or not.
Cadence AnyCadence(std::int64_t period_ns) {
  Cadence cadence = CadenceOf(period_ns);
  for (const Signal s : {Signal::kPower, Signal::kMemoryUsed, Signal::kEventReasons}) {
    cadence.hold[Index(s)] = *rc::gen::element<std::int64_t>(0, 250, 2500, 40'000) * kMs;
  }
  return cadence;
}

DeviceTotals Stream(const std::vector<Sample>& trace, const Cadence& cadence, const Thresholds& thresholds) {
  DeviceClassifier classifier(thresholds, cadence, 1'980'000);
  for (const Sample& s : trace) classifier.Feed(s);
  classifier.Close();
  return classifier.totals();
}

void ExpectSame(const DeviceTotals& got, const NaiveTotals& want) {
  for (std::size_t p = 0; p < kPhaseCount; ++p) RC_ASSERT(got.phase_ns[p] == want.phase_ns[p]);
  RC_ASSERT(got.UnobservedNs() == want.unobserved_ns);
  RC_ASSERT(got.idle_held_ns == want.held_ns);
  RC_ASSERT(got.idle_empty_ns == want.empty_ns);
  RC_ASSERT(got.idle_unknown_ns == want.unknown_ns);
  RC_ASSERT(got.throttled_ns == want.throttled_ns);
  RC_ASSERT(got.utilization.area == want.utilization_area);
  RC_ASSERT(got.power.area == want.power_area);
  for (const auto& [watts, ns] : want.spin_below) RC_ASSERT(got.spin_by_power.Below(watts).ns == ns);
  RC_ASSERT(got.idle_held_ns + got.idle_empty_ns + got.idle_unknown_ns == got.phase_ns[0]);
}

TEST(DeviceClassifierTest, FastStreamEqualsTheNaiveBatch) {
  const Thresholds thresholds;
  test::ExpectProperty([&] {
    const std::int64_t period = *rc::gen::element(50, 100, 166, 250, 500) * kMs;
    const std::vector<Sample> trace = RandomTrace(period);
    const Cadence cadence = AnyCadence(period);
    ExpectSame(Stream(trace, cadence, thresholds), NaiveFast(trace, thresholds, cadence));
  });
}

TEST(DeviceClassifierTest, SlowStreamEqualsTheNaiveBatch) {
  const Thresholds thresholds;
  test::ExpectProperty([&] {
    const std::int64_t period = *rc::gen::element(700, 1000, 1500, 5000, 15'000, 60'000) * kMs;
    const std::vector<Sample> trace = RandomTrace(period);
    const Cadence cadence = AnyCadence(period);
    ExpectSame(Stream(trace, cadence, thresholds), NaiveSlow(trace, cadence, thresholds));
  });
}

std::vector<Sample> Constant(std::int64_t percent, std::int64_t seconds, std::int64_t period_ms) {
  std::vector<Sample> trace;
  for (std::int64_t ms = 0; ms <= seconds * 1000; ms += period_ms) {
    Sample s;
    s.time = Instant::FromNanos(kStart + ms * kMs);
    s.Set(Signal::kUtilization, percent * kPercent);
    trace.push_back(s);
  }
  return trace;
}

TEST(DeviceClassifierTest, BandsAreHalfOpen) {
  const Thresholds t;
  for (const auto& [percent, phase] : std::vector<std::pair<std::int64_t, Phase>>{{0, Phase::kIdle},
                                                                                  {9, Phase::kIdle},
                                                                                  {10, Phase::kUnderutilized},
                                                                                  {69, Phase::kUnderutilized},
                                                                                  {70, Phase::kProductive},
                                                                                  {89, Phase::kProductive},
                                                                                  {90, Phase::kComputeBound},
                                                                                  {100, Phase::kComputeBound}}) {
    EXPECT_EQ(PhaseOf(percent * kPercent * 7, 7, t), phase) << percent;
  }
  EXPECT_EQ(PhaseOf(10 * kPercent * kNanosPerSecond - 1, kNanosPerSecond, t), Phase::kIdle);
}

TEST(DeviceClassifierTest, TimeIsIntegratedFromStampsNotRows) {
  // A nominal 1 s log that ticks every 1.078 s.
  const Thresholds t;
  std::vector<Sample> trace;
  for (int i = 0; i <= 1000; ++i) {
    Sample s;
    s.time = Instant::FromNanos(kStart + i * 1078 * kMs);
    s.Set(Signal::kUtilization, 50 * kPercent);
    trace.push_back(s);
  }
  const DeviceTotals totals = Stream(trace, MeasureCadence(trace, t), t);
  EXPECT_EQ(totals.phase_ns[1], 1'078 * kNanosPerSecond);
}

TEST(DeviceClassifierTest, AGapIsUnobservedNotIdle) {
  const Thresholds t;
  std::vector<Sample> trace = Constant(95, 100, 10'000);
  for (Sample s : Constant(0, 100, 10'000)) {
    s.time = s.time + Nanos(400 * kNanosPerSecond);
    trace.push_back(s);
  }
  const DeviceTotals totals = Stream(trace, MeasureCadence(trace, t), t);
  EXPECT_EQ(totals.phase_ns[3], 125 * kNanosPerSecond);
  EXPECT_EQ(totals.phase_ns[0], 100 * kNanosPerSecond);
  EXPECT_EQ(totals.UnobservedNs(), 275 * kNanosPerSecond);
}

TEST(DeviceClassifierTest, NothingIsHeldThroughAGapLongerThanTheCounter) {
  const Thresholds t;
  std::vector<Sample> trace;
  for (const std::int64_t second : {0, 1, 2, 3, 4, 5, 105, 106, 107, 108, 109, 110}) {
    Sample s;
    s.time = Instant::FromNanos(kStart + second * kNanosPerSecond);
    s.Set(Signal::kUtilization, 50 * kPercent);
    s.Set(Signal::kPower, 100'000);
    s.Set(Signal::kEventReasons, 4);
    trace.push_back(s);
  }
  const DeviceTotals totals = Stream(trace, MeasureCadence(trace, t), t);
  EXPECT_EQ(totals.phase_ns[1], 12'500 * kMs);
  EXPECT_EQ(totals.power.ns, 12'500 * kMs);
  EXPECT_EQ(totals.throttled_ns, 12'500 * kMs);
}

TEST(DeviceClassifierTest, WhatIsSaidToHaveNoValueIsNotHeld) {
  const Thresholds t;
  for (const std::int64_t period_ms : {250, 1000}) {
    std::vector<Sample> trace = Constant(50, 20, period_ms);
    for (Sample& s : trace) {
      const std::int64_t second = (s.time.nanos() - kStart) / kNanosPerSecond;
      if (second < 10) {
        s.Set(Signal::kPower, 100'000);
      } else {
        s.SetUnavailable(Signal::kPower, Unobserved::kSentinel);
      }
    }
    EXPECT_EQ(Stream(trace, MeasureCadence(trace, t), t).power.ns, 10 * kNanosPerSecond) << period_ms;
  }
}

TEST(DeviceClassifierTest, AWallClockSetBackDoesNotShortenOrRepeatTime) {
  const Thresholds t;
  std::vector<Sample> trace = Constant(80, 600, 1000);
  std::vector<Sample> later = Constant(80, 600, 1000);
  for (Sample s : later) {
    s.time = s.time + Nanos(601 * kNanosPerSecond - 3600 * kNanosPerSecond);
    trace.push_back(s);
  }
  const DeviceTotals totals = Stream(trace, MeasureCadence(trace, t), t);
  EXPECT_EQ(totals.clock_steps, 1);
  EXPECT_EQ(totals.phase_ns[2], 1200 * kNanosPerSecond);
  EXPECT_EQ(totals.unobserved_ns[static_cast<std::size_t>(Unobserved::kClock)], kNanosPerSecond);
}

TEST(DeviceClassifierTest, DuplicatesAndStragglersAreDroppedAndCounted) {
  const Thresholds t;
  std::vector<Sample> trace = Constant(50, 30, 1000);
  trace.insert(trace.begin() + 10, trace[9]);
  trace.insert(trace.begin() + 20, trace[17]);
  const DeviceTotals totals = Stream(trace, MeasureCadence(trace, t), t);
  EXPECT_EQ(totals.duplicates, 1);
  EXPECT_EQ(totals.out_of_order, 1);
  EXPECT_EQ(totals.phase_ns[1], 30 * kNanosPerSecond);
}

// Rows of `trace`, each signal in a row of its own that says of the others that they have no value, those of one time
// in any order.
std::vector<Sample> InRowsOfOneSignal(const std::vector<Sample>& trace) {
  std::vector<Sample> rows;
  for (const Sample& whole : trace) {
    const std::uint32_t signals = whole.present | whole.unavailable;
    std::vector<Sample> parts;
    for (std::size_t i = 0; i < kSignalCount; ++i) {
      const auto signal = static_cast<Signal>(i);
      if ((signals & Bit(signal)) == 0) continue;
      Sample part;
      part.time = whole.time;
      if (whole.Has(signal)) part.Set(signal, whole.Get(signal));
      for (std::size_t other = 0; other < kSignalCount; ++other) {
        const auto lacked = static_cast<Signal>(other);
        if ((signals & Bit(lacked)) != 0 && !part.Has(lacked)) part.SetUnavailable(lacked, Unobserved::kSentinel);
      }
      parts.push_back(part);
    }
    std::rotate(parts.begin(), parts.begin() + *rc::gen::inRange<std::ptrdiff_t>(0, std::ssize(parts)), parts.end());
    if (*rc::gen::arbitrary<bool>()) std::reverse(parts.begin(), parts.end());
    rows.insert(rows.end(), parts.begin(), parts.end());
  }
  return rows;
}

TEST(DeviceClassifierTest, ARowForEachSignalIsAsOneRow) {
  const Thresholds thresholds;
  test::ExpectProperty([&] {
    const std::int64_t period = *rc::gen::element(100, 250, 1000, 15'000) * kMs;
    const std::vector<Sample> trace = RandomTrace(period);
    const Cadence cadence = CadenceOf(period);
    const NaiveTotals want =
        cadence.Fast(thresholds) ? NaiveFast(trace, thresholds) : NaiveSlow(trace, cadence, thresholds);
    const DeviceTotals got = Stream(InRowsOfOneSignal(trace), cadence, thresholds);
    ExpectSame(got, want);
  });
}

// A minute a second apart: a busy board whose limit is lowered halfway, and set to its default again.
TEST(DeviceClassifierTest, APowerCapIsToBlameOnlyWhileTheLimitIsLowered) {
  const Thresholds t;
  for (const std::int64_t period_ms : {100, 1000}) {
    for (const bool at_first : {false, true}) {
      std::vector<Sample> trace = Constant(100, 60, period_ms);
      for (Sample& s : trace) {
        const bool first_half = s.time.nanos() < kStart + 30 * kNanosPerSecond;
        s.Set(Signal::kEventReasons, 4);
        s.Set(Signal::kSmClock, 800'000);
        s.Set(Signal::kPowerLimit, first_half == at_first ? 400'000 : 700'000);
        s.Set(Signal::kPowerDefaultLimit, 700'000);
      }
      if (period_ms == 100) trace.pop_back();  // of a second that has but begun
      const DeviceTotals totals = Stream(trace, CadenceOf(period_ms * kMs), t);
      EXPECT_EQ(totals.throttled_ns, 60 * kNanosPerSecond);
      EXPECT_EQ(totals.power_cap_with_loss_ns, 30 * kNanosPerSecond) << period_ms << at_first;
      EXPECT_EQ(totals.throttled_told_ns, 60 * kNanosPerSecond);
    }
  }
}

// Ten seconds each: throttled, with the clock; throttled, without; not throttled, without the mask.
TEST(DeviceClassifierTest, WhatTellsOfThrottlingIsCounted) {
  const Thresholds t;
  for (const std::int64_t period_ms : {100, 1000}) {
    std::vector<Sample> trace = Constant(100, 30, period_ms);
    for (Sample& s : trace) {
      const std::int64_t second = (s.time.nanos() - kStart) / kNanosPerSecond;
      if (second < 20) s.Set(Signal::kEventReasons, 0x40);
      if (second >= 20) s.SetUnavailable(Signal::kEventReasons, Unobserved::kSentinel);
      if (second < 10) s.Set(Signal::kSmClock, 800'000);
      if (second >= 10) s.SetUnavailable(Signal::kSmClock, Unobserved::kSentinel);
    }
    const DeviceTotals totals = Stream(trace, CadenceOf(period_ms * kMs), t);
    EXPECT_EQ(totals.reasons_ns, 20 * kNanosPerSecond);
    EXPECT_EQ(totals.throttled_told_ns, 10 * kNanosPerSecond);
    EXPECT_EQ(totals.throttled_untold_ns, 10 * kNanosPerSecond);
    EXPECT_EQ(totals.slowdown_with_loss_ns, 10 * kNanosPerSecond);
  }
}

// Masks every five seconds beside ten readings of utilization a second hold until the next, as beside one.
TEST(DeviceClassifierTest, MasksOfASlowerSourceAreHeldBetweenThem) {
  const Thresholds t;
  for (const std::int64_t period_ms : {100, 1000}) {
    std::vector<Sample> trace = Constant(100, 60, period_ms);
    for (Sample& s : trace) {
      if ((s.time.nanos() - kStart) % (5 * kNanosPerSecond) == 0) s.Set(Signal::kEventReasons, 0x40);
    }
    if (period_ms == 100) trace.pop_back();
    const DeviceTotals totals = Stream(trace, CadenceOf(period_ms * kMs), t);
    EXPECT_EQ(totals.throttled_ns, 60 * kNanosPerSecond) << period_ms;
    EXPECT_EQ(totals.reasons_ns, 60 * kNanosPerSecond) << period_ms;
  }
}

// One cell without a value, then ten minutes without a row: that cell says so of 2.5 periods, and of the rest nothing
// does. Rows that are there and name no counter say that there is none, however fast they come.
TEST(DeviceClassifierTest, TimeIsUnobservedForTheReasonThatWasSaidOfIt) {
  const Thresholds t;
  const auto lost = [](const DeviceTotals& totals, Unobserved why) {
    return totals.unobserved_ns[static_cast<std::size_t>(why)];
  };
  std::vector<Sample> trace = Constant(50, 60, 1000);
  trace.back() = Sample();
  trace.back().time = Instant::FromNanos(kStart + 60 * kNanosPerSecond);
  trace.back().SetUnavailable(Signal::kUtilization, Unobserved::kUnsupported);
  for (Sample s : Constant(50, 60, 1000)) {
    s.time = s.time + Nanos(661 * kNanosPerSecond);
    trace.push_back(s);
  }
  const DeviceTotals hole = Stream(trace, MeasureCadence(trace, t), t);
  EXPECT_EQ(lost(hole, Unobserved::kUnsupported), 2500 * kMs);
  EXPECT_EQ(lost(hole, Unobserved::kGap), 598'500 * kMs);
  for (const std::int64_t period_ms : {100, 1000}) {
    std::vector<Sample> power;
    for (std::int64_t ms = 0; ms <= 200'000; ms += period_ms) {
      if (ms > 60'000 && ms < 160'000) continue;
      Sample s;
      s.time = Instant::FromNanos(kStart + ms * kMs);
      s.Set(Signal::kPower, 300'000);
      power.push_back(s);
    }
    const DeviceTotals without = Stream(power, MeasureCadence(power, t), t);
    EXPECT_NEAR(static_cast<double>(lost(without, Unobserved::kUnsupported)) / 1e9, 100, 3) << period_ms;
    EXPECT_NEAR(static_cast<double>(lost(without, Unobserved::kGap)) / 1e9, 100, 3) << period_ms;
  }
}

// Twenty seconds each: SM activity, power alone, neither.
TEST(DeviceClassifierTest, WhatTellsOfSpinWaitIsCounted) {
  const Thresholds t;
  for (const std::int64_t period_ms : {100, 1000}) {
    std::vector<Sample> trace = Constant(100, 60, period_ms);
    for (Sample& s : trace) {
      const std::int64_t second = (s.time.nanos() - kStart) / kNanosPerSecond;
      if (second < 20) s.Set(Signal::kSmActive, 50 * kPercent);
      if (second >= 20) s.SetUnavailable(Signal::kSmActive, Unobserved::kSentinel);
      if (second < 40) s.Set(Signal::kPower, 300'000);
      if (second >= 40) s.SetUnavailable(Signal::kPower, Unobserved::kSentinel);
    }
    DeviceTotals totals = Stream(trace, CadenceOf(period_ms * kMs), t);
    EXPECT_EQ(totals.bound_with_activity_ns, 20 * kNanosPerSecond);
    EXPECT_EQ(totals.bound_with_power_ns, 20 * kNanosPerSecond);
    totals.ForgetProfiling(Signal::kUtilization);
    EXPECT_EQ(totals.bound_with_activity_ns, 0);
  }
}

// The mean of negative readings, as exact as that of others: 10 readings a second of -40.001 and -20 °C by turns.
TEST(DeviceClassifierTest, TemperaturesBelowZeroHaveAMean) {
  const Thresholds t;
  std::vector<Sample> rows;
  for (std::int64_t i = 0; i < 200; ++i) {
    Sample s;
    s.time = Instant::FromNanos(kStart + i * 100 * kMs);
    s.Set(Signal::kUtilization, kFull / 2);
    s.Set(Signal::kTemperature, i % 2 == 0 ? -40'001 : -20'000);
    rows.push_back(s);
  }
  const DeviceTotals totals = Stream(rows, MeasureCadence(rows, t), t);
  ASSERT_GT(totals.temperature.ns, 0);
  EXPECT_NEAR(*totals.temperature.Mean(), -30'000.5, 1);
  EXPECT_EQ(totals.Peak(Signal::kTemperature), -20'000);
}

// Stamps coarser than the readings: in whatever order the rows of one stamp come, each gauge counts as their mean and
// memory and temperature as the most, for every figure, as if one row had said so. The peak is that of single rows all
// the same.
TEST(DeviceClassifierTest, RowsOfOneStampCountAsTheirMean) {
  const Thresholds thresholds;
  test::ExpectProperty([&] {
    const std::int64_t period = *rc::gen::element(100, 250, 1000, 15'000) * kMs;
    const Cadence cadence = CadenceOf(period);
    std::vector<Sample> trace = RandomTrace(period);
    std::vector<Sample> rows;
    std::int64_t differing = 0;
    std::int64_t repeats = 0;
    constexpr std::array<Signal, 4> kGauges = {Signal::kUtilization, Signal::kPower, Signal::kMemoryUsed,
                                               Signal::kTemperature};
    std::map<Signal, std::int64_t> peak;
    for (Sample& one : trace) {
      if (*rc::gen::inRange(0, 3) > 0) one.Set(Signal::kTemperature, *rc::gen::inRange<std::int64_t>(20'000, 90'000));
      std::vector<Sample> same = {one};
      for (int copies = *rc::gen::inRange(0, 6); copies > 0; --copies) {
        Sample copy = one;
        for (const Signal s : kGauges) {
          if (copy.Has(s)) copy.Set(s, copy.Get(s) * *rc::gen::inRange(0, 5) / 4);
        }
        same.insert(same.begin() + *rc::gen::inRange<std::ptrdiff_t>(0, std::ssize(same) + 1), copy);
      }
      bool differs = false;
      for (const Signal s : kGauges) {
        if (!one.Has(s)) continue;
        Int128 sum = 0;
        std::int64_t most = 0;
        for (const Sample& row : same) {
          sum += row.Get(s);
          most = std::max(most, row.Get(s));
          peak.try_emplace(s, row.Get(s)).first->second = std::max(peak[s], row.Get(s));
          differs = differs || row.Get(s) != same.front().Get(s);
        }
        one.Set(s, s == Signal::kMemoryUsed || s == Signal::kTemperature
                       ? most
                       : static_cast<std::int64_t>(DivHalfEven(sum, std::ssize(same))));
      }
      differing += differs ? 1 : 0;
      repeats += std::ssize(same) - 1;
      rows.insert(rows.end(), same.begin(), same.end());
    }
    const DeviceTotals want = Stream(trace, cadence, thresholds);
    DeviceTotals got = Stream(rows, cadence, thresholds);
    RC_ASSERT(got.differing == differing);
    RC_ASSERT(got.duplicates == repeats);
    got.differing = got.duplicates = 0;
    for (const auto& [signal, most] : peak) {
      RC_ASSERT(got.Peak(signal) == most);
      got.range[Slot(signal)].peak = want.RangeOf(signal).peak;
    }
    RC_ASSERT(got == want);
    RC_ASSERT(MeasureCadence(rows, thresholds).tick_window == MeasureCadence(trace, thresholds).tick_window);
  });
}

// Ten rows a second, stamped by whole seconds, of a load that is off and on by turns within each: half busy, and not
// the full load that the largest of each stamp makes of it. The same with the log there twice.
TEST(DeviceClassifierTest, ASquareWaveWithinASecondIsItsMean) {
  const Thresholds t;
  for (const int copies : {1, 2}) {
    std::vector<Sample> rows;
    for (std::int64_t i = 0; i <= 6000; ++i) {
      Sample s;
      s.time = Instant::FromNanos(kStart + i / 10 * kNanosPerSecond);
      s.Set(Signal::kUtilization, i % 2 == 0 ? 0 : kFull);
      s.Set(Signal::kPower, i % 2 == 0 ? 100'000 : 500'000);
      s.Set(Signal::kMemoryUsed, i % 2 == 0 ? 0 : std::int64_t{8} << 30);
      s.Set(Signal::kEnergy, i * 30'000);
      for (int copy = 0; copy < copies; ++copy) rows.push_back(s);
    }
    const DeviceTotals totals = Stream(rows, MeasureCadence(rows, t), t);
    EXPECT_EQ(totals.phase_ns[1], 600 * kNanosPerSecond);
    EXPECT_DOUBLE_EQ(*totals.utilization.Mean(), 50 * kPercent);
    EXPECT_DOUBLE_EQ(*totals.power.Mean(), 300'000);
    EXPECT_EQ(totals.Peak(Signal::kMemoryUsed), std::int64_t{8} << 30);
    EXPECT_EQ(totals.Peak(Signal::kUtilization), kFull);
    EXPECT_EQ(totals.Peak(Signal::kPower), 500'000);
    EXPECT_EQ(static_cast<std::int64_t>(totals.energy_mj), 6000 * 30'000);
    EXPECT_NEAR(totals.RowsPerStamp().value_or(0), 10 * copies, 0.1);
  }
}

TEST(DeviceClassifierTest, ALogOfRowsThatAreThereTwiceHasNoCoarseStamps) {
  const Thresholds t;
  std::vector<Sample> rows;
  for (const Sample& s : Constant(80, 600, 100)) rows.insert(rows.end(), {s, s});
  const DeviceTotals totals = Stream(rows, MeasureCadence(rows, t), t);
  EXPECT_EQ(totals.duplicates, 6001);
  EXPECT_FALSE(totals.RowsPerStamp());
  EXPECT_EQ(totals.phase_ns[2], 601 * kNanosPerSecond);
}

// 600 rows, one of a clock that was a day behind; and ten that were an hour behind.
TEST(DeviceClassifierTest, AMomentaryStepOfTheClockAddsNoTime) {
  const Thresholds t;
  for (const std::int64_t period_ms : {100, 1000}) {
    for (const auto& [rows, seconds] : {std::pair(1, 86'400), std::pair(10, 3600)}) {
      std::vector<Sample> trace = Constant(80, 599, period_ms);
      for (int i = 0; i < rows; ++i) {
        Sample& s = trace[static_cast<std::size_t>(300 + i)];
        s.time = s.time + Nanos(-seconds * kNanosPerSecond);
      }
      DeviceClassifier classifier(t, MeasureCadence(trace, t), 0);
      for (const Sample& s : trace) classifier.Feed(s);
      classifier.Close();
      EXPECT_EQ((classifier.last() - classifier.first()).count(), (period_ms < 500 ? 600 : 599) * kNanosPerSecond);
      EXPECT_EQ(classifier.totals().clock_steps, 2);
      EXPECT_EQ(classifier.totals().out_of_order, 0);
      EXPECT_EQ(classifier.clock_shift(), 0);
    }
  }
}

TEST(DeviceClassifierTest, ALogThatIsThereTwiceCountsOnce) {
  const Thresholds t;
  for (const std::int64_t period_ms : {100, 1000}) {
    std::vector<Sample> trace = Constant(80, 600, period_ms);
    const auto rows = static_cast<std::int64_t>(trace.size());
    trace.insert(trace.end(), trace.begin(), trace.begin() + rows);
    for (Sample s : Constant(80, 100, period_ms)) {
      s.time = s.time + Nanos(600 * kNanosPerSecond + period_ms * kMs);
      trace.push_back(s);
    }
    const DeviceTotals once = Stream(Constant(80, 700, period_ms), CadenceOf(period_ms * kMs), t);
    const DeviceTotals totals = Stream(trace, CadenceOf(period_ms * kMs), t);
    EXPECT_EQ(totals.duplicates, rows);
    EXPECT_EQ(totals.clock_steps, 0);
    EXPECT_EQ(totals.UnobservedNs(), 0);
    EXPECT_NEAR(static_cast<double>(totals.phase_ns[2]), static_cast<double>(once.phase_ns[2]),
                static_cast<double>(period_ms * kMs));
  }
}

// Pieces of 100 s in the order 0, 2, 1, 3.
TEST(DeviceClassifierTest, APieceOutOfItsPlaceAddsNoTime) {
  const Thresholds t;
  for (const std::int64_t period_ms : {100, 1000}) {
    std::vector<Sample> trace;
    for (const std::int64_t piece : {0, 2, 1, 3}) {
      for (Sample s : Constant(80, 99, period_ms)) {
        s.time = s.time + Nanos(piece * 100 * kNanosPerSecond);
        trace.push_back(s);
      }
    }
    DeviceClassifier classifier(t, MeasureCadence(trace, t), 0);
    for (const Sample& s : trace) classifier.Feed(s);
    classifier.Close();
    EXPECT_EQ((classifier.last() - classifier.first()).count(), (period_ms < 500 ? 400 : 399) * kNanosPerSecond);
    EXPECT_EQ(classifier.misplaced(), Instant::FromNanos(kStart + 100 * kNanosPerSecond));
    EXPECT_EQ(classifier.totals().out_of_order, 99'000 / period_ms + 1);
    EXPECT_EQ(classifier.totals().clock_steps, 0);
  }
}

TEST(DeviceClassifierTest, EnergyCounterResetsAddUp) {
  const Thresholds t;
  std::vector<Sample> trace;
  const std::array<std::int64_t, 4> mj = {8'999'400'000, 9'000'000'000, 300'000, 1'200'000};
  for (std::size_t i = 0; i < mj.size(); ++i) {
    Sample s;
    s.time = Instant::FromNanos(kStart + static_cast<std::int64_t>(i) * kNanosPerSecond);
    s.Set(Signal::kEnergy, mj[i]);
    trace.push_back(s);
  }
  const DeviceTotals totals = Stream(trace, MeasureCadence(trace, t), t);
  EXPECT_EQ(static_cast<std::int64_t>(totals.energy_mj), 600'000 + 300'000 + 900'000);
  EXPECT_EQ(totals.energy_resets, 1);
  EXPECT_EQ(totals.energy_ns, 3 * kNanosPerSecond);
  EXPECT_EQ(totals.unobserved_ns[static_cast<std::size_t>(Unobserved::kUnsupported)], 3 * kNanosPerSecond);
}

// 36 kJ in half an hour, and one scrape between that reads 0: the counter's lifetime is not its increase.
TEST(DeviceClassifierTest, MoreThanABoardDrawsIsNoEnergy) {
  const Thresholds t;
  constexpr std::int64_t kLifetime = 1'000'000'000'000;
  std::vector<Sample> trace;
  for (std::int64_t i = 0; i < 121; ++i) {
    Sample s;
    s.time = Instant::FromNanos(kStart + i * 15 * kNanosPerSecond);
    s.Set(Signal::kEnergy, i == 60 ? 0 : kLifetime + i * 300'000);
    trace.push_back(s);
  }
  const DeviceTotals totals = Stream(trace, MeasureCadence(trace, t), t);
  EXPECT_EQ(static_cast<std::int64_t>(totals.energy_mj), 118 * 300'000);
  EXPECT_EQ(totals.energy_resets, 1);
  EXPECT_EQ(totals.energy_out_of_range, 1);
  EXPECT_EQ(totals.energy_ns, 119 * 15 * kNanosPerSecond);
}

// Power is read from the start, the driver's first utilization comes later, and once for two seconds none does.
TEST(DeviceClassifierTest, ASecondWithoutAReadingOfACounterThatIsThereIsAGap) {
  std::vector<Sample> trace;
  for (int i = 0; i < 80; ++i) {
    Sample s;
    s.time = Instant::FromNanos(kStart + i * 100 * kMs);
    s.Set(Signal::kPower, 300'000);
    if (i >= 10 && (i < 40 || i >= 60)) s.Set(Signal::kUtilization, 95 * kPercent);
    trace.push_back(s);
  }
  const DeviceTotals totals = Stream(trace, CadenceOf(100 * kMs), Thresholds());
  EXPECT_EQ(totals.unobserved_ns[static_cast<std::size_t>(Unobserved::kGap)], 3 * kNanosPerSecond);
  EXPECT_EQ(totals.unobserved_ns[static_cast<std::size_t>(Unobserved::kUnsupported)], 0);
}

TEST(DeviceClassifierTest, AProfilingCounterStuckAtZeroIsNotBelieved) {
  const Thresholds t;
  std::vector<Sample> trace = Constant(99, 600, 15'000);
  for (Sample& s : trace) {
    s.Set(Signal::kGrEngineActive, 0);
    s.Set(Signal::kSmActive, 0);
  }
  const DeviceTotals totals = Stream(trace, MeasureCadence(trace, t), t);
  EXPECT_TRUE(totals.profiling_stuck);
  EXPECT_EQ(totals.phase_ns[0], 0);
  EXPECT_EQ(totals.spin_by_activity.ns, 0);
}

TEST(CadenceTest, PeriodIsTheMedianOfTheFirstIntervals) {
  const Thresholds t;
  std::vector<Sample> trace = Constant(50, 100, 10'000);
  EXPECT_EQ(MeasureCadence(trace, t).period, Nanos(10 * kNanosPerSecond));
  EXPECT_EQ(MeasureCadence(trace, t).max_gap, Nanos(25 * kNanosPerSecond));
  Thresholds given;
  given.max_gap = Nanos(5 * kNanosPerSecond);
  EXPECT_EQ(MeasureCadence(trace, given).max_gap, Nanos(5 * kNanosPerSecond));

  // Intervals of 10, 10, 12 and 40 s: of an even number, the mean of the two in the middle.
  const std::array<std::int64_t, 5> seconds = {0, 10, 22, 32, 72};
  trace.resize(seconds.size());
  for (std::size_t i = 0; i < seconds.size(); ++i) trace[i].time = Instant::FromNanos(seconds[i] * kNanosPerSecond);
  EXPECT_EQ(MeasureCadence(trace, t).period, Nanos(11 * kNanosPerSecond));
}

// A busy GPU that `readers` read, each every `period`, the k-th `offset[k]` after the first: nothing is unobserved, and
// whose reading comes first decides nothing.
TEST(CadenceTest, SeveralReadersOfOneGpuAreNoGap) {
  test::ExpectProperty([] {
    const std::int64_t period = *rc::gen::inRange<std::int64_t>(1, 60) * kNanosPerSecond;
    const auto readers = *rc::gen::inRange<int>(1, 5);
    std::vector<std::int64_t> offsets = {0};
    for (int i = 1; i < readers; ++i) offsets.push_back(*rc::gen::inRange<std::int64_t>(1, period / kMs) * kMs);
    std::vector<Sample> trace;
    for (std::int64_t sweep = 0; sweep < 150; ++sweep) {
      for (const std::int64_t offset : offsets) {
        Sample s;
        s.time = Instant::FromNanos(kStart + sweep * period + offset);
        s.Set(Signal::kUtilization, 95 * kPercent);
        trace.push_back(s);
      }
    }
    std::sort(trace.begin(), trace.end(), [](const Sample& a, const Sample& b) { return a.time < b.time; });
    const Thresholds t;
    for (std::size_t dropped = 0; dropped < 3; ++dropped) {
      const std::vector<Sample> rest(trace.begin() + static_cast<std::ptrdiff_t>(dropped), trace.end());
      const Cadence cadence = MeasureCadence(rest, t);
      const DeviceTotals totals = Stream(rest, cadence, t);
      if (cadence.Fast(t)) continue;  // then a second without a reading is unobserved
      RC_ASSERT(totals.UnobservedNs() == 0);
      RC_ASSERT(totals.phase_ns[3] == (rest.back().time - rest.front().time).count());
    }
  });
}

// Two scrape jobs of 15 s, 3 s apart: by the median alone a reading would be held for 7.5 s or 30 s.
TEST(CadenceTest, WhicheverOfTwoReadersComesFirstThePeriodIsTheSame) {
  const Thresholds t;
  for (const bool late : {false, true}) {
    std::vector<Sample> trace = Constant(50, 102, 1000);
    std::int64_t seconds = 0;
    for (std::size_t i = 0; i < trace.size(); ++i) {
      trace[i].time = Instant::FromNanos(kStart + seconds * kNanosPerSecond);
      seconds += (i % 2 == 0) == late ? 12 : 3;
    }
    EXPECT_EQ(MeasureCadence(trace, t).period, Nanos(15 * kNanosPerSecond)) << late;
  }
  // Gaps are still gaps: one interval in twelve of an hour.
  std::vector<Sample> gaps = Constant(50, 100, 10'000);
  for (std::size_t i = 0; i < gaps.size(); ++i)
    gaps[i].time = gaps[i].time + Nanos(static_cast<std::int64_t>(i / 12) * kNanosPerHour);
  EXPECT_EQ(MeasureCadence(gaps, t).period, Nanos(10 * kNanosPerSecond));
}

TEST(TickCounterTest, SquareWaveHasTheDerivedBurstIndex) {
  // P = 1 s, d = 0.5 through W = 1/6 s: a third of the readings at each extreme.
  const Thresholds t;
  const std::array<std::int64_t, 6> wave = {70, 100, 100, 30, 0, 0};
  std::vector<Sample> trace;
  for (std::int64_t i = 0; i < 720; ++i) {
    Sample s;
    s.time = Instant::FromNanos(kStart + (i + 1) * 1000 / 6 * kMs);
    s.Set(Signal::kUtilization, wave[static_cast<std::size_t>(i % 6)] * kPercent);
    trace.push_back(s);
  }
  const DeviceTotals totals = Stream(trace, MeasureCadence(trace, t), t);
  const std::int64_t n = totals.ticks[0] + totals.ticks[1] + totals.ticks[2] + totals.ticks[3];
  EXPECT_EQ(n, 720);
  EXPECT_EQ(totals.ticks[0], 240);
  EXPECT_EQ(totals.ticks[3], 240);
  EXPECT_EQ(totals.tick_sum, 120 * (70 + 100 + 100 + 30) * 100);
  EXPECT_EQ(totals.tick_squares, Int128{120} * (70 * 70 + 100 * 100 + 100 * 100 + 30 * 30) * 100 * 100);
  EXPECT_GE(totals.burst.ns, 119 * kNanosPerSecond);
}

}  // namespace
}  // namespace idleburn
