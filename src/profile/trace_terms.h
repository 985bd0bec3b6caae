#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "profile/profile.h"

namespace idleburn {

// What names in traces mean: kernels that communicate, categories of PyTorch's entries, directions of copies, steps.
// Names are the only evidence for these, so each table says where its names come from.

// Whether a name contains the part, in the same case of letters.
inline bool HasPart(std::string_view name, std::string_view part) { return name.find(part) != std::string_view::npos; }

// The library of a communication kernel, by the kernel's demangled or mangled name: "NCCL, RCCL", "DeepEP". "" if the
// kernel does not communicate. Example: "ncclDevKernel_AllReduce_Sum_f32_RING_LL(...)" is "NCCL, RCCL".
//
// The table has only names that no compute kernel has. "dispatch", "combine", "reduce" and "barrier" alone are not in
// it: cub::DispatchReduceByKey computes, and so does the combine step of split attention. A communication kernel that
// the table lacks counts as compute. The list of top kernels shows each kernel's class, so that a miss is visible.
std::string_view CommFamily(std::string_view kernel);

inline bool IsCommKernel(std::string_view kernel) { return !CommFamily(kernel).empty(); }

// What an entry of a category is to the diagnosis. All spellings since 2021 are known. A category without a role is
// counted as unknown and left out.
enum class TraceRole : std::uint8_t {
  kKernel,
  kMemcpy,
  kMemset,
  kCall,       // into the runtime or the driver
  kHostRange,  // an operator or an annotation; old traces call annotations operators
  kPythonFrame,
  kOverhead,  // the profiler's own work
  kForeign,   // of an unsupported accelerator
  kNotWork    // known and ignored: mirrors of annotations, synchronization, counters
};

// The role of a category: "cuda_runtime" is kCall, in any case. Absent if unknown.
std::optional<TraceRole> FindTraceRole(std::string_view category);

// The parts of "Memcpy HtoD (Pinned -> Device)". ROCm writes "Host", which does not say whether memory is pinned.
struct CopyTerms {
  CopyKind copy = CopyKind::kOther;
  MemoryKind from = MemoryKind::kUnknown;
  MemoryKind to = MemoryKind::kUnknown;
};
// Reads the name of a copy. `kind` is the direction that ROCm gives beside the name, "HtoD"; it counts if the name
// has none.
CopyTerms ReadCopyTerms(std::string_view name, std::string_view kind);

// The number that a text is or ends in: 7 for "stream 7" and "7". Absent if there is none.
std::optional<std::int64_t> TrailingNumber(std::string_view text);

// 12 for "ProfilerStep#12". Absent for all other names.
std::optional<std::int64_t> StepNumber(std::string_view name);

}  // namespace idleburn
