#pragma once

#include <string_view>

namespace idleburn {

// What the name of a host range means: an operator, an annotation, a range of NVTX.

struct RangeTerms {
  bool loader = false;          // the iterator of a data loader
  bool input_pipeline = false;  // TensorFlow's: it runs in any thread of a pool
  bool scalar_read = false;     // fetches a value from the device
  bool compiling = false;       // a compiler or a tuner of kernels works, not the code that it made
  bool optimizer = false;       // "Optimizer.step#AdamW.step"
  bool comm = false;            // what is launched directly under it communicates
  // The collective, "all_reduce"; empty if the name does not say which.
  std::string_view collective;
};

// The terms of a range by its name.
RangeTerms ReadRangeTerms(std::string_view name);

// Whether a Python frame ("torch/_inductor/compile_fx.py(612): compile_fx") is that of a compiler at work. Frames that
// only call compiled code lie in the same files, so the function decides.
bool IsCompilerFrame(std::string_view frame);

// The collective that a name is about, in one spelling: "all_reduce" for "nccl:all_reduce", "c10d::allreduce_" and
// "ncclDevKernel_AllReduce_Sum_f32_RING_LL(...)". "" without one.
std::string_view CollectiveOf(std::string_view name);

}  // namespace idleburn
