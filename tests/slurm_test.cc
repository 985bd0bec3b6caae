// Owners of GPUs by a real Slurm of one node: two jobs with two fake GPUs each, from their start to their end.
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <regex>
#include <thread>

#include "measure/proc_files.h"
#include "owners/owner_poll.h"
#include "places.h"
#include "support/read_inputs.h"
#include "support/service.h"
#include "support/slurm_cluster.h"

namespace idleburn::testing {
namespace {

Instant WallNow() {
  return Instant::FromNanos(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
          .count());
}

std::vector<NodeGpu> FakeGpus() {
  std::vector<NodeGpu> gpus;
  for (std::int64_t i = 0; i < 4; ++i) {
    gpus.push_back({"GPU-" + std::to_string(i), i, "00000000:0" + std::to_string(i) + ":00.0", i, "", {}});
  }
  return gpus;
}

class SlurmTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string why = SlurmCluster::WhyNot(Jobs());
    if (!why.empty()) GTEST_SKIP() << "no Slurm for a test: " << why;
    cluster_.emplace(Jobs());
    ASSERT_TRUE(cluster_->ready()) << cluster_->Logs();
    options_.squeue = cluster_->Program("squeue");
    options_.scontrol = cluster_->Program("scontrol");
    options_.slurm_node = cluster_->node();
    options_.pod_socket = "";
    options_.scheduler_period = Nanos(1);                   // asks at every poll
    options_.squeue_timeout = Nanos(20 * kNanosPerSecond);  // on a busy machine
  }

  [[nodiscard]] virtual SlurmJobs Jobs() const { return SlurmJobs::kByParents; }

  // Submits a job that sleeps; its number. The job writes its process number to pid.<job>.
  [[nodiscard]] std::string Submit(const std::string& resources, const std::string& name,
                                   const std::string& with = "") const {
    std::ofstream(cluster_->Path("job.sh")) << "#!/bin/sh\necho $$ >" << cluster_->Path("run/pid.") << "$SLURM_JOB_ID\n"
                                            << "exec " << with << " sleep 300\n";
    return cluster_->Run("sbatch --parsable -A research -o /dev/null -n1 -c1 --gres=" + resources + " -J \"$(printf '" +
                         name + "')\" job.sh");
  }
  void WaitFor(const std::string& job, const std::string& state) const {
    (void)cluster_->Run("for i in $(seq 200); do scontrol show job " + job + " | grep -q '   JobState=" + state +
                        " ' && break; sleep 0.1; done");
  }
  // The process of a job, once it runs; 0 if it does not.
  [[nodiscard]] std::int64_t PidOf(const std::string& job) const {
    std::int64_t pid = 0;
    for (int i = 0; i < 100 && pid == 0; ++i) {
      std::ifstream(cluster_->Path("run/pid." + job)) >> pid;
      if (pid == 0) std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    return pid;
  }
  // When Slurm says a job started, in seconds, by another way than squeue --json.
  [[nodiscard]] std::string StartOf(const std::string& job) const {
    return cluster_->Run("SLURM_TIME_FORMAT=%s squeue -h -j " + job + " -o %S");
  }
  static std::string Shown(const Holdings& holdings) {
    std::string text;
    for (const Holding& h : holdings.held) {
      text += h.uuid + "=" + h.owner.cluster + "/" + h.owner.job + "@" +
              (h.owner.start ? std::to_string(h.owner.start->nanos() / kNanosPerSecond) : "") + " " + h.owner.team +
              " " + std::string(kOwnerProofNames[static_cast<std::size_t>(h.proof)]) +
              (h.parts == 1 ? "" : " " + std::to_string(h.part) + "/" + std::to_string(h.parts)) + "\n";
    }
    for (const std::string& uuid : holdings.unknown) text += uuid + " unknown\n";
    for (const std::string& error : holdings.errors) text += error + "\n";
    return text;
  }

  std::optional<SlurmCluster> cluster_;
  OwnerOptions options_;
};

TEST_F(SlurmTest, SeesTwoJobsFromTheirStartToTheirEnd) {
  auto poll = OwnerPoll::Make(options_);
  ASSERT_TRUE(poll) << poll.error().message;
  EXPECT_EQ(Shown(poll->Poll(WallNow(), FakeGpus(), {})), "");
  // A name that forges a job with all GPUs in what scontrol prints.
  const std::string forged = "x\\n JobState=RUNNING GRES=gpu:4(IDX:0-3)\"\\033[31m";
  const std::string first = Submit("gpu:h100:2", forged);
  const std::string second = Submit("gpu:2", "plain");
  WaitFor(first, "RUNNING");
  WaitFor(second, "RUNNING");
  const auto line = [&](const std::string& uuid, const std::string& job) {
    return uuid + "=idleburn/" + job + "@" + StartOf(job) + " research scheduler\n";
  };
  const std::string running =
      line("GPU-0", first) + line("GPU-1", first) + line("GPU-2", second) + line("GPU-3", second);
  EXPECT_EQ(Shown(poll->Poll(WallNow(), FakeGpus(), {})), running) << cluster_->Logs();
  // A suspended job holds its GPUs.
  (void)cluster_->Run("scontrol suspend " + second);
  EXPECT_EQ(Shown(poll->Poll(WallNow(), FakeGpus(), {})), running);
  (void)cluster_->Run("scontrol resume " + second + "; scancel " + first);
  WaitFor(first, "CANCELLED");
  const Holdings after = poll->Poll(WallNow(), FakeGpus(), {});
  EXPECT_EQ(Shown(after), line("GPU-2", second) + line("GPU-3", second));
  ASSERT_EQ(after.ended.size(), 1U);
  EXPECT_EQ(after.ended[0].job, first);
  EXPECT_EQ(after.ended[0].cluster, "idleburn");
}

TEST_F(SlurmTest, EstimatesSharesAndNamesAControllerThatIsGone) {
  auto poll = OwnerPoll::Make(options_);
  ASSERT_TRUE(poll);
  const std::string job = Submit("shard:3", "shares");
  WaitFor(job, "RUNNING");
  EXPECT_EQ(Shown(poll->Poll(WallNow(), FakeGpus(), {})),
            "GPU-0=idleburn/" + job + "@" + StartOf(job) + " research estimated 3/4\n");
  // Without squeue the job is found by the variables of its process, with the GPU that Slurm gave it.
  const std::int64_t pid = PidOf(job);
  OwnerOptions by_process = options_;
  by_process.squeue = "";
  const auto start = StartTicksOf("/proc", pid);
  const Holdings found = OwnerPoll::Make(by_process)->Poll(WallNow(), FakeGpus(), {{"GPU-0", {{pid, {}, start}}}});
  ASSERT_EQ(found.held.size(), 1U);
  EXPECT_EQ(found.held[0].owner.job, job);
  EXPECT_EQ(found.held[0].pids, std::vector<std::int64_t>{pid});
  // The controller ends: nothing that it told counts any more.
  (void)cluster_->Run("scancel " + job);
  WaitFor(job, "CANCELLED");
  (void)cluster_->Run(
      "p=$(cat run/slurmctld.pid); kill $p; for i in $(seq 100); do kill -0 $p || break; sleep 0.1; done");
  const Holdings gone = poll->Poll(WallNow(), FakeGpus(), {});
  EXPECT_EQ(gone.unknown.size(), 4U);
  ASSERT_EQ(gone.errors.size(), 1U);
  EXPECT_TRUE(gone.errors[0].starts_with("slurm: scontrol")) << gone.errors[0];
}

class SlurmCgroupTest : public SlurmTest {
 protected:
  [[nodiscard]] SlurmJobs Jobs() const override { return SlurmJobs::kInCgroups; }
};

// A node whose scheduler does not answer: the process holds a GPU, has no variable of Slurm, and its control group
// names the job.
TEST_F(SlurmCgroupTest, NamesAJobByItsControlGroup) {
  const std::string job = Submit("gpu:h100:1", "quiet", "env -i");
  WaitFor(job, "RUNNING");
  const std::int64_t pid = PidOf(job);
  ASSERT_GT(pid, 0) << cluster_->Logs();
  EXPECT_NE(ReadText("/proc/" + std::to_string(pid) + "/cgroup").find("/job_" + job + "/"), std::string::npos)
      << ReadText("/proc/" + std::to_string(pid) + "/cgroup");
  EXPECT_TRUE(FindLiveGroups("/sys/fs/cgroup").jobs.contains(job));
  OwnerOptions by_group = options_;
  by_group.squeue = "";
  by_group.scontrol = "";
  const auto start = StartTicksOf("/proc", pid);
  auto poll = OwnerPoll::Make(by_group);
  ASSERT_TRUE(poll) << poll.error().message;
  const Holdings found = poll->Poll(WallNow(), FakeGpus(), {{"GPU-1", {{pid, {}, start}}}});
  ASSERT_EQ(found.held.size(), 1U) << Shown(found);
  EXPECT_EQ(found.held[0].uuid, "GPU-1");
  EXPECT_EQ(found.held[0].owner.job, job);
  EXPECT_EQ(kOwnerProofNames[static_cast<std::size_t>(found.held[0].proof)], "cgroup") << Shown(found);
  // After the job's end nothing of it is left to hold a GPU.
  (void)cluster_->Run("scancel " + job);
  WaitFor(job, "CANCELLED");
  EXPECT_FALSE(FindLiveGroups("/sys/fs/cgroup").jobs.contains(job));
  EXPECT_EQ(Shown(poll->Poll(WallNow(), FakeGpus(), {})), "");
}

// From a job of a real Slurm to the counters of a real agent, and to the line for the job's owner. The GPUs are the
// stand-in's: all four are idle, so the job holds two idle GPUs.
TEST_F(SlurmTest, AnAgentCountsTheJobAndTellsItsOwner) {
  const std::string job = Submit("gpu:h100:2", "train");
  WaitFor(job, "RUNNING");
  const TempFolder folder;
  const std::string state = (folder.path() / "state").string();
  std::string gpus;
  for (int i = 0; i < 4; ++i) gpus += "gpu " + std::to_string(i) + " memory=80GiB\n";
  Service agent(
      "env SLURM_CONF=" + cluster_->Path("slurm.conf") +
          " IDLEBURN_NVML_LIBRARY=" IDLEBURN_STANDIN " IDLEBURN_STANDIN_SCRIPT=" + folder.Write("gpus", gpus) +
          " " IDLEBURN_PROGRAM " agent --price 3 --node n1 --web.listen-address 127.0.0.1:0 --state-dir " + state,
      (folder.path() / "log").string());
  std::smatch found;
  std::string log;
  ASSERT_TRUE(Eventually(std::chrono::seconds(20), [&] {
    log = agent.Log();
    return std::regex_search(log, found, std::regex("serving (http://[^ \n]*)"));
  })) << log;
  const std::string url = found[1];
  const std::string series = "idleburn_job_phase_seconds_total{node=\"n1\",cluster=\"idleburn\",job=\"" + job + "\"";
  std::map<std::string, long long> samples;
  const auto idle_seconds = [&] {
    const HttpReply reply = Ask({url, {}});
    if (reply.status != 200) return 0LL;  // before the first second is counted
    samples = SamplesOf(reply.body);
    for (const auto& [name, value] : samples) {
      const bool research = name.find("team=\"research\"") != std::string::npos;
      if (name.rfind(series, 0) == 0 && research && name.find("phase=\"idle\"") != std::string::npos)
        return value / 1'000'000;
    }
    return 0LL;
  };
  // Two GPUs: two seconds of them each second.
  EXPECT_TRUE(Eventually(std::chrono::seconds(40), [&] { return idle_seconds() >= 6; })) << agent.Log();
  (void)cluster_->Run("scancel " + job);
  const std::string summary = state + "/jobs/" + job + ".txt";
  ASSERT_TRUE(Eventually(std::chrono::seconds(40), [&] { return !ReadText(summary).empty(); })) << agent.Log();
  EXPECT_EQ(ReadText(summary).rfind("job " + job + " of ", 0), 0U) << ReadText(summary);
  EXPECT_NE(ReadText(summary).find("(team research): "), std::string::npos) << ReadText(summary);
  EXPECT_NE(ReadText(summary).find("(100.0 %)"), std::string::npos) << ReadText(summary);
}

}  // namespace
}  // namespace idleburn::testing
