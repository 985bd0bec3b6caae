#include "doctor/doctor_checks.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "places.h"
#include "report/doctor_output.h"
#include "support/documented_keys.h"

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
  const DoctorReadings readings;
  std::vector<CheckResult> results;
  for (const CheckInfo& check : DoctorChecks()) results.push_back({&check, {CheckStatus::kOk, "read", {}}});
  std::size_t quantities = 0;
  for (const CheckInfo& check : DoctorChecks()) quantities += check.quantity ? 1 : 0;
  const std::string all = std::to_string(quantities) + " things can be measured, 0 cannot; 0 failures, 0 warnings";
  EXPECT_EQ(DoctorPage({results, readings}).verdict, all);
  for (CheckResult& result : results) result.verdict.status = CheckStatus::kSkipped;
  const std::string none = "0 things can be measured, " + std::to_string(quantities) + " cannot";
  EXPECT_EQ(DoctorPage({results, readings}).verdict.substr(0, none.size()), none);
}

// A probe that read so many bytes a second cold, in order.
StorageProbe Probe(std::int64_t cold_per_second) {
  StorageProbe probe;
  probe.data.files = {{"/data/a", 1000}, {"/data/b", 3000}};
  probe.data.bytes = 4000;
  probe.threads = 4;
  for (ReadSpeeds& speeds : probe.speeds) {
    speeds.cold.reads = speeds.warm.reads = 10;
    speeds.cold.bytes = cold_per_second;
    speeds.warm.bytes = 10 * cold_per_second;
    speeds.cold.time = speeds.warm.time = Nanos(kNanosPerSecond);
  }
  return probe;
}

RunReads Reads(std::optional<double> storage, std::optional<double> asked) {
  RunReads reads;
  reads.watched = Nanos(10 * kNanosPerSecond);
  reads.storage = storage;
  reads.asked = asked;
  return reads;
}

TEST(DoctorDataTest, WhatARunReadStandsBesideWhatIsDelivered) {
  DoctorReadings readings;
  EXPECT_EQ(VerdictOf(readings, "data_run").status, CheckStatus::kSkipped);
  readings.storage = Probe(900'000'000);
  readings.run_reads = Reads(120e6, 130e6);
  const CheckVerdict idle = VerdictOf(readings, "data_run");
  EXPECT_EQ(idle.status, CheckStatus::kOk);
  EXPECT_EQ(idle.evidence.find("the run read 120 MB/s of 900 MB/s this path delivers"), 0U) << idle.evidence;
  readings.run_reads = Reads(720e6, 720e6);  // four fifths
  EXPECT_EQ(VerdictOf(readings, "data_run").status, CheckStatus::kWarning);
  readings.run_reads = Reads(719e6, 719e6);
  EXPECT_EQ(VerdictOf(readings, "data_run").status, CheckStatus::kOk);
  readings.run_reads = Reads(1e6, 5e9);
  EXPECT_NE(VerdictOf(readings, "data_run").evidence.find("page cache"), std::string::npos);
  readings.run_reads = Reads(std::nullopt, std::nullopt);
  EXPECT_NE(VerdictOf(readings, "data_run").evidence.find("unknown"), std::string::npos);
}

TEST(DoctorDataTest, AWarmFigureNeverStandsForAColdOne) {
  DoctorReadings readings;
  readings.storage = Probe(900'000'000);
  for (ReadSpeeds& speeds : (*readings.storage)->speeds) {
    speeds.cold = ReadSpeed{};
    speeds.cold.unknown = "its file system is in memory";
  }
  readings.run_reads = Reads(120e6, 130e6);
  const CheckVerdict speed = VerdictOf(readings, "data_speed");
  EXPECT_EQ(speed.status, CheckStatus::kWarning);
  EXPECT_EQ(speed.evidence.find("cold unknown: its file system is in memory; warm 9 GB/s"), 0U) << speed.evidence;
  const std::string run = VerdictOf(readings, "data_run").evidence;
  EXPECT_NE(run.find("cold speed of this path is unknown"), std::string::npos) << run;
  EXPECT_EQ(run.find("9000"), std::string::npos) << run;
}

TEST(DoctorDataTest, ManySmallFilesAreNamed) {
  DoctorReadings readings;
  StorageProbe probe = Probe(1);
  probe.data.files.assign(1000, {"/data/x", 20'000});
  readings.storage = probe;
  const CheckVerdict small = VerdictOf(readings, "data_files");
  EXPECT_EQ(small.status, CheckStatus::kWarning);
  EXPECT_NE(small.evidence.find("many small files"), std::string::npos);
  EXPECT_NE(small.fix.find("sharded_reads"), std::string::npos);
  probe.data.files.pop_back();
  readings.storage = probe;
  EXPECT_EQ(VerdictOf(readings, "data_files").status, CheckStatus::kOk);
  probe.data.files.assign(1000, {"/data/x", 128 * 1024});
  readings.storage = probe;
  EXPECT_EQ(VerdictOf(readings, "data_files").status, CheckStatus::kOk);
}

TEST(DoctorDataTest, TheDocumentAndTheWriterDescribeEachOther) {
  DoctorReadings readings;
  readings.storage = Probe(900'000'000);
  (*readings.storage)->speeds[2].cold.unknown = "in use";
  readings.run_reads = Reads(120e6, 130e6);
  DoctorReadings nothing;
  nothing.storage = StorageProbe{};
  nothing.run_reads = Reads(std::nullopt, std::nullopt);
  const DoctorReadings not_asked;
  const std::vector<std::string> documents = {DoctorJson({JudgeAll(readings), readings}),
                                              DoctorJson({JudgeAll(nothing), nothing}),
                                              DoctorJson({JudgeAll(not_asked), not_asked})};
  test::ExpectDocumented("idleburn.doctor/1", documents);
}

}  // namespace
}  // namespace idleburn
