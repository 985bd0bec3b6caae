#include "profile/comm_kernels.h"

#include <algorithm>
#include <array>
#include <string>

#include "text/strings.h"

namespace idleburn {
namespace {

// How a row's text is looked for in a name.
enum class Match {
  kExact,      // anywhere
  kAnyCase,    // anywhere, upper or lower case
  kWord,       // in any case, but not behind a letter: "ncclDevKernel", not "mynccl"
  kNamespace,  // as a C++ namespace, demangled ("quickreduce::") or mangled ("11quickreduce")
};

struct CommName {
  std::string_view family;
  std::string_view text;
  Match match;
};

// The custom kernels are named in the sources of: PyTorch's CUDASymmetricMemoryOps.cu, vLLM's custom_all_reduce.cuh and
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

// DeepEP names its kernels by namespace, transport and verb; each alone is a common word.
constexpr auto kDeepEpNamespaces = std::to_array<std::string_view>({"deep_ep", "ep"});
constexpr auto kDeepEpTransports = std::to_array<std::string_view>({"internode", "intranode", "elastic"});
constexpr auto kDeepEpVerbs = std::to_array<std::string_view>({"dispatch", "combine", "notify", "clean_low_latency"});
constexpr std::string_view kDeepEpLocal = "get_dispatch_layout";  // counts tokens on its own GPU

bool Has(std::string_view name, std::string_view part) { return name.find(part) != std::string_view::npos; }

template <typename Parts>
bool HasAny(std::string_view name, const Parts& parts) {
  return std::any_of(parts.begin(), parts.end(), [&](std::string_view part) { return Has(name, part); });
}

// Both in lower case.
bool HasWord(std::string_view name, std::string_view word) {
  for (std::size_t at = name.find(word); at != std::string_view::npos; at = name.find(word, at + 1)) {
    if (at == 0 || !IsLetter(name[at - 1])) return true;
  }
  return false;
}

bool HasNamespace(std::string_view name, std::string_view space) {
  if (name.substr(0, 2) == "_Z") return Has(name, "N" + std::to_string(space.size()) + std::string(space));
  const std::string scope = std::string(space) + "::";
  for (std::size_t at = name.find(scope); at != std::string_view::npos; at = name.find(scope, at + 1)) {
    if (at == 0 || !(IsAlnum(name[at - 1]) || name[at - 1] == '_')) return true;
  }
  return false;
}

// `lower`: the name in lower case.
bool Matches(std::string_view name, std::string_view lower, const CommName& row) {
  switch (row.match) {
    case Match::kExact:
      return Has(name, row.text);
    case Match::kAnyCase:
      return Has(lower, row.text);
    case Match::kWord:
      return HasWord(lower, row.text);
    case Match::kNamespace:
      return HasNamespace(name, row.text);
  }
  return false;
}

bool IsDeepEp(std::string_view name) {
  const bool scoped = std::any_of(kDeepEpNamespaces.begin(), kDeepEpNamespaces.end(),
                                  [&](std::string_view space) { return HasNamespace(name, space); });
  return scoped && HasAny(name, kDeepEpTransports) && HasAny(name, kDeepEpVerbs) && !Has(name, kDeepEpLocal);
}

}  // namespace

std::string_view CommFamily(std::string_view kernel) {
  const std::string lower = Lower(kernel);
  const auto* row = std::find_if(kCommNames.begin(), kCommNames.end(),
                                 [&](const CommName& name) { return Matches(kernel, lower, name); });
  if (row != kCommNames.end()) return row->family;
  return IsDeepEp(kernel) ? "DeepEP" : "";
}

}  // namespace idleburn
