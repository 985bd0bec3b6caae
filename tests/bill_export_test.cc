// `idleburn bill export --focus`: rows of FOCUS from a ledger and from logs, whose sums this test knows exactly.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "base/int128.h"
#include "base/money.h"
#include "support/made_ledger.h"
#include "support/program.h"

namespace idleburn::testing {
namespace {

using nlohmann::json;
using Row = std::map<std::string, std::string>;

constexpr std::int64_t kFirst = 1'790'812'800;  // 2026-10-01T00:00:00Z
constexpr std::int64_t kGpuHour = 3'600'000;
constexpr Int128 kOne = static_cast<Int128>(1'000'000'000) * 1'000'000'000;

// A decimal text as a count of 10^-18.
Int128 Attos(const std::string& text) {
  Int128 value = 0;
  int decimals = -1;
  for (const char c : text) {
    if (c == '.') {
      decimals = 0;
    } else {
      value = value * 10 + (c - '0');
      decimals += decimals >= 0 ? 1 : 0;
    }
  }
  for (int i = decimals < 0 ? 0 : decimals; i < 18; ++i) value *= 10;
  return value;
}

// RFC 4180, one record a line.
std::vector<Row> RowsOf(const std::string& csv) {
  std::vector<std::vector<std::string>> records;
  std::istringstream lines(csv);
  for (std::string line; std::getline(lines, line);) {
    std::vector<std::string>& cells = records.emplace_back(1);
    bool quoted = false;
    for (std::size_t i = 0; i < line.size(); ++i) {
      if (line[i] == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"') {
        cells.back() += line[i++];
      } else if (line[i] == '"') {
        quoted = !quoted;
      } else if (line[i] == ',' && !quoted) {
        cells.emplace_back();
      } else {
        cells.back() += line[i];
      }
    }
  }
  std::vector<Row> rows;
  for (std::size_t r = 1; r < records.size(); ++r) {
    EXPECT_EQ(records[r].size(), records[0].size());
    Row& row = rows.emplace_back();
    for (std::size_t c = 0; c < records[r].size(); ++c) row[records[0][c]] = records[r][c];
  }
  return rows;
}

constexpr const char* kPhaseColumns[] = {"x_GpuIdleHeldCost",      "x_GpuIdleEmptyCost",  "x_GpuIdleUnknownCost",
                                         "x_GpuUnderutilizedCost", "x_GpuProductiveCost", "x_GpuComputeBoundCost",
                                         "x_GpuUnobservedCost"};

class BillExportTest : public ::testing::Test {
 protected:
  // Four GPUs of n1 with two jobs, one GPU of n2 with a job, lost time and idle time, and two GPUs of n3 that one job
  // holds. Milliseconds that divide an hour badly.
  [[nodiscard]] std::string Ledger() const {
    const std::string path = (folder_.path() / "ledger").string();
    std::vector<MadeHour> hours;
    for (int h = 0; h < 30; ++h) {
      const std::int64_t at = kFirst + h * 3600;
      MadeHour shared{"n1", at, {}, {}, {}, 0, 1};
      for (int gpu = 0; gpu < 4; ++gpu) {
        shared.gpus.emplace_back(fmt::format("GPU-1{}", gpu), PhaseMs{1'234'567 + h, 0, 777'777, 0, 0});
        PhaseMs& phases = shared.gpus.back().second;
        phases[3] = kGpuHour - phases[0] - phases[2];
      }
      PhaseMs all{};
      for (const auto& [uuid, phases] : shared.gpus) {
        for (std::size_t p = 0; p < all.size(); ++p) all[p] += phases[p];
      }
      PhaseMs a = all;
      for (std::int64_t& ms : a) ms /= 3;
      PhaseMs b = all;
      for (std::size_t p = 0; p < all.size(); ++p) b[p] -= a[p];
      shared.jobs = {{{"c", "7", "ann", "vision", "detect"}, a}, {{"c", "=8+1", "bob", "nl\"p", ""}, b}};
      hours.push_back(shared);
      MadeHour lost{"n2", at, {{"GPU-20", {1'000'000, 0, 0, 1'500'000, 0}}}, {}, {}, 1'100'000, 1};
      lost.jobs = {{{"c", "9", "", "vision", ""}, {0, 0, 0, 1'500'000, 0}}};
      lost.unallocated = {1'000'000, 0, 0, 0, 0};
      hours.push_back(lost);
      MadeHour alone{"n3", at, {{"GPU-30", {0, 0, 0, kGpuHour, 0}}, {"GPU-31", {kGpuHour, 0, 0, 0, 0}}}, {}, {}, 0, 1};
      alone.jobs = {{{"c", "5", "", "nlp", ""}, {kGpuHour, 0, 0, kGpuHour, 0}}};
      hours.push_back(alone);
    }
    WriteLedger(path, hours);
    return path;
  }

  static std::vector<Row> Exported(const std::string& words) {
    const ProgramRun run = RunIdleburn("bill export --focus " + words);
    EXPECT_EQ(run.code, 0) << run.err;
    return RowsOf(run.out);
  }
  // No rule of FOCUS is broken.
  static void ExpectValid(const std::string& file) {
    const json validation = json::parse(RunIdleburn("bill validate " + file + " --format json").out);
    EXPECT_TRUE(validation["broken"].empty()) << validation["broken"].dump(2);
    EXPECT_GT(validation["rows"], 0);
  }

  TempFolder folder_;
};

TEST_F(BillExportTest, HoursAndCostsAreExact) {
  const std::string ledger = Ledger();
  for (const std::string price : {"2", "2.49", "1.234567891"}) {
    const std::vector<Row> rows = Exported("--ledger " + ledger + " --price " + price);
    std::map<std::pair<std::string, std::string>, Int128> hours;  // by machine and hour
    std::map<std::string, Int128> of_job;
    Int128 cost = 0;
    for (const Row& row : rows) {
      hours[{row.at("ResourceId"), row.at("ChargePeriodStart")}] += Attos(row.at("PricingQuantity"));
      of_job[row.at("x_JobId")] += Attos(row.at("PricingQuantity"));
      cost += Attos(row.at("BilledCost"));
      Int128 phases = 0;
      for (const char* phase : kPhaseColumns) phases += Attos(row.at(phase));
      EXPECT_EQ(phases, Attos(row.at("EffectiveCost")));
      EXPECT_EQ(row.at("BilledCost"), row.at("ListCost"));
      // The product of price and quantity, in 10^-18, without a rounding.
      EXPECT_EQ(Attos(row.at("ListCost")),
                Attos(row.at("ListUnitPrice")) / 1'000'000'000 * (Attos(row.at("PricingQuantity")) / 1'000'000'000));
    }
    EXPECT_EQ(hours.size(), 90U);
    const std::map<std::string, Int128> gpus = {{"n1", 4}, {"n2", 1}, {"n3", 2}};
    for (const auto& [key, sum] : hours) EXPECT_EQ(sum, gpus.at(key.first) * kOne) << key.first << key.second;
    EXPECT_EQ(cost, 210 * Attos(price));  // 7 GPUs in 30 hours
    // A formula of a spreadsheet is text.
    EXPECT_EQ(of_job.size(), 5U);
    EXPECT_GT(of_job["'=8+1"], of_job["7"]);
    EXPECT_EQ(of_job["5"], 60 * kOne);
    const Int128 third = of_job["7"] * 3 - 120 * kOne;
    EXPECT_LT(third < 0 ? -third : third, kOne / 1000);
    const std::string file =
        folder_.Write("out.csv", RunIdleburn("bill export --focus --ledger " + ledger + " --price " + price).out);
    ExpectValid(file);
  }
}

TEST_F(BillExportTest, RowsSayWhoseTimeItWas) {
  std::map<std::string, std::map<std::string, int>> attribution;
  std::map<std::string, int> uuids;
  for (const Row& row : Exported("--ledger " + Ledger() + " --price 2.49")) {
    ++attribution[row.at("ResourceId")][row.at("x_Attribution")];
    ++uuids[row.at("x_GpuUuid")];
    EXPECT_EQ(row.at("x_GpuOwnership"), "owned");
    EXPECT_EQ(row.at("ProviderName"), "on-premises");
    EXPECT_EQ(row.at("BillingPeriodEnd"), "2026-11-01T00:00:00Z");
    if (row.at("x_JobId") == "7") {
      EXPECT_EQ(row.at("Tags"),
                R"({"team": "vision", "job": "7", "user": "ann", "experiment": "detect", "cluster": "c"})");
    }
    if (row.at("x_Attribution") == "unallocated") {
      EXPECT_EQ(row.at("Tags"), "");
    }
  }
  using Counts = std::map<std::string, int>;
  EXPECT_EQ(attribution["n1"], (Counts{{"job", 60}}));  // jobs of a machine are not counted by GPU
  EXPECT_EQ(attribution["n2"], (Counts{{"job", 30}, {"unallocated", 30}, {"unknown", 30}}));
  EXPECT_EQ(attribution["n3"], (Counts{{"job", 60}}));
  EXPECT_EQ(uuids, (Counts{{"", 60}, {"GPU-20", 90}, {"GPU-30", 30}, {"GPU-31", 30}}));
}

// On-premises: the rate is the amortised one of --owned, and the source says so.
TEST_F(BillExportTest, OwnedHardwareIsAmortised) {
  const std::vector<Row> rows =
      Exported("--ledger " + Ledger() + " --owned capex=350400,life=4,gpus=10 --provider Lab --account lab-1");
  ASSERT_FALSE(rows.empty());
  // 350,400 over 4 x 8,760 hours and 10 GPUs.
  EXPECT_EQ(rows[0].at("ListUnitPrice"), "1");
  EXPECT_NE(rows[0].at("x_PriceSource").find("owned"), std::string::npos) << rows[0].at("x_PriceSource");
  EXPECT_EQ(rows[0].at("BillingAccountId"), "lab-1");
  EXPECT_EQ(rows[0].at("InvoiceIssuerName"), "Lab");
}

TEST_F(BillExportTest, ParquetHasTheSameRows) {
  const std::string ledger = Ledger();
  const std::string parquet = (folder_.path() / "out.parquet").string();
  const std::string csv = (folder_.path() / "out.csv").string();
  for (const std::string& file : {parquet, csv}) {
    const ProgramRun run = RunIdleburn("bill export --focus --ledger " + ledger + " --price 2.49 -o " + file);
    ASSERT_EQ(run.code, 0) << run.err;
    ExpectValid(file);
  }
  const auto reconciled = [](const std::string& file) {
    json bill = json::parse(RunIdleburn("bill reconcile " + file + " --format json").out);
    for (const char* key : {"data_quality", "ids"}) bill.erase(key);
    for (json& m : bill["mismatches"]) {
      m.erase("file");
      m.erase("line");  // Parquet has no header line
    }
    return bill;
  };
  const json bill = reconciled(csv);
  EXPECT_EQ(bill["invoice"]["total"], "522.90");  // 210 GPU-hours
  EXPECT_EQ(bill, reconciled(parquet));
  EXPECT_EQ(RunIdleburn("bill export --focus --format parquet --ledger " + ledger + " --price 2").code, 2);
}

// A span over the end of a month belongs to no billing period: it is left out, and said.
TEST_F(BillExportTest, SpansOverTheEndOfAMonthAreLeftOut) {
  const std::string path = (folder_.path() / "ledger").string();
  constexpr std::int64_t kNovember = kFirst + 31LL * 86'400;
  const auto hour = [](std::int64_t at, std::int64_t hours) {
    MadeHour made{"n", at, {{"GPU-1", {0, 0, 0, hours * kGpuHour, 0}}}, {}, {}, 0, hours};
    made.jobs = {{{"c", "1", "", "a", ""}, {0, 0, 0, hours * kGpuHour, 0}}};
    return made;
  };
  WriteLedger(path, {hour(kNovember - 7200, 1), hour(kNovember - 3600, 2), hour(kNovember + 3600, 3)});
  const ProgramRun run = RunIdleburn("bill export --focus --price 1 --ledger " + path);
  EXPECT_NE(run.err.find("2 GPU-hours reach over the end of a month"), std::string::npos) << run.err;
  const std::vector<Row> rows = RowsOf(run.out);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[1].at("PricingQuantity"), "3");
  EXPECT_EQ(Exported("--price 1 --month 2026-11 --ledger " + path).size(), 1U);
  EXPECT_EQ(RunIdleburn("bill export --focus --price 1 --month 2026-09 --ledger " + path).code, 1);
}

// Logs know what memory was held. Hours of a day with 23 hours are hours of UTC.
TEST_F(BillExportTest, LogsAreExportedByTheHour) {
  std::string log = "timestamp, index, uuid, name, utilization.gpu [%], memory.used [MiB]\n";
  for (int minute = 0; minute < 180; ++minute) {
    // 2026-03-29 in Berlin: 01:59 is followed by 03:00.
    const int local = minute < 60 ? 60 + minute : 120 + minute;
    log += fmt::format(
        "2026/03/29 {:02}:{:02}:00.000, 0, GPU-aaaaaaaa-0000-0000-0000-000000000000, NVIDIA H100, {} %, {} MiB\n",
        local / 60, local % 60, minute < 60 ? 95 : 0, minute < 120 ? 40'000 : 0);
  }
  const std::string file = folder_.Write("gpu.csv", log);
  const std::vector<Row> rows = Exported("--timezone Europe/Berlin --price H100=3 --telemetry n7=" + file);
  ASSERT_EQ(rows.size(), 3U);
  const char* const phases[] = {"x_GpuComputeBoundCost", "x_GpuIdleHeldCost", "x_GpuIdleEmptyCost"};
  for (std::size_t hour = 0; hour < 3; ++hour) {
    EXPECT_EQ(rows[hour].at("ChargePeriodStart"), fmt::format("2026-03-29T{:02}:00:00Z", hour));
    EXPECT_EQ(rows[hour].at("PricingQuantity"), "1");
    EXPECT_EQ(rows[hour].at(phases[hour]), "3") << hour;
    EXPECT_EQ(rows[hour].at("x_GpuWasteLowCost"), hour == 0 ? "0.15" : "3");
    EXPECT_EQ(rows[hour].at("ResourceId"), "n7");
    EXPECT_EQ(rows[hour].at("x_GpuModel"), "NVIDIA H100");
  }
  ExpectValid(folder_.Write("out.csv", RunIdleburn("bill export --focus --timezone Europe/Berlin --price H100=3 "
                                                   "--telemetry n7=" +
                                                   file)
                                           .out));
}

TEST_F(BillExportTest, RefusesWhatCannotBeExported) {
  const std::string ledger = Ledger();
  const ProgramRun unpriced = RunIdleburn("bill export --focus --ledger " + ledger);
  EXPECT_EQ(unpriced.code, 1);
  EXPECT_NE(unpriced.err.find("--price"), std::string::npos) << unpriced.err;
  EXPECT_EQ(RunIdleburn("bill export --ledger " + ledger + " --price 2").code, 2);
  EXPECT_EQ(RunIdleburn("bill export --focus --price 2").code, 2);
  EXPECT_EQ(RunIdleburn("bill export --focus --price 2 --ledger /nowhere").code, 1);
}

}  // namespace
}  // namespace idleburn::testing
