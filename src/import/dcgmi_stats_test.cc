#include "import/dcgmi_stats.h"

#include <gtest/gtest.h>

#include "support/import_run.h"
#include "support/shared_data.h"

namespace idleburn {
namespace {

using test::ImportRun;

constexpr char kFile[] = "data/telemetry/dcgmi/constructed_job_stats_v100.txt";

std::vector<DcgmiGpu> ReadTables(const std::string& text) {
  StringSource source(text);
  DataQuality quality;
  DcgmiReader reader(source, quality);
  std::vector<DcgmiGpu> gpus;
  DcgmiGpu gpu;
  while (reader.Next(&gpu).value_or(false)) gpus.push_back(gpu);
  return gpus;
}

std::string Table(const std::string& rows) {
  return "Successfully retrieved statistics for job: j.1. \n"
         "+-----------------------------------+\n| GPU ID: 3                         |\n"
         "+=================+=================+\n|-----  Execution Stats  ------------+---|\n" +
         rows + "+-----------------+-----------------+\n";
}
const std::string kTimes =
    "| Start Time | Tue Sep  1 08:00:05 2026 |\n| End Time | Tue Sep  1 08:20:05 2026 |\n"
    "| Total Execution Time (sec) | 1200.00 |\n";

// Every figure of the capture's README.
TEST(DcgmiStats, EveryFigureOfTheTables) {
  const auto text = test::ReadShared(kFile);
  if (!text) GTEST_SKIP() << "missing: " << test::SharedPath(kFile);
  const std::vector<DcgmiGpu> gpus = ReadTables(*text);
  ASSERT_EQ(gpus.size(), 2U);
  struct Row {
    const char* path;
    const char* figure;
    const char* zero;
    const char* one;
  };
  const Row kRows[] = {
      {"Execution Stats/Start Time", "", "Tue Sep  1 08:00:05 2026", "Tue Sep  1 08:00:05 2026"},
      {"Execution Stats/End Time", "", "Tue Sep  1 08:20:05 2026", "Tue Sep  1 08:20:05 2026"},
      {"Execution Stats/Total Execution Time (sec)", "", "1200.00", "1200.00"},
      {"Execution Stats/No. of Processes", "", "1", "1"},
      {"Performance Stats/Energy Consumed (Joules)", "", "264120", "57960"},
      {"Performance Stats/Power Usage (Watts)", "Avg", "220.10", "48.30"},
      {"Performance Stats/Power Usage (Watts)", "Max", "251.3", "62.875"},
      {"Performance Stats/Power Usage (Watts)", "Min", "41.2", "39.9"},
      {"Performance Stats/Max GPU Memory Used (bytes)", "", "15891103744", "694157312"},
      {"Performance Stats/SM Utilization (%)", "Avg", "91", "0"},
      {"Performance Stats/PCIe Rx Bandwidth (megabytes)", "Avg", "N/A", "N/A"},
      {"Performance Stats/PCIe Tx Bandwidth (megabytes)", "Max", "N/A", "N/A"},
      {"Event Stats/Single Bit ECC Errors", "", "0", "3"},
      {"Event Stats/Double Bit ECC Errors", "", "0", "0"},
      {"Event Stats/Critical XID Errors", "", "0", "0"},
      {"Slowdown Stats/Due to - Power (%)", "", "0", "0"},
      {"Slowdown Stats/Due to - Thermal (%)", "", "0", "6.5"},
      {"Slowdown Stats/Due to - Reliability (%)", "", "Not Supported", "Not Supported"},
      {"Slowdown Stats/Due to - Board Limit (%)", "", "Not Supported", "Not Supported"},
      {"Slowdown Stats/Due to - Low Utilization (%)", "", "Not Supported", "Not Supported"},
      {"Slowdown Stats/Due to - Sync Boost (%)", "", "0", "0"},
      {"Overall Health/Overall Health", "", "Healthy", "Warning"},
  };
  for (std::size_t g = 0; g < 2; ++g) {
    EXPECT_EQ(gpus[g].id, std::to_string(g));
    EXPECT_EQ(gpus[g].job, "train-40017");
    for (const Row& row : kRows) {
      const std::string_view cell = gpus[g].leaves.Get(row.path);
      const std::string_view text_of = *row.figure == '\0' ? cell : Figure(cell, row.figure).value_or("absent");
      EXPECT_EQ(text_of, g == 0 ? row.zero : row.one) << row.path << " " << row.figure;
    }
    ASSERT_EQ(gpus[g].processes.size(), 1U);
    EXPECT_EQ(gpus[g].processes[0].Get("PID"), g == 0 ? "20511" : "20512");
    EXPECT_EQ(gpus[g].processes[0].Get("Avg SM Utilization (%)"), g == 0 ? "90" : "0");
    EXPECT_EQ(gpus[g].processes[0].Get("Avg Memory Utilization (%)"), "12");
  }
}

TEST(DcgmiStats, TwoSamplesSayWhatTheJobDidOnAverage) {
  const auto text = test::ReadShared(kFile);
  if (!text) GTEST_SKIP() << "missing: " << test::SharedPath(kFile);
  EXPECT_TRUE(SniffDcgmiStats(*text));
  const ImportRun run(ImportDcgmiStats, *text);
  ASSERT_TRUE(run.result) << run.result.error().message;
  ASSERT_EQ(run.devices.size(), 2U);
  for (DeviceId id = 0; id < 2; ++id) {
    const std::vector<Sample> own = run.Of(id);
    ASSERT_EQ(own.size(), 2U);
    EXPECT_EQ(FormatRfc3339(own[0].time), "2026-09-01T08:00:05Z");
    EXPECT_EQ(own[1].time - own[0].time, std::chrono::seconds(1200));
    for (const Sample& s : own) {
      EXPECT_EQ(s.Get(Signal::kUtilization), (id == 0 ? 91 : 0) * kPercent);
      EXPECT_EQ(s.Get(Signal::kPower), id == 0 ? 220'100 : 48'300);
      EXPECT_EQ(s.Get(Signal::kMemoryUsed), id == 0 ? 15'891'103'744 : 694'157'312);
      EXPECT_EQ(s.Get(Signal::kProcesses), 1);
      EXPECT_EQ(s.Get(Signal::kSmClock), 1'380'000);
      EXPECT_FALSE(s.Has(Signal::kPcieRx));
    }
    // Energy over time is the average power of the table.
    EXPECT_EQ((id == 0 ? 264'120'000 : 57'960'000) / 1200, own[0].Get(Signal::kPower));
    EXPECT_EQ(run.devices[id].index, static_cast<int>(id));
    EXPECT_EQ(run.Counter(id, Signal::kUtilization), "dcgmi.sm_utilization_avg");
    const std::vector<OwnerLedger::Share> shares = run.owners.SharesOf(id);
    ASSERT_EQ(shares.size(), 1U);
    EXPECT_EQ(shares[0].owner, "job train-40017");
  }
  EXPECT_EQ(run.quality.CountOf(QualityId::kJobResolution), 2);
  EXPECT_EQ(run.quality.CountOf(QualityId::kTimezoneAssumed), 1);
  EXPECT_EQ(run.quality.CountOf(QualityId::kXidSeen), 0);
}

TEST(DcgmiStats, WhatTheTableLacksIsMissing) {
  const ImportRun run(ImportDcgmiStats, Table(kTimes + "+-----  Performance Stats  ---+---+\n"
                                                       "| SM Utilization (%) | Avg: N/A, Max: N/A, Min: N/A |\n"
                                                       "| Power Usage (Watts) | Not Supported |\n"));
  ASSERT_EQ(run.samples.size(), 2U);
  EXPECT_TRUE(run.samples[0].Lacks(Signal::kUtilization));
  EXPECT_TRUE(run.samples[0].Lacks(Signal::kPower));
  EXPECT_FALSE(run.samples[0].Has(Signal::kProcesses));
  EXPECT_EQ(run.devices[0].index, 3);
}

TEST(DcgmiStats, ARunningJobLastsAsLongAsItRan) {
  const ImportRun run(ImportDcgmiStats,
                      Table("| Start Time | Tue Sep  1 08:00:05 2026 |\n| End Time | Still Running |\n"
                            "| Total Execution Time (sec) | 25.48 |\n"));
  ASSERT_EQ(run.samples.size(), 2U);
  EXPECT_EQ(run.samples[1].time - run.samples[0].time, std::chrono::milliseconds(25480));
  const ImportRun unknown(ImportDcgmiStats, Table("| Start Time | Tue Sep  1 08:00:05 2026 |\n"));
  EXPECT_EQ(unknown.samples.size(), 1U);
}

// Twenty minutes and two hundred on one GPU.
TEST(DcgmiStats, JobsPayForTheirTime) {
  std::string longer = Table(kTimes);
  longer.replace(longer.find("j.1"), 3, "j 2");
  longer.replace(longer.find("08:20:05"), 8, "11:20:05");
  const ImportRun run(ImportDcgmiStats, Table(kTimes) + longer);
  const std::vector<OwnerLedger::Share> shares = run.owners.SharesOf(0);
  ASSERT_EQ(shares.size(), 2U);
  EXPECT_EQ(shares[0].owner, "job j 2");
  EXPECT_DOUBLE_EQ(shares[0].fraction, 10.0 / 11);
  EXPECT_DOUBLE_EQ(shares[1].fraction, 1.0 / 11);
}

TEST(DcgmiStats, AnXidIsTold) {
  const ImportRun run(ImportDcgmiStats, Table(kTimes + "+-----  Event Stats  ---+---+\n| Critical XID Errors | 2 |\n"));
  EXPECT_EQ(run.quality.CountOf(QualityId::kXidSeen), 1);
}

TEST(DcgmiStats, SeveralProcessesAndJobs) {
  const std::string processes =
      "+--  Compute Process Utilization  ---+---+\n| PID | 1 |\n|     Avg SM Utilization (%) | 90 |\n"
      "| PID | 2 |\n|     Avg SM Utilization (%) | 5 |\n";
  std::string other = Table(kTimes);
  other.replace(other.find("j.1"), 3, "j 2");
  const std::vector<DcgmiGpu> gpus = ReadTables(Table(kTimes + processes) + other);
  ASSERT_EQ(gpus.size(), 2U);
  EXPECT_EQ(gpus[0].job, "j.1");
  EXPECT_EQ(gpus[1].job, "j 2");
  ASSERT_EQ(gpus[0].processes.size(), 2U);
  EXPECT_EQ(gpus[0].processes[1].Get("Avg SM Utilization (%)"), "5");
}

TEST(DcgmiStats, ACutTableKeepsWhatIsWholeAndIsCounted) {
  const std::string whole = Table(kTimes + "+-----  Performance Stats  ---+---+\n| SM Utilization (%) | Avg: 91 |\n");
  const ImportRun all(ImportDcgmiStats, whole);
  EXPECT_EQ(all.quality.CountOf(QualityId::kTornRow), 0);
  const std::size_t in_a_row = whole.find("Avg: 91") + 6;
  const ImportRun run(ImportDcgmiStats, whole.substr(0, in_a_row));
  ASSERT_TRUE(run.result);
  ASSERT_EQ(run.samples.size(), 2U);
  EXPECT_FALSE(run.samples[0].Has(Signal::kUtilization)) << "9 is not 91";
  EXPECT_GE(run.quality.CountOf(QualityId::kTornRow), 1);
}

TEST(DcgmiStats, EveryCutIsToldOrCounted) {
  const std::string whole = Table(kTimes + "+-----  Performance Stats  ---+---+\n| SM Utilization (%) | Avg: 91 |\n");
  const std::size_t border = whole.rfind("+------") + 1;
  for (std::size_t n = 0; n < border; ++n) {
    const ImportRun run(ImportDcgmiStats, whole.substr(0, n));
    const bool counted = run.quality.CountOf(QualityId::kTornRow) + run.quality.CountOf(QualityId::kBadRow) > 0;
    EXPECT_TRUE(!run.result || counted) << n;
  }
}

TEST(DcgmiStats, NoTableIsOneClearError) {
  for (const std::string& text : {std::string(), std::string("\0\1\2|+-\n", 7), std::string("| a | b |\n")}) {
    const ImportRun run(ImportDcgmiStats, text);
    ASSERT_FALSE(run.result);
    EXPECT_NE(run.result.error().message.find("no table with a GPU ID"), std::string::npos);
  }
  const ImportRun no_start(ImportDcgmiStats, Table("| No. of Processes | 1 |\n"));
  EXPECT_TRUE(no_start.samples.empty());
  EXPECT_EQ(no_start.quality.CountOf(QualityId::kBadRow), 1);
  const ImportRun bad_id(ImportDcgmiStats, "| GPU ID: x |\n" + kTimes + "+---+\n");
  EXPECT_TRUE(bad_id.samples.empty());
  EXPECT_EQ(bad_id.quality.CountOf(QualityId::kBadRow), 1);
}

TEST(DcgmiStats, FiguresOfACell) {
  EXPECT_EQ(Figure("Avg: 91, Max: 100, Min: 0", "Max"), "100");
  EXPECT_EQ(Figure("Avg: 91, Max: 100, Min: 0", "Min"), "0");
  EXPECT_FALSE(Figure("91", "Avg"));
  EXPECT_FALSE(Figure("", "Avg"));
}

TEST(DcgmiStats, SniffsOnlyItsOwn) {
  EXPECT_TRUE(SniffDcgmiStats(Table(kTimes)));
  EXPECT_FALSE(SniffDcgmiStats("+------+\n| NVIDIA-SMI 535 |\n+------+\n"));
  EXPECT_FALSE(SniffDcgmiStats(""));
}

}  // namespace
}  // namespace idleburn
