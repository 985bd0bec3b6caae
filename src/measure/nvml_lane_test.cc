#include "measure/nvml_lane.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "measure/proc_files.h"
#include "places.h"
#include "support/property.h"
#include "support/stand_in.h"

namespace idleburn {
namespace {

using testing::StandInRun;

constexpr const char* kUuid0 = "GPU-5d0ca1e5-0000-4000-8000-000000001000";
constexpr const char* kUuid1 = "GPU-5d0ca1e5-0000-4000-8000-000000001001";

bool Mentions(const std::vector<std::string>& texts, const std::string& part) {
  return std::any_of(texts.begin(), texts.end(), [&](const auto& t) { return t.find(part) != std::string::npos; });
}

TEST(NvmlLane, EveryPublishedUtilizationIsReadOnceAndStandsWhereTheDriverStampedIt) {
  StandInRun run("gpu 0 window=250ms\nat 2s gpu 0 util=100\nat 5.1s gpu 0 util=37\n");
  run.RunUntil(10);
  run.Finish();
  const auto readings = run.log.Of(0, Signal::kUtilization);
  ASSERT_EQ(readings.size(), 40U);
  for (std::size_t i = 0; i < readings.size(); ++i) {
    const double end = 0.25 * static_cast<double>(i + 1);
    EXPECT_DOUBLE_EQ(run.Seconds(readings[i].first), end);
    // 5.1 s lies in the window that ends at 5.25 s: 0.1 s of 100 % and 0.15 s of 37 %, in whole percent.
    const double percent = end <= 2 ? 0 : end <= 5 ? 100 : end == 5.25 ? std::round(100 * 0.4 + 37 * 0.6) : 37;
    EXPECT_EQ(readings[i].second, static_cast<std::int64_t>(percent) * kPercent) << end;
  }
  EXPECT_TRUE(run.log.InOrder());
  EXPECT_EQ(run.devices[0].counter[Index(Signal::kUtilization)], "nvml.utilization.gpu");
  EXPECT_EQ(run.log.Fact(std::string("gpu.") + kUuid0 + ".window_ns"), "250000000");
  EXPECT_EQ(run.log.Fact("driver"), "580.95.05");
}

TEST(NvmlLane, ReadingsStampedWhenReadKeepTheirTimeAndValue) {
  StandInRun run("gpu 0 energy=1000 limit=650\nat 3s gpu 0 util=50 power=500 clock=1410 reasons=0x44\n");
  run.RunUntil(6);
  run.Finish();
  const auto power = run.log.Of(0, Signal::kPower);
  ASSERT_EQ(power.size(), 60U);
  for (std::size_t i = 0; i < power.size(); ++i) {
    EXPECT_NEAR(run.Seconds(power[i].first), 0.1 * static_cast<double>(i + 1), 1e-6);
    EXPECT_EQ(power[i].second, i + 1 < 30 ? 70'000 : 500'000);
  }
  // 1000 mJ at the start, 70 W for 3 s, 500 W for 3 s.
  EXPECT_EQ(run.log.Of(0, Signal::kEnergy).back().second, 1000 + 3 * 70'000 + 3 * 500'000);
  EXPECT_EQ(run.log.Of(0, Signal::kSmClock).back().second, 1'410'000);
  EXPECT_EQ(run.log.Of(0, Signal::kEventReasons).back().second, 0x44);
  EXPECT_EQ(run.log.Of(0, Signal::kPowerLimit).at(0).second, 650'000);
  EXPECT_EQ(run.log.Of(0, Signal::kPowerDefaultLimit).at(0).second, 700'000);
  EXPECT_EQ(run.log.Of(0, Signal::kMaxSmClock).at(0).second, 1'980'000);
  EXPECT_EQ(run.devices[0].counter[Index(Signal::kPower)], "nvml.power.instant");
  EXPECT_TRUE(run.log.InOrder());
}

TEST(NvmlLane, WhatNoGpuCanReportIsUnavailable) {
  StandInRun run(
      "gpu 0\nat 1s gpu 0 reasons=0x44\nat 2s gpu 0 reasons=0x180000044 power=200000\nat 3s gpu 0 reasons=4 "
      "power=90\n");
  run.RunUntil(4);
  run.Finish();
  for (const auto& [time, mask] : run.log.Of(0, Signal::kEventReasons)) EXPECT_LT(mask, 0x100);
  for (const auto& [time, milliwatts] : run.log.Of(0, Signal::kPower)) EXPECT_LT(milliwatts, 1'000'000);
  EXPECT_EQ(run.log.Lacking(0, Signal::kEventReasons).size(), 10U);
  EXPECT_EQ(run.log.Lacking(0, Signal::kPower).size(), 10U);
}

TEST(NvmlLane, SlowerPartsAreReadAtTheirOwnPace) {
  StandInRun run("gpu 0\nat 0s gpu 0 procs=11:10GiB,12:? temp=61\n");
  run.RunUntil(20);
  EXPECT_EQ(run.CallsOf("nvmlDeviceGetMemoryInfo_v2"), 20);
  EXPECT_EQ(run.CallsOf("nvmlDeviceGetEnforcedPowerLimit"), 1);
  EXPECT_EQ(run.CallsOf("nvmlDeviceGetTotalEnergyConsumption"), 200);
  EXPECT_EQ(run.CallsOf("nvmlDeviceGetComputeRunningProcesses_v3"), 4);
  run.Finish();
  EXPECT_EQ(run.log.Of(0, Signal::kProcesses).at(0).second, 2);
  EXPECT_EQ(run.log.Of(0, Signal::kMemoryUsed).at(0).second, std::int64_t{10} << 30);
  EXPECT_EQ(run.log.Of(0, Signal::kTemperature).at(0).second, 61'000);
}

TEST(NvmlLane, HoldersAreListedWithWhatTheDriverSaysOfThem) {
  const std::string me = std::to_string(getpid());
  StandInRun run(
      "gpu 0\ngpu 1\nat 0s gpu 0 procs=" + me + ":10GiB,2000000000:?\nat 6s gpu 0 procs=none\n" +
      "fail nvmlDeviceGetComputeRunningProcesses_v3 4 gpu=1\nfail nvmlDeviceGetComputeRunningProcesses 4 gpu=1\n");
  run.RunUntil(12);
  run.Finish();
  std::map<DeviceId, std::vector<GpuHolders>> lists;
  for (const GpuHolders& list : run.log.holders) lists[list.device].push_back(list);
  ASSERT_GE(lists[0].size(), 3U);
  const GpuHolders& first = lists[0].front();
  EXPECT_TRUE(first.listed);
  ASSERT_EQ(first.holders.size(), 2U);
  EXPECT_EQ(first.holders[0].pid, getpid());
  EXPECT_EQ(first.holders[0].memory, std::int64_t{10} << 30);
  EXPECT_EQ(first.holders[0].start_ticks, StartTicksOf("/proc", getpid()));
  EXPECT_EQ(first.holders[1].pid, 2'000'000'000);  // beyond every pid there is
  EXPECT_EQ(first.holders[1].memory, std::nullopt);
  EXPECT_EQ(first.holders[1].start_ticks, std::nullopt);
  EXPECT_TRUE(lists[0].back().listed);
  EXPECT_TRUE(lists[0].back().holders.empty());
  EXPECT_FALSE(lists[1].front().listed);  // nobody was told of, which is not nobody
}

TEST(NvmlLane, AListThatGrowsBetweenTwoCallsIsReadAgain) {
  std::string processes = "1:1GiB";
  for (int pid = 2; pid <= 20; ++pid) processes += "," + std::to_string(pid) + ":1GiB";
  StandInRun run("gpu 0\ngrowing_lists\nat 0s gpu 0 procs=" + processes + "\n");
  run.RunUntil(6);
  run.Finish();
  // 29 are more than there is room for, and by the next call there are nine more.
  EXPECT_EQ(run.log.Of(0, Signal::kProcesses).at(0).second, 20 + 2 * 9);
}

// Drivers 535.43 to 535.86 write 32 bytes a process where there were to be 24.
TEST(NvmlLane, ListsOfLongerRecordsAreReadAsTheyAre) {
  for (const int count : {1, 2, 3, 12, 13, 16, 17, 40}) {
    std::string script = "gpu 0\nlong_process_records\nat 0s gpu 0 procs=";
    for (int i = 0; i < count; ++i) script += std::to_string(1000 + i) + ":" + std::to_string(1 + i) + "MiB,";
    StandInRun run(script + "\n");
    run.RunUntil(2);
    ASSERT_EQ(run.log.holders.size(), 1U);
    const GpuHolders& list = run.log.holders.front();
    ASSERT_EQ(list.holders.size(), static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) {
      EXPECT_EQ(list.holders[static_cast<std::size_t>(i)].pid, 1000 + i) << count;
      EXPECT_EQ(list.holders[static_cast<std::size_t>(i)].memory, std::int64_t{1 + i} << 20) << count;
    }
    EXPECT_EQ(run.log.Of(0, Signal::kProcesses).at(0).second, count);
  }
}

// In a container without the host's PID namespace a driver lists nobody, and a program that only draws is in another
// list; a desktop is nobody who computes.
TEST(NvmlLane, AnEmptyListDoesNotOutweighMemoryThatIsUsed) {
  struct Row {
    const char* level;
    bool listed;
  };
  for (const Row& row :
       {Row{"procs=none", true}, Row{"procs=none memory=20MiB", true}, Row{"procs=none memory=12GiB", false},
        Row{"procs=none memory=150MiB", false}, Row{"draws=900:300MiB,901:200MiB", true},
        Row{"draws=900:300MiB memory=2GiB", false}, Row{"draws=900:12GiB", false},
        Row{"draws=900:? memory=300MiB", false}, Row{"procs=7:1GiB draws=900:12GiB", true}}) {
    StandInRun run("gpu 0\nat 0s gpu 0 " + std::string(row.level) + "\n");
    run.RunUntil(12);
    run.Finish();
    EXPECT_EQ(run.log.holders.at(0).listed, row.listed) << row.level;
    EXPECT_EQ(run.log.Of(0, Signal::kProcesses).empty(), !row.listed) << row.level;
    EXPECT_EQ(run.log.Lacking(0, Signal::kProcesses).empty(), row.listed) << row.level;
    EXPECT_EQ(Mentions(run.log.Notes(NoteKind::kSettled), "the driver lists no process, yet"), !row.listed);
  }
  // Memory of version 1 has what the driver keeps for itself in it, and says nothing against a list.
  StandInRun old("driver 440.33 10.440.33\ngpu 0\nat 0s gpu 0 procs=none\n", IDLEBURN_STANDIN_OLD);
  old.RunUntil(2);
  old.Finish();
  EXPECT_EQ(old.log.Of(0, Signal::kMemoryUsed).at(0).second, std::int64_t{500} << 20);
  EXPECT_EQ(old.log.Of(0, Signal::kProcesses).at(0).second, 0);
}

TEST(NvmlLane, WithoutARingTheGaugeIsReadWhenItChangesOrItsWindowHasPassed) {
  StandInRun run("gpu 0 samples=0 window=500ms gpm=0\nat 1s gpu 0 util=80\nat 2s gpu 0 util=20\n");
  run.RunUntil(3);
  run.Finish();
  const auto readings = run.log.Of(0, Signal::kUtilization);
  ASSERT_GT(readings.size(), 12U);
  EXPECT_LT(readings.size(), 20U);  // at 10 Hz every second poll repeats the last
  for (const auto& [time, value] : readings) {
    const double t = run.Seconds(time) + 1e-9;
    EXPECT_EQ(value, (t < 1.5 ? 0 : t < 2.5 ? 80 : 20) * kPercent) << t;
  }
}

TEST(NvmlLane, WhatIsNotSupportedIsAskedForOnceAndNeverZero) {
  StandInRun run(
      "gpu 0\nfail nvmlDeviceGetClockInfo 3\nfail nvmlDeviceGetMemoryInfo_v2 25\nfail nvmlDeviceGetTemperature 4\n");
  run.RunUntil(5);
  run.Finish();
  EXPECT_EQ(run.CallsOf("nvmlDeviceGetClockInfo"), 1);
  EXPECT_TRUE(run.log.Of(0, Signal::kSmClock).empty());
  ASSERT_FALSE(run.log.Lacking(0, Signal::kSmClock).empty());
  // The older function takes over; its "used" holds what the driver reserves.
  EXPECT_EQ(run.log.Of(0, Signal::kMemoryUsed).at(0).second, std::int64_t{500} << 20);
  EXPECT_TRUE(Mentions(run.log.Notes(NoteKind::kFailure), "nvmlDeviceGetTemperature: NVML says 4: no permission"));
  EXPECT_EQ(run.log.Notes(NoteKind::kFailure).size(), 1U);
}

TEST(NvmlLane, AGpuThatIsLostIsUnobservedAndTheOthersAreNot) {
  StandInRun run(
      "gpu 0\ngpu 1\nat 0s gpu 0 util=50\nat 0s gpu 1 util=90\n"
      "at 5s gpu 1 lost=1\nat 20s gpu 1 lost=0\n");
  run.RunUntil(60);
  run.Finish();
  EXPECT_TRUE(run.log.InOrder());
  const auto healthy = run.log.Of(0, Signal::kUtilization);
  for (std::size_t i = 1; i < healthy.size(); ++i) {
    EXPECT_LT((healthy[i].first - healthy[i - 1].first).count(), 200'000'000);
  }
  for (const auto& [time, value] : run.log.Of(1, Signal::kUtilization)) {
    EXPECT_TRUE(run.Seconds(time) <= 5.0 || run.Seconds(time) > 20.0) << run.Seconds(time);
    EXPECT_EQ(value, 90 * kPercent);
  }
  const auto missing = run.log.Lacking(1, Signal::kUtilization);
  EXPECT_GE(missing.size(), 14U);  // a row a second
  EXPECT_EQ(missing.at(0).second, Unobserved::kGap);
  EXPECT_TRUE(Mentions(run.log.Notes(NoteKind::kDeviceLost), "GPU 1 (" + std::string(kUuid1) + "): "));
  ASSERT_EQ(run.log.Notes(NoteKind::kDeviceFound).size(), 1U);
  // Lost at 5 s: tried again after 10 s, in vain, and after 20 s more.
  EXPECT_NEAR(run.Seconds(run.log.Of(1, Signal::kEnergy).back().first), 60, 0.2);
  const auto found = std::find_if(run.log.notes.begin(), run.log.notes.end(),
                                  [](const Note& n) { return n.kind == NoteKind::kDeviceFound; });
  EXPECT_NEAR(run.Seconds(found->time), 35, 0.5);
}

TEST(NvmlLane, AGpuThatCannotBeOpenedAtTheStartIsNamed) {
  StandInRun run("gpu 0\ngpu 1\ngpu 2\nat 0s gpu 1 lost=1\n");
  run.RunUntil(25);
  run.Finish();
  EXPECT_EQ(run.devices.size(), 2U);
  const std::string said = "GPU 1: nvmlDeviceGetHandleByIndex_v2: NVML says 15: the GPU is lost";
  ASSERT_EQ(run.log.Notes(NoteKind::kDeviceLost).size(), 1U);
  EXPECT_EQ(run.log.Notes(NoteKind::kDeviceLost)[0].find(said), 0U);
  EXPECT_TRUE(Mentions(run.log.Notes(NoteKind::kDeviceLost), "its cost is not in the figures"));
  EXPECT_EQ(run.log.Fact("gpus.failed.1").value_or("").find(said), 0U);
  for (const int hidden : {4, 17}) {
    StandInRun job("gpu 0\ngpu 1\nfail nvmlDeviceGetHandleByIndex_v2 " + std::to_string(hidden) + " times=1\n");
    job.RunUntil(2);
    EXPECT_EQ(job.devices.size(), 1U);
    EXPECT_TRUE(job.log.notes.empty()) << job.log.notes[0].text;
  }
  const std::string all = StandInRun("gpu 0\nat 0s gpu 0 lost=1\n").error;
  EXPECT_EQ(all.find("no NVIDIA GPU can be measured: GPU 0: nvmlDeviceGetHandleByIndex_v2: NVML says 15"), 0U) << all;
}

TEST(NvmlLane, AGpuThatIsNotListedAnyMoreIsLostToo) {
  StandInRun run(
      "gpu 0\ngpu 1\nat 5s gpu 1 lost=1\nat 6s gpu 1 lost=0\n"
      "fail nvmlDeviceGetHandleByIndex_v2 28 from=10s times=1\n");  // of GPU 0, when all are listed again at 15 s
  run.RunUntil(40);
  run.Finish();
  EXPECT_TRUE(Mentions(run.log.Notes(NoteKind::kDeviceLost), "GPU 0 (" + std::string(kUuid0)));
  EXPECT_EQ(run.log.Notes(NoteKind::kDeviceFound).size(), 2U);
  EXPECT_FALSE(run.log.Lacking(0, Signal::kUtilization).empty());
  EXPECT_NEAR(run.Seconds(run.log.Of(0, Signal::kPower).back().first), 40, 0.2);
  EXPECT_TRUE(run.log.InOrder());
}

TEST(NvmlLane, GpusAreKnownByUuidWhenTheDriverOrdersThemAnew) {
  StandInRun run("gpu 0\ngpu 1\nat 0s gpu 0 power=100\nat 0s gpu 1 power=200\nat 5s reload\nat 5s order 1,0\n");
  run.RunUntil(30);
  run.Finish();
  for (const auto& [time, value] : run.log.Of(0, Signal::kPower)) EXPECT_EQ(value, 100'000) << run.Seconds(time);
  for (const auto& [time, value] : run.log.Of(1, Signal::kPower)) EXPECT_EQ(value, 200'000) << run.Seconds(time);
  EXPECT_NEAR(run.Seconds(run.log.Of(1, Signal::kPower).back().first), 30, 0.2);
  EXPECT_EQ(run.devices.size(), 2U);
  EXPECT_EQ(run.devices[0].uuid, kUuid0);
}

TEST(NvmlLane, AReloadedDriverIsOpenedAnewAndItsEnergyCounterGoesOnFromZero) {
  StandInRun run("gpu 0 energy=9000000\nat 0s gpu 0 util=50\nat 5s reload\n");
  run.RunUntil(20);
  run.Finish();
  const auto energy = run.log.Of(0, Signal::kEnergy);
  EXPECT_GT(energy.front().second, 9'000'000);
  EXPECT_NEAR(static_cast<double>(energy.back().second), 15 * 70'000, 2 * 70'000);
  EXPECT_TRUE(Mentions(run.log.Notes(NoteKind::kSettled), "energy counter fell"));
  EXPECT_TRUE(Mentions(run.log.Notes(NoteKind::kDeviceLost), "NVML says 1: "));
  // What a driver says in its first moments reads high and is left out, also of the time before it was opened.
  for (const auto& [time, value] : run.log.Of(0, Signal::kUtilization)) {
    EXPECT_TRUE(run.Seconds(time) <= 5.2 || run.Seconds(time) > 16) << run.Seconds(time);
  }
  const auto invalid = run.log.Lacking(0, Signal::kUtilization);
  EXPECT_TRUE(std::any_of(invalid.begin(), invalid.end(),
                          [](const auto& m) { return m.second == Unobserved::kInvalidCounter; }));
}

TEST(NvmlLane, UnknownFailuresLoseAGpuOnlyWhereItTellsNothingElse) {
  const auto lost = [](const std::string& faults) {
    StandInRun run("gpu 0\n" + faults);
    run.RunUntil(5);
    return run.log.Notes(NoteKind::kDeviceLost).size();
  };
  const std::string energy = "fail nvmlDeviceGetTotalEnergyConsumption 999 from=1s";
  const std::string clock = "fail nvmlDeviceGetClockInfo 999 from=1s";
  EXPECT_EQ(lost(energy + " times=1\n"), 0U);
  EXPECT_EQ(lost(energy + " times=1\n" + clock + " times=1\n"), 0U);  // two of one tick are two failures of one kind
  EXPECT_EQ(lost(energy + "\n" + clock + "\n"), 0U);
  EXPECT_EQ(lost(energy + "\nfail nvmlDeviceGetUUID 999 from=1s\n"), 1U);
  EXPECT_EQ(lost(energy + "\nfail nvmlDeviceGetUtilizationRates 999 from=1s\n"), 1U);
  EXPECT_EQ(lost(energy + "\nfail nvmlDeviceGetUtilizationRates 3\n"), 0U);
}

// The rest is read on, of this GPU and of others, and the sensor is asked now and then whether it is back.
TEST(NvmlLane, ASensorThatFailsCostsItsOwnReadingsOnly) {
  StandInRun run(
      "gpu 0\ngpu 1\nat 0s gpu 0 util=50\nfail nvmlDeviceGetFieldValues 999 gpu=0 from=10s for=300s\n"
      "fail nvmlDeviceGetPowerUsage 999 gpu=0 from=10s for=300s\n");
  run.RunUntil(600);
  run.Finish();
  EXPECT_EQ(run.CallsOf("nvmlInit_v2"), 1);
  EXPECT_TRUE(run.log.Notes(NoteKind::kDeviceLost).empty());
  const auto failures = run.log.Notes(NoteKind::kFailure);
  EXPECT_EQ(std::count_if(failures.begin(), failures.end(),
                          [](const auto& text) { return text.find("nvmlDeviceGetPowerUsage: NVML says 999") == 7; }),
            1);
  EXPECT_LE(failures.size(), 8U);  // one of each query
  EXPECT_NEAR(static_cast<double>(run.log.Of(0, Signal::kEnergy).size()), 6000, 12);
  EXPECT_NEAR(static_cast<double>(run.log.Of(0, Signal::kUtilization).size()), 3600, 12);
  EXPECT_TRUE(run.log.Lacking(0, Signal::kUtilization).empty());
  for (const auto& [time, milliwatts] : run.log.Of(0, Signal::kPower)) {
    EXPECT_TRUE(run.Seconds(time) < 10 || run.Seconds(time) > 310) << run.Seconds(time);
  }
  EXPECT_NEAR(run.Seconds(run.log.Of(0, Signal::kPower).back().first), 600, 0.2);
  EXPECT_LE(run.CallsOf("nvmlDeviceGetPowerUsage"), 2 * 6);
}

// Each time all GPUs have to be let go: it must not go on every ten seconds for days.
TEST(NvmlLane, AGpuThatAnswersAndIsLostAgainIsTriedEverMoreSeldom) {
  StandInRun run("gpu 0\ngpu 1\nfail nvmlDeviceGetTotalEnergyConsumption 15 gpu=1 from=1s\n");
  run.RunUntil(1000);
  EXPECT_LE(run.log.Notes(NoteKind::kDeviceLost).size(), 8U);  // after 10, 20, 40, ... 300 s
  EXPECT_GE(run.log.Notes(NoteKind::kDeviceLost).size(), 6U);
  // One that has answered for a minute is tried after ten seconds again, one that has not, after twenty.
  for (const int again : {100, 40}) {
    const std::string at = std::to_string(again);
    StandInRun twice("gpu 0\nat 5s gpu 0 lost=1\nat 6s gpu 0 lost=0\nat " + at + "s gpu 0 lost=1\nat " +
                     std::to_string(again + 1) + "s gpu 0 lost=0\n");
    twice.RunUntil(130);
    std::vector<double> found;
    for (const Note& note : twice.log.notes) {
      if (note.kind == NoteKind::kDeviceFound) found.push_back(twice.Seconds(note.time));
    }
    ASSERT_EQ(found.size(), 2U);
    EXPECT_NEAR(found[0], 15, 0.5);
    EXPECT_NEAR(found[1], again + (again == 100 ? 10 : 20), 0.5);
  }
}

// While GPUs are initialised their memory is scrubbed, which counts as use.
TEST(NvmlLane, UtilizationOfADriverThatHadToBeLoadedIsNotBelievedAtOnce) {
  StandInRun loading("gpu 0 window=250ms\ngpu 1\nat 0s gpu 0 util=50\ndelay nvmlInit_v2 3s times=1\n");
  loading.RunUntil(10);
  loading.Finish();
  const auto readings = loading.log.Of(0, Signal::kUtilization);
  ASSERT_FALSE(readings.empty());
  // A window of a second at most is not known yet.
  EXPECT_NEAR(loading.Seconds(readings.front().first), 3 + 1 + 1 + 0.25, 1e-6);
  const auto missing = loading.log.Lacking(0, Signal::kUtilization);
  ASSERT_FALSE(missing.empty());
  EXPECT_EQ(missing.front().second, Unobserved::kInvalidCounter);
  StandInRun loaded("gpu 0 window=250ms\ngpu 1\nat 0s gpu 0 util=50\ndelay nvmlInit_v2 900ms times=1\n");
  loaded.RunUntil(10);
  loaded.Finish();
  EXPECT_NEAR(loaded.Seconds(loaded.log.Of(0, Signal::kUtilization).front().first), 1, 1e-6);
  EXPECT_TRUE(loaded.log.Lacking(0, Signal::kUtilization).empty());
}

TEST(NvmlLane, ADriverUpgradedUnderneathIsNotAskedAgain) {
  StandInRun run("gpu 0\nfail nvmlDeviceGetTotalEnergyConsumption 18 from=2s\n");
  run.RunUntil(40);
  run.Finish();
  EXPECT_TRUE(Mentions(run.log.Notes(NoteKind::kDeviceLost), "driver was upgraded"));
  EXPECT_EQ(run.CallsOf("nvmlInit_v2"), 1);
  EXPECT_LE(run.Seconds(run.log.Of(0, Signal::kPower).back().first), 2.0);
}

TEST(NvmlLane, MigInstancesAreDevicesAndTheBoardCountsOnce) {
  StandInRun run(
      "gpu 0\nmig 0 gi=1 profile=3g.40gb slices=3 memory=40GiB\nmig 0 gi=2 profile=1g.10gb slices=1\n"
      "at 0s gpu 0 power=300\nat 0s gpu 0/1 util=75 sm=40 procs=5:3GiB\nat 0s gpu 0/2 util=10\n");
  run.RunUntil(4);
  run.Finish();
  ASSERT_EQ(run.devices.size(), 3U);
  DeviceId big = 0;
  DeviceId board = 0;
  for (DeviceId id = 0; id < 3; ++id) {
    if (run.devices[id].mig && run.devices[id].mig->id == "1") big = id;
    if (!run.devices[id].mig) board = id;
  }
  EXPECT_EQ(run.devices[big].mig->slices, 3);
  EXPECT_EQ(run.devices[big].mig->profile, "3g.40gb");
  EXPECT_EQ(run.devices[big].board, board);
  EXPECT_EQ(run.log.Of(big, Signal::kGrEngineActive).at(0).second, 75 * kPercent);
  EXPECT_EQ(run.log.Of(big, Signal::kSmActive).at(0).second, 40 * kPercent);
  EXPECT_EQ(run.log.Of(big, Signal::kMemoryUsed).at(0).second, std::int64_t{3} << 30);
  EXPECT_EQ(run.log.Of(big, Signal::kProcesses).at(0).second, 1);
  EXPECT_TRUE(run.log.Of(big, Signal::kUtilization).empty());
  EXPECT_EQ(run.log.Lacking(big, Signal::kUtilization).at(0).second, Unobserved::kUnsupported);
  EXPECT_TRUE(run.log.Of(big, Signal::kPower).empty());
  EXPECT_EQ(run.log.Of(board, Signal::kPower).at(0).second, 300'000);
  EXPECT_TRUE(run.log.Of(board, Signal::kMemoryUsed).empty());
  EXPECT_TRUE(run.log.InOrder());
}

// Compute instances share their GPU instance: one device, by all their names, held by all their processes.
TEST(NvmlLane, ComputeInstancesOfAGpuInstanceAreOneDevice) {
  StandInRun run(
      "gpu 0\nmig 0 gi=1 profile=1c.3g.40gb slices=3 memory=40GiB\nmig 0 gi=1 ci=1 profile=1c.3g.40gb slices=3\n"
      "mig 0 gi=1 ci=2 profile=1c.3g.40gb slices=3\nmig 0 gi=2 profile=1g.10gb slices=1\n"
      "at 0s gpu 0/1 util=75 procs=5:3GiB\nat 0s gpu 0/1/1 procs=6:1GiB,7:1GiB\nat 0s gpu 0/1/2 procs=5:3GiB\n");
  ASSERT_EQ(run.devices.size(), 3U);
  std::vector<std::string> uuids;
  for (const MeasuredGpu& gpu : run.lane->Measured()) {
    if (run.devices[gpu.device].mig && run.devices[gpu.device].mig->id == "1") uuids = gpu.uuids;
    EXPECT_FALSE(gpu.in_part);
  }
  const std::string mig = "MIG-5d0ca1e5-0000-4000-8000-000000001000-1";
  EXPECT_EQ(uuids, (std::vector<std::string>{mig, mig + "-1", mig + "-2"}));
  run.RunUntil(12);
  run.Finish();
  for (DeviceId id = 0; id < 3; ++id) {
    if (!run.devices[id].mig) continue;
    const bool big = run.devices[id].mig->id == "1";
    EXPECT_EQ(run.log.Of(id, Signal::kProcesses).at(0).second, big ? 3 : 0);
    EXPECT_EQ(run.devices[id].mig->slices, big ? 3 : 1);
  }
}

// As in a pod that was given one slice: the driver lists the others and opens none of them.
TEST(NvmlLane, InstancesThatAreKeptFromThisProcessMakeTheBoardAPart) {
  StandInRun run(
      "gpu 0\nmig 0 gi=7 profile=1g.10gb slices=1 hidden=1\nmig 0 gi=8 profile=1g.10gb slices=1\n"
      "gpu 1\nmig 1 gi=9 profile=1g.10gb slices=1\nat 0s gpu 0/8 util=50\n");
  ASSERT_EQ(run.devices.size(), 4U);
  for (const MeasuredGpu& gpu : run.lane->Measured()) {
    const Device& device = run.devices[gpu.device];
    EXPECT_EQ(gpu.in_part, !device.mig && device.index == 0) << gpu.device;
    EXPECT_EQ(device.mig ? device.mig->id : "", !device.mig ? "" : device.index == 0 ? "8" : "9");
  }
  run.RunUntil(3);
  run.Finish();
  for (DeviceId id = 0; id < run.devices.size(); ++id) {
    const Device& device = run.devices[id];
    if (!device.mig || device.index != 0) continue;
    EXPECT_EQ(run.log.Of(id, Signal::kGrEngineActive).at(0).second, 50 * kPercent);
  }
}

TEST(NvmlLane, ActivityOfTheUnitsIsReadInPairs) {
  StandInRun run("gpu 0\nat 0s gpu 0 sm=40 tensor=12.5 dram=33 rx=1000 tx=10 nvlink=5000\nat 2s gpu 0 sm=80\n");
  run.RunUntil(3);
  run.Finish();
  EXPECT_EQ(run.log.Of(0, Signal::kSmActive).back().second, 80 * kPercent);  // since the sample before, no longer
  EXPECT_NEAR(static_cast<double>(run.log.Of(0, Signal::kSmActive).size()), 14, 1);  // five a second, less the first
  EXPECT_EQ(run.log.Of(0, Signal::kSmActive).at(0).second, 40 * kPercent);
  EXPECT_EQ(run.log.Of(0, Signal::kTensorActive).at(0).second, 12'500'000);
  EXPECT_EQ(run.log.Of(0, Signal::kDramActive).at(0).second, 33 * kPercent);
  EXPECT_NEAR(static_cast<double>(run.log.Of(0, Signal::kPcieRx).at(0).second), 1e9, 1);
  EXPECT_NEAR(static_cast<double>(run.log.Of(0, Signal::kPcieTx).at(0).second), 1e7, 1);
  EXPECT_NEAR(static_cast<double>(run.log.Of(0, Signal::kNvlink).at(0).second), 1e10, 2);
}

TEST(NvmlLane, CountersOfLinksAreRatesAlsoWhereTheyWrap) {
  StandInRun run("gpu 0 gpm=0\nnarrow_pcie\nat 0s gpu 0 rx=1500 tx=3 nvlink=2048\n");
  run.RunUntil(12);  // 18 GB: the counter of 32 bits wraps four times
  run.Finish();
  const auto rx = run.log.Of(0, Signal::kPcieRx);
  ASSERT_EQ(rx.size(), 11U);
  for (const auto& reading : rx) EXPECT_NEAR(static_cast<double>(reading.second), 1.5e9, 10);
  EXPECT_NEAR(static_cast<double>(run.log.Of(0, Signal::kNvlink).at(0).second), 2 * 2.048e9, 5000);
}

TEST(NvmlLane, RenumberedFieldsAreFoundByWhatTheyCount) {
  StandInRun recent("gpu 0\n");
  recent.RunUntil(5);
  EXPECT_EQ(recent.log.Fact(std::string("gpu.") + kUuid0 + ".slowdown_fields"), "269-271");
  StandInRun older("driver 570.10 12.570.10\ngpu 0\n");
  older.RunUntil(5);
  EXPECT_EQ(older.log.Fact(std::string("gpu.") + kUuid0 + ".slowdown_fields"), "251-253");
}

TEST(NvmlLane, ARingThatOverflowedLeavesAGap) {
  StandInRun run("gpu 0 ring=5 window=200ms\nat 0s gpu 0 util=60\n");
  run.RunUntil(6);
  run.driver.Advance(Nanos(5 * kNanosPerSecond));  // 25 windows, of which 5 are kept
  run.RunUntil(12);
  run.Finish();
  const auto gaps = run.log.Lacking(0, Signal::kUtilization);
  ASSERT_EQ(gaps.size(), 1U);
  EXPECT_EQ(gaps[0].second, Unobserved::kGap);
  // Read last at 5.9 s; at 11.1 s those of 10.2 s to 11.0 s are left.
  EXPECT_EQ(run.log.Of(0, Signal::kUtilization).size(), 60U - 21U);
  EXPECT_TRUE(run.log.InOrder());
}

TEST(NvmlLane, SettingTheWallClockLosesAndMovesNothing) {
  // By more than the ring holds, and by less; not by whole windows, as no stamps of a real driver meet again.
  for (const double seconds : {-3600.0, 3600.0, -5.0617, 5.0617, -1.0617, 0.9}) {
    const auto step = static_cast<std::int64_t>(seconds * 1e9);
    StandInRun run("gpu 0 window=250ms\nat 0s gpu 0 util=60\n");
    run.RunUntil(5);
    run.driver.StepWall(Nanos(step));
    run.RunUntil(10);
    run.Finish();
    const auto readings = run.log.Of(0, Signal::kUtilization);
    ASSERT_EQ(readings.size(), 40U) << seconds;
    for (std::size_t i = 0; i < readings.size(); ++i) {
      EXPECT_NEAR(run.Seconds(readings[i].first), 0.25 * static_cast<double>(i + 1), 1e-5);
    }
    EXPECT_TRUE(run.log.InOrder());
    EXPECT_TRUE(run.log.Lacking(0, Signal::kUtilization).empty());
  }
}

// Ticks at absolute times, as a sampler does, until then.
void TickUntil(StandInRun& run, double seconds) {
  constexpr Nanos kPeriod(100'000'000);
  for (Nanos due = kPeriod; due <= Nanos(static_cast<std::int64_t>(seconds * 1e9)); due += kPeriod) {
    if (due < run.driver.Now()) continue;
    run.driver.Advance(due - run.driver.Now());
    run.lane->Tick(run.line.At(run.driver.Now()), run.log);
  }
}

// The longest and the shortest time from one reading to the next, of those between two times.
std::pair<double, double> Distances(const StandInRun& run, Signal signal, DeviceId gpu, double from, double to) {
  double longest = 0;
  double shortest = to - from;
  std::optional<double> last;
  for (const auto& reading : run.log.Of(gpu, signal)) {
    const double at = run.Seconds(reading.first);
    if (at < from || at > to) continue;
    if (last) longest = std::max(longest, at - *last);
    if (last) shortest = std::min(shortest, at - *last);
    last = at;
  }
  return {longest, shortest};
}

// A list takes 4.5 ms, memory goes up and down by gigabytes, and it is read at 10 Hz for ten
// minutes all the same.
TEST(NvmlLane, DearProcessListsSlowNothingDown) {
  std::string script = "delay nvmlDeviceGetComputeRunningProcesses_v3 4.5ms\n";
  for (int gpu = 0; gpu < 8; ++gpu) script += "gpu " + std::to_string(gpu) + "\n";
  for (int gpu = 0; gpu < 8; ++gpu) {
    for (int second = 0; second < 600; ++second) {
      script += "at " + std::to_string(second) + "s gpu " + std::to_string(gpu) +
                " procs=11:" + std::to_string(second % 2 == 0 ? 40 : 2) + "GiB\n";
    }
  }
  StandInRun run(script);
  TickUntil(run, 600);
  EXPECT_TRUE(run.log.Notes(NoteKind::kSlowDriver).empty());
  for (DeviceId gpu = 0; gpu < 8; ++gpu) {
    EXPECT_NEAR(static_cast<double>(run.log.Of(gpu, Signal::kPower).size()), 6000, 12) << gpu;  // less what is held
    EXPECT_NEAR(static_cast<double>(run.log.Of(gpu, Signal::kProcesses).size()), 120, 1) << gpu;
    EXPECT_GE(Distances(run, Signal::kProcesses, gpu, 0, 600).second, 4.975) << gpu;
    EXPECT_TRUE(run.log.Lacking(gpu, Signal::kUtilization).empty());
  }
  EXPECT_LE(run.CallsOf("nvmlDeviceGetComputeRunningProcesses_v3"), 8 * 121);
}

TEST(NvmlLane, ADriverThatIsSlowAtEveryTickIsAskedLessOftenUntilItIsQuickAgain) {
  StandInRun run("gpu 0\ndelay nvmlDeviceGetClockInfo 30ms from=2s for=200s\n");
  TickUntil(run, 600);
  const auto power = [&](double from, double to) { return Distances(run, Signal::kPower, 0, from, to); };
  EXPECT_NEAR(power(0, 2).first, 0.1, 0.001);
  EXPECT_NEAR(power(50, 200).first, 1, 0.05);
  EXPECT_NEAR(power(50, 200).second, 1, 0.05);
  EXPECT_NEAR(power(450, 600).first, 0.1, 0.001);
  EXPECT_TRUE(run.log.Lacking(0, Signal::kUtilization).empty());
  const auto notes = run.log.Notes(NoteKind::kSlowDriver);
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_NE(notes[0].find("the NVIDIA driver took 30 ms to read power, energy and clocks of all GPUs: while it is this "
                          "slow, idleburn reads them every 200 ms"),
            std::string::npos)
      << notes[0];
  StandInRun once("gpu 0\ndelay nvmlDeviceGetClockInfo 30ms from=2s times=1\n");
  TickUntil(once, 10);
  EXPECT_TRUE(once.log.Notes(NoteKind::kSlowDriver).empty());
}

TEST(NvmlLane, BetweenTwoListsMemoryTellsThatTheOldOneNoLongerHolds) {
  StandInRun run(
      "gpu 0\nat 0s gpu 0 procs=none\nat 6500ms gpu 0 procs=7:10GiB\nat 11500ms gpu 0 procs=7:6GiB\n"
      "at 16500ms gpu 0 procs=none\n");
  run.RunUntil(21);
  run.Finish();
  std::vector<std::pair<double, std::int64_t>> told;
  for (const auto& [time, count] : run.log.Of(0, Signal::kProcesses)) told.emplace_back(run.Seconds(time), count);
  const std::vector<std::pair<double, std::int64_t>> lists = {{0.1, 0}, {5.1, 0}, {10.1, 1}, {15.1, 1}, {20.1, 0}};
  ASSERT_EQ(told.size(), lists.size());
  for (std::size_t i = 0; i < lists.size(); ++i) {
    EXPECT_NEAR(told[i].first, lists[i].first, 0.001);
    EXPECT_EQ(told[i].second, lists[i].second) << told[i].first;
  }
  const auto doubted = run.log.Lacking(0, Signal::kProcesses);
  ASSERT_EQ(doubted.size(), 2U);  // memory is read every second; 10 to 6 GiB is no end
  EXPECT_NEAR(run.Seconds(doubted[0].first), 7.1, 0.001);
  EXPECT_NEAR(run.Seconds(doubted[1].first), 17.1, 0.001);
}

TEST(NvmlLane, XidEventsAreToldWithTheirGpu) {
  StandInRun run("gpu 0\ngpu 1\nat 3s xid 1 79\n");
  run.RunUntil(6);
  run.Finish();
  EXPECT_TRUE(Mentions(run.log.Notes(NoteKind::kXid), "GPU 1: Xid 79"));
  EXPECT_EQ(run.log.Of(1, Signal::kXid).at(0).second, 79);
  EXPECT_TRUE(run.log.Of(0, Signal::kXid).empty());
}

TEST(NvmlLane, AnOldDriversLibraryDoesWhatItCan) {
  StandInRun run("driver 440.33 10.440.33\ngpu 0\nat 0s gpu 0 util=70 power=200 reasons=4 procs=1:1GiB,2:1GiB\n",
                 IDLEBURN_STANDIN_OLD);
  ASSERT_EQ(run.error, "");
  run.RunUntil(6);
  run.Finish();
  EXPECT_EQ(run.log.Of(0, Signal::kUtilization).back().second, 70 * kPercent);
  EXPECT_EQ(run.log.Of(0, Signal::kPower).back().second, 200'000);
  EXPECT_EQ(run.log.Of(0, Signal::kEventReasons).back().second, 4);
  EXPECT_EQ(run.log.Of(0, Signal::kProcesses).back().second, 2);
  EXPECT_EQ(run.devices[0].counter[Index(Signal::kPower)], "nvml.power.usage");
  EXPECT_EQ(run.devices[0].counter[Index(Signal::kMemoryUsed)], "nvml.memory.used_with_reserved");
}

TEST(NvmlLane, WhatWasTakenFromTheDriverIsGivenBackAndOneThreadCalls) {
  StandInRun run("gpu 0\ngpu 1\nat 3s gpu 1 lost=1\n");
  run.RunUntil(40);
  run.Finish();
  run.lane.reset();
  const standin::StandinCounts counts = run.driver.Counts();
  EXPECT_EQ(counts.gpm_samples, 0);
  EXPECT_EQ(counts.event_sets, 0);
  EXPECT_EQ(counts.stale_handles, 0);
  EXPECT_EQ(counts.uninitialised, 0);
  EXPECT_EQ(counts.most_inside, 1);
}

TEST(NvmlLane, WithoutAUsableDriverItSaysWhy) {
  EXPECT_NE(StandInRun("gpu 0\nfail nvmlInit_v2 9\n").error.find("the NVIDIA driver is not loaded: run nvidia-smi"),
            std::string::npos);
  EXPECT_NE(StandInRun("gpu 0\nfail nvmlInit_v2 18\n").error.find("reboot, or reload the module"), std::string::npos);
  EXPECT_NE(StandInRun("").error.find("lists no GPU"), std::string::npos);
  const auto absent = NvmlLibrary::Open("/proc/nowhere/libnvidia-ml.so.1", SystemClock());
  ASSERT_FALSE(absent.has_value());
  EXPECT_NE(absent.error().message.find("IDLEBURN_NVML_LIBRARY: /proc/nowhere/libnvidia-ml.so.1"), std::string::npos);
  const auto other = NvmlLibrary::Open("libz.so.1", SystemClock());
  ASSERT_FALSE(other.has_value());
  EXPECT_NE(other.error().message.find("not an NVML library"), std::string::npos);
}

TEST(NvmlLane, ARingThatStaysEmptyGivesWayToTheGauge) {
  StandInRun run("gpu 0\nfail nvmlDeviceGetSamples 6\nat 0s gpu 0 util=40\n");
  run.RunUntil(6);
  run.Finish();
  const auto readings = run.log.Of(0, Signal::kUtilization);
  ASSERT_GT(readings.size(), 10U);
  EXPECT_NEAR(run.Seconds(readings.front().first), 1.4, 0.2);
  EXPECT_EQ(readings.back().second, 40 * kPercent);
  EXPECT_TRUE(run.log.InOrder());
}

// As while a GPU idles, on some boards: none of it is unobserved.
TEST(NvmlLane, ARingThatRunsDryIsReplacedByTheGaugeUntilItSpeaksAgain) {
  for (const int dry : {2, 10, 120}) {
    const std::string span = std::to_string(dry) + "s";
    StandInRun run("gpu 0 window=250ms ring=8\nat 0s gpu 0 util=40\nfail nvmlDeviceGetSamples 6 from=10s for=" + span +
                   "\n");
    run.RunUntil(dry + 10.5);
    const std::int64_t polled = run.CallsOf("nvmlDeviceGetUtilizationRates");
    EXPECT_GE(polled, 10 * dry - 12);
    run.RunUntil(dry + 20);
    EXPECT_EQ(run.CallsOf("nvmlDeviceGetUtilizationRates"), polled);
    run.Finish();
    EXPECT_TRUE(run.log.InOrder());
    EXPECT_TRUE(run.log.Lacking(0, Signal::kUtilization).empty());
    double last = 0;
    for (const auto& [time, value] : run.log.Of(0, Signal::kUtilization)) {
      EXPECT_LE(run.Seconds(time) - last, 1) << last;  // so that no second is without one
      last = run.Seconds(time);
      EXPECT_EQ(value, 40 * kPercent);
      const double off_grid = std::fmod(last + 1e-6, 0.25);
      EXPECT_TRUE(last <= dry + 10.5 || off_grid < 1e-5) << last;  // stamped again
    }
    EXPECT_NEAR(last, dry + 20, 0.3);
  }
}

// Whatever the load: what was published adds up to what the GPU did.
TEST(NvmlLane, UtilizationOverTimeIsTheTimeTheGpuWasBusy) {
  test::ExpectProperty("utilization", [] {
    std::string script = "gpu 0 gpm=0 window=" + std::to_string(*rc::gen::inRange(167, 1000)) + "ms\n";
    const auto pieces = *rc::gen::container<std::vector<int>>(30, rc::gen::inRange(0, 101));
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      script += "at " + std::to_string(i) + "s gpu 0 util=" + std::to_string(pieces[i]) + "\n";
    }
    StandInRun run(script);
    run.RunUntil(30);
    run.Finish();
    const auto readings = run.log.Of(0, Signal::kUtilization);
    RC_ASSERT(run.log.InOrder());
    RC_ASSERT(readings.size() > 25);
    double published = 0;
    double previous = 0;
    for (const auto& [time, value] : readings) {
      published += static_cast<double>(value) / kPercent * (run.Seconds(time) - previous);
      previous = run.Seconds(time);
    }
    double truth = 0;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      truth += pieces[i] * std::clamp(previous - static_cast<double>(i), 0.0, 1.0);
    }
    RC_ASSERT(std::abs(published - truth) <= 0.5 * previous);  // of rounding to whole percent
  });
}

TEST(NvmlLane, TellsWhatTheBoardsAre) {
  StandInRun run("gpu 0 pcie_width=8 nvlinks=4\ngpu 1\ngpu 2 uuid=GPU-third vbios=97.00\n");
  run.RunUntil(1);
  EXPECT_EQ(run.log.Fact("cuda"), "13.0");
  EXPECT_EQ(run.log.Fact("gpu.GPU-third.vbios"), "97.00");
  EXPECT_EQ(run.log.Fact("gpu.GPU-third.pcie_generation"), "5");
  EXPECT_EQ(run.log.Fact("gpu.GPU-third.nvlinks"), "0");
  EXPECT_EQ(run.log.Fact("gpu.topology"), "0-1 through one PCIe switch; 0-2 1-2 between CPUs");
  const std::string first = "gpu." + run.devices[0].uuid;
  EXPECT_EQ(run.log.Fact(first + ".pcie_width"), "8");
  EXPECT_EQ(run.log.Fact(first + ".pcie_most_width"), "16");
  EXPECT_EQ(run.log.Fact(first + ".nvlinks"), "4");
}

TEST(NvmlLane, WhatADriverDoesNotTellOfItsBoardsIsLeftOut) {
  StandInRun run(
      "gpu 0 uuid=GPU-only\nfail nvmlDeviceGetVbiosVersion 3\nfail nvmlDeviceGetCurrPcieLinkWidth 3\n"
      "fail nvmlDeviceGetNvLinkState 3\nfail nvmlSystemGetCudaDriverVersion_v2 999\n");
  run.RunUntil(1);
  for (const char* key :
       {"cuda", "gpu.GPU-only.vbios", "gpu.GPU-only.pcie_width", "gpu.GPU-only.nvlinks", "gpu.topology"}) {
    EXPECT_EQ(run.log.Fact(key), std::nullopt) << key;
  }
}

}  // namespace
}  // namespace idleburn
