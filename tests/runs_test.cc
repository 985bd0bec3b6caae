// Logs of several runs, and --window, by the real program.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <sstream>
#include <vector>

#include "support/program.h"
#include "support/smi_log.h"

namespace idleburn {
namespace {

using nlohmann::json;
using testing::AuditJsonOf;
using testing::ProgramRun;
using testing::RunIdleburn;
using testing::SmiStamp;
using testing::TempFolder;

const std::string kHeader = "timestamp, index, uuid, name, utilization.gpu [%], power.draw [W]\n";
const std::string kOld = "GPU-aaaaaaaa-1111-2222-3333-444444444444";
const std::string kNew = "GPU-bbbbbbbb-1111-2222-3333-444444444444";

// Rows of a GPU every ten seconds in [from, to], at `busy`.
std::string Rows(std::int64_t from, std::int64_t to, const std::string& uuid, const std::string& busy) {
  std::string text;
  for (std::int64_t s = from; s <= to; s += 10) {
    text += SmiStamp(s) + ", 0, " + uuid + ", NVIDIA H100 80GB HBM3, " + busy + ", 400.00 W\n";
  }
  return text;
}

// Five logs of twenty minutes, a day and a half apart: 1.666667 hours in 6.01 days.
std::string FiveRuns() {
  std::string text = kHeader;
  for (std::int64_t i = 0; i < 5; ++i)
    text += Rows(i * 129'600, i * 129'600 + 1'200, kOld, i % 2 == 0 ? "95 %" : "5 %");
  return text;
}

double Exact(const json& cost) { return std::stod(cost.get<std::string>()); }

// Every amount and every hour of the runs sums to that of the whole, and a run's parts to the run.
void ExpectSums(const json& audit) {
  double window = 0;
  double cost = 0;
  double shown = 0;
  for (const json& run : audit["runs"]) {
    double parts = run["gpu_hours"]["unobserved"].get<double>() + run["gpu_hours"]["unallocated"].get<double>();
    for (const json& phase : run["phases"]) parts += phase["gpu_hours"].get<double>();
    EXPECT_NEAR(parts, run["gpu_hours"]["window"].get<double>(), 1e-9);
    window += run["gpu_hours"]["window"].get<double>();
    cost += Exact(run["cost_exact"]);
    shown += Exact(run["cost"]);
  }
  EXPECT_NEAR(window, audit["gpu_hours"]["window"].get<double>(), 1e-9);
  EXPECT_NEAR(cost, Exact(audit["cost"]["total_exact"]), 1e-9);
  EXPECT_NEAR(shown, Exact(audit["cost"]["total"]), 1e-9);
}

double Cell(const std::string& line, std::size_t column) {
  std::istringstream cells(line);
  std::string cell;
  for (std::size_t i = 0; i <= column; ++i) std::getline(cells, cell, ',');
  return cell.empty() ? 0 : std::stod(cell);
}

TEST(RunsTest, TimeBetweenRunsIsNotPaidFor) {
  const TempFolder folder;
  const std::string log = folder.Write("week.csv", FiveRuns());
  const json audit = AuditJsonOf(log + " --price 3");
  ASSERT_EQ(audit["runs"].size(), 5U);
  EXPECT_EQ(audit["billed"]["by"], "rows");
  EXPECT_NEAR(audit["billed"]["recorded_hours"].get<double>(), 5 / 3.0, 1e-9);
  EXPECT_NEAR(audit["billed"]["between_runs_hours"].get<double>(), (4 * 129'600 - 4 * 1'200) / 3'600.0, 1e-9);
  EXPECT_EQ(audit["cost"]["total"], "5.00");
  EXPECT_EQ(audit["gpu_hours"]["unobserved"], 0.0);
  EXPECT_EQ(audit["runs"][1]["start"], "2026-03-03T22:00:00Z");
  EXPECT_NEAR(audit["runs"][1]["mean_utilization_percent"].get<double>(), 5, 1e-9);
  ExpectSums(audit);
}

TEST(RunsTest, EveryFormatSaysTheSame) {
  const TempFolder folder;
  const std::string log = folder.Write("week.csv", FiveRuns());
  const std::string line = "5 runs in 6 d, 1 h 40 min recorded, 5 d 23 h between them not billed";
  for (const char* format : {"text", "markdown", "html"}) {
    const ProgramRun run = RunIdleburn("audit --full " + log + " --price 3 --format " + std::string(format));
    std::string flat = run.out;
    for (std::size_t at = flat.find('\n'); at != std::string::npos; at = flat.find('\n', at)) flat[at] = ' ';
    EXPECT_NE(flat.find(line), std::string::npos) << format << "\n" << run.out.substr(0, 2'000);
    EXPECT_NE(run.out.find("2026-03-03T22:00:00Z"), std::string::npos) << format;
  }
  const ProgramRun csv = RunIdleburn("audit " + log + " --price 3 --format csv");
  std::istringstream lines(csv.out);
  std::string row;
  std::getline(lines, row);
  double hours = 0;
  double cost = 0;
  std::set<std::string> starts;
  while (std::getline(lines, row)) {
    starts.insert(row.substr(0, row.find(',')));
    hours += Cell(row, 9);
    cost += Cell(row, 11);
  }
  EXPECT_EQ(starts.size(), 5U);
  EXPECT_NEAR(hours, 5 / 3.0, 1e-9);
  EXPECT_NEAR(cost, 5, 1e-9);
}

// What was rented: 6 days and 14 hours, of which rows cover 5/3 h and a hold of 25 s after each of the first four runs.
TEST(RunsTest, AWindowBillsItsGaps) {
  const TempFolder folder;
  const std::string log = folder.Write("week.csv", FiveRuns());
  const json audit = AuditJsonOf(log + " --price 3 --window '2026-03-02..2026-03-08T14:00:00Z'");
  ASSERT_EQ(audit["runs"].size(), 1U);
  EXPECT_EQ(audit["billed"]["by"], "window");
  EXPECT_NEAR(audit["gpu_hours"]["window"].get<double>(), 158, 1e-9);
  EXPECT_NEAR(audit["gpu_hours"]["observed"].get<double>(), 5 / 3.0 + 4 * 25 / 3'600.0, 1e-9);
  EXPECT_EQ(audit["cost"]["total"], "474.00");
  EXPECT_EQ(audit["window"]["end"], "2026-03-08T14:00:00Z");
  ExpectSums(audit);
}

TEST(RunsTest, RowsOutsideAWindowAreLeftOutAndCounted) {
  const TempFolder folder;
  const std::string log = folder.Write("week.csv", FiveRuns());
  const json audit = AuditJsonOf(log + " --price 3 --window '2026-03-03 22:00..2026-03-03T22:10:00Z'");
  EXPECT_NEAR(audit["gpu_hours"]["window"].get<double>(), 1 / 6.0, 1e-9);
  EXPECT_NEAR(audit["mean_utilization_percent"].get<double>(), 5, 1e-9);
  bool said = false;
  for (const json& row : audit["data_quality"]) {
    if (row["id"] != "outside_window") continue;
    said = true;
    EXPECT_EQ(row["count"], 4 * 121 + 60);
  }
  EXPECT_TRUE(said);
}

TEST(RunsTest, AWindowThatCannotBeMeantIsRefusedInOneLine) {
  const TempFolder folder;
  const std::string log = folder.Write("week.csv", FiveRuns());
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"2026-07-01", "has no '..'"},
      {"yesterday..today", "'yesterday' is not a time"},
      {"1970-01-02..1970-01-02", "is not after its start"},
      {"1970-01-02T00:00:00Z..", "'' is not a time"},
      {"1980-01-01..1980-01-02",
       "no row lies in --window 1980-01-01T00:00:00Z..1980-01-02T00:00:00Z; its rows are from "
       "2026-03-02T10:00:00Z to 2026-03-08T10:20:00Z"},
  };
  for (const auto& [window, why] : cases) {
    const ProgramRun run = RunIdleburn("audit " + log + " --window '" + window + "'");
    EXPECT_NE(run.code, 0) << window;
    EXPECT_NE(run.err.find(why), std::string::npos) << window << ": " << run.err;
    EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
  }
}

// A board that was replaced midway is one board's worth, with and without a window.
TEST(RunsTest, AReplacedBoardIsOneBoardsWorth) {
  const TempFolder folder;
  const std::string log =
      folder.Write("swap.csv", kHeader + Rows(0, 7'200, kOld, "95 %") + Rows(7'800, 14'400, kNew, "95 %"));
  const json audit = AuditJsonOf(log + " --price 3");
  ASSERT_EQ(audit["per_gpu"].size(), 2U);
  EXPECT_NEAR(audit["gpu_hours"]["window"].get<double>(), (7'200 + 6'600) / 3'600.0, 1e-9);
  const json rented = AuditJsonOf(log + " --price 3 --window '2026-03-02T10:00:00Z..2026-03-02T15:00:00Z'");
  EXPECT_NEAR(rented["gpu_hours"]["window"].get<double>(), 5, 1e-9);
}

// nvidia-smi's words for a GPU that was lost stand in rows: their time is unobserved and billed.
TEST(RunsTest, ALostGpuIsUnobservedAndBilled) {
  for (const char* word : {"[GPU requires reset]", "[Unknown Error]", "[GPU is lost]"}) {
    const TempFolder folder;
    const std::string log =
        folder.Write("lost.csv", kHeader + Rows(0, 3'600, kOld, "95 %") + Rows(3'610, 14'400, kOld, word));
    const json audit = AuditJsonOf(log + " --price 3");
    EXPECT_NEAR(audit["gpu_hours"]["window"].get<double>(), 4, 1e-9) << word;
    EXPECT_NEAR(audit["gpu_hours"]["unobserved"].get<double>(), (14'400 - 3'610) / 3'600.0, 1e-9) << word;
  }
}

// A GPU whose rows end while another goes on is billed to its last row, and named.
TEST(RunsTest, AGpuThatIsSeenInPartIsNamed) {
  const TempFolder folder;
  std::string text = kHeader;
  for (std::int64_t s = 0; s <= 7'200; s += 10) {
    text += SmiStamp(s) + ", 0, " + kOld + ", NVIDIA H100 80GB HBM3, 95 %, 400.00 W\n";
    if (s <= 3'600) text += SmiStamp(s) + ", 1, " + kNew + ", NVIDIA H100 80GB HBM3, 95 %, 400.00 W\n";
  }
  const json audit = AuditJsonOf(folder.Write("part.csv", text) + " --price 3");
  EXPECT_NEAR(audit["gpu_hours"]["window"].get<double>(), 3, 1e-9);
  std::string names;
  for (const json& row : audit["data_quality"]) {
    if (row["id"] == "seen_in_part") names = row["sentence"];
  }
  EXPECT_NE(names.find("--window"), std::string::npos) << names;
}

// Two readings of one bill: by its window, and by the pods' lifetimes.
TEST(RunsTest, PodsLifetimesStandBesideTheWindow) {
  const TempFolder folder;
  std::string scrape = "# TYPE DCGM_FI_DEV_GPU_UTIL gauge\n";
  for (std::int64_t s = 0; s <= 7'200; s += 30) {
    const std::string pod = s < 1'800 ? "namespace=\"ml\",pod=\"train-0\",container=\"main\"" : "";
    scrape += "DCGM_FI_DEV_GPU_UTIL{gpu=\"0\",UUID=\"" + kOld + "\",modelName=\"NVIDIA H100 80GB HBM3\"" +
              (pod.empty() ? "" : "," + pod) + "} 95 " + std::to_string((1'750'000'000 + s) * 1'000) + "\n";
  }
  const std::string file = folder.Write("scrape.prom", scrape);
  const json audit = AuditJsonOf(file + " --price 3");
  EXPECT_EQ(audit["billed"]["by"], "rows");
  EXPECT_EQ(audit["cost"]["total"], "6.00");
  EXPECT_NEAR(audit["billed"]["lifetimes_gpu_hours"].get<double>(), 0.5, 1e-6);
  EXPECT_EQ(audit["billed"]["lifetimes_cost"], "1.50");
  const json part = AuditJsonOf(file + " --price 3 --window '2025-06-15T15:06:40Z..2025-06-15T15:21:40Z'");
  EXPECT_NEAR(part["billed"]["lifetimes_gpu_hours"].get<double>(), 0.25, 1e-6);
  EXPECT_NEAR(part["gpu_hours"]["window"].get<double>(), 0.25, 1e-9);
}

}  // namespace
}  // namespace idleburn
