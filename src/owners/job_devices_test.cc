#include "owners/job_devices.h"

#include <gtest/gtest.h>

namespace idleburn {
namespace {

using Uuids = std::vector<std::string>;

// Eight GPUs; GPU-n has minor number n, index 7 - n and an instance MIG-7 in the last one.
std::vector<NodeGpu> EightGpus() {
  std::vector<NodeGpu> gpus;
  for (std::int64_t i = 0; i < 8; ++i) {
    gpus.push_back({"GPU-" + std::to_string(i), 7 - i, "00000000:" + std::to_string(10 + i) + ":00.0", i, "", {}});
  }
  gpus.push_back({"MIG-7", 0, "00000000:17:00.0", {}, "GPU-7", 1});
  return gpus;
}

Uuids Held(const EnvironValues& values) { return DevicesOfJob(values, GresOrder::kMinor, EightGpus()); }
Uuids Visible(const EnvironValues& values) { return VisibleDevices(values, GresOrder::kMinor, EightGpus()); }

// Inside a job with constrained devices CUDA counts from 0 again.
TEST(JobDevicesTest, JoinsZeroToTheGpuThatTheSchedulerGave) {
  const EnvironValues values = {{"SLURM_JOB_GPUS", "5"}, {"CUDA_VISIBLE_DEVICES", "0"}};
  EXPECT_EQ(Held(values), Uuids{"GPU-5"});
  EXPECT_EQ(Visible(values), Uuids{"GPU-5"});
  const EnvironValues two = {{"SLURM_JOB_GPUS", "2,4-5"}, {"CUDA_VISIBLE_DEVICES", "2,0"}};
  EXPECT_EQ(Held(two), (Uuids{"GPU-2", "GPU-4", "GPU-5"}));
  EXPECT_EQ(Visible(two), (Uuids{"GPU-5", "GPU-2"}));
  EXPECT_EQ(Visible({{"SLURM_JOB_GPUS", "5"}, {"CUDA_VISIBLE_DEVICES", "1"}}), Uuids{});
}

TEST(JobDevicesTest, NeverJoinsNumbersWithoutAScheduler) {
  EXPECT_EQ(Held({{"CUDA_VISIBLE_DEVICES", "0"}}), Uuids{});
  EXPECT_EQ(Visible({{"CUDA_VISIBLE_DEVICES", "0"}}), Uuids{});
  EXPECT_EQ(Held({{"NVIDIA_VISIBLE_DEVICES", "all"}}), Uuids{});
}

TEST(JobDevicesTest, PrefersTheJobsList) {
  EXPECT_EQ(Held({{"SLURM_JOB_GPUS", "5"}, {"SLURM_STEP_GPUS", "0"}}), Uuids{"GPU-5"});
  EXPECT_EQ(Held({{"SLURM_STEP_GPUS", "1"}}), Uuids{"GPU-1"});
  // Slurm 25.11 writes UUIDs for CUDA, but its own list stays numeric.
  EXPECT_EQ(Held({{"SLURM_JOB_GPUS", "5"}, {"CUDA_VISIBLE_DEVICES", "GPU-5"}}), Uuids{"GPU-5"});
}

TEST(JobDevicesTest, AcceptsUuids) {
  EXPECT_EQ(Held({{"CUDA_VISIBLE_DEVICES", "GPU-3,MIG-7"}}), (Uuids{"GPU-3", "MIG-7"}));
  EXPECT_EQ(Held({{"NVIDIA_VISIBLE_DEVICES", "GPU-3"}}), Uuids{"GPU-3"});
  EXPECT_EQ(Held({{"CUDA_VISIBLE_DEVICES", "GPU-3,GPU-99"}}), Uuids{});
}

TEST(JobDevicesTest, RefusesOtherForms) {
  for (const char* list : {"", "x", "0-", "9", "7", "3,2", "-1"}) EXPECT_EQ(Held({{"SLURM_JOB_GPUS", list}}), Uuids{});
}

}  // namespace
}  // namespace idleburn
