#include "fleet/pod_allocation.h"

#include <gtest/gtest.h>

#include "support/scripted_engine.h"

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

// Pods wait for a node in one hour, with names as an operator makes them.
TEST(PodAllocationTest, PodsAreAskedForByTheirExactNames) {
  constexpr std::int64_t kAt = 1'774'742'400;
  std::size_t asked = 0;
  bool exact = true;
  testing::ScriptedEngine served([&](const testing::ScriptedQuestion& question) {
    const std::string& expression = question.expression;
    if (expression.find("kube_pod_info") != std::string::npos) {
      ++asked;
      exact = exact && expression.find(R"(v1\\.0-worker)") != std::string::npos;
    }
    if (expression.find("kube_pod_container_resource_requests{") == std::string::npos) return std::string("[]");
    std::string pods;
    for (int i = 0; i < 50; ++i) {
      pods += std::string(i == 0 ? "" : ",") +
              R"({"metric":{"namespace":"ml","resource":"nvidia_com_gpu","pod":"llama-v1.0-worker.)" +
              std::to_string(i) + R"("},"values":[[)" + std::to_string(kAt + 30) + R"(,"1"]]})";
    }
    return "[" + pods + "]";
  });
  Engine engine = served.Open();
  PodAllocation pods(engine, {kAt, kAt + 3600, 60}, {"kube_pod_container_resource_requests", "kube_pod_info"});
  const auto read = pods.ReadAll();
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_GT(asked, 0U);
  EXPECT_TRUE(exact);
}

}  // namespace
}  // namespace idleburn
