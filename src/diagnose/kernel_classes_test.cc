#include "diagnose/kernel_classes.h"

#include <gtest/gtest.h>

#include "diagnose/fp32_kernels.h"
#include "diagnose/host_link.h"
#include "support/tiny_profile.h"

namespace idleburn {
namespace {

TEST(KernelClassesTest, TheLongestFirstWithTheirClass) {
  test::TinyProfile tiny;
  tiny.Kernel(0, 10, 0, 5, "a").Kernel(10, 20, 5, 5, "a").Kernel(20, 25, 9, 5, "b").Comm(30, 80, 20);
  tiny.Copy(CopyKind::kHtoD, MemoryKind::kPinned, 1, 80, 1000, 70);
  const Profile profile = tiny.Build();
  const std::vector<KernelClass> top = TopKernels(profile, profile.devices[0], 2);
  ASSERT_EQ(top.size(), 2U);
  EXPECT_EQ(top[0].name, "ncclDevKernel_AllReduce");
  EXPECT_EQ(top[0].op, DeviceOp::kComm);
  EXPECT_EQ(top[1].name, "a");
  EXPECT_EQ(top[1].count, 2);
  EXPECT_EQ(top[1].ns, 20'000);
}

TEST(KernelClassesTest, SinglePrecisionIsReadFromLibraryNamesOnly) {
  for (const char* name : {"volta_sgemm_64x64_nt", "sgemm_32x32", "ampere_sgemm_128x64_tn",
                           "cudnn_infer_volta_scudnn_128x64_relu_medium_nn_v1",
                           "void implicit_convolve_sgemm<float, float, 1024, 6>(int)"}) {
    EXPECT_TRUE(IsFp32Matrix(name)) << name;
  }
  for (const char* name : {"", "gemm", "void cutlass::gemm_nn_128x128<float>(float*)", "volta_hgemm_64x64",
                           "cutlass_80_tensorop_s1688gemm_256x64", "Cijk_Alik_Bljk_BBS_BH", "hsgemm", "s884cudnn"}) {
    EXPECT_FALSE(IsFp32Matrix(name)) << name;
  }
}

TEST(KernelClassesTest, LinksAreThoseOfTheBoards) {
  EXPECT_EQ(HostLinkGBs("Tesla V100-DGXS-32GB"), 15.75);
  EXPECT_EQ(HostLinkGBs("NVIDIA A100-PG509-200"), 31.5);
  EXPECT_EQ(HostLinkGBs("NVIDIA A10G"), 31.5);
  EXPECT_EQ(HostLinkGBs("NVIDIA GH200 480GB"), 450);
  EXPECT_EQ(HostLinkGBs("AMD Instinct MI300X"), 63);
  EXPECT_FALSE(HostLinkGBs("").has_value());
  EXPECT_FALSE(HostLinkGBs("Quadro P400").has_value());
}

}  // namespace
}  // namespace idleburn
