#include "measure/system_facts.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <regex>
#include <vector>

#include "support/fake_proc.h"

namespace idleburn {
namespace {

constexpr std::string_view kMountinfo =
    "22 1 259:2 / / rw,relatime shared:1 - ext4 /dev/nvme0n1p2 rw\n"
    "23 22 0:21 / /proc rw - proc proc rw\n"
    "24 22 259:5 / /data rw - xfs /dev/md0 rw\n"
    "25 24 0:50 / /data/shared rw shared:7 - nfs4 fileserver.example:/export rw\n"
    "26 22 0:51 / /home"
    "/alice/scratch rw - tmpfs tmpfs rw\n";

std::map<std::string, std::string> FactsOf(const test::FakeRoot& root, const std::string& cwd) {
  std::map<std::string, std::string> facts;
  for (const RunFact& fact : SystemFacts(root.path(), cwd)) facts[fact.key] = fact.value;
  return facts;
}

TEST(SystemFacts, AreReadFromTheKernelsFiles) {
  test::FakeRoot root;
  std::string cpuinfo;
  for (const int cpu : {0, 1, 2, 3, 4, 5, 6, 7}) {
    cpuinfo += "processor\t: " + std::to_string(cpu) +
               "\nmodel name\t: Xeon 8480\nphysical id\t: " + std::to_string(cpu / 4) +
               "\ncore id\t\t: " + std::to_string(cpu % 2) + "\n\n";
  }
  root.Write("/proc/cpuinfo", cpuinfo);
  root.Write("/proc/sys/kernel/osrelease", "6.1.0-30-amd64\n");
  root.Write("/proc/meminfo", "MemTotal:       2097152 kB\n");
  root.Write("/sys/devices/system/node/online", "0-1\n");
  root.Write("/sys/block/nvme0n1/size", "3750748848\n");
  root.Write("/sys/block/nvme0n1/queue/rotational", "0\n");
  root.Write("/sys/block/sda/size", "7814037168\n");
  root.Write("/sys/block/sda/queue/rotational", "1\n");
  root.Write("/sys/block/loop0/size", "1000\n");
  root.Write("/sys/block/dm-0/size", "1000\n");
  root.Write("/proc/self/mountinfo", std::string(kMountinfo) + "30 22 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  root.Write("/proc/self/cgroup", "0::/job\n");
  root.Write("/proc/" + std::to_string(getpid()) + "/cgroup", "0::/job\n");
  root.Write("/sys/fs/cgroup/job/cpu.max", "250000 100000\n");
  root.Write("/sys/fs/cgroup/job/memory.max", "max\n");
  root.Write("/sys/fs/cgroup/memory.max", "8589934592\n");
  root.Write("/.dockerenv", "");
  const std::map<std::string, std::string> wanted = {{"system.kernel", "6.1.0-30-amd64"},
                                                     {"system.cpu", "Xeon 8480"},
                                                     {"system.cpu_sockets", "2"},
                                                     {"system.cpu_cores", "4"},
                                                     {"system.cpu_threads", "8"},
                                                     {"system.numa_nodes", "2"},
                                                     {"system.memory_bytes", "2147483648"},
                                                     {"system.disks", "nvme0n1 1.92 TB SSD, sda 4.00 TB HDD"},
                                                     {"system.container", "docker"},
                                                     {"system.cgroup_cpus", "3"},
                                                     {"system.cgroup_memory_bytes", "8589934592"},
                                                     {"system.cwd_mount", "/data xfs (md0)"}};
  EXPECT_EQ(FactsOf(root, "/data/project"), wanted);
}

TEST(SystemFacts, WhatCannotBeReadIsLeftOut) {
  const test::FakeRoot root;
  const std::map<std::string, std::string> wanted = {{"system.container", "none seen"}};
  EXPECT_EQ(FactsOf(root, "/"), wanted);
}

TEST(SystemFacts, OfThisMachineAreThoseOfTheSystem) {
  std::map<std::string, std::string> facts;
  for (const RunFact& fact : SystemFacts("", "/")) facts[fact.key] = fact.value;
  EXPECT_EQ(facts["system.cpu_threads"], std::to_string(sysconf(_SC_NPROCESSORS_ONLN)));
  EXPECT_EQ(facts["system.memory_bytes"], std::to_string(sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE)));
}

TEST(Mounts, APathLiesOnTheDeepestAndNoNameOfAUserOrHostIsTold) {
  const std::vector<MountedAt> mounts = MountsOf(kMountinfo);
  EXPECT_EQ(mounts.size(), 4U);
  EXPECT_EQ(MountOf(mounts, "/etc/passwd"), "/ ext4 (nvme0n1p2)");
  EXPECT_EQ(MountOf(mounts, "/data"), "/data xfs (md0)");
  EXPECT_EQ(MountOf(mounts, "/database/x"), "/ ext4 (nvme0n1p2)");
  EXPECT_EQ(MountOf(mounts, "/data/shared/imagenet/0.tar"), "/data/shared nfs4 (over the network)");
  EXPECT_EQ(MountOf(mounts,
                    "/home"
                    "/alice/scratch/x"),
            "/home"
            "/*/scratch tmpfs");
  EXPECT_EQ(MountOf({}, "/data"), "");
}

TEST(Mounts, OfFilesHeldOpenForReading) {
  test::FakeRoot root;
  root.Write("/proc/self/mountinfo", kMountinfo);
  const auto hold = [&](const std::string& pid, const std::string& fd, const char* target, const char* flags) {
    root.Write("/proc/" + pid + "/fdinfo/" + fd, std::string("pos:\t0\nflags:\t") + flags + "\nmnt_id:\t30\n");
    std::filesystem::create_directories(root.path() + "/proc/" + pid + "/fd");
    std::filesystem::create_symlink(target, root.path() + "/proc/" + pid + "/fd/" + fd);
  };
  hold("7", "0", "/dev/null", "0100000");
  hold("7", "3", "/data/shared/train.tar", "0100000");
  hold("7", "4", "/data/log", "0100001");  // for writing
  hold("7", "5", "pipe:[17]", "00");
  hold("8", "3", "/etc/hosts", "0100002");  // for both
  const std::vector<pid_t> both = {7, 8, 9};
  EXPECT_EQ(MountsRead(root.path() + "/proc", both), "/ ext4 (nvme0n1p2), /data/shared nfs4 (over the network)");
  EXPECT_EQ(MountsRead(root.path() + "/proc", {}), "");
}

}  // namespace

namespace {

std::map<std::string, std::string> FactsOf(const std::map<std::string, std::string>& environment) {
  std::map<std::string, std::string> facts;
  for (const RunFact& fact : ExperimentFacts([&](std::string_view name) -> std::optional<std::string> {
         const auto at = environment.find(std::string(name));
         return at == environment.end() ? std::nullopt : std::optional(at->second);
       })) {
    facts[fact.key] = fact.value;
  }
  return facts;
}

using Facts = std::map<std::string, std::string>;

TEST(Experiment, OnlyListedNamesAreKept) {
  EXPECT_EQ(FactsOf({{"SLURM_JOB_ID", "77"},
                     {"RANK", "0"},
                     {"CUDA_VISIBLE_DEVICES", "2,3"},
                     {"WANDB_API_KEY", "secret"},
                     {"AWS_SECRET_ACCESS_KEY", "secret"},
                     {"HOME", "/x"},
                     {"MLFLOW_RUN_ID", ""}}),
            (Facts{{"env.SLURM_JOB_ID", "77"}, {"env.RANK", "0"}, {"env.CUDA_VISIBLE_DEVICES", "2,3"}}));
}

TEST(Experiment, NoNameOnTheListSoundsSecret) {
  const std::regex secret("key|token|secret|passw|cred|auth|cookie|dsn", std::regex::icase);
  std::size_t asked = 0;
  ExperimentFacts([&](std::string_view name) -> std::optional<std::string> {
    EXPECT_FALSE(std::regex_search(std::string(name), secret)) << name;
    EXPECT_FALSE(name.empty());
    ++asked;
    return std::nullopt;
  });
  EXPECT_GT(asked, 50U);
}

TEST(Experiment, OfAddressesOnlyTheHostRemains) {
  EXPECT_EQ(FactsOf({{"MLFLOW_TRACKING_URI", "https://ann:word@mlflow.example.org:5000/a?token=1"}}),
            (Facts{{"env.MLFLOW_TRACKING_URI", "mlflow.example.org:5000"}}));
  EXPECT_EQ(FactsOf({{"MLFLOW_TRACKING_URI", "https://host?x=ann:word@other"}}),
            (Facts{{"env.MLFLOW_TRACKING_URI", "host"}}));
  EXPECT_EQ(FactsOf({{"MLFLOW_TRACKING_URI", "/data/mlruns"}}), Facts{});
}

TEST(Experiment, ValuesAreShortAndPrintable) {
  const Facts facts = FactsOf({{"WANDB_NAME", "a\x1b[31m\nb\x7f" + std::string(1000, 'x')}});
  const std::string& name = facts.at("env.WANDB_NAME");
  EXPECT_EQ(name.size(), 256U);
  EXPECT_EQ(name.substr(0, 9), "a?[31m?b?");
}

constexpr const char* kCommit = "0123456789abcdef0123456789abcdef01234567";

std::string FactOf(const std::vector<RunFact>& facts, const std::string& key) {
  for (const RunFact& fact : facts) {
    if (fact.key == key) return fact.value;
  }
  return {};
}
std::string CommitIn(const test::FakeRoot& root, const char* folder = "") {
  return FactOf(GitFacts(root.path() + folder), "git.commit");
}

TEST(GitFactsTest, FollowsHeadToItsBranch) {
  const test::FakeRoot root;
  EXPECT_TRUE(GitFacts(root.path()).empty());
  root.Write("/.git/HEAD", "ref: refs/heads/main\n");
  root.Write("/.git/refs/heads/main", std::string(kCommit) + "\n");
  root.Write("/src/deep/file", "x");
  EXPECT_EQ(CommitIn(root), kCommit);
  EXPECT_EQ(CommitIn(root, "/src/deep"), kCommit);
}

TEST(GitFactsTest, FindsPackedBranchesAndDetachedHeads) {
  const test::FakeRoot root;
  root.Write("/.git/HEAD", "ref: refs/heads/main\n");
  root.Write("/.git/packed-refs",
             "# pack-refs with: peeled fully-peeled sorted \n"
             "ffffffffffffffffffffffffffffffffffffffff refs/heads/main-2\n" +
                 std::string(kCommit) + " refs/heads/main\n");
  EXPECT_EQ(CommitIn(root), kCommit);
  root.Write("/.git/HEAD", "ffffffffffffffffffffffffffffffffffffffff\n");
  EXPECT_EQ(CommitIn(root), std::string(40, 'f'));
}

TEST(GitFactsTest, FindsTheRepositoryOfALinkedTree) {
  const test::FakeRoot root;
  root.Write("/main/.git/refs/heads/side", std::string(kCommit) + "\n");
  root.Write("/main/.git/worktrees/side/HEAD", "ref: refs/heads/side\n");
  root.Write("/main/.git/worktrees/side/commondir", "../..\n");
  root.Write("/side/.git", "gitdir: ../main/.git/worktrees/side\n");
  EXPECT_EQ(CommitIn(root, "/side"), kCommit);
}

TEST(GitFactsTest, WhatIsNoCommitIsNotTold) {
  const test::FakeRoot root;
  root.Write("/.git/HEAD", "ref: refs/heads/unborn\n");
  EXPECT_EQ(CommitIn(root), "");
  root.Write("/.git/HEAD", "ref: ../../etc/passwd\n");
  EXPECT_EQ(CommitIn(root), "");
  root.Write("/.git/refs/heads/loop", "ref: refs/heads/loop\n");
  root.Write("/.git/HEAD", "ref: refs/heads/loop\n");
  EXPECT_EQ(CommitIn(root), "");
}

TEST(GitFactsTest, DamagedIndexesAreRefused) {
  std::vector<StagedFile> files;
  EXPECT_FALSE(ReadGitIndex("", 10, &files));
  EXPECT_FALSE(ReadGitIndex(std::string("DIRC\0\0\0\2\0\0\0\1", 12), 10, &files));
  EXPECT_FALSE(ReadGitIndex(std::string("DIRC\0\0\0\4\0\0\0\0", 12), 10, &files));
  EXPECT_FALSE(ReadGitIndex(std::string("DIRC\0\0\0\2\0\0\0\11", 12), 8, &files));
  EXPECT_TRUE(ReadGitIndex(std::string("DIRC\0\0\0\2\0\0\0\0", 12), 10, &files));
  EXPECT_FALSE(ReadGitIndex(std::string("DIRC\0\0\0\2\0\0\0\1", 12) + std::string(62, 'x'), 10, &files));
}

// What git itself says of the same repository.
TEST(GitFactsTest, AgreesWithGit) {
  if (std::system("git --version >/dev/null 2>&1") != 0) GTEST_SKIP() << "no git";
  const test::FakeRoot root;
  root.Write("/a.txt", "one\n");
  root.Write("/long/name/of/a/folder/b.txt", "two\n");
  const std::string in = "cd " + root.path() + " && git -c init.defaultBranch=main ";
  ASSERT_EQ(std::system((in + "init -q && git add -A && git -c user.name=a -c user.email=a@b commit -q -m x && "
                              "git rev-parse HEAD > .git/said")
                            .c_str()),
            0);
  std::vector<RunFact> facts = GitFacts(root.path() + "/long/name");
  std::ifstream said(root.path() + "/.git/said");
  std::string commit;
  said >> commit;
  EXPECT_EQ(FactOf(facts, "git.commit"), commit);
  EXPECT_EQ(FactOf(facts, "git.tree"), "clean");
  root.Write("/a.txt", "longer\n");
  EXPECT_EQ(FactOf(GitFacts(root.path()), "git.tree"), "changed");
  root.Write("/a.txt", "one\n");
  std::filesystem::remove(root.path() + "/long/name/of/a/folder/b.txt");
  EXPECT_EQ(FactOf(GitFacts(root.path()), "git.tree"), "changed");
}

}  // namespace

}  // namespace idleburn
