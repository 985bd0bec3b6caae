#include "owners/node_gpu.h"

#include <gtest/gtest.h>

namespace idleburn {
namespace {

TEST(NodeGpuTest, AnInstanceHasItsBoardAndItsNumber) {
  Device device;
  device.uuid = "MIG-1";
  device.index = 3;
  device.bus_id = "no such bus";  // the kernel tells no minor number of it
  device.mig.emplace().id = "7";
  const NodeGpu gpu = NodeGpuFrom(device, "GPU-1");
  EXPECT_EQ(gpu.uuid, "MIG-1");
  EXPECT_EQ(gpu.parent, "GPU-1");
  EXPECT_EQ(gpu.gi, 7);
  EXPECT_EQ(gpu.index, 3);
  EXPECT_EQ(gpu.minor, 3);
  device.mig.reset();
  device.index.reset();
  const NodeGpu whole = NodeGpuFrom(device, "");
  EXPECT_FALSE(whole.gi);
  EXPECT_FALSE(whole.minor);
  EXPECT_EQ(whole.index, -1);
}

}  // namespace
}  // namespace idleburn
