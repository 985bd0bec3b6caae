#include "profile/profile.h"

#include <algorithm>
#include <array>

namespace idleburn {
namespace {

bool Has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

constexpr auto kSyncCalls =
    std::to_array<std::string_view>({"cudaStreamSynchronize", "cudaDeviceSynchronize", "cudaEventSynchronize",
                                     "hipStreamSynchronize", "hipDeviceSynchronize", "hipEventSynchronize"});
constexpr auto kAllocations =
    std::to_array<std::string_view>({"cudaMalloc", "cudaFree", "hipMalloc", "hipFree", "cuMemAlloc", "cuMemFree",
                                     "cuMemCreate", "cuMemRelease", "cuMemMap", "cuMemUnmap"});
constexpr auto kScalarReads =
    std::to_array<std::string_view>({"aten::item", "aten::is_nonzero", "aten::nonzero", "aten::_local_scalar_dense"});

}  // namespace

std::string_view Name(CopyKind kind) {
  constexpr std::array<std::string_view, 7> kNames = {"none", "HtoD", "DtoH", "DtoD", "PtoP", "HtoH", "other"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string_view Name(MemoryKind kind) {
  constexpr std::array<std::string_view, 5> kNames = {"unknown", "pageable", "pinned", "device", "managed"};
  return kNames[static_cast<std::size_t>(kind)];
}

CallKind CallKindOf(std::string_view call) {
  if (Has(call, "Memcpy") || Has(call, "memcpy")) return CallKind::kMemcpy;
  const bool sync = std::any_of(kSyncCalls.begin(), kSyncCalls.end(),
                                [&](std::string_view prefix) { return call.substr(0, prefix.size()) == prefix; });
  if (sync) return CallKind::kSync;
  if (Has(call, "LaunchKernel")) return CallKind::kLaunchKernel;
  if (Has(call, "GraphLaunch")) return CallKind::kLaunchGraph;
  const std::string_view plain = call.substr(0, call.find("_v"));
  if (std::find(kAllocations.begin(), kAllocations.end(), plain) != kAllocations.end()) return CallKind::kAllocate;
  return CallKind::kOther;
}

bool IsInputPipeline(std::string_view annotation) {
  constexpr std::string_view kTfData = "IteratorGetNext";
  return annotation.substr(0, kTfData.size()) == kTfData;
}

bool IsDataLoader(std::string_view annotation) {
  if (IsInputPipeline(annotation)) return true;
  return Has(annotation, "DataLoader") && (Has(annotation, "__next__") || Has(annotation, "enumerate("));
}

bool IsScalarRead(std::string_view op) {
  return std::find(kScalarReads.begin(), kScalarReads.end(), op) != kScalarReads.end();
}

}  // namespace idleburn
