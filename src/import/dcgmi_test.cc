#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "classify/run_classifier.h"
#include "import/formats.h"
#include "import/tool_readers.h"
#include "support/import_run.h"
#include "support/metrics_testing.h"
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

TEST(DcgmiStats, ASampleSaysWhatTheJobDidOnAverageAndOneThatItEnded) {
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
    const Sample& s = own[0];
    EXPECT_EQ(s.Get(Signal::kUtilization), (id == 0 ? 91 : 0) * kPercent);
    EXPECT_EQ(s.Get(Signal::kPower), id == 0 ? 220'100 : 48'300);
    EXPECT_EQ(s.Get(Signal::kMemoryUsed), id == 0 ? 15'891'103'744 : 694'157'312);
    EXPECT_EQ(s.Get(Signal::kProcesses), 1);
    EXPECT_EQ(s.Get(Signal::kSmClock), 1'380'000);
    EXPECT_FALSE(s.Has(Signal::kPcieRx));
    EXPECT_EQ(own[1].present, 0U);
    EXPECT_EQ(own[1].unavailable, s.present | s.unavailable);
    EXPECT_EQ(own[1].reason, Unobserved::kGap);
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

// 264,120 J in 1200 s, whatever power was read.
TEST(DcgmiStats, EnergyIsPreferredToPower) {
  for (const std::string power : {"Avg: N/A, Max: N/A, Min: N/A", "Avg: 99.5, Max: 120, Min: 40"}) {
    for (const std::string energy : {"264120", "N/A", "1e300"}) {
      const ImportRun run(
          ImportDcgmiStats,
          Table(kTimes + "+-----  Performance Stats  ---+---+\n| Energy Consumed (Joules) | " + energy +
                " |\n| SM Utilization (%) | Avg: 50 |\n" + "| Power Usage (Watts) | " + power + " |\n"));
      ASSERT_EQ(run.samples.size(), 2U);
      const Sample& s = run.samples[0];
      const bool read = power.find("99.5") != std::string::npos;
      EXPECT_EQ(s.Has(Signal::kPower), read || energy == "264120") << power << energy;
      EXPECT_NE(s.Has(Signal::kPower), s.Lacks(Signal::kPower));
      if (s.Has(Signal::kPower)) {
        EXPECT_EQ(s.Get(Signal::kPower), energy == "264120" ? 220'100 : 99'500);
      }
      EXPECT_EQ(run.Counter(0, Signal::kPower) == "dcgmi.energy_consumed", energy == "264120");
      EXPECT_EQ(run.quality.CountOf(QualityId::kUnknownColumn), 0);
    }
  }
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

// Hours of each phase and unobserved hours of the only GPU of `text`.
struct JobHours {
  std::array<double, kPhaseCount> phase{};
  double gap = 0;
};
JobHours Classify(const std::string& text) {
  const auto in = ImportText(&ImportDcgmiStats, text);
  const Thresholds thresholds;
  RunClassifier classifier(thresholds, in->devices, in->quality,
                           [](std::string_view /*name*/) { return BoardFacts(); });
  classifier.OnSamples(in->samples);
  const DeviceTotals totals = classifier.Finish().devices.at(0).totals;
  const auto hours = [](std::int64_t ns) { return static_cast<double>(ns) / kNanosPerHour; };
  JobHours result;
  for (std::size_t i = 0; i < kPhaseCount; ++i) result.phase[i] = hours(totals.phase_ns[i]);
  result.gap = hours(totals.unobserved_ns[static_cast<std::size_t>(Unobserved::kGap)]);
  EXPECT_EQ(totals.UnobservedNs(), totals.unobserved_ns[static_cast<std::size_t>(Unobserved::kGap)]);
  return result;
}

std::string Job(const std::string& start, const std::string& end, const std::string& percent) {
  return Table("| Start Time | Tue Sep  1 " + start + " 2026 |\n| End Time | Tue Sep  1 " + end +
               " 2026 |\n+-----  Performance Stats  ---+---+\n| SM Utilization (%) | Avg: " + percent + " |\n");
}

// The mean of a job says nothing of the time after it, and all of its own, whatever other jobs there were.
TEST(DcgmiStats, AMeanHoldsFromTheStartOfItsJobToTheEnd) {
  const JobHours two = Classify(Job("08:00:00", "09:00:00", "95") + Job("10:00:00", "11:00:00", "5"));
  EXPECT_DOUBLE_EQ(two.phase[3], 1);
  EXPECT_DOUBLE_EQ(two.phase[0], 1);
  EXPECT_DOUBLE_EQ(two.gap, 1);
  const JobHours long_one = Classify(Job("00:00:00", "00:05:00", "95") + Job("00:05:00", "00:10:00", "95") +
                                     Job("00:10:00", "10:10:00", "80"));
  EXPECT_DOUBLE_EQ(long_one.phase[3], 10.0 / 60);
  EXPECT_DOUBLE_EQ(long_one.phase[2], 10);
  EXPECT_EQ(long_one.gap, 0);
  // In any order of the tables.
  EXPECT_DOUBLE_EQ(Classify(Job("10:00:00", "11:00:00", "5") + Job("08:00:00", "09:00:00", "95")).gap, 1);
}

// Where jobs overlap on one GPU the one that began last counts.
TEST(DcgmiStats, OverlappingJobsTakeTurns) {
  const ImportRun run(ImportDcgmiStats, Job("08:00:00", "08:20:00", "10") + Job("08:05:00", "08:10:00", "60") +
                                            Job("08:08:00", "08:15:00", "90") + Job("08:20:00", "08:30:00", "30"));
  const std::vector<std::pair<const char*, std::int64_t>> want = {
      {"2026-09-01T08:00:00Z", 10}, {"2026-09-01T08:05:00Z", 60}, {"2026-09-01T08:08:00Z", 90},
      {"2026-09-01T08:10:00Z", 90}, {"2026-09-01T08:15:00Z", 10}, {"2026-09-01T08:20:00Z", 30}};
  ASSERT_EQ(run.samples.size(), want.size() + 1);
  for (std::size_t i = 0; i < want.size(); ++i) {
    EXPECT_EQ(FormatRfc3339(run.samples[i].time), want[i].first);
    EXPECT_EQ(run.samples[i].Get(Signal::kUtilization), want[i].second * kPercent) << want[i].first;
  }
  EXPECT_EQ(FormatRfc3339(run.samples.back().time), "2026-09-01T08:30:00Z");
  EXPECT_TRUE(run.samples.back().Lacks(Signal::kUtilization));
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

constexpr std::int64_t kStart = 1'783'117'320;  // seconds

ImportOptions Clock(std::int64_t period_ms = 1000) {
  ImportOptions options;
  options.start = Instant::FromNanos(kStart * kNanosPerSecond);
  options.period = Nanos(period_ms * 1'000'000);
  return options;
}

std::unique_ptr<Imported> Import(std::string text, const ImportOptions& options = Clock()) {
  return ImportText(&ImportDcgmiDmon, std::move(text), options);
}

const std::string kHeader =
    "#Entity   GPUTL  POWER       FBUSD  SMACT  DVNAM\n"
    "ID               W                              \n";

TEST(DcgmiDmon, ReadsATableWhoseHeaderComesAgain) {
  const std::string text = kHeader +
                           "GPU 0     95     412.250     1024   0.812  H100\n"
                           "GPU 1     N/A    70.500      N/A    N/A    H100\n"
                           "GPU 0     100    420.000     1024   0.900  H100\n"
                           "GPU 1     0      70.500      0      0.000  H100\n"
                           "\n" +
                           kHeader + "GPU 0     50     300.000     1024   0.400  H100\n";
  EXPECT_TRUE(SniffDcgmiDmon(text));
  const auto in = Import(text);
  ASSERT_EQ(in->error, "");
  ASSERT_EQ(in->devices.size(), 2U);
  EXPECT_EQ(in->Values(Signal::kUtilization, 0), (std::vector<std::int64_t>{95 * kPercent, kFull, 50 * kPercent}));
  EXPECT_EQ(in->Values(Signal::kPower, 1), (std::vector<std::int64_t>{70'500, 70'500}));
  EXPECT_EQ(in->Values(Signal::kSmActive, 0),
            (std::vector<std::int64_t>{81'200'000, 90'000'000, 40'000'000}));  // 0 to 1
  EXPECT_EQ(in->Values(Signal::kMemoryUsed, 0)[0], std::int64_t{1024} << 20);
  EXPECT_EQ(in->Missing(Signal::kUtilization, Unobserved::kUnsupported), 1U);
  EXPECT_EQ(in->samples.front().time.nanos(), kStart * kNanosPerSecond);
  EXPECT_EQ(in->samples.back().time.nanos(), (kStart + 2) * kNanosPerSecond);
  EXPECT_EQ(in->quality.Get(QualityId::kUnknownColumn).names, std::set<std::string>{"DVNAM"});
  EXPECT_EQ(in->devices[0].counter[Index(Signal::kUtilization)], "dcgm.DCGM_FI_DEV_GPU_UTIL");
  // The header of older versions.
  const auto old = Import("# Entity  GPUTL\n      Id\n    GPU 0  7\n    GPU 0  8\n");
  EXPECT_EQ(old->Values(Signal::kUtilization, 0), (std::vector<std::int64_t>{7 * kPercent, 8 * kPercent}));
}

TEST(DcgmiDmon, NoClockIsInvented) {
  const std::string text = kHeader + "GPU 0     95     412.250     1024   0.812  H100\n";
  ImportOptions no_start = Clock();
  no_start.start.reset();
  ImportOptions no_period = Clock();
  no_period.period.reset();
  for (const ImportOptions& options : {ImportOptions(), no_start, no_period}) {
    const auto in = Import(text, options);
    EXPECT_NE(in->error.find("--start (time of the first row)"), std::string::npos) << in->error;
    EXPECT_NE(in->error.find("--period (time between two rows of a GPU)"), std::string::npos) << in->error;
    EXPECT_TRUE(in->samples.empty());
  }
}

TEST(DcgmiDmon, RowsThatAreNoneAreCounted) {
  const auto in = Import(kHeader +
                         "GPU-I 3   5      5           5      0.5    H100\n"
                         "Switch 0  5      5           5      0.5    H100\n"
                         "GPU 0     5      5\n"
                         "dmon was stopped by a signal\n"
                         "GPU 0     95     412.250     1024   0.812  H100\n"
                         "GPU 0     9");
  ASSERT_EQ(in->error, "");
  EXPECT_EQ(in->samples.size(), 1U);
  EXPECT_EQ(in->quality.CountOf(QualityId::kBadRow), 2);
  EXPECT_EQ(in->quality.CountOf(QualityId::kTornRow), 1);
  EXPECT_EQ(in->quality.Get(QualityId::kUnknownColumn).names,
            (std::set<std::string>{"DVNAM", "rows of GPU-I", "rows of Switch"}));
  EXPECT_NE(Import("#Entity   ECCUR\nID\nGPU 0     5\n")->error.find("dcgmi dmon -e 203"), std::string::npos);
}

// Sweeps as a naive writer makes them; a GPU that is lost midway takes no other's rows.
RC_GTEST_PROP(DcgmiDmon, EveryReadingStandsAtItsSweep, ()) {
  const int gpus = *rc::gen::inRange(1, 9);
  const int sweeps = *rc::gen::inRange(1, 20);
  const int lost = *rc::gen::inRange(1, gpus + 1);  // never GPU 0; gpus: none
  const int lost_from = *rc::gen::inRange(0, sweeps);
  const int period = *rc::gen::inRange(1, 5000);
  std::string text;
  std::map<std::pair<std::int64_t, int>, std::int64_t> want;
  int rows = 0;
  for (int sweep = 0; sweep < sweeps; ++sweep) {
    for (int gpu = 0; gpu < gpus; ++gpu) {
      if (gpu == lost && sweep >= lost_from) continue;
      if (rows++ % 14 == 0) text += "#Entity   GPUTL\nID\n";
      const int busy = *rc::gen::inRange(0, 101);
      text += "GPU " + std::to_string(gpu) + "     " + std::to_string(busy) + "\n";
      want[{kStart * kNanosPerSecond + std::int64_t{sweep} * period * 1'000'000, gpu}] = busy * kPercent;
    }
  }
  const auto in = Import(text, Clock(period));
  std::map<std::pair<std::int64_t, int>, std::int64_t> got;
  for (const Sample& s : in->samples) {
    got[{s.time.nanos(), in->devices[s.device].index.value_or(-1)}] = s.Get(Signal::kUtilization);
  }
  RC_ASSERT(got == want);
}

}  // namespace

}  // namespace idleburn
