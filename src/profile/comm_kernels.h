#pragma once

#include <string_view>

namespace idleburn {

// The library or code base that a communication kernel belongs to, as its name shows ("NCCL, RCCL", "DeepEP"); "" for
// a kernel that does not communicate. `kernel` is the demangled or the mangled name.
//
// Only names that no compute kernel has are in the table: "dispatch", "combine", "reduce" and "barrier" alone are not
// (cub::DispatchReduceByKey and the combine step of split attention compute). A communication kernel of a library that
// the table lacks counts as compute; the list of top kernels shows each kernel's class, so that a miss is visible.
std::string_view CommFamily(std::string_view kernel);

inline bool IsCommKernel(std::string_view kernel) { return !CommFamily(kernel).empty(); }

}  // namespace idleburn
