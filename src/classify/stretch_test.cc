#include "classify/stretch.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>

#include "classify/run_classifier.h"
#include "support/property.h"

namespace idleburn {
namespace {

constexpr std::int64_t kSecond = kNanosPerSecond;
constexpr std::int64_t kStart = 1'750'000'000 * kSecond;
BoardFacts NoFacts(std::string_view /*gpu_name*/) { return {}; }

Sample Row(DeviceId device, std::int64_t second, std::int64_t percent) {
  Sample s;
  s.device = device;
  s.time = Instant::FromNanos(kStart + second * kSecond);
  s.Set(Signal::kUtilization, percent * kPercent);
  return s;
}

// Rows of a device every `step` seconds in [from, to].
void Log(DeviceId device, std::int64_t from, std::int64_t to, std::int64_t step, std::vector<Sample>* rows) {
  for (std::int64_t at = from; at <= to; at += step) rows->push_back(Row(device, at, at / step % 2 == 0 ? 95 : 5));
}

DeviceTable Boards(std::size_t count) {
  DeviceTable devices;
  for (std::size_t i = 0; i < count; ++i) {
    DeviceKey key;
    key.uuid = "GPU-1000000" + std::to_string(i) + "-0000-0000-0000-000000000000";
    key.index = static_cast<int>(i);
    devices.Enter(key);
  }
  return devices;
}

void InOrder(std::vector<Sample>* rows) {
  std::stable_sort(rows->begin(), rows->end(), [](const Sample& a, const Sample& b) { return a.time < b.time; });
}

RunResult Classified(const std::vector<Sample>& rows, const DeviceTable& devices, const Thresholds& thresholds = {},
                     const RunWindow* window = nullptr) {
  DataQuality quality;
  RunClassifier classifier(thresholds, devices, quality, NoFacts, window);
  for (const Sample& row : rows) classifier.OnSamples({&row, 1});
  return classifier.Finish();
}

std::int64_t Gap(const DeviceResult& device) {
  return device.totals.unobserved_ns[static_cast<std::size_t>(Unobserved::kGap)];
}

RunTime SumOfRuns(const DeviceResult& device) {
  RunTime sum;
  for (const DeviceResult::InRun& run : device.runs) sum.Merge(run.time);
  return sum;
}

// Five logs of half an hour in one week are five runs, and no time between them counts.
TEST(RunsTest, ShortLogsOfOneWeekAreRunsOfTheirOwn) {
  const DeviceTable devices = Boards(1);
  std::vector<Sample> rows;
  for (std::int64_t day = 0; day < 5; ++day) Log(0, day * 86'400, day * 86'400 + 1'800, 15, &rows);
  const RunResult run = Classified(rows, devices);
  ASSERT_EQ(run.runs.size(), 5U);
  ASSERT_EQ(run.devices.size(), 1U);
  EXPECT_EQ(run.devices[0].WindowNs(), 5 * 1'800 * kSecond);
  EXPECT_EQ(run.devices[0].totals.UnobservedNs(), 0);
  EXPECT_EQ(run.runs[1].start, Instant::FromNanos(kStart + 86'400 * kSecond));
  EXPECT_EQ(run.runs[1].end, Instant::FromNanos(kStart + 88'200 * kSecond));
  EXPECT_EQ(run.RecordedNs(run.start, run.end), 5 * 1'800 * kSecond);
}

// What a log of several runs says is what each run says by itself, added up: for any number of devices and runs, fast
// and slow, and in whatever order the devices stand in the file.
TEST(RunsTest, ALogSaysWhatItsRunsSayByThemselves) {
  test::ExpectProperty([] {
    Thresholds thresholds;
    const std::int64_t period_ms = *rc::gen::element(100, 500, 1'000, 15'000, 60'000);
    thresholds.period = Nanos(period_ms * 1'000'000);
    const auto gpus = *rc::gen::inRange<DeviceId>(1, 4);
    const auto count = *rc::gen::inRange<std::size_t>(1, 5);
    const DeviceTable devices = Boards(gpus);
    const std::int64_t least = std::max<std::int64_t>(3'600'000, 100 * period_ms);
    std::vector<std::vector<Sample>> runs(count);
    std::int64_t at_ms = 0;
    for (std::vector<Sample>& run : runs) {
      const auto ticks = *rc::gen::inRange<std::int64_t>(1, 60);
      for (std::int64_t tick = 0; tick < ticks; ++tick) {
        for (DeviceId id = 0; id < gpus; ++id) {
          Sample s = Row(id, 0, *rc::gen::inRange(0, 101));
          s.time = Instant::FromNanos(kStart + (at_ms + tick * period_ms) * 1'000'000);
          s.Set(Signal::kPower, 100'000 + 1'000 * *rc::gen::inRange(0, 300));
          s.Set(Signal::kEnergy, s.time.nanos() / 5'000'000);
          run.push_back(s);
        }
      }
      at_ms += ticks * period_ms + least + *rc::gen::inRange<std::int64_t>(1'000, 90'000'000);
    }
    std::vector<Sample> all;
    for (const std::vector<Sample>& run : runs) all.insert(all.end(), run.begin(), run.end());
    if (*rc::gen::arbitrary<bool>()) {
      std::stable_sort(all.begin(), all.end(), [](const Sample& a, const Sample& b) { return a.device < b.device; });
    }
    const RunResult whole = Classified(all, devices, thresholds);
    RC_ASSERT(whole.runs.size() == count);
    for (DeviceId id = 0; id < gpus; ++id) {
      RunTime time;
      Integral power;
      std::array<SignalRange, kMeasured.size()> range;
      Int128 energy_mj = 0;
      std::int64_t energy_ns = 0;
      for (std::size_t i = 0; i < count; ++i) {
        const RunResult alone = Classified(runs[i], devices, thresholds);
        RC_ASSERT(whole.runs[i] == alone.runs[0]);
        RC_ASSERT(whole.devices[id].runs[i].time == RunTime::Of(alone.devices[id].totals));
        const DeviceTotals& own = alone.devices[id].totals;
        time.Merge(RunTime::Of(own));
        power.Merge(own.power);
        for (std::size_t s = 0; s < range.size(); ++s) range[s].Merge(own.range[s]);
        energy_mj += own.energy_mj;
        energy_ns += own.energy_ns;
      }
      const DeviceTotals& totals = whole.devices[id].totals;
      RC_ASSERT(RunTime::Of(totals) == time);
      RC_ASSERT(totals.power == power);
      RC_ASSERT(totals.range == range);
      RC_ASSERT(totals.energy_mj == energy_mj);
      RC_ASSERT(totals.energy_ns == energy_ns);
      RC_ASSERT(SumOfRuns(whole.devices[id]) == time);
    }
  });
}

// A hole of one GPU while another reports is a gap: its last reading holds for 2.5 periods, the rest is unobserved.
TEST(RunsTest, AHoleOfOneGpuWhileAnotherReportsIsAGap) {
  const DeviceTable devices = Boards(2);
  std::vector<Sample> rows;
  Log(0, 0, 6 * 3'600, 10, &rows);
  Log(1, 0, 3'600, 10, &rows);
  Log(1, 4 * 3'600, 6 * 3'600, 10, &rows);
  for (Sample& s : rows) s.Set(Signal::kEnergy, (s.time.nanos() - kStart) / 5'000);  // 200 W in mJ
  for (const bool in_order : {true, false}) {
    if (in_order) InOrder(&rows);
    const RunResult run = Classified(rows, devices);
    ASSERT_EQ(run.runs.size(), 1U);
    EXPECT_EQ(run.devices[1].WindowNs(), 6 * 3'600 * kSecond);
    EXPECT_EQ(Gap(run.devices[1]), (3 * 3'600 - 25) * kSecond);
    EXPECT_EQ(Gap(run.devices[0]), 0);
    EXPECT_EQ(run.devices[1].totals.energy_ns, 6 * 3'600 * kSecond);  // the counter ran on
    EXPECT_EQ(SumOfRuns(run.devices[1]), RunTime::Of(run.devices[1].totals));
  }
}

// What a signal is held at in such a hole is in its mean and its spread, as where nothing says that a run may have
// ended; where it is the end of a run, it is in neither.
TEST(RunsTest, ASilenceWithinARunHoldsEverySignal) {
  const DeviceTable devices = Boards(2);
  std::vector<Sample> rows;
  Log(0, 0, 6 * 3'600, 10, &rows);
  Log(1, 0, 3'600, 10, &rows);
  Log(1, 4 * 3'600, 6 * 3'600, 10, &rows);
  for (Sample& s : rows) {
    for (const Signal signal : kMeasured) s.Set(signal, 1'000'000 * (1 + (s.time.nanos() / kSecond + 7) % 50));
  }
  InOrder(&rows);
  RunWindow window{Instant::FromNanos(kStart), Instant::FromNanos(kStart + 6 * 3'600 * kSecond)};
  const DeviceResult one = Classified(rows, devices, {}, &window).devices.at(1);
  const DeviceResult told = Classified(rows, devices).devices.at(1);
  EXPECT_EQ(told.totals.ObservedNs(), (3 * 3'600 + 25) * kSecond);
  for (const Signal signal : kMeasured) {
    const Integral& mean = told.totals.*kMeasuredMean[Slot(signal)];
    EXPECT_EQ(mean.ns, (3 * 3'600 + 25) * kSecond) << Info(signal).name;
    EXPECT_EQ(mean, one.totals.*kMeasuredMean[Slot(signal)]) << Info(signal).name;
    EXPECT_EQ(told.totals.RangeOf(signal), one.totals.RangeOf(signal)) << Info(signal).name;
    EXPECT_EQ(told.totals.RangeOf(signal).seconds.TotalNs(), mean.ns) << Info(signal).name;
  }
  std::erase_if(rows, [](const Sample& s) { return s.device == 0; });
  const DeviceResult alone = Classified(rows, devices).devices.at(0);
  ASSERT_EQ(alone.runs.size(), 2U);
  for (const Signal signal : kMeasured) {
    EXPECT_EQ((alone.totals.*kMeasuredMean[Slot(signal)]).ns, 3 * 3'600 * kSecond) << Info(signal).name;
    EXPECT_EQ(alone.totals.RangeOf(signal).seconds.TotalNs(), 3 * 3'600 * kSecond) << Info(signal).name;
  }
}

// Half a minute at 0 % is needed to know idle power, and a minute at little power to call busy time dim: not the ends
// of two runs together.
TEST(RunsTest, NothingLastsFromOneRunIntoTheNext) {
  const DeviceTable devices = Boards(1);
  for (const auto& [percent, seconds] : {std::pair(0, 25), std::pair(100, 50)}) {
    std::vector<Sample> rows;
    for (const std::int64_t from : {std::int64_t{0}, std::int64_t{7'200}}) {
      for (std::int64_t second = 0; second <= seconds; ++second) {
        rows.push_back(Row(0, from + second, percent));
        rows.back().Set(Signal::kPower, 60'000);
        rows.back().Set(Signal::kPowerLimit, 400'000);
      }
    }
    const RunResult run = Classified(rows, devices);
    ASSERT_EQ(run.runs.size(), 2U);
    const DeviceTotals& totals = run.devices[0].totals;
    EXPECT_EQ(totals.idle_power_held.TotalNs() + totals.idle_power_empty.TotalNs(), 0) << percent;
    EXPECT_EQ(totals.dim_by_power.TotalNs(), 0) << percent;
  }
}

// The energy that a counter shows between two runs is that of neither.
TEST(RunsTest, EnergyBetweenRunsIsNotCounted) {
  const DeviceTable devices = Boards(1);
  std::vector<Sample> rows;
  Log(0, 0, 1'800, 10, &rows);
  Log(0, 90'000, 91'800, 10, &rows);
  for (Sample& s : rows) s.Set(Signal::kEnergy, (s.time.nanos() - kStart) / 5'000);  // 200 W in mJ
  const RunResult run = Classified(rows, devices);
  ASSERT_EQ(run.runs.size(), 2U);
  EXPECT_EQ(run.devices[0].totals.energy_mj, 2 * 1'800 * 200'000);
  EXPECT_EQ(run.devices[0].totals.energy_ns, 2 * 1'800 * kSecond);
}

// One reading an hour: 100 hours of silence are a gap, more end the run.
TEST(RunsTest, ALogOfOneReadingAnHourIsNotCut) {
  const DeviceTable devices = Boards(1);
  for (const std::int64_t hole : {100, 101}) {
    std::vector<Sample> rows;
    Log(0, 0, 48 * 3'600, 3'600, &rows);
    Log(0, (48 + hole) * 3'600, (60 + hole) * 3'600, 3'600, &rows);
    const RunResult run = Classified(rows, devices);
    EXPECT_EQ(run.runs.size(), hole == 100 ? 1U : 2U);
    EXPECT_EQ(run.devices[0].WindowNs(), (hole == 100 ? 160 : 60) * 3'600 * kSecond);
  }
}

// An hour of silence is a gap even of a log of ten readings a second; a second more ends the run.
TEST(RunsTest, AnHourOfSilenceIsTheLeast) {
  const DeviceTable devices = Boards(1);
  for (const std::int64_t more : {0, 1}) {
    std::vector<Sample> rows;
    Log(0, 0, 600, 1, &rows);
    Log(0, 600 + 3'600 + more, 5'000, 1, &rows);
    EXPECT_EQ(Classified(rows, devices).runs.size(), more == 0 ? 1U : 2U);
  }
}

TEST(RunsTest, AHoldLongerThanAnHourIsNoSilence) {
  const DeviceTable devices = Boards(1);
  std::vector<Sample> rows;
  Log(0, 0, 600, 10, &rows);
  Log(0, 8'000, 8'600, 10, &rows);
  Thresholds thresholds;
  thresholds.max_gap = Nanos(7'400 * kSecond);
  EXPECT_EQ(Classified(rows, devices, thresholds).runs.size(), 1U);
  thresholds.max_gap = Nanos(7'399 * kSecond);
  EXPECT_EQ(Classified(rows, devices, thresholds).runs.size(), 2U);
}

// A board that was replaced midway: each is billed from its first row to its last.
TEST(RunsTest, AReplacedBoardIsOneBoardsWorth) {
  const DeviceTable devices = Boards(2);
  std::vector<Sample> rows;
  Log(0, 0, 4 * 3'600, 10, &rows);
  Log(1, 4 * 3'600 + 600, 8 * 3'600, 10, &rows);
  const RunResult run = Classified(rows, devices);
  ASSERT_EQ(run.runs.size(), 1U);
  EXPECT_EQ(run.devices[0].WindowNs(), 4 * 3'600 * kSecond);
  EXPECT_EQ(run.devices[1].WindowNs(), (4 * 3'600 - 600) * kSecond);
}

// Rows that say that there is no value are rows: their time is unobserved, and billed, however long it lasts.
TEST(RunsTest, AGpuThatSaysItIsLostIsBilled) {
  const DeviceTable devices = Boards(1);
  std::vector<Sample> rows;
  Log(0, 0, 3'600, 10, &rows);
  for (std::int64_t at = 3'610; at <= 5 * 3'600; at += 10) {
    Sample s;
    s.time = Instant::FromNanos(kStart + at * kSecond);
    s.SetUnavailable(Signal::kUtilization, Unobserved::kSentinel);
    rows.push_back(s);
  }
  const RunResult run = Classified(rows, devices);
  ASSERT_EQ(run.runs.size(), 1U);
  EXPECT_EQ(run.devices[0].WindowNs(), 5 * 3'600 * kSecond);
  EXPECT_EQ(run.devices[0].totals.UnobservedNs(), (4 * 3'600 - 10) * kSecond);
}

// What was rented: gaps are billed, and so is what lies before the first row and after the last.
TEST(RunsTest, AWindowThatIsNamedIsBilledFromEndToEnd) {
  const DeviceTable devices = Boards(2);
  std::vector<Sample> rows;
  Log(0, 1'000, 2'000, 10, &rows);
  Log(0, 80'000, 81'000, 10, &rows);
  RunWindow window{Instant::FromNanos(kStart), Instant::FromNanos(kStart + 86'400 * kSecond)};
  window.named = true;
  const RunResult run = Classified(rows, devices, {}, &window);
  ASSERT_EQ(run.runs.size(), 1U);
  ASSERT_EQ(run.devices.size(), 1U);  // the other board has no row in it
  EXPECT_EQ(run.devices[0].WindowNs(), 86'400 * kSecond);
  EXPECT_EQ(run.devices[0].totals.ObservedNs(), (1'000 + 25 + 1'000) * kSecond);
  EXPECT_EQ(SumOfRuns(run.devices[0]), RunTime::Of(run.devices[0].totals));
}

// Boards that take turns in one slot share a named window; boards of two slots have it each.
TEST(RunsTest, BoardsOfOneSlotShareANamedWindow) {
  for (const bool one_slot : {true, false}) {
    DeviceTable devices;
    for (const int i : {0, 1}) {
      DeviceKey key;
      key.uuid = "GPU-1000000" + std::to_string(i) + "-0000-0000-0000-000000000000";
      key.index = one_slot ? 0 : i;
      devices.Enter(key);
    }
    ASSERT_EQ(devices.size(), 2U);
    std::vector<Sample> rows;
    Log(0, 1'000, 10'000, 10, &rows);
    Log(1, 12'000, 20'000, 10, &rows);
    RunWindow window{Instant::FromNanos(kStart), Instant::FromNanos(kStart + 30'000 * kSecond)};
    window.named = true;
    const RunResult run = Classified(rows, devices, {}, &window);
    EXPECT_EQ(run.devices[0].WindowNs() + run.devices[1].WindowNs(), (one_slot ? 30'000 : 60'000) * kSecond);
  }
}

// A run that was started and waited for is one run, however long nothing was read of it.
TEST(RunsTest, ARunOfKnownStartIsOne) {
  const DeviceTable devices = Boards(1);
  std::vector<Sample> rows;
  Log(0, 10, 600, 10, &rows);
  Log(0, 20'000, 20'600, 10, &rows);
  const RunWindow window{Instant::FromNanos(kStart), Instant::FromNanos(kStart + 21'000 * kSecond)};
  const RunResult run = Classified(rows, devices, {}, &window);
  EXPECT_EQ(run.runs.size(), 1U);
  EXPECT_EQ(run.devices[0].WindowNs(), 21'000 * kSecond);
}

// A chain of devices of which each bridges the silence of another is one run.
TEST(RunsTest, ARunLastsWhileAnyGpuReports) {
  const DeviceTable devices = Boards(3);
  std::vector<Sample> rows;
  Log(0, 0, 7'200, 10, &rows);
  Log(1, 7'000, 20'000, 10, &rows);
  Log(2, 19'000, 40'000, 10, &rows);
  Log(0, 39'000, 41'000, 10, &rows);
  Log(0, 41'000 + 3'610, 46'000, 10, &rows);
  const RunResult run = Classified(rows, devices);
  ASSERT_EQ(run.runs.size(), 2U);
  EXPECT_EQ(run.runs[0].end, Instant::FromNanos(kStart + 41'000 * kSecond));
  EXPECT_EQ(Gap(run.devices[0]), (39'000 - 7'200 - 25) * kSecond);
  EXPECT_EQ(run.devices[1].WindowNs(), 13'000 * kSecond);
}

}  // namespace
}  // namespace idleburn
