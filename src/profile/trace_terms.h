#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "profile/profile.h"

namespace idleburn {

// The library or code base that a communication kernel belongs to, as its name shows ("NCCL, RCCL", "DeepEP"); "" for
// a kernel that does not communicate. `kernel` is the demangled or the mangled name.
//
// Only names that no compute kernel has are in the table: "dispatch", "combine", "reduce" and "barrier" alone are not
// (cub::DispatchReduceByKey and the combine step of split attention compute). A communication kernel of a library that
// the table lacks counts as compute; the list of top kernels shows each kernel's class, so that a miss is visible.
std::string_view CommFamily(std::string_view kernel);

inline bool IsCommKernel(std::string_view kernel) { return !CommFamily(kernel).empty(); }

// What the words of PyTorch's traces mean, in all spellings since 2021.

// What an entry of a category is to the diagnosis.
enum class TraceRole : std::uint8_t {
  kKernel,
  kMemcpy,
  kMemset,
  kCall,       // into the runtime or the driver
  kHostRange,  // an operator or an annotation; old traces call annotations operators
  kPythonFrame,
  kOverhead,  // the profiler's own work
  kForeign,   // of an accelerator whose timeline is not understood
  kNotWork    // known and of no use here: mirrors of annotations, synchronisation, counters
};

// By the category as it stands, in any case. Absent: not known.
std::optional<TraceRole> TraceRoleOf(std::string_view category);

// The parts of "Memcpy HtoD (Pinned -> Device)". ROCm writes "Host", which does not say whether it is pinned.
struct CopyTerms {
  CopyKind copy = CopyKind::kOther;
  MemoryKind from = MemoryKind::kUnknown;
  MemoryKind to = MemoryKind::kUnknown;
};
// `kind` is what ROCm says beside the name: "HtoD".
CopyTerms CopyTermsOf(std::string_view name, std::string_view kind);

// The number that a text is or ends in: "stream 7" and "7" are 7. Absent without one.
std::optional<std::int64_t> TrailingNumber(std::string_view text);

// 12 of "ProfilerStep#12"; absent for all else.
std::optional<std::int64_t> StepNumber(std::string_view name);

}  // namespace idleburn
