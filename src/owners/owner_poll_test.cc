#include "owners/owner_poll.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "support/fake_proc.h"
#include "support/opened_files.h"

namespace idleburn {
namespace {

using namespace std::string_literals;

// A machine of four GPUs whose minor numbers are their indexes, with files in place of /proc, control groups and the
// scheduler's programs.
class OwnerPollTest : public ::testing::Test {
 protected:
  OwnerPollTest() {
    options_.proc = root_.path() + "/proc";
    options_.cgroups = root_.path() + "/cgroup";
    options_.squeue = "";
    options_.scontrol = "";
    options_.pod_socket = "";
    options_.slurm_node = "vm";
    options_.boot = At(0);
    for (std::int64_t i = 0; i < 4; ++i) {
      gpus_.push_back({"GPU-" + std::to_string(i), i, "00000000:0" + std::to_string(i) + ":00.0", i, "", {}});
    }
  }

  static Instant At(std::int64_t second) { return Instant::FromNanos(second * kNanosPerSecond); }

  // Puts a process on a GPU.
  void Hold(const std::string& uuid, int pid, const std::string& group, const std::string& environ = "",
            std::uint32_t user = 65534) {
    processes_[pid].start = 1000 + pid;
    processes_.Publish();
    const std::string folder = "/proc/" + std::to_string(pid);
    root_.Write(folder + "/cgroup", "0::" + group + "\n");
    root_.Write(folder + "/environ", environ);
    root_.Write(folder + "/status", "Name:\tpython\nUid:\t" + std::to_string(user) + "\t0\t0\t0\n");
    holders_[uuid].push_back({pid, {}, 1000 + pid});
  }
  void Leave(const std::string& uuid) { holders_.erase(uuid); }

  // Makes the programs of Slurm answer with these jobs, "ID START GRES" each.
  void Queue(const std::vector<std::array<std::string, 3>>& jobs, const std::string& used) {
    std::string json;
    for (const auto& [id, start, gres] : jobs) {
      json += std::string(json.empty() ? "" : ",") + R"({"job_id": )" + id + R"(, "job_state": ["RUNNING"], )" +
              R"("nodes": "vm", "cluster": "c1", "account": "research", "user_name": "nobody", "name": "n", )" +
              R"("start_time": )" + start + R"(, "gres_detail": [")" + gres + "\"]}";
    }
    Program("squeue", "echo x >>" + root_.path() + "/asked\ncat <<'EOF'\n{\"jobs\": [" + json + "]}\nEOF\n");
    Program("scontrol", "printf '   Gres=gpu:4,shard:16\\n   GresUsed=" + used + "\\n'\n");
    options_.squeue = root_.path() + "/squeue";
    options_.scontrol = root_.path() + "/scontrol";
  }
  void Program(const std::string& name, const std::string& body) const {
    root_.Write("/" + name, "#!/bin/sh\n" + body);
    std::filesystem::permissions(root_.path() + "/" + name, std::filesystem::perms::all);
  }
  [[nodiscard]] std::size_t Asked() const {
    std::error_code none;
    const auto size = std::filesystem::file_size(root_.path() + "/asked", none);
    return none ? 0 : size / 2;
  }

  Holdings Poll(std::int64_t second) {
    if (!poll_) poll_.emplace(*OwnerPoll::Make(options_));
    return poll_->Poll(At(second), gpus_, holders_);
  }
  // "uuid=cluster/job@start user team experiment proof part/parts [pids]" of each holding, then unknown devices.
  static std::string Shown(const Holdings& holdings) {
    std::string text;
    for (const Holding& h : holdings.held) {
      text += h.uuid + "=" + h.owner.cluster + "/" + h.owner.job;
      if (h.owner.start) text += "@" + std::to_string(h.owner.start->nanos() / kNanosPerSecond);
      text += " " + h.owner.user + " " + h.owner.team + " " + h.owner.experiment + " " +
              std::string(kOwnerProofNames[static_cast<std::size_t>(h.proof)]);
      if (h.parts != 1) text += " " + std::to_string(h.part) + "/" + std::to_string(h.parts);
      for (const std::int64_t pid : h.pids) text += " " + std::to_string(pid);
      text += "\n";
    }
    for (const std::string& uuid : holdings.unknown) text += uuid + " unknown\n";
    return text;
  }

  test::FakeRoot root_{test::FakeRoot::InMemory()};
  test::FakeProcesses processes_{root_};
  OwnerOptions options_;
  std::vector<NodeGpu> gpus_;
  std::map<std::string, std::vector<GpuHolder>> holders_;
  std::optional<OwnerPoll> poll_;
};

const std::string kJob7 = "/system.slice/slurmstepd.scope/job_7/step_0/user/task_0";

TEST_F(OwnerPollTest, TakesTheSchedulersRecordWithItsIdleGpus) {
  Queue({{"7", "50", "gpu:2(IDX:1-2)"}}, "gpu:2(IDX:1-2)");
  Hold("GPU-1", 41, kJob7, "WANDB_PROJECT=vision\0"s);
  const Holdings holdings = Poll(100);
  EXPECT_EQ(Shown(holdings),
            "GPU-1=c1/7@50 nobody research vision scheduler 41\nGPU-2=c1/7@50 nobody research vision scheduler\n");
  EXPECT_TRUE(holdings.errors.empty());
  // The experiment stays with the job when the process that named it is gone.
  Leave("GPU-1");
  EXPECT_EQ(Shown(Poll(101)),
            "GPU-1=c1/7@50 nobody research vision scheduler\nGPU-2=c1/7@50 nobody research vision scheduler\n");
}

TEST_F(OwnerPollTest, SeesTheEndOfAJobOnce) {
  Queue({{"7", "50", "gpu:1(IDX:1)"}}, "gpu:1(IDX:1)");
  Hold("GPU-1", 41, kJob7);
  EXPECT_TRUE(Poll(100).ended.empty());
  Queue({}, "gpu:0");
  EXPECT_EQ(Shown(Poll(105)), "GPU-1=c1/7@50 nobody research  scheduler 41\n");  // not asked again yet
  const Holdings after = Poll(110);
  ASSERT_EQ(after.ended.size(), 1U);
  EXPECT_EQ(after.ended[0].job, "7");
  EXPECT_EQ(after.ended[0].team, "research");
  // The control group lived on (ceems#380). Its process is somebody's, but no longer the job's.
  EXPECT_EQ(Shown(after), "GPU-1=c1/ nobody   user 41\n");
  EXPECT_TRUE(Poll(111).ended.empty());
}

TEST_F(OwnerPollTest, AsksAtMostOnceAPeriodButAtOnceForANewJob) {
  Queue({}, "gpu:0");
  for (std::int64_t second = 100; second < 110; ++second) Poll(second);
  EXPECT_EQ(Asked(), 1U);
  Queue({{"7", "111", "gpu:1(IDX:1)"}}, "gpu:1(IDX:1)");
  Poll(110);
  EXPECT_EQ(Asked(), 2U);
  Hold("GPU-3", 42, "/system.slice/slurmstepd.scope/job_8/step_0/user");
  Poll(113);
  EXPECT_EQ(Asked(), 3U);
  for (std::int64_t second = 114; second < 123; ++second) Poll(second);
  EXPECT_EQ(Asked(), 3U);  // job 8 is none: that does not change by asking
}

TEST_F(OwnerPollTest, ForgetsWhatAFailedSchedulerKnew) {
  Queue({{"7", "50", "gpu:2(IDX:1-2)"}}, "gpu:2(IDX:1-2)");
  Hold("GPU-1", 41, kJob7);
  Hold("GPU-3", 43, "/user.slice/user-65534.slice/session-1.scope");
  EXPECT_EQ(Poll(100).held.size(), 3U);
  for (const char* broken :
       {"echo 'Unable to contact slurm controller' >&2; exit 1", "echo '{\"jobs\": [{'", "sleep 60"}) {
    Program("squeue", broken);
    options_.squeue_timeout = Nanos(400'000'000);
    poll_.reset();
    Queue({{"7", "50", "gpu:2(IDX:1-2)"}}, "gpu:2(IDX:1-2)");
    Poll(100);
    Program("squeue", broken);
    const Holdings failed = Poll(110);
    // Process 41 is still of the job that the scheduler confirmed; the idle GPU 2 and the user of GPU 3 are not told.
    EXPECT_EQ(Shown(failed), "GPU-1=c1/7@50 nobody research  cgroup 41\nGPU-0 unknown\nGPU-2 unknown\nGPU-3 unknown\n");
    ASSERT_EQ(failed.errors.size(), 1U) << failed.errors.size();
    EXPECT_TRUE(failed.errors[0].starts_with("slurm: squeue")) << failed.errors[0];
    EXPECT_TRUE(failed.ended.empty());
  }
}

TEST_F(OwnerPollTest, NamesGpusOfJobsThatItMayNotSee) {
  Queue({}, "gpu:1(IDX:2)");
  const Holdings holdings = Poll(100);
  EXPECT_EQ(Shown(holdings), "GPU-2 unknown\n");
  EXPECT_NE(holdings.errors.at(0).find("PrivateData"), std::string::npos);
}

TEST_F(OwnerPollTest, UsesControlGroupsAndVariablesWithoutAScheduler) {
  options_.cluster = "c2";
  Hold("GPU-0", 40, kJob7, "SLURM_JOB_ID=7\0SLURM_JOB_GPUS=0,3\0SLURM_JOB_ACCOUNT=nlp\0CUDA_VISIBLE_DEVICES=0\0"s);
  Hold("GPU-1", 41, "/", "SLURM_JOB_ID=9\0SLURM_ARRAY_JOB_ID=8\0SLURM_ARRAY_TASK_ID=2\0"s);
  Hold("GPU-2", 42, "/docker/" + std::string(64, 'd'));
  EXPECT_EQ(Shown(Poll(100)),
            "GPU-0=c2/7 nobody nlp  cgroup 40\nGPU-1=c2/8_2 nobody   environ 41\n"
            "GPU-2=c2/docker:dddddddddddd    cgroup 42\nGPU-3=c2/7 nobody nlp  environ\n");
}

TEST_F(OwnerPollTest, NamesRunsAndUsers) {
  Hold("GPU-0", 40, "/", "TORCHELASTIC_RUN_ID=r1\0RANK=0\0IDLEBURN_TEAM=ours\0"s);
  Hold("GPU-1", 41, "/user.slice/user-65534.slice/session-1.scope");
  Hold("GPU-2", 42, "/");
  Hold("GPU-2", 43, "/", "", 0);
  // The launcher of a process that cleaned its environment.
  processes_[44].parent = 40;
  Hold("GPU-3", 44, "/");
  EXPECT_EQ(Shown(Poll(100)),
            "GPU-0=/torchrun:r1 nobody ours  environ 40\nGPU-1=/ nobody   user 41\n"
            "GPU-2=/ nobody   estimated 1/2 42\nGPU-2=/ root   estimated 1/2 43\n"
            "GPU-3=/torchrun:r1 nobody ours  environ 44\n");
}

// A team that calls itself _unallocated would leave the bill.
TEST_F(OwnerPollTest, NobodyTakesTheNameOfABucket) {
  Hold("GPU-0", 40, "/", "TORCHELASTIC_RUN_ID=r1\0RANK=0\0IDLEBURN_TEAM=_unallocated\0"s);
  Hold("GPU-1", 41, "/", "TORCHELASTIC_RUN_ID=r2\0RANK=0\0IDLEBURN_TEAM=under_score\0"s);
  const Holdings holdings = Poll(100);
  EXPECT_EQ(Shown(holdings),
            "GPU-0=/torchrun:r1 nobody   environ 40\nGPU-1=/torchrun:r2 nobody under_score  environ 41\n");
  ASSERT_EQ(holdings.errors.size(), 1U);
  EXPECT_NE(holdings.errors[0].find("_unallocated is not taken as a team"), std::string::npos) << holdings.errors[0];
}

TEST_F(OwnerPollTest, LetsTheSchedulerOverruleAJobFile) {
  root_.Write("/jobs/GPU-1", "6 40 65534");
  root_.Write("/jobs/GPU-2", "7 50 65534");
  root_.Write("/jobs/GPU-3", "6 40 65534");
  options_.job_folders = {{root_.path() + "/jobs", JobFileForm::kIdleburn}};
  EXPECT_EQ(
      Shown(Poll(100)),
      "GPU-1=/6@40 nobody   mapping_file\nGPU-2=/7@50 nobody   mapping_file\nGPU-3=/6@40 nobody   mapping_file\n");
  poll_.reset();
  Queue({{"7", "50", "gpu:2(IDX:1-2)"}}, "gpu:2(IDX:1-2)");
  const Holdings holdings = Poll(100);
  EXPECT_EQ(Shown(holdings), "GPU-1=c1/7@50 nobody research  scheduler\nGPU-2=c1/7@50 nobody research  scheduler\n");
  ASSERT_EQ(holdings.errors.size(), 1U);
  EXPECT_EQ(holdings.errors[0],
            "sources contradict each other on GPU-1: slurm says job 7, a job file says 6; and 1 more contradictions");
}

TEST_F(OwnerPollTest, NeverMatchesProcessesOfAnotherNamespace) {
  Hold("GPU-0", 40, kJob7);  // a process here that has the number by chance
  holders_["GPU-1"] = {{7001, {}, {}}, {7002, {}, {}}};
  const Holdings holdings = Poll(100);
  EXPECT_EQ(Shown(holdings), "GPU-0 unknown\nGPU-1 unknown\n");
  ASSERT_EQ(holdings.errors.size(), 1U);
  EXPECT_TRUE(holdings.errors[0].starts_with("attribution unavailable: PID namespace (2 of 3 GPU processes"));
}

TEST_F(OwnerPollTest, DiscardsAProcessWithAnotherStart) {
  Hold("GPU-0", 40, kJob7);
  Hold("GPU-1", 41, kJob7);
  holders_["GPU-0"][0].start_ticks = 999;  // of the process that had this pid before
  EXPECT_EQ(Shown(Poll(100)), "GPU-1=/7 nobody   cgroup 41\nGPU-0 unknown\n");
}

TEST_F(OwnerPollTest, CountsJobsOfSlurmThatHaveNoNumber) {
  Hold("GPU-0", 40, "/system.slice/slurmstepd.scope/s5K1KKYAYG5D00/step_0");
  const Holdings holdings = Poll(100);
  EXPECT_EQ(Shown(holdings), "GPU-0 unknown\n");
  EXPECT_NE(holdings.errors.at(0).find("CgroupJobIdPaths"), std::string::npos);
}

// Anybody may write SLURM_JOB_ID into the environment.
TEST_F(OwnerPollTest, RefusesTheJobOfAnotherUser) {
  Queue({{"7", "50", "gpu:1(IDX:1)"}}, "gpu:1(IDX:1)");
  Hold("GPU-3", 43, "/", "SLURM_JOB_ID=7\0"s, 0);
  Hold("GPU-2", 42, "/", "SLURM_JOB_ID=7\0"s);
  EXPECT_EQ(Shown(Poll(100)),
            "GPU-1=c1/7@50 nobody research  scheduler\nGPU-2=c1/7@50 nobody research  environ 42\n"
            "GPU-3=c1/ root   user 43\n");
}

TEST_F(OwnerPollTest, LabelsByTheMappingFile) {
  Queue({{"7", "50", "gpu:1(IDX:1)"}}, "gpu:1(IDX:1)");
  options_.labels = *LabelMap::Parse(
      "schema_version = 1\n[[rule]]\naccount = \"res*\"\nteam = \"science\"\nproject = \"p\"\n", "labels.toml");
  const Holdings holdings = Poll(100);
  EXPECT_EQ(Shown(holdings), "GPU-1=c1/7@50 nobody science  scheduler\n");
  EXPECT_EQ(holdings.held[0].owner.project, "p");
}

TEST_F(OwnerPollTest, RefusesBadOptionsAtTheStart) {
  options_.experiment_keys = {"MY_TOKEN"};
  EXPECT_FALSE(OwnerPoll::Make(options_));
  options_.experiment_keys = {};
  options_.squeue = "/proc/no such program";
  const auto poll = OwnerPoll::Make(options_);
  ASSERT_FALSE(poll);
  EXPECT_EQ(poll.error().message, "/proc/no such program is no program that can be run");
}

TEST_F(OwnerPollTest, NamesAKubeletThatCannotBeAsked) {
  root_.Write("/kubelet/other", "");
  options_.pod_socket = root_.path() + "/kubelet/kubelet.sock";
  const Holdings holdings = Poll(100);
  EXPECT_EQ(Shown(holdings), "GPU-0 unknown\nGPU-1 unknown\nGPU-2 unknown\nGPU-3 unknown\n");
  ASSERT_EQ(holdings.errors.size(), 1U);
  EXPECT_EQ(holdings.errors[0], "kubernetes: " + options_.pod_socket + " cannot be opened: No such file or directory");
  EXPECT_EQ(poll_->Sources(), (std::vector<std::string>{"kubernetes", "processes"}));
}

// Ten thousand workers of one launcher share two GPUs. What the launcher says is read once, not for each of them.
TEST_F(OwnerPollTest, BearsTenThousandProcesses) {
  constexpr std::int64_t kFirst = 1000;
  constexpr std::int64_t kCount = 10'000;
  processes_[999].parent = 1;
  processes_.Publish();
  root_.Write("/proc/999/environ", "TORCHELASTIC_RUN_ID=r1\0"s);
  for (std::int64_t pid = kFirst; pid < kFirst + kCount; ++pid) {
    const std::string folder = "/proc/" + std::to_string(pid);
    root_.Write(folder + "/stat", "9 (a) b) S 999 1 1 0 -1 0 10 0 0 0 0 0 0 0 20 0 1 0 5 1000000 250 0\n");
    root_.Write(folder + "/status", "Uid:\t65534\t0\t0\t0\n");
    holders_["GPU-0"].push_back({pid, {}, 5});
    holders_["GPU-1"].push_back({pid, {}, 5});
  }
  test::OpenedFiles opened;
  const bool watched = opened.Watch(root_.path() + "/proc/999");
  const Holdings holdings = Poll(100);
  ASSERT_EQ(holdings.held.size(), 2U);
  EXPECT_EQ(holdings.held[0].owner.user, "nobody");
  EXPECT_EQ(holdings.held[0].owner.job, "torchrun:r1");
  EXPECT_EQ(holdings.held[0].pids.size(), static_cast<std::size_t>(kCount));
  if (!watched) GTEST_SKIP() << "inotify has no watch left";
  EXPECT_LE(opened.Take().size(), 8U);
}

// The machine has ten thousand processes, and eight of them hold GPUs. The list of all is never read, nor any file of
// the others. Within a period nothing is read twice.
TEST_F(OwnerPollTest, ReadsOnlyTheHoldersOfTenThousandProcesses) {
  test::OpenedFiles opened;
  for (std::int64_t pid = 1000; pid < 11'000; ++pid) {
    const std::string folder = "/proc/" + std::to_string(pid);
    root_.Write(folder + "/stat", "9 (a) b) S 1 1 1 0 -1 0 10 0 0 0 0 0 0 0 20 0 1 0 5 1000000 250 0\n");
  }
  for (int i = 0; i < 8; ++i) {
    processes_[2000 + i].parent = 1999;
    Hold("GPU-" + std::to_string(i % 4), 2000 + i, "/");
  }
  processes_[1999].parent = 1;
  processes_.Publish();
  root_.Write("/proc/1999/environ", "TORCHELASTIC_RUN_ID=r1\0"s);
  if (!opened.Watch(root_.path() + "/proc")) GTEST_SKIP() << "inotify has no watch left";
  for (std::int64_t pid = 1000; pid < 11'000; ++pid) {
    if (!opened.Watch(root_.path() + "/proc/" + std::to_string(pid))) GTEST_SKIP() << "inotify has no watch left";
  }
  for (std::int64_t second = 100; second < 110; ++second) {
    const Holdings holdings = Poll(second);
    ASSERT_EQ(holdings.held.size(), 4U);
    for (const Holding& held : holdings.held) {
      EXPECT_EQ(held.owner.job, "torchrun:r1");
      EXPECT_EQ(held.pids.size(), 2U);
    }
    const std::vector<std::string> files = opened.Take();
    if (second > 100) {
      EXPECT_TRUE(files.empty()) << files.front();
      continue;
    }
    EXPECT_GE(files.size(), 8U);
    EXPECT_LE(files.size(), 9U * 7);
    for (const std::string& file : files) {
      const std::string rest = file.substr(root_.path().size());
      EXPECT_TRUE(rest.starts_with("/proc/200") || rest.starts_with("/proc/1999/")) << file;
    }
  }
}

}  // namespace
}  // namespace idleburn
