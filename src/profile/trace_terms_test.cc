#include "profile/trace_terms.h"

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

TEST(KinetoTermsTest, KnowsEverySpellingOfACategory) {
  const auto expect = [](TraceRole role, std::initializer_list<const char*> spellings) {
    for (const char* spelling : spellings) EXPECT_EQ(FindTraceRole(spelling), role) << spelling;
  };
  expect(TraceRole::kKernel, {"kernel", "Kernel", "KERNEL"});
  expect(TraceRole::kMemcpy, {"gpu_memcpy", "Memcpy"});
  expect(TraceRole::kMemset, {"gpu_memset", "Memset"});
  expect(TraceRole::kCall, {"cuda_runtime", "cuda_driver", "Runtime", "runtime", "hip_runtime", "gpu_runtime"});
  expect(TraceRole::kHostRange, {"cpu_op", "Operator", "user_annotation"});
  expect(TraceRole::kPythonFrame, {"python_function"});
  expect(TraceRole::kOverhead, {"overhead"});
  expect(TraceRole::kNotWork, {"gpu_user_annotation", "cpu_instant_event", "cuda_sync", "cuda_event",
                               "external_correlation", "cuda_profiler_range", "collective_comm", "Trace"});
  expect(TraceRole::kForeign,
         {"mtia_runtime", "mtia_ccp_events", "mtia_insight", "mtia_counters", "hpu_op", "xpu_runtime", "xpu_driver",
          "xpu_sync", "glow_runtime", "privateuse1_runtime", "privateuse1_driver"});
  for (const char* other : {"", "kernels", "gpu", "user_annotations", "cpu_op "}) EXPECT_FALSE(FindTraceRole(other));
}

TEST(KinetoTermsTest, TakesCopiesApart) {
  const auto expect = [](std::string_view name, std::string_view kind, CopyKind copy, MemoryKind from, MemoryKind to) {
    const CopyTerms terms = ReadCopyTerms(name, kind);
    EXPECT_EQ(terms.copy, copy) << name;
    EXPECT_EQ(terms.from, from) << name;
    EXPECT_EQ(terms.to, to) << name;
  };
  expect("Memcpy HtoD (Pageable -> Device)", "", CopyKind::kHtoD, MemoryKind::kPageable, MemoryKind::kDevice);
  expect("Memcpy DtoH (Device -> Pinned)", "", CopyKind::kDtoH, MemoryKind::kDevice, MemoryKind::kPinned);
  expect("Memcpy HtoD (Managed -> Device)", "", CopyKind::kHtoD, MemoryKind::kManaged, MemoryKind::kDevice);
  expect("Memcpy HtoD (Host -> Device)", "HtoD", CopyKind::kHtoD, MemoryKind::kUnknown, MemoryKind::kDevice);
  expect("Memcpy PtoP (Device -> Device)", "", CopyKind::kPtoP, MemoryKind::kDevice, MemoryKind::kDevice);
  expect("Copy", "DtoD", CopyKind::kDtoD, MemoryKind::kUnknown, MemoryKind::kUnknown);
  expect("Memcpy", "", CopyKind::kOther, MemoryKind::kUnknown, MemoryKind::kUnknown);
  expect(") -> (", "", CopyKind::kOther, MemoryKind::kUnknown, MemoryKind::kUnknown);
}

TEST(KinetoTermsTest, ReadsNumbersInsideWords) {
  EXPECT_EQ(TrailingNumber("stream 7"), 7);
  EXPECT_EQ(TrailingNumber("25738"), 25738);
  EXPECT_FALSE(TrailingNumber("Spans"));
  EXPECT_FALSE(TrailingNumber(""));
  EXPECT_FALSE(TrailingNumber("99999999999999999999"));
  EXPECT_EQ(StepNumber("ProfilerStep#12"), 12);
  EXPECT_FALSE(StepNumber("ProfilerStep#"));
  EXPECT_FALSE(StepNumber("ProfilerStep#12x"));
  EXPECT_FALSE(StepNumber("Optimizer.step#SGD.step"));
}

}  // namespace

}  // namespace idleburn
