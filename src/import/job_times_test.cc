#include <gtest/gtest.h>

#include "import/importer.h"
#include "support/shared_data.h"
#include "text/line_reader.h"

namespace idleburn {
namespace {

constexpr std::int64_t kSecond = kNanosPerSecond;

struct Read {
  JobTimes jobs;
  DataQuality quality;
};
Read ReadList(const std::string& text, const ImportOptions& options = {}) {
  EXPECT_TRUE(SniffJobTimes(text)) << text;
  Read read;
  PeekSource in(std::make_unique<StringSource>(text, "jobs"));
  const Result<void> done = ReadJobTimes(in, options, read.quality, &read.jobs);
  EXPECT_TRUE(done) << done.error().message;
  return read;
}

std::vector<std::pair<std::int64_t, std::int64_t>> RunsOf(const Read& read, const char* job) {
  std::vector<std::pair<std::int64_t, std::int64_t>> runs;
  const std::vector<JobTimes::Run>* known = read.jobs.Of(job);
  if (known == nullptr) return runs;
  for (const JobTimes::Run& run : *known) {
    runs.emplace_back(run.from / kSecond, run.to == JobTimes::kStillRunning ? -1 : run.to / kSecond);
  }
  return runs;
}

using Runs = std::vector<std::pair<std::int64_t, std::int64_t>>;

TEST(JobTimesTest, SacctIsReadByItsJobsAndNotItsSteps) {
  const Read read = ReadList(
      "JobID|State|Start|End\n"
      "7|COMPLETED|1970-01-01T00:10:00|1970-01-01T00:20:00\n"
      "7.batch|COMPLETED|1970-01-01T00:10:00|1970-01-01T00:25:00\n"
      "8|RUNNING|1970-01-01T00:30:00|Unknown\n"
      "9|PENDING|Unknown|Unknown\n"
      "7|COMPLETED|1970-01-01T01:00:00|1970-01-01T01:10:00\n"  // requeued
      "10_2|COMPLETED|600|700\n"                               // SLURM_TIME_FORMAT=%s
      "11|COMPLETED|soon|1970-01-01T01:10:00\n"
      "12|COMPLETED|1970-01-01T02:00:00|1970-01-01T01:00:00\n");
  EXPECT_EQ(RunsOf(read, "7"), (Runs{{600, 1200}, {3600, 4200}}));
  EXPECT_EQ(RunsOf(read, "8"), (Runs{{1800, -1}}));
  EXPECT_EQ(read.jobs.Of("9"), nullptr);
  EXPECT_EQ(RunsOf(read, "10_2"), (Runs{{600, 700}}));
  // What cannot be read is counted, and bounds nothing.
  EXPECT_EQ(read.jobs.Of("11"), nullptr);
  EXPECT_EQ(read.jobs.Of("12"), nullptr);
  EXPECT_EQ(read.quality.CountOf(QualityId::kBadRow), 2);
  EXPECT_EQ(read.quality.Get(QualityId::kBadRow).first_place, "jobs:8");
  EXPECT_EQ(read.quality.CountOf(QualityId::kTimezoneAssumed), 1);
}

TEST(JobTimesTest, AListMayTellWhoRanAJob) {
  const Read sacct = ReadList(
      "JobID|User|Account|Start|End\n"
      "7|ada|vision|600|1200\n"
      "7.batch|||600|1200\n"
      "8|||600|1200\n");
  ASSERT_NE(sacct.jobs.WhoRan("7"), nullptr);
  EXPECT_EQ(sacct.jobs.WhoRan("7")->user, "ada");
  EXPECT_EQ(sacct.jobs.WhoRan("7")->team, "vision");
  EXPECT_EQ(sacct.jobs.WhoRan("7")->experiment, "");
  EXPECT_EQ(sacct.jobs.WhoRan("8"), nullptr);
  EXPECT_EQ(sacct.jobs.WhoRan("9"), nullptr);
  const Read csv = ReadList("job,team,user,experiment,start,end\n7,vision,ada,exp1,600,1200\n");
  ASSERT_NE(csv.jobs.WhoRan("7"), nullptr);
  EXPECT_EQ(csv.jobs.WhoRan("7")->experiment, "exp1");
  const Read squeue =
      ReadList(R"({"jobs": [{"job_id": 7, "job_state": "RUNNING", "start_time": 600, "user_name": "ada",)"
               R"("account": "vision"}]})");
  ASSERT_NE(squeue.jobs.WhoRan("7"), nullptr);
  EXPECT_EQ(squeue.jobs.WhoRan("7")->user, "ada");
  EXPECT_EQ(squeue.jobs.WhoRan("7")->team, "vision");
}

TEST(JobTimesTest, LocalTimesAreOfTheZoneThatIsSaid) {
  ImportOptions options;
  options.timezone = *TimeZone::Load("+01:00");
  const Read read = ReadList("JobID|State|Start|End\n7|COMPLETED|1970-01-01T02:00:00|1970-01-01T03:00:00\n", options);
  EXPECT_EQ(RunsOf(read, "7"), (Runs{{3600, 7200}}));
  EXPECT_EQ(read.quality.CountOf(QualityId::kTimezoneAssumed), 0);
}

TEST(JobTimesTest, ATableOfJobsMayHaveARowForEachNode) {
  const Read read = ReadList(
      "cluster,job,node,team,user,gpus,start,end\n"
      "c,j1,n0,a,u,2,1970-01-01T00:10:00Z,1970-01-01T00:20:00Z\nc,j1,n1,a,u,2,1970-01-01T00:10:00Z,"
      "1970-01-01T00:20:00Z\nc,j2,n1,a,u,2,1970-01-01T00:30:00Z,\n");
  EXPECT_EQ(RunsOf(read, "j1"), (Runs{{600, 1200}}));
  EXPECT_EQ(RunsOf(read, "j2"), (Runs{{1800, -1}}));
}

TEST(JobTimesTest, ARunningJobsEndIsItsLimit) {
  const Read read = ReadList(
      R"({"jobs": [{"job_id": 1, "job_state": "RUNNING", "start_time": 100, "end_time": 900},
                   {"job_id": 2, "job_state": "COMPLETED", "start_time": 100, "end_time": 200},
                   {"job_id": 3, "job_state": "PENDING", "start_time": 5000, "end_time": 6000},
                   {"job_id": 4, "job_state": ["FAILED"],
                    "start_time": {"set": true, "infinite": false, "number": 300},
                    "end_time": {"set": true, "infinite": false, "number": 400}}]})");
  EXPECT_EQ(RunsOf(read, "1"), (Runs{{100, -1}}));
  EXPECT_EQ(RunsOf(read, "2"), (Runs{{100, 200}}));
  EXPECT_EQ(read.jobs.Of("3"), nullptr);
  EXPECT_EQ(RunsOf(read, "4"), (Runs{{300, 400}}));
}

TEST(JobTimesTest, OtherTablesAreNone) {
  for (const char* head : {"timestamp,index,utilization.gpu [%]\n", "job,start,end\n", "time,job,util\n", "", "{}",
                           "{\"status\": \"success\"}", "JobID|State\n"}) {
    EXPECT_FALSE(SniffJobTimes(head)) << head;
  }
}

// Real output of slurmrestd and constructed output of sacct; the figures are those of their README.
TEST(JobTimesTest, SharedListsOfSlurm) {
  const auto json = test::ReadShared("data/telemetry/slurm/jobs.json");
  const auto sacct = test::ReadShared("data/telemetry/slurm/constructed_sacct_gpu.txt");
  if (!json || !sacct) GTEST_SKIP() << "missing: " << test::SharedPath("data/telemetry/slurm");
  const Read rest = ReadList(*json);
  EXPECT_EQ(RunsOf(rest, "23772"), (Runs{{1723457333, 1723463525}}));
  EXPECT_EQ(RunsOf(rest, "20464"), (Runs{{1722989851, -1}}));
  EXPECT_EQ(RunsOf(rest, "20468"), (Runs{{1722990772, -1}}));
  const Read text = ReadList(*sacct);
  const auto seconds = [&](const char* job) {
    const Runs runs = RunsOf(text, job);
    return runs.empty() ? -1 : runs[0].second - runs[0].first;
  };
  EXPECT_EQ(seconds("5001"), 14400);
  EXPECT_EQ(seconds("5002"), 7200);
  EXPECT_EQ(seconds("5003"), 1800);
  EXPECT_EQ(text.jobs.Of("5004"), nullptr);
  EXPECT_EQ(RunsOf(text, "5006").at(0).second, -1);
  EXPECT_EQ(seconds("5007"), 300);
  EXPECT_EQ(text.quality.CountOf(QualityId::kBadRow), 0);
}

}  // namespace
}  // namespace idleburn
