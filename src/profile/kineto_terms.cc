#include "profile/kineto_terms.h"

#include <algorithm>
#include <array>

#include "text/number.h"

namespace idleburn {
namespace {

struct Category {
  std::string_view spelling;
  TraceRole role;
};

// Capital letters are from 2021. libkineto: include/ActivityType.h.
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

struct Direction {
  std::string_view word;
  CopyKind copy;
};
constexpr auto kDirections = std::to_array<Direction>({{"HtoD", CopyKind::kHtoD},
                                                       {"DtoH", CopyKind::kDtoH},
                                                       {"DtoD", CopyKind::kDtoD},
                                                       {"PtoP", CopyKind::kPtoP},
                                                       {"HtoH", CopyKind::kHtoH}});

struct Memory {
  std::string_view word;
  MemoryKind kind;
};
constexpr auto kMemories = std::to_array<Memory>({{"Pageable", MemoryKind::kPageable},
                                                  {"Pinned", MemoryKind::kPinned},
                                                  {"Device", MemoryKind::kDevice},
                                                  {"Managed", MemoryKind::kManaged}});

constexpr std::string_view kStepPrefix = "ProfilerStep#";

CopyKind CopyKindOf(std::string_view text) {
  const auto found = std::find_if(kDirections.begin(), kDirections.end(),
                                  [&](const Direction& d) { return text.find(d.word) != std::string_view::npos; });
  return found == kDirections.end() ? CopyKind::kOther : found->copy;
}

MemoryKind MemoryKindOf(std::string_view word) {
  const auto found = std::find_if(kMemories.begin(), kMemories.end(), [&](const Memory& m) { return m.word == word; });
  return found == kMemories.end() ? MemoryKind::kUnknown : found->kind;
}

}  // namespace

std::optional<TraceRole> TraceRoleOf(std::string_view category) {
  const auto found = std::find_if(kCategories.begin(), kCategories.end(),
                                  [&](const Category& c) { return EqualsIgnoreCase(c.spelling, category); });
  return found == kCategories.end() ? std::nullopt : std::optional(found->role);
}

CopyTerms CopyTermsOf(std::string_view name, std::string_view kind) {
  constexpr std::string_view kArrow = " -> ";
  CopyTerms terms;
  const std::size_t open = name.find('(');
  terms.copy = CopyKindOf(name.substr(0, open));
  if (terms.copy == CopyKind::kOther) terms.copy = CopyKindOf(kind);
  const std::size_t arrow = name.find(kArrow);
  const std::size_t close = name.find(')');
  if (open == std::string_view::npos || arrow == std::string_view::npos || close == std::string_view::npos ||
      open > arrow || arrow > close) {
    return terms;
  }
  terms.from = MemoryKindOf(name.substr(open + 1, arrow - open - 1));
  terms.to = MemoryKindOf(name.substr(arrow + kArrow.size(), close - arrow - kArrow.size()));
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
