#include "owners/cgroup_owner.h"

#include <gtest/gtest.h>

#include "support/fake_proc.h"
#include "support/property.h"

namespace idleburn {
namespace {

const std::string kId(64, 'a');
const std::string kUid = "0f4c9a4e-3b1d-4c56-9d0a-2b7f6c1e8d11";
const std::string kUidWithBars = "0f4c9a4e_3b1d_4c56_9d0a_2b7f6c1e8d11";

std::string JobAndStep(const std::string& path) {
  const GroupOwner owner = OwnerOfGroup(path);
  return owner.kind == GroupKind::kSlurm ? owner.host + ":" + owner.job + ":" + owner.step : "none";
}

TEST(CgroupOwnerTest, ReadsJobsOfSlurm) {
  EXPECT_EQ(JobAndStep("/slurm/uid_1000/job_211/step_0/task_0"), ":211:0");
  EXPECT_EQ(JobAndStep("/slurm_vm/uid_65534/job_7/step_batch"), "vm:7:batch");
  EXPECT_EQ(JobAndStep("/system.slice/slurmstepd.scope/job_211/step_interactive/user/task_0"), ":211:interactive");
  EXPECT_EQ(JobAndStep("/system.slice/node3_slurmstepd.scope/job_8/step_extern/user"), "node3:8:extern");
  EXPECT_EQ(JobAndStep("/slurm/uid_1000/job_211"), ":211:");
  // No jobs: names that only resemble one.
  for (const char* path : {"/slurm/uid_1000/job_/step_0", "/slurm/uid_1000/job_2x", "/user.slice/job_211",
                           "/myslurm/job_1", "/slurm/uid_1/job_99999999999999999999", "/slurmstepd.scope2/job_1"}) {
    EXPECT_EQ(JobAndStep(path), "none") << path;
  }
}

// Slurm 26.05 is reported to name folders by another id: the job is unknown then, not absent.
TEST(CgroupOwnerTest, CountsJobsThatItCannotName) {
  EXPECT_EQ(OwnerOfGroup("/system.slice/slurmstepd.scope/s5K1KKYAYG5D00/step_0").kind, GroupKind::kSlurmOther);
  EXPECT_EQ(OwnerOfGroup("/system.slice/slurmstepd.scope/system").kind, GroupKind::kNone);
}

TEST(CgroupOwnerTest, ReadsPods) {
  for (const std::string& path : {"/kubepods/burstable/pod" + kUid + "/" + kId, "/kubepods/pod" + kUid + "/" + kId,
                                  "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" + kUidWithBars +
                                      ".slice/cri-containerd-" + kId + ".scope",
                                  "/kubepods.slice/kubepods-pod" + kUidWithBars + ".slice/crio-" + kId + ".scope"}) {
    const GroupOwner owner = OwnerOfGroup(path);
    EXPECT_EQ(owner.kind, GroupKind::kPod) << path;
    EXPECT_EQ(owner.pod, kUid) << path;
    EXPECT_EQ(owner.container, kId) << path;
  }
  const std::string fixed(32, '4');  // of a static pod
  EXPECT_EQ(OwnerOfGroup("/kubepods/besteffort/pod" + fixed).pod, fixed);
  EXPECT_EQ(OwnerOfGroup("/kubepods/besteffort/pod1234").kind, GroupKind::kNone);
}

TEST(CgroupOwnerTest, ReadsContainersAndLogins) {
  EXPECT_EQ(OwnerOfGroup("/docker/" + kId).engine, "docker");
  EXPECT_EQ(OwnerOfGroup("/system.slice/docker-" + kId + ".scope").engine, "docker");
  EXPECT_EQ(OwnerOfGroup("/machine.slice/libpod-" + kId + ".scope").engine, "podman");
  EXPECT_EQ(OwnerOfGroup("/docker/" + kId).kind, GroupKind::kContainer);
  EXPECT_EQ(OwnerOfGroup("/user.slice/user-1000.slice/session-3.scope").user, 1000U);
  // Rootless podman runs below the user's slice.
  EXPECT_EQ(OwnerOfGroup("/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" + kId + ".scope").kind,
            GroupKind::kContainer);
  EXPECT_EQ(OwnerOfGroup("/").kind, GroupKind::kNone);
  EXPECT_EQ(OwnerOfGroup("/system.slice/ssh.service").kind, GroupKind::kNone);
}

TEST(CgroupOwnerTest, TakesTheMostTellingHierarchy) {
  const GroupOwner owner = OwnerOfGroups(
      "12:pids:/user.slice/user-0.slice\n9:freezer:/slurm/uid_0/job_4/step_0\n"
      "8:memory:/slurm/uid_0/job_4\n0::/\n");
  EXPECT_EQ(owner.kind, GroupKind::kSlurm);
  EXPECT_EQ(owner.step, "0");
  EXPECT_EQ(OwnerOfGroups("0::/system.slice/slurmstepd.scope/job_5/step_0/user/task_0\n").job, "5");
  EXPECT_EQ(OwnerOfGroups("").kind, GroupKind::kNone);
  EXPECT_EQ(OwnerOfGroups("no colons\n:\n").kind, GroupKind::kNone);
}

TEST(CgroupOwnerTest, SurvivesAnyText) {
  test::ExpectProperty("any text", [](const std::string& text) { OwnerOfGroups("0::/slurm/" + text); });
  EXPECT_EQ(OwnerOfGroup("/slurm/" + std::string(1 << 20, 'x') + "/job_1").kind, GroupKind::kSlurmOther);
}

TEST(CgroupOwnerTest, FindsLiveGroups) {
  const test::FakeRoot root;
  root.Write("/freezer/slurm_vm/uid_1000/job_7/cgroup.procs", "");
  root.Write("/system.slice/slurmstepd.scope/job_8/cgroup.procs", "");
  const std::string pods = "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod";
  root.Write(pods + kUidWithBars + ".slice/cri-containerd-" + kId + ".scope/cgroup.procs", "41\n");
  root.Write("/kubepods.slice/kubepods-pod" + std::string(32, '5') + ".slice/cgroup.procs", "");
  const LiveGroups groups = FindLiveGroups(root.path());
  EXPECT_TRUE(groups.slurm);
  EXPECT_TRUE(groups.pods);
  EXPECT_TRUE(groups.jobs.contains("7"));
  EXPECT_TRUE(groups.jobs.contains("8"));
  EXPECT_TRUE(groups.pod_has_processes.at(kUid));
  EXPECT_FALSE(groups.pod_has_processes.at(std::string(32, '5')));
  EXPECT_FALSE(FindLiveGroups(root.path() + "/nothing").pods);
}

}  // namespace
}  // namespace idleburn
