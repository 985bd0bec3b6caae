#include "profile/range_terms.h"

#include <algorithm>
#include <array>
#include <string>

#include "profile/profile.h"
#include "profile/trace_terms.h"
#include "text/strings.h"

namespace idleburn {
namespace {

// Beginnings of ranges under which kernels are launched that communicate, with the libraries that write them:
// PyTorch's c10d, functional collectives and symmetric memory.
constexpr auto kCommRanges = std::to_array<std::string_view>(
    {"nccl:", "rccl:", "c10d::", "_c10d_functional::", "symm_mem::", "record_param_comms"});

// Parts of a name that tell the collective, in lower case without underscores. The first row that matches counts, so
// longer names stand first.
struct CollectiveName {
  std::string_view part;
  std::string_view collective;
};
constexpr auto kCollectives = std::to_array<CollectiveName>({
    {"reducescatter", "reduce_scatter"},
    {"allreduce", "all_reduce"},
    {"allgather", "all_gather"},
    {"alltoall", "all_to_all"},
    {"broadcast", "broadcast"},
    {"sendrecv", "send_recv"},
});
// Words that are too common to stand in the middle of a name: they must be all of it, behind a prefix.
constexpr auto kShortCollectives = std::to_array<CollectiveName>({{"send", "send"},
                                                                  {"recv", "recv"},
                                                                  {"reduce", "reduce"},
                                                                  {"gather", "gather"},
                                                                  {"scatter", "scatter"},
                                                                  {"barrier", "barrier"}});
// Collectives whose name alone says that an operator communicates, whatever the library: "vllm::all_reduce".
constexpr std::size_t kTelling = 4;

// Ranges of compilers and tuners: PyTorch (Dynamo, Inductor, Triton), XLA.
constexpr auto kCompilers = std::to_array<std::string_view>(
    {"compile_fx", "_compile.compile_inner", "CachingAutotuner", "async_compile", "backend_compile", "XlaCompile"});
// Ranges that run compiled code and contain such a word.
constexpr auto kCompiledCode =
    std::to_array<std::string_view>({"Torch-Compiled Region", "## Call CompiledFxGraph", "triton_"});

// Functions of compilers by file, as Python frames name them.
struct CompilerFunction {
  std::string_view file;
  std::string_view function;
};
constexpr auto kCompilerFunctions = std::to_array<CompilerFunction>({
    {"_inductor/compile_fx.py", ": compile_fx"},
    {"_inductor/compile_fx.py", ": _compile_fx"},
    {"_inductor/compile_fx.py", ": fx_codegen_and_compile"},
    {"_inductor/async_compile.py", ": wait"},
    {"_inductor/runtime/triton_heuristics.py", ": benchmark_all_configs"},
    {"_inductor/runtime/triton_heuristics.py", ": autotune_to_one_config"},
    {"_dynamo/convert_frame.py", ": _compile"},
    {"_dynamo/convert_frame.py", ": compile_inner"},
    {"triton/compiler/compiler.py", ": compile"},
    {"triton/runtime/autotuner.py", ": _bench"},
    {"torch/utils/cpp_extension.py", ": load"},
});

// A name in lower case without underscores, so that all spellings of a collective are one.
std::string Squeezed(std::string_view name) {
  std::string text;
  for (const char c : Lower(name)) {
    if (c != '_') text += c;
  }
  return text;
}

// The last word of a name with prefixes: "send" of "nccl:send" and of "nccl:send 0->1".
std::string_view LastWord(std::string_view name) {
  const std::size_t colon = name.rfind(':');
  if (colon != std::string_view::npos) name.remove_prefix(colon + 1);
  return name.substr(0, name.find(' '));
}

bool HasAnyPart(std::string_view name, std::span<const std::string_view> parts) {
  return std::any_of(parts.begin(), parts.end(), [&](std::string_view part) { return HasPart(name, part); });
}

}  // namespace

std::string_view CollectiveOf(std::string_view name) {
  const std::string squeezed = Squeezed(name);
  const auto* const found = std::find_if(kCollectives.begin(), kCollectives.end(),
                                         [&](const CollectiveName& row) { return HasPart(squeezed, row.part); });
  if (found != kCollectives.end()) return found->collective;
  const std::string_view word = LastWord(squeezed);
  const auto* const whole = std::find_if(kShortCollectives.begin(), kShortCollectives.end(),
                                         [&](const CollectiveName& row) { return word == row.part; });
  return whole == kShortCollectives.end() ? "" : whole->collective;
}

RangeTerms ReadRangeTerms(std::string_view name) {
  RangeTerms terms;
  terms.loader = IsDataLoader(name);
  terms.input_pipeline = IsInputPipeline(name);
  terms.scalar_read = IsScalarRead(name);
  terms.compiling = HasAnyPart(name, kCompilers) && !HasAnyPart(name, kCompiledCode);
  terms.optimizer = name.starts_with("Optimizer.step#");
  const std::string squeezed = Squeezed(name);
  const auto begins = [&](std::string_view prefix) { return name.starts_with(prefix); };
  terms.comm = std::any_of(kCommRanges.begin(), kCommRanges.end(), begins) ||
               std::any_of(kCollectives.begin(), kCollectives.begin() + kTelling,
                           [&](const CollectiveName& row) { return HasPart(squeezed, row.part); });
  if (terms.comm) terms.collective = CollectiveOf(name);
  return terms;
}

bool IsCompilerFrame(std::string_view frame) {
  return std::any_of(kCompilerFunctions.begin(), kCompilerFunctions.end(), [&](const CompilerFunction& row) {
    return HasPart(frame, row.file) && frame.ends_with(row.function);
  });
}

}  // namespace idleburn
