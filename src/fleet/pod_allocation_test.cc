#include "fleet/pod_allocation.h"

#include <gtest/gtest.h>

namespace idleburn {
namespace {

TEST(PodAllocationTest, AHostHasItsNameWithoutTheDomain) {
  EXPECT_EQ(HostKey("gpu-07.cluster.local"), "gpu-07");
  EXPECT_EQ(HostKey("gpu-07"), "gpu-07");
  EXPECT_EQ(HostKey("10.0.0.7"), "10.0.0.7") << "an address has no domain";
  EXPECT_EQ(HostKey("fd00::7"), "fd00::7");
  EXPECT_EQ(HostKey(""), "");
}

TEST(PodAllocationTest, ACountHasItsMeanMostAndNewest) {
  CountOverTime count;
  EXPECT_TRUE(count.empty());
  for (const std::int64_t each : {0, 6, 3}) count.Add(each);
  const AllocationQueue queue = count.As("slurm_jobs_pending", "jobs");
  EXPECT_EQ(queue.mean, 3);
  EXPECT_EQ(queue.most, 6);
  EXPECT_EQ(queue.newest, 3);
}

TEST(PodAllocationTest, FreeCapacityIsNeverNegative) {
  EXPECT_EQ((AllocationResource{"slurm", "gpu", 10, 4, 1}.UnallocatedMs()), 5);
  EXPECT_EQ((AllocationResource{"slurm", "gpu", 10, 12, 0}.UnallocatedMs()), 0) << "counters of different moments";
  EXPECT_EQ((AllocationResource{"slurm", "gpu", {}, 12, 0}.UnallocatedMs()), std::nullopt);
}

}  // namespace
}  // namespace idleburn
