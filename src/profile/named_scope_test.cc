#include "profile/named_scope.h"

#include <gtest/gtest.h>

#include <string>

#include "profile/kernel_family.h"
#include "profile/profile_builder.h"

namespace idleburn {
namespace {

// Frames as PyTorch writes them, from real captures.
TEST(NamedScopeTest, KeepsModulesAndLinesOfTheUser) {
  EXPECT_EQ(ScopeOfFrame("nn.Module: BertModel_0"), ScopeKind::kModule);
  for (const char* user : {"train.py(12): main", "transformers/pipelines/base.py(1120): forward",
                           "/job/model.py(3): forward", "/usr/lib/python3/dist-packages/vllm/worker.py(1): run"}) {
    EXPECT_EQ(ScopeOfFrame(user), ScopeKind::kPython) << user;
  }
  for (const char* other :
       {"<built-in function len>", "torch/nn/modules/module.py(1501): _call_impl", "threading.py(1032): _bootstrap",
        "/usr/lib/python3/dist-packages/torch/nn/functional.py(9): linear", "/usr/lib/python3.11/queue.py(1): get", "",
        "<frozen runpy>(88): _run_code"}) {
    EXPECT_FALSE(ScopeOfFrame(other)) << other;
  }
}

TEST(NamedScopeTest, NvtxRangesOfOperatorsAreOperators) {
  EXPECT_EQ(ScopeOfNvtx("aten::addmm"), ScopeKind::kOperator);
  EXPECT_EQ(ScopeOfNvtx("forward"), ScopeKind::kRange);
  EXPECT_EQ(ScopeOfNvtx("loss of a::b"), ScopeKind::kRange);
}

// What a file may take of memory.
TEST(NamedScopeTest, NamesBeyondTheLimitAreCounted) {
  ProfileBuilder builder;
  const std::uint32_t thread = builder.Thread("main");
  for (std::size_t i = 0; i < kScopeNames + 10; ++i) {
    builder.AddScope("range " + std::to_string(i), {0, 10}, thread, ScopeKind::kRange);
  }
  builder.AddScope("range 1", {0, 10}, thread, ScopeKind::kRange);  // known
  builder.AddScope("range 2", {5, 5}, thread, ScopeKind::kRange);   // holds nothing
  builder.AddScope(std::string(1000, 'x'), {0, 10}, thread, ScopeKind::kRange);
  const Profile profile = builder.Build();
  EXPECT_EQ(profile.scopes.size(), kScopeNames + 1);
  EXPECT_EQ(profile.scopes_left_out, 11);
  for (const std::string& name : profile.names) EXPECT_LE(name.size(), kLongestScopeName);
}

// Names of real captures, each with what its library documents it to be.
TEST(KernelFamilyTest, NamesOfRealKernels) {
  const auto of = [](std::string_view name, DeviceOp op = DeviceOp::kKernel) {
    return KernelFamily(name, op, CopyKind::kNone);
  };
  EXPECT_EQ(of("volta_sgemm_128x64_nn"), "matrix multiply");
  EXPECT_EQ(of("Cijk_Ailk_Bljk_HHS_BH_MT64x64x64_SE"), "matrix multiply");
  EXPECT_EQ(of("nvjet_tst_192x192_64x3_2x1_v_bz_coopB_TNT"), "matrix multiply");
  EXPECT_EQ(of("void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128>>"), "attention");
  EXPECT_EQ(of("void cudnn::ops::nchwToNhwcKernel<float>"), "other compute");
  EXPECT_EQ(of("sm80_xmma_fprop_implicit_gemm_f16f16"), "convolution");
  EXPECT_EQ(of("void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>>"), "elementwise");
  EXPECT_EQ(of("void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float>>"), "reduction");
  EXPECT_EQ(of("void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float>"), "normalization");
  EXPECT_EQ(of("void at::native::(anonymous namespace)::multi_tensor_apply_kernel<TensorListMetadata<4>>"),
            "optimizer");
  EXPECT_EQ(of("triton_poi_fused_add_0"), "elementwise");
  EXPECT_EQ(of("my_kernel"), "other compute");
  EXPECT_EQ(of("ncclDevKernel_AllReduce_Sum_f32_RING_LL", DeviceOp::kComm), "NCCL, RCCL");
  EXPECT_EQ(KernelFamily("Memcpy HtoD (Pinned -> Device)", DeviceOp::kMemcpy, CopyKind::kHtoD), "copy HtoD");
  EXPECT_EQ(of("Memset (Device)", DeviceOp::kMemset), "set");
}

}  // namespace
}  // namespace idleburn
