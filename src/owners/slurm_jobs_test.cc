#include "owners/slurm_jobs.h"

#include <gtest/gtest.h>

#include "support/property.h"

namespace idleburn {
namespace {

// What squeue 22.05.8 wrote of two jobs on a node "vm" with fake GPUs, without the keys that are not read. The name of
// job 1 would forge a line of scontrol show job.
const std::string kOld = R"j({"meta": {"plugin": {"type": "openapi\/v0.0.38"}}, "errors": [], "jobs": [
  {"account": "research", "array_job_id": 0, "array_task_id": null, "cluster": "idleburn", "nodes": "vm",
   "gres_detail": ["gpu:h100:2(IDX:0-1)"], "job_id": 1, "job_state": "RUNNING", "billable_tres": 1.0,
   "job_resources": {"nodes": "vm", "allocated_nodes": [{"sockets": {"7": {"cores": {"0": "allocated"}}}}]},
   "name": "evil\"\n JobState=RUNNING \u001b[31m", "het_job_id": 0, "het_job_offset": 0, "start_time": 1795679569,
   "user_id": 65534, "user_name": "nobody"},
  {"job_id": 2, "array_job_id": 2, "array_task_id": 3, "account": "research", "cluster": "idleburn", "nodes": "vm",
   "gres_detail": ["shard:h100:2(IDX:2)"], "job_state": "SUSPENDED", "start_time": 1795679570, "user_name": "bob"},
  {"job_id": 4, "array_job_id": 0, "account": "research", "cluster": "idleburn", "nodes": "", "gres_detail": [],
   "job_state": "PENDING", "start_time": 0},
  {"job_id": 5, "cluster": "idleburn", "nodes": "vm", "gres_detail": [],
   "job_state": "CANCELLED", "start_time": 7}]})j";

// The forms of 23.11 to 25.11: numbers and states in objects and lists.
const std::string kNew = R"j({"jobs": [
  {"account": "nlp", "array_job_id": {"set": true, "infinite": false, "number": 0},
   "array_task_id": {"set": false, "infinite": false, "number": 0}, "cluster": "big",
   "gres_detail": ["gpu:h100:8(IDX:0-7)", "gpu:h100:1(IDX:3)"], "job_id": 290094, "job_state": ["RUNNING"],
   "het_job_id": {"set": true, "infinite": false, "number": 290093},
   "het_job_offset": {"set": true, "infinite": false, "number": 1}, "nodes": "gpu[01-02]", "name": "x",
   "start_time": {"set": true, "infinite": false, "number": 1795679569}, "user_name": "alice"},
  {"job_id": 7, "job_state": ["CANCELLED", "COMPLETING"], "nodes": "gpu02", "gres_detail": [],
   "start_time": {"set": true, "infinite": false, "number": 1795679500}}], "errors": [], "warnings": []})j";

TEST(SlurmJobsTest, ReadsTheQueueOf2205) {
  const auto queue = ParseSqueue(kOld, "vm");
  ASSERT_TRUE(queue) << queue.error().message;
  ASSERT_EQ(queue->jobs.size(), 2U);
  const SlurmJob& job = queue->jobs[0];
  EXPECT_EQ(job.id, "1");
  EXPECT_EQ(job.raw_id, "1");
  EXPECT_EQ(job.cluster, "idleburn");
  EXPECT_EQ(job.user, "nobody");
  EXPECT_EQ(job.account, "research");
  EXPECT_EQ(job.start, Instant::FromNanos(1795679569 * kNanosPerSecond));
  ASSERT_EQ(job.gres.size(), 1U);
  EXPECT_EQ(job.gres[0].devices, (std::vector<std::int64_t>{0, 1}));
  EXPECT_EQ(queue->jobs[1].id, "2_3");
  EXPECT_EQ(queue->jobs[1].raw_id, "2");
  EXPECT_FALSE(queue->completing);
  EXPECT_TRUE(queue->faults.empty());
}

TEST(SlurmJobsTest, ReadsTheQueueOf2311) {
  const auto queue = ParseSqueue(kNew, "gpu02");
  ASSERT_TRUE(queue) << queue.error().message;
  ASSERT_EQ(queue->jobs.size(), 1U);
  EXPECT_EQ(queue->jobs[0].id, "290093+1");
  EXPECT_EQ(queue->jobs[0].raw_id, "290094");
  EXPECT_EQ(queue->jobs[0].gres[0].devices, std::vector<std::int64_t>{3});  // of the second node
  EXPECT_TRUE(queue->completing);
  EXPECT_EQ(ParseSqueue(kNew, "gpu01")->jobs[0].gres[0].devices.size(), 8U);
  EXPECT_TRUE(ParseSqueue(kNew, "gpu03")->jobs.empty());
}

TEST(SlurmJobsTest, NamesAnUnreadableJob) {
  const auto with = [](const std::string& gres, const std::string& nodes, const std::string& start) {
    return ParseSqueue(R"({"jobs": [{"job_id": 9, "job_state": "RUNNING", "nodes": ")" + nodes +
                           R"(", "gres_detail": )" + gres + R"(, "start_time": )" + start + "}]}",
                       "vm");
  };
  EXPECT_EQ(with(R"j(["gpu:2(IDX:0-1)"])j", "vm", "5")->jobs.size(), 1U);
  for (const auto& queue :
       {with(R"j(["gpu:2(IDX:0)"])j", "vm", "5"), with(R"j(["gpu:2(IDX:0-1)"])j", "vm", "0"),
        with(R"j(["gpu:1(IDX:0)", "gpu:1(IDX:1)"])j", "vm", "5"), with(R"j(["gpu:1(IDX:0)"])j", "vm[", "5")}) {
    ASSERT_TRUE(queue) << queue.error().message;
    EXPECT_TRUE(queue->jobs.empty());
    ASSERT_EQ(queue->faults.size(), 1U);
    EXPECT_TRUE(queue->faults[0].starts_with("job 9 ")) << queue->faults[0];
  }
}

// A queue that is cut off anywhere must not become a shorter queue: jobs would seem to have ended.
TEST(SlurmJobsTest, RefusesEveryPartOfADocument) {
  for (const std::string& whole : {kOld, kNew}) {
    for (std::size_t size = 0; size < whole.size(); ++size) {
      EXPECT_FALSE(ParseSqueue(whole.substr(0, size), "vm")) << size;
    }
  }
  EXPECT_FALSE(ParseSqueue(kOld + kOld, "vm"));
  EXPECT_FALSE(ParseSqueue("slurm_load_jobs error: Unable to contact slurm controller", "vm"));
  EXPECT_FALSE(ParseSqueue("{\"errors\": []}", "vm"));
  EXPECT_FALSE(ParseSqueue(R"({"jobs": [{"job_id": "1", "job_state": "RUNNING"}]})", "vm"));
  EXPECT_FALSE(ParseSqueue(R"({"jobs": [{"job_id": 1, "job_state": 3}]})", "vm"));
  EXPECT_FALSE(ParseSqueue(R"({"jobs": [{"job_state": "RUNNING"}]})", "vm"));
}

TEST(SlurmJobsTest, KeepsHostileNamesHarmless) {
  const std::string name(10'000, '\x1b');
  std::string escaped;
  for (std::size_t i = 0; i < name.size(); ++i) escaped += "\\u001b";
  const auto queue = ParseSqueue(R"j({"jobs": [{"job_id": 1, "job_state": "RUNNING", "nodes": "vm", "start_time": 5,
    "gres_detail": ["gpu:1(IDX:0)"], "user_name": "a\nb", "account": ")j" +
                                     escaped + R"(", "name": ")" + escaped + "\"}]}",
                                 "vm");
  ASSERT_TRUE(queue) << queue.error().message;
  EXPECT_EQ(queue->jobs[0].user, "a?b");
  EXPECT_EQ(queue->jobs[0].account, std::string(256, '?'));
  EXPECT_EQ(queue->jobs[0].name, name);
}

TEST(SlurmJobsTest, SurvivesChangedBytes) {
  test::ExpectProperty("one changed byte", [] {
    std::string text = *rc::gen::element(kOld, kNew);
    text[*rc::gen::inRange<std::size_t>(0, text.size())] = *rc::gen::arbitrary<char>();
    const auto queue = ParseSqueue(text, "vm");
    RC_ASSERT(!queue || queue->jobs.size() + queue->faults.size() <= 4);
  });
}

// From scontrol show node -d of 22.05.8.
TEST(SlurmJobsTest, ReadsTheNode) {
  const auto node = ParseScontrolNode(
      "NodeName=vm Arch=x86_64 CoresPerSocket=1 \n   CPUAlloc=3 CPUEfctv=8 CPUTot=8 CPULoad=2.98\n"
      "   Gres=gpu:h100:4,shard:h100:16\n   GresDrain=N/A\n"
      "   GresUsed=gpu:h100:2(IDX:0-1),shard:h100:2(IDX:2-3)\n   NodeAddr=127.0.0.1 NodeHostName=vm\n");
  ASSERT_TRUE(node) << node.error().message;
  EXPECT_EQ(node->has.size(), 2U);
  EXPECT_EQ(node->has[1].count, 16);
  EXPECT_EQ(node->used[0].devices, (std::vector<std::int64_t>{0, 1}));
  EXPECT_FALSE(ParseScontrolNode("Node vm not found"));
  EXPECT_FALSE(ParseScontrolNode("   Gres=gpu:4\n   GresUsed=gpu:???\n"));
  EXPECT_TRUE(ParseScontrolNode("   Gres=(null)\n   GresUsed=(null)\n")->has.empty());
}

}  // namespace
}  // namespace idleburn
