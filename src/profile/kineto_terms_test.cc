#include "profile/kineto_terms.h"

#include <gtest/gtest.h>

namespace idleburn {
namespace {

TEST(KinetoTermsTest, KnowsEverySpellingOfACategory) {
  const auto expect = [](TraceRole role, std::initializer_list<const char*> spellings) {
    for (const char* spelling : spellings) EXPECT_EQ(TraceRoleOf(spelling), role) << spelling;
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
  for (const char* other : {"", "kernels", "gpu", "user_annotations", "cpu_op "}) EXPECT_FALSE(TraceRoleOf(other));
}

TEST(KinetoTermsTest, TakesCopiesApart) {
  const auto expect = [](std::string_view name, std::string_view kind, CopyKind copy, MemoryKind from, MemoryKind to) {
    const CopyTerms terms = CopyTermsOf(name, kind);
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
