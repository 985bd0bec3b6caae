#include "profile/profile_builder.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>

#include "support/call_time.h"

namespace idleburn {
namespace {

TEST(ProfileNamesTest, ACallHasOneKind) {
  EXPECT_EQ(CallKindOf("cudaLaunchKernelExC_v11060"), CallKind::kLaunchKernel);
  EXPECT_EQ(CallKindOf("cuLaunchKernelEx"), CallKind::kLaunchKernel);
  EXPECT_EQ(CallKindOf("hipExtModuleLaunchKernel"), CallKind::kLaunchKernel);
  EXPECT_EQ(CallKindOf("hipGraphLaunch"), CallKind::kLaunchGraph);
  EXPECT_EQ(CallKindOf("cudaMemcpyAsync_v3020"), CallKind::kMemcpy);
  EXPECT_EQ(CallKindOf("hipMemcpyWithStream"), CallKind::kMemcpy);
  EXPECT_EQ(CallKindOf("cudaStreamSynchronize_v3020"), CallKind::kSync);
  EXPECT_EQ(CallKindOf("hipEventSynchronize"), CallKind::kSync);
  EXPECT_EQ(CallKindOf("cudaStreamWaitEvent"), CallKind::kOther);
  EXPECT_EQ(CallKindOf("cudaMemsetAsync"), CallKind::kOther);
  EXPECT_EQ(CallKindOf("cudaMalloc_v3020"), CallKind::kAllocate);
  EXPECT_EQ(CallKindOf("hipFree"), CallKind::kFree);
  EXPECT_EQ(CallKindOf("cuMemCreate"), CallKind::kAllocate);
  EXPECT_EQ(CallKindOf("cudaMallocAsync"), CallKind::kAllocateHost);  // of a pool, in the order of a stream
  EXPECT_EQ(CallKindOf("cudaFreeHost"), CallKind::kAllocateHost);
  EXPECT_EQ(CallKindOf("hipModuleLoadData"), CallKind::kFirstUse);
  EXPECT_EQ(CallKindOf("cudaGraphInstantiate_v12000"), CallKind::kFirstUse);
  EXPECT_EQ(CallKindOf("cudaStreamBeginCapture_v10000"), CallKind::kBeginCapture);
  EXPECT_EQ(CallKindOf("hipStreamEndCapture"), CallKind::kEndCapture);
  EXPECT_EQ(CallKindOf("cudaStreamIsCapturing"), CallKind::kOther);
}

TEST(ProfileNamesTest, KnowsTheLoader) {
  EXPECT_TRUE(IsDataLoader("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"));
  EXPECT_TRUE(IsDataLoader("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"));
  EXPECT_TRUE(IsDataLoader("IteratorGetNextOp::DoCompute"));
  EXPECT_FALSE(IsDataLoader("Iterator::Prefetch"));  // works ahead, on threads of its own
  EXPECT_FALSE(IsDataLoader("DataLoader.__init__"));
  EXPECT_FALSE(IsDataLoader("enumerate(list)"));
}

TEST(ProfileBuilderTest, PutsRowsWhereTheDiagnosisLooks) {
  ProfileBuilder builder;
  const std::uint32_t thread = builder.Thread("7");
  DeviceEvent kernel;
  kernel.start_ns = 10;
  kernel.end_ns = 30;
  kernel.name = builder.Intern("ncclKernel_AllReduce");
  EXPECT_EQ(builder.AddDeviceEvent(3, kernel), 0U);
  builder.Device(5).model = "seen in the header, without events";
  builder.AddCall("cudaMemcpyAsync", {1, 4, 7, thread, 0, CallKind::kOther});
  builder.AddCall("cudaDeviceSynchronize", {5, 9, 8, thread, 0, CallKind::kOther});
  builder.AddHostRange("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", {0, 3}, thread);
  builder.AddHostRange("aten::item", {6, 8}, thread);
  builder.AddPythonFrame("train.py: step", {0, 40}, thread);
  builder.AddOverhead({2, 5});
  builder.AddStep({0, 40, 1, 0});
  builder.AddStep({0, 45, 1, 0});
  builder.AddStep({0, 20, 1, 0});
  const Profile profile = builder.Build();

  ASSERT_EQ(profile.devices.size(), 1U);
  EXPECT_EQ(profile.devices[0].id, 3);
  EXPECT_EQ(profile.devices[0].events[0].op, DeviceOp::kComm);
  EXPECT_EQ(test::CallNs(profile, CallKind::kMemcpy), 3);
  EXPECT_EQ(test::CallNs(profile, CallKind::kSync), 4);
  EXPECT_EQ(profile.host.dataloader.TotalNs(), 3);
  EXPECT_EQ(profile.host.cpu_op.TotalNs(), 5);
  EXPECT_EQ(profile.host.scalar_read.TotalNs(), 2);
  EXPECT_EQ(profile.host.overhead.TotalNs(), 3);
  EXPECT_EQ(profile.dataloader_events, 1);
  EXPECT_EQ(profile.calls.size(), 2U);
  EXPECT_EQ(profile.calls[1].kind, CallKind::kSync);
  ASSERT_EQ(profile.steps.size(), 1U);
  EXPECT_EQ(profile.steps[0].end_ns, 45);
  ASSERT_EQ(profile.frames.size(), 3U);
  EXPECT_EQ(profile.threads[profile.frames[0].thread], "7");
  EXPECT_EQ(profile.processes, std::vector<std::string>{""});  // rows are of process 0, and none was named
  EXPECT_TRUE(builder.Build().devices.empty());
}

TEST(ProfileBuilderTest, OfMoreFramesThanItKeepsItKeepsTheLongest) {
  ProfileBuilder builder;
  const auto frames = static_cast<std::int64_t>(kKeptFrames);
  for (std::int64_t i = 0; i < 3 * frames; ++i) {
    const std::int64_t length = 1 + (i * 7919) % (3 * frames);  // each length once: 7919 is prime
    builder.AddPythonFrame(length > 2 * frames ? "kept" : "short", {i, i + length}, 0);
  }
  const Profile profile = builder.Build();
  ASSERT_EQ(profile.frames.size(), kKeptFrames);
  for (const HostFrame& f : profile.frames) EXPECT_EQ(profile.names[f.name], "kept");
}

struct Wide {
  std::int64_t number = 0;
  std::array<std::int64_t, 1279> rest{};  // 10 KiB: 4096 of them fill a block
};

TEST(RowBlocksTest, RowsComeBackInOrderFromAnyNumberOfBlocks) {
  for (const std::int64_t count : {0, 1, 4095, 4096, 4097, 9000}) {
    RowBlocks<Wide> blocks;
    for (std::int64_t i = 0; i < count; ++i) blocks.Add({i, {}});
    EXPECT_EQ(blocks.size(), static_cast<std::size_t>(count));
    const std::vector<Wide> rows = blocks.Take();
    ASSERT_EQ(rows.size(), static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < count; ++i) ASSERT_EQ(rows[static_cast<std::size_t>(i)].number, i);
    EXPECT_EQ(blocks.size(), 0U);
    EXPECT_TRUE(blocks.Take().empty());
  }
}

}  // namespace

}  // namespace idleburn
