#include "cli/doctor_checks.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "cli/doctor_output.h"

namespace idleburn {
namespace {

CheckVerdict VerdictOf(const DoctorReadings& readings, std::string_view id) {
  for (const CheckResult& result : JudgeAll(readings)) {
    if (result.check->id == id) return result.verdict;
  }
  ADD_FAILURE() << id << " is no check";
  return {};
}

TEST(DoctorChecksTest, EveryIdIsDocumentedOnceAndInOrder) {
  std::ifstream in(std::filesystem::path(IDLEBURN_ROOT) / "docs" / "doctor.md");
  std::vector<std::string> documented;
  for (std::string line; std::getline(in, line);) {
    if (line.rfind("| `", 0) == 0) documented.push_back(line.substr(3, line.find('`', 3) - 3));
  }
  std::vector<std::string> ids;
  for (const CheckInfo& check : DoctorChecks()) ids.emplace_back(check.id);
  EXPECT_EQ(documented, ids);
  EXPECT_EQ(std::set(ids.begin(), ids.end()).size(), ids.size());
}

TEST(DoctorChecksTest, AQuantityOfTheGpuHasAFix) {
  for (const CheckInfo& check : DoctorChecks()) {
    EXPECT_TRUE(check.judge != JudgeSignal || !check.fix.empty()) << check.id;
  }
}

TEST(DoctorChecksTest, WithoutReadingsEveryVerdictHasEvidenceAndTroublesHaveFixes) {
  const DoctorReadings readings;
  for (const CheckResult& result : JudgeAll(readings)) {
    EXPECT_TRUE(result.verdict.status <= CheckStatus::kOk || !result.verdict.fix.empty()) << result.check->id;
  }
  EXPECT_EQ(WorstOf(JudgeAll(readings)), CheckStatus::kFailure);  // nowhere to record to
}

TEST(DoctorChecksTest, AContainerMattersOnlyWhereThereIsAGpu) {
  DoctorReadings readings;
  readings.pid_namespace = "pid:[4026532999]";
  EXPECT_EQ(VerdictOf(readings, "pid_namespace").status, CheckStatus::kOk);
  DeviceKey key;
  key.index = 0;
  readings.devices.Enter(key);
  readings.gpus.resize(1);
  EXPECT_EQ(VerdictOf(readings, "pid_namespace").status, CheckStatus::kWarning);
  readings.pid_namespace = "pid:[4026531836]";
  EXPECT_EQ(VerdictOf(readings, "pid_namespace").status, CheckStatus::kOk);
}

TEST(DoctorChecksTest, PricesAreOldAfterNinetyDaysUnlessOneIsGiven) {
  constexpr std::int64_t kDay = 24 * kNanosPerHour;
  DoctorReadings readings;
  readings.prices.rows = 3;
  readings.prices.newest = Instant::FromNanos(1000 * kDay);
  readings.now = Instant::FromNanos(1090 * kDay);
  EXPECT_EQ(VerdictOf(readings, "price_catalogue").status, CheckStatus::kOk);
  readings.now = readings.now + Nanos(1);
  EXPECT_EQ(VerdictOf(readings, "price_catalogue").status, CheckStatus::kWarning);
  Rate given;
  given.kind = RateKind::kGiven;
  given.per_gpu_hour = Money::Cents(250);
  readings.rate = given;
  EXPECT_EQ(VerdictOf(readings, "price_catalogue").status, CheckStatus::kOk);
}

TEST(DoctorChecksTest, SpaceSlowClocksAndMissedTicksAreJudgedAtTheirEdges) {
  DoctorReadings readings;
  readings.recording_folder = readings.folder.existing = "/data";
  readings.folder.free_bytes = std::int64_t{1} << 30;
  readings.clock_cost = Nanos(2000);
  readings.statistics.ticks = 20;
  readings.statistics.missed = 1;
  for (const char* id : {"recording_folder", "host_clock", "sampler"}) {
    EXPECT_EQ(VerdictOf(readings, id).status, CheckStatus::kOk) << id;
  }
  --readings.folder.free_bytes;
  ++readings.clock_cost;
  ++readings.statistics.missed;
  for (const char* id : {"recording_folder", "host_clock", "sampler"}) {
    EXPECT_EQ(VerdictOf(readings, id).status, CheckStatus::kWarning) << id;
  }
}

TEST(DoctorChecksTest, TheTextCountsWhatCanBeMeasured) {
  std::vector<CheckResult> results;
  for (const CheckInfo& check : DoctorChecks()) results.push_back({&check, {CheckStatus::kOk, "read", {}}});
  std::size_t quantities = 0;
  for (const CheckInfo& check : DoctorChecks()) quantities += check.quantity ? 1 : 0;
  const std::string all = std::to_string(quantities) + " things can be measured, 0 cannot; 0 failures, 0 warnings\n";
  EXPECT_EQ(DoctorText(results, DoctorReadings{}, 100).substr(0, all.size()), all);
  for (CheckResult& result : results) result.verdict.status = CheckStatus::kSkipped;
  const std::string none = "0 things can be measured, " + std::to_string(quantities) + " cannot";
  EXPECT_EQ(DoctorText(results, DoctorReadings{}, 100).substr(0, none.size()), none);
}

}  // namespace
}  // namespace idleburn
