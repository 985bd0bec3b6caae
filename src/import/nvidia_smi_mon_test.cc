#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "import/formats.h"
#include "import/tool_readers.h"
#include "support/capture.h"
#include "support/import_run.h"
#include "support/shared_data.h"

namespace idleburn {
namespace {

using nlohmann::json;
using test::ImportRun;

constexpr char kDated[] =
    "#Date       Time        gpu    pwr  gtemp  mtemp     sm    mem    enc    dec   mclk   pclk     fb  rxpci  txpci \n"
    "#YYYYMMDD   HH:MM:SS    Idx      W      C      C      %      %      %      %    MHz    MHz     MB   MB/s   MB/s \n"
    " 20210102   23:59:59      0     37     19      -     12      3      0      1   4006    582    239      5     10 \n"
    " 20210102   23:59:59      1     38     20      -      -      -      0      1   4006    582      1      5     10 \n"
    " 20210103   00:00:00      0     39     19      -     99      3      0      1   4006   1582    239      5     10 "
    "\n";

TEST(NvidiaSmiMon, CapturesOfAllMachines) {
  const auto expected = test::ReadShared("data/telemetry/expected.json");
  if (!expected) GTEST_SKIP() << "missing: " << test::SharedPath("data/telemetry/expected.json");
  const json machines = json::parse(*expected)["nvidia_smi"];
  ASSERT_EQ(machines.size(), 5U);
  for (const auto& [file, machine] : machines.items()) {
    const auto capture = test::ReadShared("data/telemetry/nvidia_smi/" + file);
    ASSERT_TRUE(capture) << file;
    const std::vector<test::CaptureSection> sections = test::CutCapture(*capture);
    EXPECT_EQ(sections.size(), machine["sections"].get<std::size_t>()) << file;
    for (const auto& [state, truth] : machine["state"].items()) {
      SCOPED_TRACE(file + " " + state);
      const std::string dmon = test::SectionText(sections, state, "dmon");
      EXPECT_TRUE(SniffNvidiaSmiMon(dmon));
      StringSource source(dmon);
      DataQuality quality;
      MonReader rows(source, quality);
      ASSERT_TRUE(rows.Next().value());
      EXPECT_EQ(rows.columns().size(), truth["dmon_first_row"].size());
      for (const auto& [column, text] : truth["dmon_first_row"].items()) {
        EXPECT_EQ(rows.Cell(column), text.get<std::string>()) << column;
      }

      const std::string pmon = test::SectionText(sections, state, "pmon");
      EXPECT_TRUE(SniffNvidiaSmiMon(pmon));
      StringSource process_source(pmon);
      MonReader processes(process_source, quality);
      int count = 0;
      std::set<std::string> pids;
      while (processes.Next().value()) {
        ++count;
        if (processes.Cell("pid") != "-") pids.emplace(*processes.Cell("pid"));
      }
      EXPECT_EQ(count, truth["pmon_rows"].get<int>());
      EXPECT_EQ(json(pids), truth["pmon_pids"]);
      EXPECT_EQ(quality.CountOf(QualityId::kBadRow), 0);

      // Every capture took five sweeps.
      const ImportRun run(ImportNvidiaSmiMon, pmon);
      ASSERT_TRUE(run.result);
      EXPECT_EQ(run.samples.size(), 5U);
      const ImportRun devices(ImportNvidiaSmiMon, dmon);
      EXPECT_EQ(devices.samples.size(), 5U);
    }
  }
}

TEST(NvidiaSmiMon, CaptureValuesAsSamples) {
  const std::string file = "data/telemetry/nvidia_smi/linux-x86_64__nvidia-h100-80gb-hbm3__590.48.01.txt";
  const auto capture = test::ReadShared(file);
  if (!capture) GTEST_SKIP() << "missing: " << file;
  const std::vector<test::CaptureSection> sections = test::CutCapture(*capture);
  const ImportRun run(ImportNvidiaSmiMon, test::SectionText(sections, "load", "dmon"));
  ASSERT_EQ(run.samples.size(), 5U);
  const Sample& s = run.samples[0];
  EXPECT_EQ(s.Get(Signal::kPower), 631'000);
  EXPECT_EQ(s.Get(Signal::kTemperature), 63'000);
  EXPECT_EQ(s.Get(Signal::kUtilization), 100 * kPercent);
  EXPECT_EQ(s.Get(Signal::kMemoryUtilization), 10 * kPercent);
  EXPECT_EQ(s.Get(Signal::kSmClock), 1'980'000);
  EXPECT_EQ(run.samples[4].Get(Signal::kPower), 636'000);
  EXPECT_EQ(run.Counter(0, Signal::kUtilization), "nvidia_smi_dmon.sm");
  for (std::size_t i = 0; i < 5; ++i)
    EXPECT_EQ(run.samples[i].time.nanos(), static_cast<std::int64_t>(i) * kNanosPerSecond);
  EXPECT_EQ(run.quality.CountOf(QualityId::kPeriodEstimated), 1);
  EXPECT_EQ(run.quality.CountOf(QualityId::kNoTimestamp), 1);

  const ImportRun processes(ImportNvidiaSmiMon, test::SectionText(sections, "load", "pmon"));
  ASSERT_EQ(processes.samples.size(), 5U);
  for (const Sample& p : processes.samples) {
    EXPECT_EQ(p.Get(Signal::kProcesses), 3);
    EXPECT_FALSE(p.Has(Signal::kUtilization)) << "a process is not the device";
  }
  EXPECT_EQ(processes.quality.CountOf(QualityId::kProcessDetail), 15);
}

TEST(NvidiaSmiMon, DatesAndTimesOfRows) {
  const ImportRun run(ImportNvidiaSmiMon, kDated);
  ASSERT_TRUE(run.result);
  ASSERT_EQ(run.samples.size(), 3U);
  EXPECT_EQ(FormatRfc3339(run.samples[0].time), "2021-01-02T23:59:59Z");
  EXPECT_EQ(FormatRfc3339(run.samples[2].time), "2021-01-03T00:00:00Z");
  EXPECT_EQ(run.quality.CountOf(QualityId::kTimezoneAssumed), 1);
  EXPECT_EQ(run.quality.CountOf(QualityId::kPeriodEstimated), 0);
  EXPECT_EQ(run.quality.CountOf(QualityId::kNoTimestamp), 0);
  EXPECT_EQ(run.samples[0].Get(Signal::kMemoryUsed), std::int64_t{239} << 20);
  EXPECT_EQ(run.samples[0].Get(Signal::kPcieRx), 5'000'000);
  EXPECT_EQ(run.samples[0].Get(Signal::kPcieTx), 10'000'000);
  EXPECT_TRUE(run.samples[1].Lacks(Signal::kUtilization)) << "'-' is no value, not 0";
  EXPECT_EQ(run.devices[1].index, 1);
  EXPECT_EQ(run.quality.Get(QualityId::kUnknownColumn).names, (std::set<std::string>{"mclk", "mtemp"}));
}

TEST(NvidiaSmiMon, ATimeWithoutADatePassesMidnight) {
  const ImportRun run(
      ImportNvidiaSmiMon,
      "#Time        gpu    pwr     sm \n#HH:MM:SS    Idx      W      % \n"
      " 23:59:59      0     37     12 \n 00:00:00      0     37     12 \n 00:00:01      0     37     12 \n");
  ASSERT_EQ(run.samples.size(), 3U);
  EXPECT_EQ(run.samples[2].time - run.samples[0].time, std::chrono::seconds(2));
  EXPECT_EQ(run.quality.CountOf(QualityId::kNoTimestamp), 1);
  EXPECT_EQ(run.quality.CountOf(QualityId::kPeriodEstimated), 0);
}

TEST(NvidiaSmiMon, ADateWithoutATimeIsWhereTheSweepsBegin) {
  const ImportRun run(
      ImportNvidiaSmiMon,
      "#Date       gpu    pwr \n 20210102      0     37 \n 20210102      1     37 \n 20210102      0     37 \n");
  ASSERT_EQ(run.samples.size(), 3U);
  EXPECT_EQ(FormatRfc3339(run.samples[1].time), "2021-01-02T00:00:00Z");
  EXPECT_EQ(FormatRfc3339(run.samples[2].time), "2021-01-02T00:00:01Z");
}

TEST(NvidiaSmiMon, ColumnsAreFoundByNameAndHeadersMayChange) {
  const ImportRun run(
      ImportNvidiaSmiMon,
      "# gpu   pclk     sm    pwr \n# Idx    MHz      %      W \n    0   1000     50    100 \n"
      "\n# gpu    pwr   pclk pviol     sm \n# Idx      W    MHz     %      % \n    0    200   2000     0     60 \n"
      "# gpu    pwr   pclk pviol     sm \n    0    300   2000     0     70 \n");
  ASSERT_EQ(run.samples.size(), 3U);
  EXPECT_EQ(run.samples[0].Get(Signal::kPower), 100'000);
  EXPECT_EQ(run.samples[0].Get(Signal::kUtilization), 50 * kPercent);
  EXPECT_EQ(run.samples[1].Get(Signal::kPower), 200'000);
  EXPECT_EQ(run.samples[1].Get(Signal::kUtilization), 60 * kPercent);
  EXPECT_EQ(run.samples[2].Get(Signal::kUtilization), 70 * kPercent);
  EXPECT_EQ(run.quality.CountOf(QualityId::kUnknownColumn), 1) << "pviol, once";
}

TEST(NvidiaSmiMon, SweepsOfSeveralGpusShareATime) {
  const ImportRun run(ImportNvidiaSmiMon, "# gpu sm\n 0 1\n 2 2\n 5 3\n 0 4\n 2 5\n 5 6\n 2 7\n");
  std::vector<std::int64_t> seconds;
  for (const Sample& s : run.samples) seconds.push_back(s.time.nanos() / kNanosPerSecond);
  EXPECT_EQ(seconds, (std::vector<std::int64_t>{0, 0, 0, 1, 1, 1, 2}));
}

TEST(NvidiaSmiMon, CommaSeparatedRows) {
  const ImportRun run(ImportNvidiaSmiMon, "#gpu, pwr, gtemp, sm\n#Idx, W, C, %\n0, 36, 40, 7\n0, 37, -, 8\n");
  ASSERT_EQ(run.samples.size(), 2U);
  EXPECT_EQ(run.samples[1].Get(Signal::kPower), 37'000);
  EXPECT_TRUE(run.samples[1].Lacks(Signal::kTemperature));
}

struct Held {
  std::int64_t second;
  DeviceId device;
  std::int64_t processes;
  friend bool operator==(const Held&, const Held&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Held& h) {
    return out << h.second << "s device " << h.device << ": " << h.processes;
  }
};
std::vector<Held> HeldBy(const std::string& rows) {
  const ImportRun run(ImportNvidiaSmiMon, rows);
  EXPECT_TRUE(run.result);
  std::vector<Held> held;
  for (const Sample& s : run.samples) {
    held.push_back({s.time.nanos() / kNanosPerSecond, s.device, s.Get(Signal::kProcesses)});
  }
  return held;
}

TEST(NvidiaSmiMon, ProcessesOfAGpuAndSweep) {
  const std::string header = "# gpu pid type sm mem command\n# Idx # C/G % % name\n";
  EXPECT_EQ(
      HeldBy(header + " 0 10 C 99 1 python train.py\n 0 11 G - - Xorg\n 1 - - - - -\n"
                      " 0 10 C 98 1 python train.py\n 0 12 C+G - - a, b\n 0 13 M+C 1 1 mps client\n 1 20 C 5 5 x\n"),
      (std::vector<Held>{{0, 0, 1}, {0, 1, 0}, {1, 0, 3}, {1, 1, 1}}));
  EXPECT_EQ(HeldBy(header + " 0 - - - - -\n 0 - - - - -\n 0 7 C - - x\n 0 - - - - -\n"),
            (std::vector<Held>{{0, 0, 0}, {1, 0, 0}, {2, 0, 1}, {3, 0, 0}}));
}

TEST(NvidiaSmiMon, ANewTimeIsANewSweepEvenOfOtherProcesses) {
  const ImportRun run(ImportNvidiaSmiMon,
                      "#Date Time gpu pid type sm command\n 20210102 10:00:00 0 7 C 1 a\n 20210102 10:00:00 0 8 C 1 b\n"
                      " 20210102 10:00:01 0 9 C 1 c\n");
  ASSERT_EQ(run.samples.size(), 2U);
  EXPECT_EQ(run.samples[0].Get(Signal::kProcesses), 2);
  EXPECT_EQ(run.samples[1].Get(Signal::kProcesses), 1);
  EXPECT_EQ(FormatRfc3339(run.samples[1].time), "2021-01-02T10:00:01Z");
}

TEST(NvidiaSmiMon, BadRowsAreCounted) {
  const ImportRun run(
      ImportNvidiaSmiMon,
      "# gpu    pwr     sm \n    0     37     12 \nUnable to query GPU\n    0     37 \n    x     37     12 \n"
      "   -1     37     12 \n    0    abc     12 \n");
  ASSERT_TRUE(run.result);
  ASSERT_EQ(run.samples.size(), 2U);
  EXPECT_EQ(run.quality.CountOf(QualityId::kBadRow), 5) << "four rows and a value";
  EXPECT_TRUE(run.samples[1].Lacks(Signal::kPower));
}

TEST(NvidiaSmiMon, ATornLastRowIsDropped) {
  const std::string whole = "# gpu   pclk \n    0   1980 \n    0   1980 ";
  EXPECT_EQ(ImportRun(ImportNvidiaSmiMon, whole).samples.size(), 2U);
  for (const std::size_t cut : {3U, 5U, 8U}) {
    const ImportRun run(ImportNvidiaSmiMon, whole.substr(0, whole.size() - cut));
    EXPECT_EQ(run.samples.size(), 1U) << cut;
    EXPECT_EQ(run.quality.CountOf(QualityId::kTornRow), 1) << cut;
  }
}

TEST(NvidiaSmiMon, ALastLineThatOnlyLostBlanksOrItsEndCounts) {
  const std::string padded = "# gpu   pclk \n    0   1980 \n    0    345";
  EXPECT_EQ(ImportRun(ImportNvidiaSmiMon, padded).samples.size(), 2U);
  const std::string commas = "# gpu, sm, pclk\n0, 100, 1980\n0, 5, 345";
  EXPECT_EQ(ImportRun(ImportNvidiaSmiMon, commas).samples.size(), 2U);
  const std::string processes =
      "# gpu         pid   type     sm    command\n"
      "    0       11327     C      12    a_long_command \n"
      "    0       11328     C       -    python";
  const ImportRun run(ImportNvidiaSmiMon, processes);
  ASSERT_EQ(run.samples.size(), 1U);
  EXPECT_EQ(run.samples[0].Get(Signal::kProcesses), 2);
}

TEST(NvidiaSmiMon, WithoutTimesSweepsAreAsFarApartAsTheUserSays) {
  ImportOptions options;
  options.period = Nanos(5 * kNanosPerSecond);
  const ImportRun run(ImportNvidiaSmiMon, "# gpu sm\n 0 10\n 1 20\n 0 10\n 1 20\n 0 10\n 1 20\n", options);
  ASSERT_EQ(run.samples.size(), 6U);
  EXPECT_EQ(run.samples.back().time.nanos(), 10 * kNanosPerSecond);
}

TEST(NvidiaSmiMon, AGpuThatIsLostMidwayIsRefused) {
  std::string log = "# Date Time gpu pwr sm\n";
  for (int i = 0; i < 40; ++i) {
    for (int gpu = 0; gpu < (i < 20 ? 3 : 2); ++gpu) {
      log += fmt::format("20260302 10:00:{:02} {} 100 50\n", i, gpu);
    }
  }
  const ImportRun run(ImportNvidiaSmiMon, log);
  ASSERT_FALSE(run.result);
  EXPECT_NE(run.result.error().message.find(":62: GPU 2 is missing from the rows from here on"), std::string::npos)
      << run.result.error().message;
}

TEST(NvidiaSmiMon, NoLogIsOneClearError) {
  for (const std::string& text : {std::string(), std::string("\0\1\2junk\nmore\n", 13), std::string("gpu sm\n0 1\n")}) {
    const ImportRun run(ImportNvidiaSmiMon, text);
    ASSERT_FALSE(run.result);
    EXPECT_NE(run.result.error().message.find("no header line"), std::string::npos);
  }
  const ImportRun long_line(ImportNvidiaSmiMon, "# gpu sm\n" + std::string(3 << 20, '1'));
  EXPECT_FALSE(long_line.result);
}

TEST(NvidiaSmiMon, SniffsOnlyItsOwn) {
  EXPECT_TRUE(SniffNvidiaSmiMon(kDated));
  EXPECT_TRUE(SniffNvidiaSmiMon("\n# gpu        pid  type    sm   mem   enc   dec   command\r\n"));
  EXPECT_TRUE(SniffNvidiaSmiMon("nohup: ignoring input\n" + std::string(kDated)));
  EXPECT_FALSE(SniffNvidiaSmiMon("# HELP gpu utilization\n"));
  EXPECT_FALSE(SniffNvidiaSmiMon("index, utilization.gpu [%]\n0, 12 %\n"));
  EXPECT_FALSE(SniffNvidiaSmiMon("#"));
  EXPECT_FALSE(SniffNvidiaSmiMon(""));
}

}  // namespace
}  // namespace idleburn
