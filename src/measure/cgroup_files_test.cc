#include "measure/cgroup_files.h"

#include <gtest/gtest.h>

#include "support/fake_proc.h"

namespace idleburn {
namespace {

constexpr std::string_view kV2Mounts =
    "24 1 0:22 / /proc rw - proc proc rw\n"
    "30 24 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";
constexpr std::string_view kHybridMounts =
    "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
    "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
    "38 31 0:35 / /sys/fs/cgroup/blkio rw - cgroup cgroup rw,blkio\n"
    "40 31 0:37 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,xattr,name=systemd\n"
    "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";

TEST(CgroupFiles, FindsEachControllerWhereItIsMounted) {
  const CgroupPlaces v2 = FindCgroups(kV2Mounts, "0::/system.slice/job.scope\n");
  EXPECT_EQ(v2.cpu.folder, "/sys/fs/cgroup/system.slice/job.scope");
  EXPECT_TRUE(v2.cpu.version2);
  EXPECT_EQ(v2.pressure.folder, v2.cpu.folder);
  const CgroupPlaces hybrid = FindCgroups(
      kHybridMounts, "9:name=systemd:/user\n4:memory:/jobs/7\n3:blkio:/\n2:cpu,cpuacct:/slurm/job_7\n0::/user/7\n");
  EXPECT_EQ(hybrid.cpu.folder, "/sys/fs/cgroup/cpu,cpuacct/slurm/job_7");
  EXPECT_EQ(hybrid.memory.folder, "/sys/fs/cgroup/memory/jobs/7");
  EXPECT_EQ(hybrid.io.folder, "/sys/fs/cgroup/blkio");
  EXPECT_EQ(hybrid.pressure.folder, "/sys/fs/cgroup/unified/user/7");
  EXPECT_FALSE(hybrid.memory.version2);
}

TEST(CgroupFiles, AContainerSeesItsPartOfTheHierarchy) {
  const std::string mounts = "30 24 0:26 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw\n";
  EXPECT_EQ(FindCgroups(mounts, "0::/docker/abc/inner\n").cpu.folder, "/sys/fs/cgroup/inner");
  EXPECT_EQ(FindCgroups(mounts, "0::/docker/abc\n").cpu.folder, "/sys/fs/cgroup");
  EXPECT_EQ(FindCgroups(kV2Mounts, "0::/../other\n").cpu.folder, "");
  EXPECT_EQ(FindCgroups("", "").cpu.folder, "");
}

TEST(CgroupFiles, Version2) {
  test::FakeRoot root;
  root.Write("/proc/self/mountinfo", kV2Mounts);
  root.Write("/proc/7/cgroup", "0::/a/b\n");
  const std::string base = "/sys/fs/cgroup/a";
  root.Write(base + "/cpu.max", "250000 100000\n");
  root.Write(base + "/cpu.stat", "usage_usec 9\nnr_periods 5\nnr_throttled 2\nthrottled_usec 1234\n");
  root.Write(base + "/memory.max", "1000\n");
  root.Write(base + "/b/cpu.max", "max 100000\n");
  root.Write(base + "/b/cpu.stat", "usage_usec 9\nthrottled_usec 0\n");
  root.Write(base + "/b/memory.current", "600\n");
  root.Write(base + "/b/memory.max", "max\n");
  root.Write(base + "/b/io.stat", "8:0 rbytes=4096 wbytes=512 rios=1 wios=1\n");
  root.Write(base + "/b/cpu.pressure", "some avg10=0 avg60=0 avg300=0 total=5\n");
  root.Write(base + "/b/io.pressure", "some avg10=0 total=6\nfull avg10=0 total=7\n");
  OpenFileBudget files{16};
  CgroupFiles group(root.path(), 7, &files);
  EXPECT_EQ(group.QuotaCpus(), 3);
  HostSample sample;
  group.ReadPressure(&sample);
  group.ReadSlow(5000, &sample);
  EXPECT_TRUE(group.ReadIo(&sample));
  EXPECT_EQ(sample.Get(HostSignal::kPsiCpuSome), 5000);
  EXPECT_EQ(sample.Get(HostSignal::kPsiIoFull), 7000);
  EXPECT_TRUE(sample.Lacks(HostSignal::kPsiMemorySome));
  EXPECT_FALSE(sample.Has(HostSignal::kPsiMemorySome));
  EXPECT_EQ(sample.Get(HostSignal::kThrottledTime), 1'234'000);  // of the group with the quota
  EXPECT_EQ(sample.Get(HostSignal::kMemoryUsed), 600);
  EXPECT_EQ(sample.Get(HostSignal::kMemoryLimit), 1000);
  EXPECT_EQ(sample.Get(HostSignal::kReadBytes), 4096);
  EXPECT_EQ(sample.Get(HostSignal::kWriteBytes), 512);
}

TEST(CgroupFiles, Version1) {
  test::FakeRoot root;
  root.Write("/proc/self/mountinfo", kHybridMounts);
  root.Write("/proc/7/cgroup", "4:memory:/m\n3:blkio:/i\n2:cpu,cpuacct:/c\n0::/\n");
  const std::string base = "/sys/fs/cgroup";
  root.Write(base + "/cpu,cpuacct/c/cpu.cfs_quota_us", "50000\n");
  root.Write(base + "/cpu,cpuacct/c/cpu.cfs_period_us", "100000\n");
  root.Write(base + "/cpu,cpuacct/c/cpu.stat", "nr_periods 3\nnr_throttled 1\nthrottled_time 987654321\n");
  root.Write(base + "/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
  root.Write(base + "/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  root.Write(base + "/memory/m/memory.usage_in_bytes", "600\n");
  root.Write(base + "/memory/m/memory.limit_in_bytes", "9223372036854771712\n");
  root.Write(base + "/blkio/i/blkio.throttle.io_service_bytes", "8:0 Read 10\n8:0 Write 20\nTotal 30\n");
  OpenFileBudget files{16};
  CgroupFiles group(root.path(), 7, &files);
  EXPECT_EQ(group.QuotaCpus(), 1);
  HostSample sample;
  group.ReadPressure(&sample);
  group.ReadSlow(5000, &sample);
  EXPECT_TRUE(group.ReadIo(&sample));
  EXPECT_TRUE(sample.Lacks(HostSignal::kPsiCpuSome));
  EXPECT_EQ(sample.Get(HostSignal::kThrottledTime), 987'654'321);
  EXPECT_EQ(sample.Get(HostSignal::kMemoryUsed), 600);
  EXPECT_EQ(sample.Get(HostSignal::kMemoryLimit), 5000);
  EXPECT_EQ(sample.Get(HostSignal::kReadBytes), 10);
}

// A container with a namespace of its own sees its group as the root of all, a container without one its part.
TEST(CgroupFiles, AContainersGroupIsItsOwn) {
  const std::string v1 =
      "35 31 0:32 $ /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
      "38 31 0:35 $ /sys/fs/cgroup/blkio rw - cgroup cgroup rw,blkio\n";
  const auto shown = [&v1](const std::string& part) {
    std::string mounts = v1;
    for (std::size_t at = 0; (at = mounts.find('$')) != std::string::npos;) mounts.replace(at, 1, part);
    return mounts;
  };
  const struct {
    const char* what;
    std::string mounts;
    std::string membership;
    std::string memory;  // folder of the controller
    std::string io;
    bool v2;
  } cases[] = {
      {"version 2, a namespace", std::string(kV2Mounts), "0::/\n", "/sys/fs/cgroup", "/sys/fs/cgroup", true},
      {"version 2, a part", "30 24 0:26 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw\n", "0::/docker/abc\n",
       "/sys/fs/cgroup", "/sys/fs/cgroup", true},
      {"version 1, a namespace", shown("/"), "4:memory:/\n3:blkio:/\n", "/sys/fs/cgroup/memory", "/sys/fs/cgroup/blkio",
       false},
      {"version 1, a part", shown("/docker/abc"), "4:memory:/docker/abc\n3:blkio:/docker/abc\n",
       "/sys/fs/cgroup/memory", "/sys/fs/cgroup/blkio", false},
  };
  for (const auto& c : cases) {
    const bool by_limit_only = !c.v2 && c.mounts == shown("/");  // the kernel tells no difference but a limit
    for (const bool limited : {true, false}) {
      test::FakeRoot root;
      root.Write("/proc/self/mountinfo", c.mounts);
      root.Write("/proc/7/cgroup", c.membership);
      root.Write(c.memory + (c.v2 ? "/memory.current" : "/memory.usage_in_bytes"), "600\n");
      root.Write(c.memory + (c.v2 ? "/memory.max" : "/memory.limit_in_bytes"), limited ? "1000\n"
                                                                               : c.v2  ? "max\n"
                                                                                       : "9223372036854771712\n");
      if (c.v2) root.Write(c.io + "/io.max", "");
      root.Write(c.io + (c.v2 ? "/io.stat" : "/blkio.throttle.io_service_bytes"),
                 c.v2 ? "8:0 rbytes=4096 wbytes=512 rios=1 wios=1\n" : "8:0 Read 4096\n8:0 Write 512\nTotal 4608\n");
      OpenFileBudget files{16};
      CgroupFiles group(root.path(), 7, &files);
      HostSample sample;
      group.ReadSlow(5000, &sample);
      const bool own = limited || !by_limit_only;
      ASSERT_EQ(sample.Has(HostSignal::kMemoryUsed), own) << c.what << limited;
      if (own) {
        EXPECT_EQ(sample.Get(HostSignal::kMemoryUsed), 600) << c.what;
        EXPECT_EQ(sample.Get(HostSignal::kMemoryLimit), limited ? 1000 : 5000) << c.what;
      }
      EXPECT_EQ(group.ReadIo(&sample), !by_limit_only) << c.what;
    }
  }
}

// All of the machine is no group of the workload, although it counts too.
TEST(CgroupFiles, TheMachinesGroupIsNotItsOwn) {
  for (const bool v2 : {true, false}) {
    test::FakeRoot root;
    root.Write("/proc/self/mountinfo", v2 ? kV2Mounts : kHybridMounts);
    root.Write("/proc/7/cgroup", v2 ? "0::/\n" : "4:memory:/\n3:blkio:/\n2:cpu,cpuacct:/\n0::/\n");
    if (v2) root.Write("/sys/fs/cgroup/io.stat", "8:0 rbytes=4096 wbytes=512 rios=1 wios=1\n");
    root.Write("/sys/fs/cgroup/memory/memory.usage_in_bytes", "600\n");
    root.Write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    root.Write("/sys/fs/cgroup/blkio/blkio.throttle.io_service_bytes", "8:0 Read 10\nTotal 10\n");
    OpenFileBudget files{16};
    CgroupFiles group(root.path(), 7, &files);
    HostSample sample;
    group.ReadSlow(5000, &sample);
    EXPECT_FALSE(sample.Has(HostSignal::kMemoryUsed));
    EXPECT_FALSE(group.ReadIo(&sample));
  }
}

TEST(CgroupFiles, NothingMountedIsNothingClaimed) {
  test::FakeRoot root;
  OpenFileBudget files{16};
  CgroupFiles group(root.path(), 7, &files);
  EXPECT_FALSE(group.QuotaCpus());
  HostSample sample;
  group.ReadPressure(&sample);
  group.ReadSlow(5000, &sample);
  EXPECT_FALSE(group.ReadIo(&sample));
  EXPECT_EQ(sample.present, 0U);
  EXPECT_TRUE(sample.Lacks(HostSignal::kThrottledTime));
}

}  // namespace
}  // namespace idleburn
