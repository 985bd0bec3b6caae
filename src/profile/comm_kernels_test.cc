#include "profile/comm_kernels.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace idleburn {
namespace {

// Names as the libraries' sources and profilers write them.
TEST(CommKernelsTest, NamesTheFamily) {
  const std::vector<std::pair<const char*, const char*>> kNames = {
      {"ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long, ncclWork*)", "NCCL, RCCL"},
      {"ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "NCCL, RCCL"},
      {"_Z21ncclDevKernel_Generic24ncclDevKernelArgsStorage", "NCCL, RCCL"},
      {"rccl_main_kernel", "NCCL, RCCL"},
      {"NCCL::all_reduce", "NCCL, RCCL"},
      {"my_nccl_kernel", "NCCL, RCCL"},
      {"void fused_step(ncclDevComm const*)", "NCCL, RCCL"},
      {"void multimem_all_reduce_kernel<c10::BFloat16, 16, false>(c10::BFloat16*)", "symmetric memory"},
      {"void multimem_one_shot_all_reduce_kernel<float, 4>(float*)", "symmetric memory"},
      {"multimem_all_gather_kernel", "symmetric memory"},
      {"two_shot_all_reduce_kernel_inplace<float>", "symmetric memory"},
      {"void vllm::cross_device_reduce_1stage<half, 8>(vllm::RankData*)", "custom all-reduce"},
      {"_ZN5aiter26cross_device_reduce_2stageI6__halfLi8EEEvPNS_8RankDataE", "custom all-reduce"},
      {"void quickreduce::AllReduceTwoshot<half>::run()", "quick all-reduce"},
      {"_ZN11quickreduce16AllReduceTwoshotEv", "quick all-reduce"},
      {"void allreduce_prototype_twoshot<half>(half const*)", "quick all-reduce"},
      {"void tensorrt_llm::kernels::oneShotAllReduceKernel<half>()", "TensorRT-LLM, FlashInfer"},
      {"void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport<half>()",
       "TensorRT-LLM, FlashInfer"},
      {"flashinfer::trtllm_alltoall::moeAllToAllKernel", "TensorRT-LLM, FlashInfer"},
      {"void deep_ep::internode_ll::dispatch<true, 7168>(void*)", "DeepEP"},
      {"deep_ep::intranode::notify_dispatch<8>", "DeepEP"},
      {"_ZN7deep_ep9intranode7combineI13__nv_bfloat16Li8ELi768EEEvPT_", "DeepEP"},
      {"ep::internode::combine", "DeepEP"},
      {"nvshmemi_init_array_kernel", "NVSHMEM, rocSHMEM"},
      {"rocshmem_putmem_kernel", "NVSHMEM, rocSHMEM"},
      {"void allreduceAllPairs<float>(float*, mscclpp::DeviceHandle<mscclpp::MemoryChannel>)", "MSCCL, MSCCL++"},
  };
  for (const auto& [name, family] : kNames) EXPECT_EQ(CommFamily(name), family) << name;
}

// Words that communication shares with compute, and names that only look alike.
TEST(CommKernelsTest, LeavesComputeAlone) {
  for (const char* name :
       {"", "sgemm", "mynccl", "prccl_kernel", "ncc", "void cub::DispatchReduceByKey<int>()", "dispatch", "combine",
        "groupnorm_kernel_dispatch_up", "flash_fwd_splitkv_combine_kernel", "barrier_kernel", "reduce_kernel",
        "step::internode::dispatch", "deep_ep::layout::get_dispatch_layout<8>(int)",
        "deep_ep::internode::get_dispatch_layout", "deep_ep::dispatch", "myquickreduce::run", "all_reduce_norm",
        "_ZN4stepE9internode8dispatch"}) {
    EXPECT_FALSE(IsCommKernel(name)) << name << " is taken for " << CommFamily(name);
  }
}

}  // namespace
}  // namespace idleburn
