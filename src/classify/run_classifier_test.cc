#include "classify/run_classifier.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>

#include "support/property.h"

namespace idleburn {

namespace {

using Listed = std::vector<std::pair<DeviceId, std::vector<std::uint32_t>>>;

Listed Sorted(DeviceRows& rows, const std::vector<DeviceId>& devices, std::size_t from, std::size_t to) {
  Listed listed;
  rows.Set(std::span(devices).subspan(from, to - from));
  rows.ForEach([&](DeviceId device, std::span<const std::uint32_t> of) {
    listed.emplace_back(device, std::vector<std::uint32_t>(of.begin(), of.end()));
  });
  return listed;
}

// The same, slowly.
Listed Expected(const std::vector<DeviceId>& devices, std::size_t from, std::size_t to) {
  Listed listed;
  for (std::size_t row = from; row < to; ++row) {
    auto found = std::find_if(listed.begin(), listed.end(), [&](const auto& l) { return l.first == devices[row]; });
    if (found == listed.end()) found = listed.insert(found, {devices[row], {}});
    found->second.push_back(static_cast<std::uint32_t>(row - from));
  }
  return listed;
}

TEST(DeviceRowsTest, RoundsAndAnythingElseAreSorted) {
  DeviceRows rows;
  for (const std::vector<DeviceId>& devices : std::vector<std::vector<DeviceId>>{{},
                                                                                 {3},
                                                                                 {5, 5, 5},
                                                                                 {0, 1, 2, 0, 1, 2, 0},
                                                                                 {2, 0, 2, 0},
                                                                                 {0, 1, 1, 0, 1, 1},
                                                                                 {0, 1, 2, 0, 2, 1},
                                                                                 {7, 1, 1}}) {
    EXPECT_EQ(Sorted(rows, devices, 0, devices.size()), Expected(devices, 0, devices.size()));
  }
  test::ExpectProperty([&] {
    const auto gpus = *rc::gen::inRange<DeviceId>(1, 10);
    const auto round = *rc::gen::container<std::vector<DeviceId>>(8, rc::gen::inRange<DeviceId>(0, gpus));
    std::vector<DeviceId> devices(static_cast<std::size_t>(*rc::gen::inRange(1, 60)));
    for (std::size_t i = 0; i < devices.size(); ++i) devices[i] = round[i % round.size()];
    if (*rc::gen::arbitrary<bool>()) devices[devices.size() / 2] = *rc::gen::inRange<DeviceId>(0, gpus);
    const std::size_t from = *rc::gen::inRange<std::size_t>(0, devices.size());
    RC_ASSERT(Sorted(rows, devices, from, devices.size()) == Expected(devices, from, devices.size()));
  });
}

BoardFacts NoFacts(std::string_view /*gpu_name*/) { return {}; }

// Ten readings a second of a GPU that is idle and productive by turns, three seconds each.
Sample At(int tick) {
  Sample sample;
  sample.time = Instant::FromNanos(1'700'000'000 * kNanosPerSecond + tick * (kNanosPerSecond / 10));
  sample.Set(Signal::kUtilization, tick / 30 % 2 == 0 ? 0 : 80 * kPercent);
  return sample;
}

TEST(RunClassifierTest, WhatIsSaidSoFarIsWhatAnEndWouldSayAndChangesNothing) {
  DeviceTable devices;
  DeviceKey key;
  key.index = 0;
  devices.Enter(key);
  const Thresholds thresholds;
  DataQuality quality;
  RunClassifier live(thresholds, devices, quality, NoFacts);
  for (int tick = 0; tick < 300; ++tick) {
    const Sample sample = At(tick);
    live.OnSamples(std::span(&sample, 1));
    if (tick % 47 != 0) continue;
    DataQuality doubts;
    RunClassifier twin(thresholds, devices, doubts, NoFacts);
    for (int t = 0; t <= tick; ++t) {
      const Sample again = At(t);
      twin.OnSamples(std::span(&again, 1));
    }
    const RunResult said = live.SoFar();
    const RunResult ended = twin.Finish();
    ASSERT_EQ(said.devices.size(), 1U);
    EXPECT_EQ(said.devices[0].totals, ended.devices[0].totals) << tick;
    EXPECT_EQ(said.devices[0].last, ended.devices[0].last) << tick;
  }
  EXPECT_EQ(live.Finish().devices[0].totals.phase_ns[0], 15 * kNanosPerSecond);
}

// What a budget is told while a run goes on is what its audit would say, had the run ended with that reading: the
// second that has begun counts as far as it was read.
TEST(RunClassifierTest, SoFarARunLastsToItsNewestReading) {
  DeviceTable devices;
  DeviceKey key;
  key.index = 0;
  devices.Enter(key);
  const Thresholds thresholds;
  DataQuality quality;
  RunWindow window;
  window.start = At(0).time + Nanos(-30'000'000);
  RunClassifier live(thresholds, devices, quality, NoFacts, &window);
  for (int tick = 0; tick < 100; ++tick) {
    const Sample sample = At(tick);
    live.OnSamples(std::span(&sample, 1));
    if (tick < 20) continue;
    const RunResult said = live.SoFar();
    const Nanos lasted = At(tick).time - *window.start;
    EXPECT_EQ(said.end, At(tick).time) << tick;
    EXPECT_EQ(said.devices[0].WindowNs(), lasted.count()) << tick;
  }
  // A reading that comes in the second after the end does not make the run longer.
  window.end = At(99).time + Nanos(-10'000'000);
  const Sample late = At(101);
  live.OnSamples(std::span(&late, 1));
  const RunResult ended = live.Finish();
  EXPECT_EQ(ended.end, *window.end);
  EXPECT_EQ(ended.devices[0].last, *window.end);
}

// Readings of one GPU at its own pace, which may begin late, stop early, pause, come from before or after the run, or
// not come at all; the counter may begin later than the others.
std::vector<Sample> ReadingsAround(DeviceId device, std::int64_t start, std::int64_t length) {
  const std::int64_t period = *rc::gen::element<std::int64_t>(10, 100, 107, 250, 1000, 5000) * 1'000'000;
  const int most = *rc::gen::element(0, 1, 2, 10, 150, 1000);
  const int without_counter = *rc::gen::element(0, 0, 0, 3, 120);
  std::mt19937 random(*rc::gen::arbitrary<std::uint32_t>());
  const auto below = [&](std::int64_t n) { return static_cast<std::int64_t>(random()) % n; };
  std::vector<Sample> readings;
  std::int64_t time = start + below(length + 4 * kNanosPerSecond) - 2 * kNanosPerSecond;
  for (int i = 0; i < most && time < start + length + 3 * kNanosPerSecond; ++i) {
    Sample s;
    s.device = device;
    s.time = Instant::FromNanos(time);
    s.Set(Signal::kPower, 200'000);
    if (i >= without_counter) s.Set(Signal::kUtilization, below(101) * kPercent);
    readings.push_back(s);
    time += period + below(period / 10) + (below(40) == 0 ? below(5 * kNanosPerSecond) : 0);
  }
  return readings;
}

// A run that was started and waited for lasts from its start to its end on each of its GPUs, whatever was read, and to
// the nanosecond; and an audit of what was recorded, which knows the end from the beginning, says the same.
TEST(RunClassifierTest, ARunOfKnownEndsIsAccountedForFromEndToEnd) {
  const Thresholds thresholds;
  test::ExpectProperty([&] {
    const auto gpus = *rc::gen::inRange<std::uint32_t>(1, 4);
    const std::int64_t start = 1'700'000'000 * kNanosPerSecond + *rc::gen::inRange<std::int64_t>(0, kNanosPerSecond);
    const std::int64_t length = *rc::gen::element<std::int64_t>(1, 400, 3000, 20'000) * 1'000'000 +
                                *rc::gen::inRange<std::int64_t>(0, kNanosPerSecond);
    DeviceTable devices;
    std::vector<Sample> rows;
    for (std::uint32_t gpu = 0; gpu < gpus; ++gpu) {
      DeviceKey key;
      key.index = static_cast<int>(gpu);
      const std::vector<Sample> readings = ReadingsAround(devices.Enter(key), start, length);
      rows.insert(rows.end(), readings.begin(), readings.end());
    }
    std::stable_sort(rows.begin(), rows.end(), [](const Sample& a, const Sample& b) { return a.time < b.time; });
    const RunWindow whole{Instant::FromNanos(start), Instant::FromNanos(start + length)};
    RunWindow growing{whole.start, {}};
    DataQuality doubts;
    RunClassifier live(thresholds, devices, doubts, NoFacts, &growing);
    RunClassifier audit(thresholds, devices, doubts, NoFacts, &whole);
    for (const Sample& row : rows) {
      if (row.time > *whole.end) growing.end = whole.end;
      live.OnSamples(std::span(&row, 1));
      audit.OnSamples(std::span(&row, 1));
    }
    growing.end = whole.end;
    const RunResult run = live.Finish();
    const RunResult again = audit.Finish();
    RC_ASSERT(run.devices.size() == gpus);
    RC_ASSERT(again.devices.size() == gpus);
    for (std::size_t i = 0; i < gpus; ++i) {
      RC_ASSERT(run.devices[i].first == *whole.start);
      RC_ASSERT(run.devices[i].last == *whole.end);
      RC_ASSERT(run.devices[i].WindowNs() == length);
      RC_ASSERT(again.devices[i].totals == run.devices[i].totals);
    }
  });
}

// One reading a second, which holds until the next: what comes before the first and after the last is unobserved, and
// so is all of a GPU that nobody read.
TEST(RunClassifierTest, WhatNoReadingCoversIsUnobserved) {
  DeviceTable devices;
  for (int gpu = 0; gpu < 2; ++gpu) {
    DeviceKey key;
    key.index = gpu;
    devices.Enter(key);
  }
  const Thresholds thresholds;
  DataQuality quality;
  const RunWindow window{At(0).time + Nanos(-700'000'000), At(29).time};
  RunClassifier classifier(thresholds, devices, quality, NoFacts, &window);
  for (const int tick : {0, 10, 20, 30}) {  // the last, 0.1 s after the end, tells of what was before
    const Sample sample = At(tick);
    classifier.OnSamples(std::span(&sample, 1));
  }
  const RunResult run = classifier.Finish();
  ASSERT_EQ(run.devices.size(), 2U);
  EXPECT_EQ(run.devices[0].totals.ObservedNs(), 2'900'000'000);
  EXPECT_EQ(run.devices[0].totals.UnobservedNs(), 700'000'000);
  EXPECT_EQ(run.devices[1].totals.ObservedNs(), 0);
  EXPECT_EQ(run.devices[1].totals.unobserved_ns[static_cast<std::size_t>(Unobserved::kGap)], 3'600'000'000);
}

// Ten minutes, every 15 s, of a GPU whose graphics engine reads exactly 0, and nothing else does.
RunResult EngineAtZero(std::int64_t watts, std::optional<std::int64_t> limit, RunClassifier::FactsByName facts) {
  DeviceTable devices;
  DeviceKey key;
  key.index = 0;
  devices.Enter(key);
  const Thresholds thresholds;
  DataQuality quality;
  RunClassifier classifier(thresholds, devices, quality, facts);
  for (std::int64_t second = 0; second <= 600; second += 15) {
    Sample s;
    s.time = Instant::FromNanos((1'772'445'600 + second) * kNanosPerSecond);
    s.Set(Signal::kGrEngineActive, 0);
    s.Set(Signal::kPower, watts * 1000);
    if (limit) s.Set(Signal::kPowerLimit, *limit * 1000);
    classifier.OnSamples({&s, 1});
  }
  return classifier.Finish();
}
BoardFacts Of700Watts(std::string_view /*gpu_name*/) { return {700'000, std::nullopt}; }

// No board of this size idles at more than 35 % of its limit, so the counter is broken and the time is not waste.
TEST(RunClassifierTest, AnEngineStuckAtZeroIsNotIdleWhileTheBoardWorks) {
  const auto invalid = [](const RunResult& run) {
    return run.devices.at(0).totals.unobserved_ns[static_cast<std::size_t>(Unobserved::kInvalidCounter)];
  };
  for (const RunResult& run : {EngineAtZero(400, 700, NoFacts), EngineAtZero(400, {}, Of700Watts)}) {
    EXPECT_EQ(invalid(run), 600 * kNanosPerSecond);
    EXPECT_EQ(run.devices[0].totals.ObservedNs(), 0);
    EXPECT_TRUE(run.devices[0].totals.profiling_stuck);
    // Nor does any part of the picture over time call it idle, or what it drew the draw of an idle board.
    for (const TimelineBucket& bucket : run.devices[0].totals.timeline.buckets) EXPECT_EQ(bucket.phase_ns[0], 0);
    EXPECT_FALSE(run.devices[0].spin.idle_mw);
  }
  for (const RunResult& run : {EngineAtZero(245, 700, NoFacts), EngineAtZero(400, {}, NoFacts)}) {
    EXPECT_EQ(invalid(run), 0);
    EXPECT_EQ(run.devices[0].totals.phase_ns[0], 600 * kNanosPerSecond) << "idle, for all that is known";
  }
}

// A board cut into `cut` slices each, read every minute, the k-th instance k seconds later and the board's power last.
// Of the twenty minutes the board draws `watts` in all but the last two. `busy`: an instance that works all the time.
std::vector<double> IdleMinutesOfInstances(const std::vector<int>& cut, std::int64_t watts, int busy) {
  DeviceTable devices;
  std::vector<DeviceId> ids;
  for (std::size_t i = 0; i < cut.size(); ++i) {
    DeviceKey key;
    key.uuid = "GPU-5f3a0000-4d1c-11ee-9a6b-a1b2c3d40000";
    key.mig = MigInstance{std::to_string(i), std::to_string(cut[i]) + "g.10gb", cut[i]};
    ids.push_back(devices.Enter(key));
  }
  const Thresholds thresholds;
  DataQuality quality;
  RunClassifier classifier(thresholds, devices, quality, Of700Watts);
  for (std::int64_t minute = 0; minute <= 20; ++minute) {
    std::int64_t second = 1'772'445'600 + minute * 60;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      Sample s;
      s.device = ids[i];
      s.time = Instant::FromNanos(second++ * kNanosPerSecond);
      s.Set(Signal::kGrEngineActive, static_cast<int>(i) == busy ? 95 * kPercent : 0);
      classifier.OnSamples({&s, 1});
    }
    Sample s;
    s.device = *devices[ids[0]].board;
    s.time = Instant::FromNanos(second * kNanosPerSecond);
    s.Set(Signal::kPower, minute < 18 ? watts * 1000 : 80'000);
    classifier.OnSamples({&s, 1});
  }
  std::vector<double> idle;
  for (const DeviceResult& d : classifier.Finish().devices) {
    if (devices[d.device].mig) idle.push_back(static_cast<double>(d.totals.phase_ns[0]) / 60e9);
  }
  return idle;
}

TEST(RunClassifierTest, InstancesThatAllReadZeroOnABoardThatWorksAreNotIdle) {
  for (const double minutes : IdleMinutesOfInstances({1, 1, 1, 1, 1, 1, 1}, 500, -1)) {
    EXPECT_GE(minutes, 2) << "since the reading that tells that the board rests";
    EXPECT_LE(minutes, 3) << "and before the first that tells that it works";
  }
  // What draws is known: an instance that works, an idle board, or slices that are not read.
  const std::vector<double> one_works = IdleMinutesOfInstances({1, 1, 1, 1, 1, 1, 1}, 500, 6);
  for (std::size_t i = 0; i < 6; ++i) EXPECT_DOUBLE_EQ(one_works[i], 20);
  for (const double minutes : IdleMinutesOfInstances({3, 3}, 90, -1)) EXPECT_DOUBLE_EQ(minutes, 20);
  for (const double minutes : IdleMinutesOfInstances({1, 2}, 500, -1)) EXPECT_DOUBLE_EQ(minutes, 20);
}

// A log of power alone, and later one of the counter too, as fast or not: what was before is unobserved, and what
// comes is read as if it were alone.
TEST(RunClassifierTest, ACounterThatBeginsLateIsRead) {
  const Thresholds thresholds;
  for (const std::int64_t before_ms : {1000, 100}) {
    for (const std::int64_t period_ms : {1000, 100, 5000}) {
      DeviceTable devices;
      DeviceKey key;
      key.index = 0;
      devices.Enter(key);
      DataQuality quality;
      RunClassifier joined(thresholds, devices, quality, NoFacts);
      RunClassifier alone(thresholds, devices, quality, NoFacts);
      std::int64_t ms = 1'700'000'000'000;
      const auto next = [&](std::int64_t step) {
        Sample s;
        s.time = Instant::FromNanos(ms * 1'000'000);
        s.Set(Signal::kPower, 200'000);
        ms += step;
        return s;
      };
      for (int i = 0; i < 150; ++i) {
        const Sample s = next(before_ms);
        joined.OnSamples(std::span(&s, 1));
      }
      for (int i = 0; i < 300; ++i) {
        Sample s = next(period_ms);
        s.Set(Signal::kUtilization, i / 20 % 3 * 40 * kPercent);
        joined.OnSamples(std::span(&s, 1));
        alone.OnSamples(std::span(&s, 1));
        if (i != 50) continue;
        EXPECT_EQ(joined.SoFar().devices[0].totals.phase_ns, alone.SoFar().devices[0].totals.phase_ns);
      }
      const RunResult run = joined.Finish();
      const RunResult twin = alone.Finish();
      const DeviceResult& got = run.devices[0];
      const std::string which = std::to_string(before_ms) + " ms, then " + std::to_string(period_ms);
      EXPECT_EQ(got.totals.phase_ns, twin.devices[0].totals.phase_ns) << which;
      EXPECT_EQ(got.totals.ticks, twin.devices[0].totals.ticks) << which;
      EXPECT_EQ(got.period, twin.devices[0].period) << which;
      EXPECT_EQ(got.totals.UnobservedNs(), 150 * before_ms * 1'000'000) << which;
      EXPECT_EQ(got.WindowNs(), (got.last - got.first).count()) << which;
      EXPECT_EQ(got.totals.power.ns, got.WindowNs()) << which;
    }
  }
}

// Utilization and power of one GPU, each at its own pace, in order of time: the period is the counter's, however many
// readings of power come between two of it, and whether they come in rows of their own.
TEST(RunClassifierTest, ADenserSignalDoesNotHideThePeriodOfTheCounter) {
  struct Paces {
    std::int64_t utilization_ms;
    std::int64_t power_ms;
    std::int64_t length_s;
  };
  for (const Paces& paces : {Paces{15'000, 100, 900}, Paces{60'000, 500, 3600}, Paces{60'000, 1000, 3600},
                             Paces{1000, 100, 600}, Paces{30'000, 50, 900}}) {
    DeviceTable devices;
    DeviceKey key;
    key.index = 0;
    devices.Enter(key);
    const Thresholds thresholds;
    DataQuality quality;
    RunClassifier classifier(thresholds, devices, quality, NoFacts);
    for (std::int64_t ms = 0; ms <= paces.length_s * 1000; ms += paces.power_ms) {
      Sample s;
      s.time = Instant::FromNanos((1'772'445'600'000 + ms) * 1'000'000);
      s.Set(Signal::kPower, 300'000);
      classifier.OnSamples({&s, 1});
      if (ms % paces.utilization_ms != 0) continue;
      Sample u;
      u.time = s.time;
      u.Set(Signal::kUtilization, 50 * kPercent);
      classifier.OnSamples({&u, 1});
    }
    const RunResult run = classifier.Finish();
    const DeviceResult& got = run.devices.at(0);
    EXPECT_EQ(got.period, Nanos(paces.utilization_ms * 1'000'000));
    EXPECT_EQ(got.totals.phase_ns[1], paces.length_s * kNanosPerSecond) << paces.utilization_ms;
    EXPECT_EQ(got.totals.power.ns, paces.length_s * kNanosPerSecond) << paces.power_ms;
  }
}

// A counter that never comes again is not waited for with the memory of a whole fleet.
TEST(CadenceTest, ManyDevicesHoldNoMoreThanFew) {
  for (const std::size_t devices : {1U, 8U, 32U, 500U, 20'000U}) {
    FirstSamples first;
    std::size_t held = 0;
    for (Sample s; !first.Tell(FirstSamples::MostOf(devices)); ++held) {
      s.time = s.time + Nanos(kNanosPerSecond);
      s.present = 0;
      s.Set(held == 0 ? Signal::kUtilization : Signal::kPower, 0);
      first.Add(s);
    }
    EXPECT_GE(held, kIntervals + 1);
    EXPECT_LE(devices * held, std::max(8 * FirstSamples::kMost, devices * (kIntervals + 1)));
  }
}

// Rows of one time say nothing of the period: of a log whose stamps are whole seconds, 102 rows span 26 s.
TEST(CadenceTest, RowsOfOneTimeAreNoIntervals) {
  FirstSamples first;
  std::int64_t rows = 0;
  for (; !first.Tell(); ++rows) {
    Sample s;
    s.time = Instant::FromNanos((1'772'445'600 + rows / 4) * kNanosPerSecond);
    s.Set(Signal::kUtilization, 50 * kPercent);
    first.Add(s);
  }
  EXPECT_EQ(rows, 4 * 101 + 1);
  // A second signal alone tells nothing of a counter that was named once, up to what is held.
  FirstSamples power;
  for (rows = 0; !power.Tell(); ++rows) {
    Sample s;
    s.time = Instant::FromNanos((1'772'445'600 + rows) * kNanosPerSecond);
    if (rows == 0) s.Set(Signal::kUtilization, 50 * kPercent);
    s.Set(Signal::kPower, 300'000);
    power.Add(s);
  }
  EXPECT_EQ(rows, static_cast<std::int64_t>(FirstSamples::kMost));
}

// Power, memory and the rest last 2.5 of their own periods, whatever the counter's is: a hole of a minute is no energy,
// and what is read every 20 s or every minute covers all of the time.
TEST(RunClassifierTest, ASignalIsHeldByItsOwnPeriod) {
  struct Case {
    std::int64_t utilization_ms, own_ms, hole_from_s, hole_to_s, read_ms;
  };
  for (const Case& c : {Case{1000, 1000, 100, 160, 542'500}, Case{100, 20'000, 0, 0, 600'000},
                        Case{1000, 60'000, 0, 0, 600'000}, Case{15'000, 1000, 100, 160, 542'500}}) {
    DeviceTable devices;
    DeviceKey key;
    key.index = 0;
    devices.Enter(key);
    const Thresholds thresholds;
    DataQuality quality;
    RunClassifier classifier(thresholds, devices, quality, NoFacts);
    const std::int64_t step = std::min(c.utilization_ms, c.own_ms);
    for (std::int64_t ms = 0; ms <= 600'000; ms += step) {
      Sample s;
      s.time = Instant::FromNanos((1'772'445'600'000 + ms) * 1'000'000);
      const bool in_hole = ms > c.hole_from_s * 1000 && ms < c.hole_to_s * 1000;
      if (ms % c.utilization_ms == 0 && ms < 600'000) s.Set(Signal::kUtilization, 0);
      if (ms % c.own_ms == 0 && !in_hole) s.Set(Signal::kPower, 100'000);
      if (ms == 600'000 && c.utilization_ms >= 1000) s.Set(Signal::kUtilization, 0);
      if (s.present != 0 && (ms < 600'000 || c.utilization_ms >= 1000)) classifier.OnSamples({&s, 1});
    }
    const DeviceResult got = classifier.Finish().devices.at(0);
    EXPECT_EQ(got.WindowNs(), 600 * kNanosPerSecond);
    EXPECT_EQ(got.totals.power.ns, c.read_ms * 1'000'000) << c.utilization_ms << ' ' << c.own_ms;
  }
}

// Ten rows a second of a gauge that is refreshed once a second: so many readings there are, also where it begins to
// move only after a minute. Where it never moves nothing says how often it is refreshed.
TEST(RunClassifierTest, APolledGaugeIsCountedAsOftenAsItIsRefreshed) {
  for (const std::int64_t quiet_s : {0, 60, 600}) {
    DeviceTable devices;
    DeviceKey key;
    key.index = 0;
    devices.Enter(key);
    const Thresholds thresholds;
    DataQuality quality;
    RunClassifier classifier(thresholds, devices, quality, NoFacts);
    for (std::int64_t row = 0; row < 6000; ++row) {
      Sample s;
      s.time = Instant::FromNanos(1'772'445'600 * kNanosPerSecond + row * 100'000'000);
      const std::int64_t second = row / 10;
      s.Set(Signal::kUtilization, second < quiet_s ? kFull : second * 37 % 101 * kPercent);
      classifier.OnSamples({&s, 1});
    }
    const DeviceResult got = classifier.Finish().devices.at(0);
    const std::int64_t readings = got.totals.ticks[0] + got.totals.ticks[1] + got.totals.ticks[2] + got.totals.ticks[3];
    EXPECT_NEAR(static_cast<double>(readings), 600, 2) << quiet_s;
    EXPECT_EQ(got.tick_window, quiet_s == 600 ? std::nullopt : std::optional(Nanos(kNanosPerSecond))) << quiet_s;
  }
}

// The dynamic share of power is compared in milliwatts where idle power and limit are given: at 70 W of 700 W 15 % are
// 94.5 W more.
TEST(RunClassifierTest, SpinWaitByPowerIsExactWhereIdlePowerIsGiven) {
  Thresholds thresholds;
  thresholds.idle_power = 70'000;
  for (const auto& [milliwatts, seconds] : std::vector<std::pair<std::int64_t, std::int64_t>>{
           {163'900, 600}, {164'200, 600}, {164'499, 600}, {164'500, 0}, {164'999, 0}, {165'000, 0}}) {
    DeviceTable devices;
    DeviceKey key;
    key.index = 0;
    devices.Enter(key);
    DataQuality quality;
    RunClassifier classifier(thresholds, devices, quality, Of700Watts);
    for (std::int64_t second = 0; second <= 600; ++second) {
      Sample s;
      s.time = Instant::FromNanos((1'772'445'600 + second) * kNanosPerSecond);
      s.Set(Signal::kUtilization, kFull);
      s.Set(Signal::kPower, milliwatts);
      classifier.OnSamples({&s, 1});
    }
    EXPECT_EQ(classifier.Finish().devices.at(0).spin.time.ns, seconds * kNanosPerSecond) << milliwatts;
  }
}

// A sweep of several GPUs again and again, mostly regular: now and then the pace changes, a clock is set back, a row
// comes twice, late or not at all, or a reading is missing.
std::vector<Sample> RandomSweeps(std::uint32_t gpus) {
  std::int64_t period = *rc::gen::element<std::int64_t>(50, 100, 107, 250, 1000, 5000) * 1'000'000;
  const int sweeps = *rc::gen::inRange(1, 700);
  const auto jitter = *rc::gen::element<std::uint32_t>(0, 3'000'000);  // none: stamps at the very edges of seconds
  const int trouble = *rc::gen::element(0, 20, 500);                   // of 10,000 rows
  const bool changes = *rc::gen::arbitrary<bool>();                    // of the pace
  std::mt19937 random(*rc::gen::arbitrary<std::uint32_t>());
  const auto below = [&](std::uint32_t n) { return static_cast<std::int64_t>(random() % n); };
  const auto often = [&](int of_10000) { return below(10'000) < of_10000; };
  std::vector<Sample> rows;
  std::int64_t time = 1'700'000'000 * kNanosPerSecond;
  std::int64_t level = 0;
  for (int sweep = 0; sweep < sweeps; ++sweep) {
    if (changes && often(50)) period = std::array<std::int64_t, 3>{100, 1000, 5000}[random() % 3] * 1'000'000;
    time += period + (jitter > 0 ? below(jitter) : 0);
    if (often(trouble)) time += below(100) * kNanosPerSecond;
    if (often(trouble)) time -= below(20) * kNanosPerSecond;
    if (often(300)) level = below(101);
    for (std::uint32_t gpu = 0; gpu < gpus; ++gpu) {
      Sample s;
      s.device = gpu;
      s.time = Instant::FromNanos(time + (often(trouble) ? -period / 2 : 0));
      s.Set(Signal::kUtilization, std::clamp<std::int64_t>(level + below(3) - gpu, 0, 100) * kPercent);
      s.Set(Signal::kPower, 60'000 + level * 3000 + below(900));
      s.Set(Signal::kMemoryUsed, below(1000) << 20);
      if (often(trouble)) s.SetUnavailable(Signal::kSmClock, Unobserved::kSentinel);
      if (often(trouble)) s.Set(Signal::kEventReasons, 4);
      if (often(trouble)) s.Set(Signal::kEnergy, time / 1'000'000);
      if (often(trouble)) continue;
      rows.push_back(s);
      if (often(trouble)) rows.push_back(s);
    }
  }
  return rows;
}

// Pushes rows as columns wherever they can be, up to a random number of them at a time.
void PushColumns(const std::vector<Sample>& rows, SampleSink& sink) {
  for (std::size_t from = 0; from < rows.size();) {
    const Sample& first = rows[from];
    const auto most = *rc::gen::element<std::size_t>(1, 30, 2048);
    std::vector<Instant> times;
    std::vector<DeviceId> devices;
    std::array<std::vector<std::int64_t>, kSignalCount> values;
    std::size_t to = from;
    for (; to < rows.size() && to - from < most; ++to) {
      const Sample& s = rows[to];
      if (s.present != first.present || s.unavailable != 0) break;
      times.push_back(s.time);
      devices.push_back(s.device);
      for (std::size_t i = 0; i < kSignalCount; ++i) {
        if (s.Has(static_cast<Signal>(i))) values[i].push_back(s.value[i]);
      }
    }
    SampleColumns columns{to - from, times.data(), devices.data(), first.present, {}};
    for (std::size_t i = 0; i < kSignalCount; ++i) columns.values[i] = values[i].data();
    if (to > from) sink.OnColumns(columns);
    if (to == from) sink.OnSamples(std::span(&rows[to++], 1));
    from = to;
  }
}

TEST(RunClassifierTest, ColumnsSayWhatTheirRowsSay) {
  test::ExpectProperty([] {
    Thresholds thresholds;
    if (*rc::gen::inRange(0, 4) == 0) thresholds.period = Nanos(100'000'000);  // no pace is followed
    const auto gpus = *rc::gen::inRange<std::uint32_t>(1, 9);
    DeviceTable devices;
    for (std::uint32_t gpu = 0; gpu < gpus; ++gpu) {
      DeviceKey key;
      key.index = static_cast<int>(gpu);
      devices.Enter(key);
    }
    const std::vector<Sample> rows = RandomSweeps(gpus);
    DataQuality doubts;
    RunClassifier by_row(thresholds, devices, doubts, NoFacts);
    by_row.OnSamples(rows);
    RunClassifier by_column(thresholds, devices, doubts, NoFacts);
    PushColumns(rows, by_column);
    const RunResult want = by_row.Finish();
    const RunResult got = by_column.Finish();
    RC_ASSERT(got.devices.size() == want.devices.size());
    for (std::size_t i = 0; i < want.devices.size(); ++i) {
      RC_ASSERT(got.devices[i].totals == want.devices[i].totals);
      RC_ASSERT(got.devices[i].first == want.devices[i].first);
      RC_ASSERT(got.devices[i].last == want.devices[i].last);
      RC_ASSERT(got.devices[i].periods == want.devices[i].periods);
    }
  });
}

}  // namespace

}  // namespace idleburn
