#include "profile/trace_terms.h"

#include <algorithm>
#include <array>
#include <string>

#include "text/number.h"
#include "text/strings.h"

namespace idleburn {

// Tables of names, and the look-ups in them. A look-up goes over a whole table; ProfileBuilder asks once for each
// name and not for each event.

namespace {

// How a text is searched for in a kernel name. The strictest kind that still finds all spellings is used: a compute
// kernel that counts as communication hides work.
enum class Match {
  kExact,      // anywhere
  kAnyCase,    // anywhere, upper or lower case
  kWord,       // in any case, but not behind a letter: "ncclDevKernel", not "mynccl"
  kNamespace,  // as a C++ namespace, demangled ("quickreduce::") or mangled ("11quickreduce")
};

// A text in kernel names and the library that it belongs to.
struct CommName {
  std::string_view family;
  std::string_view text;
  Match match;
};

// Names of custom kernels come from the sources: PyTorch's CUDASymmetricMemoryOps.cu, vLLM's custom_all_reduce.cuh and
// quickreduce, FlashInfer's comm/, mscclpp's apps/nccl.
constexpr auto kCommNames = std::to_array<CommName>({
    {"NCCL, RCCL", "nccl", Match::kWord},
    {"NCCL, RCCL", "rccl", Match::kWord},
    {"symmetric memory", "multimem_all_reduce_kernel", Match::kExact},
    {"symmetric memory", "multimem_all_gather_kernel", Match::kExact},
    {"symmetric memory", "one_shot_all_reduce_kernel", Match::kExact},  // multimem_one_shot_... too
    {"symmetric memory", "two_shot_all_reduce_kernel", Match::kExact},
    {"custom all-reduce", "cross_device_reduce_1stage", Match::kExact},
    {"custom all-reduce", "cross_device_reduce_2stage", Match::kExact},
    {"quick all-reduce", "quickreduce", Match::kNamespace},
    {"quick all-reduce", "allreduce_prototype_twoshot", Match::kExact},
    {"quick all-reduce", "allreduce_prototype_oneshot", Match::kExact},
    {"TensorRT-LLM, FlashInfer", "oneshotallreduce", Match::kAnyCase},
    {"TensorRT-LLM, FlashInfer", "twoshotallreduce", Match::kAnyCase},
    {"TensorRT-LLM, FlashInfer", "trtllm_allreduce", Match::kAnyCase},
    {"TensorRT-LLM, FlashInfer", "trtllm_mnnvl_allreduce", Match::kAnyCase},
    {"TensorRT-LLM, FlashInfer", "trtllm_moe_allreduce", Match::kAnyCase},
    {"TensorRT-LLM, FlashInfer", "allreduce_fusion_kernel", Match::kAnyCase},
    {"TensorRT-LLM, FlashInfer", "trtllm_alltoall", Match::kAnyCase},
    {"NVSHMEM, rocSHMEM", "nvshmem", Match::kAnyCase},
    {"NVSHMEM, rocSHMEM", "rocshmem", Match::kAnyCase},
    {"MSCCL, MSCCL++", "msccl", Match::kAnyCase},
});

// DeepEP names kernels by namespace, transport and verb. Each alone is a common word, so all three must match.
constexpr auto kDeepEpNamespaces = std::to_array<std::string_view>({"deep_ep", "ep"});
constexpr auto kDeepEpTransports = std::to_array<std::string_view>({"internode", "intranode", "elastic"});
constexpr auto kDeepEpVerbs = std::to_array<std::string_view>({"dispatch", "combine", "notify", "clean_low_latency"});
constexpr std::string_view kDeepEpLocal = "get_dispatch_layout";  // counts tokens on its own GPU

// Whether a name contains any of the parts.
template <typename Parts>
bool HasAny(std::string_view name, const Parts& parts) {
  return std::any_of(parts.begin(), parts.end(), [&](std::string_view part) { return HasPart(name, part); });
}

// Whether a name contains a word that no letter precedes. Both are in lower case.
bool HasWord(std::string_view name, std::string_view word) {
  for (std::size_t at = name.find(word); at != std::string_view::npos; at = name.find(word, at + 1)) {
    if (at == 0 || !IsLetter(name[at - 1])) return true;
  }
  return false;
}

// Whether a C++ name is in namespace `space`. Mangled, a nested name has the length before each part:
// "_ZN11quickreduce..." is in quickreduce.
bool HasNamespace(std::string_view name, std::string_view space) {
  if (name.substr(0, 2) == "_Z") return HasPart(name, "N" + std::to_string(space.size()) + std::string(space));
  const std::string scope = std::string(space) + "::";
  for (std::size_t at = name.find(scope); at != std::string_view::npos; at = name.find(scope, at + 1)) {
    if (at == 0 || !(IsAlnum(name[at - 1]) || name[at - 1] == '_')) return true;
  }
  return false;
}

// Whether a row of the table matches. `lower` is the name in lower case, made once for all rows.
bool Matches(std::string_view name, std::string_view lower, const CommName& row) {
  switch (row.match) {
    case Match::kExact:
      return HasPart(name, row.text);
    case Match::kAnyCase:
      return HasPart(lower, row.text);
    case Match::kWord:
      return HasWord(lower, row.text);
    case Match::kNamespace:
      return HasNamespace(name, row.text);
  }
  return false;
}

// Whether a kernel is one of DeepEP that moves data.
bool IsDeepEp(std::string_view name) {
  const bool scoped = std::any_of(kDeepEpNamespaces.begin(), kDeepEpNamespaces.end(),
                                  [&](std::string_view space) { return HasNamespace(name, space); });
  return scoped && HasAny(name, kDeepEpTransports) && HasAny(name, kDeepEpVerbs) && !HasPart(name, kDeepEpLocal);
}

}  // namespace

std::string_view CommFamily(std::string_view kernel) {
  const std::string lower = Lower(kernel);
  const auto* row = std::find_if(kCommNames.begin(), kCommNames.end(),
                                 [&](const CommName& name) { return Matches(kernel, lower, name); });
  if (row != kCommNames.end()) return row->family;
  return IsDeepEp(kernel) ? "DeepEP" : "";
}

namespace {

// A category of PyTorch's entries.
struct Category {
  std::string_view spelling;
  TraceRole role;
};

// Categories in all spellings since 2021. Some versions of that year capitalize them. Source: include/ActivityType.h of
// libkineto.
constexpr auto kCategories = std::to_array<Category>({
    {"kernel", TraceRole::kKernel},
    {"gpu_memcpy", TraceRole::kMemcpy},
    {"memcpy", TraceRole::kMemcpy},
    {"gpu_memset", TraceRole::kMemset},
    {"memset", TraceRole::kMemset},
    {"cuda_runtime", TraceRole::kCall},  // ROCm's hip* calls too
    {"cuda_driver", TraceRole::kCall},
    {"runtime", TraceRole::kCall},
    {"hip_runtime", TraceRole::kCall},
    {"gpu_runtime", TraceRole::kCall},
    {"cpu_op", TraceRole::kHostRange},
    {"operator", TraceRole::kHostRange},
    {"user_annotation", TraceRole::kHostRange},
    {"python_function", TraceRole::kPythonFrame},
    {"overhead", TraceRole::kOverhead},
    {"gpu_user_annotation", TraceRole::kNotWork},
    {"cpu_instant_event", TraceRole::kNotWork},
    {"cuda_sync", TraceRole::kNotWork},
    {"cuda_event", TraceRole::kNotWork},
    {"external_correlation", TraceRole::kNotWork},
    {"cuda_profiler_range", TraceRole::kNotWork},
    {"collective_comm", TraceRole::kNotWork},
    {"trace", TraceRole::kNotWork},
    {"mtia_runtime", TraceRole::kForeign},
    {"mtia_ccp_events", TraceRole::kForeign},
    {"mtia_insight", TraceRole::kForeign},
    {"mtia_counters", TraceRole::kForeign},
    {"hpu_op", TraceRole::kForeign},
    {"xpu_runtime", TraceRole::kForeign},
    {"xpu_driver", TraceRole::kForeign},
    {"xpu_sync", TraceRole::kForeign},
    {"glow_runtime", TraceRole::kForeign},
    {"privateuse1_runtime", TraceRole::kForeign},
    {"privateuse1_driver", TraceRole::kForeign},
});

// A direction as names of copies write it.
struct Direction {
  std::string_view word;
  CopyKind copy;
};
constexpr auto kDirections = std::to_array<Direction>({{"HtoD", CopyKind::kHtoD},
                                                       {"DtoH", CopyKind::kDtoH},
                                                       {"DtoD", CopyKind::kDtoD},
                                                       {"PtoP", CopyKind::kPtoP},
                                                       {"HtoH", CopyKind::kHtoH}});

// A kind of memory as names of copies write it. The key must match whole, so "Host" of ROCm is unknown.
struct Memory {
  std::string_view word;
  MemoryKind kind;
};
constexpr auto kMemories = std::to_array<Memory>({{"Pageable", MemoryKind::kPageable},
                                                  {"Pinned", MemoryKind::kPinned},
                                                  {"Device", MemoryKind::kDevice},
                                                  {"Managed", MemoryKind::kManaged}});

// How PyTorch's profiler names the annotation of a step.
constexpr std::string_view kStepPrefix = "ProfilerStep#";

// The direction that a text contains, such as HtoD in "Memcpy HtoD". kOther without one.
CopyKind FindCopyKind(std::string_view text) {
  const auto found = std::find_if(kDirections.begin(), kDirections.end(),
                                  [&](const Direction& d) { return text.find(d.word) != std::string_view::npos; });
  return found == kDirections.end() ? CopyKind::kOther : found->copy;
}

// The kind of memory of a word. kUnknown for any other word.
MemoryKind FindTraceMemory(std::string_view word) {
  const auto found = std::find_if(kMemories.begin(), kMemories.end(), [&](const Memory& m) { return m.word == word; });
  return found == kMemories.end() ? MemoryKind::kUnknown : found->kind;
}

}  // namespace

std::optional<TraceRole> FindTraceRole(std::string_view category) {
  const auto found = std::find_if(kCategories.begin(), kCategories.end(),
                                  [&](const Category& c) { return EqualsIgnoreCase(c.spelling, category); });
  return found == kCategories.end() ? std::nullopt : std::optional(found->role);
}

CopyTerms ReadCopyTerms(std::string_view name, std::string_view kind) {
  constexpr std::string_view kArrow = " -> ";
  CopyTerms terms;
  const std::size_t open = name.find('(');
  terms.copy = FindCopyKind(name.substr(0, open));
  if (terms.copy == CopyKind::kOther) terms.copy = FindCopyKind(kind);
  const std::size_t arrow = name.find(kArrow);
  const std::size_t close = name.find(')');
  if (open == std::string_view::npos || arrow == std::string_view::npos || close == std::string_view::npos ||
      open > arrow || arrow > close) {
    return terms;
  }
  terms.from = FindTraceMemory(name.substr(open + 1, arrow - open - 1));
  terms.to = FindTraceMemory(name.substr(arrow + kArrow.size(), close - arrow - kArrow.size()));
  return terms;
}

std::optional<std::int64_t> TrailingNumber(std::string_view text) {
  const std::size_t before = text.find_last_not_of("0123456789");
  const std::size_t first = before == std::string_view::npos ? 0 : before + 1;
  return ParseInteger(text.substr(first));
}

std::optional<std::int64_t> StepNumber(std::string_view name) {
  if (name.substr(0, kStepPrefix.size()) != kStepPrefix) return std::nullopt;
  return ParseInteger(name.substr(kStepPrefix.size()));
}

}  // namespace idleburn
