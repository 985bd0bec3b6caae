#include "profile/profile.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

#include "profile/trace_terms.h"

// What names of calls and operators mean, and how device events find the calls that launched them.
//
// Correlation ids are the only link between the two, and they are less reliable than they look. Processes count from 1
// each, so ids of two processes collide. Some tools write a constant or restart the counter with each step. A wrong
// link would blame a host call for the idle time of another event, so a doubtful id is dropped and counted.

namespace idleburn {
namespace {

// Prefixes of calls that block until the device is done.
constexpr auto kSyncCalls =
    std::to_array<std::string_view>({"cudaStreamSynchronize", "cudaDeviceSynchronize", "cudaEventSynchronize",
                                     "hipStreamSynchronize", "hipDeviceSynchronize", "hipEventSynchronize"});
// Calls that go to the driver for memory of the device, without their version suffix.
constexpr auto kAllocations =
    std::to_array<std::string_view>({"cudaMalloc", "hipMalloc", "cuMemAlloc", "cuMemCreate", "cuMemMap"});
constexpr auto kFrees =
    std::to_array<std::string_view>({"cudaFree", "hipFree", "cuMemFree", "cuMemRelease", "cuMemUnmap"});
// Prefixes of all calls for memory: host memory, pitched, managed and pooled memory too.
constexpr auto kMemoryCalls = std::to_array<std::string_view>(
    {"cudaMalloc", "cudaFree", "cudaHostAlloc", "cudaHostRegister", "hipMalloc", "hipFree", "hipHostAlloc",
     "hipHostMalloc", "hipHostFree", "hipHostRegister", "cuMemAlloc", "cuMemFree", "cuMemHostAlloc", "cuMemCreate",
     "cuMemMap", "cuMemUnmap", "cuMemRelease"});
// Parts of calls that a process makes once: modules of kernels, contexts, streams, handles of libraries, communicators,
// instances of graphs. Lazy loading of modules is the default of CUDA since 12.2 on Linux.
constexpr auto kFirstUses = std::to_array<std::string_view>({"cuModuleLoad",
                                                             "cuModuleGet",
                                                             "cuLibraryLoad",
                                                             "cuLibraryGet",
                                                             "cudaGetFuncBySymbol",
                                                             "cudaFuncGetAttributes",
                                                             "hipModuleLoad",
                                                             "hipModuleGetFunction",
                                                             "cuInit",
                                                             "hipInit",
                                                             "PrimaryCtx",
                                                             "CtxCreate",
                                                             "StreamCreate",
                                                             "cublasCreate",
                                                             "cublasLtCreate",
                                                             "cudnnCreate",
                                                             "rocblas_create_handle",
                                                             "hipblasCreate",
                                                             "miopenCreate",
                                                             "ncclCommInit",
                                                             "GraphInstantiate"});
// Operators of PyTorch that copy a value to the host and wait for it.
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

// Copies come first: cudaMemcpy blocks, but what it costs is a matter of copies and not of synchronization.
CallKind CallKindOf(std::string_view call) {
  if (HasPart(call, "Memcpy") || HasPart(call, "memcpy")) return CallKind::kMemcpy;
  const bool sync = std::any_of(kSyncCalls.begin(), kSyncCalls.end(),
                                [&](std::string_view prefix) { return call.substr(0, prefix.size()) == prefix; });
  if (sync) return CallKind::kSync;
  if (HasPart(call, "LaunchKernel")) return CallKind::kLaunchKernel;
  if (HasPart(call, "GraphLaunch")) return CallKind::kLaunchGraph;
  if (HasPart(call, "StreamBeginCapture")) return CallKind::kBeginCapture;
  if (HasPart(call, "StreamEndCapture")) return CallKind::kEndCapture;
  // Only whole names are memory of the device. cudaMallocHost and cudaMallocAsync do not ask the driver for it.
  const std::string_view plain = call.substr(0, call.find("_v"));
  if (std::find(kAllocations.begin(), kAllocations.end(), plain) != kAllocations.end()) return CallKind::kAllocate;
  if (std::find(kFrees.begin(), kFrees.end(), plain) != kFrees.end()) return CallKind::kFree;
  const auto begins = [&](std::string_view prefix) { return call.substr(0, prefix.size()) == prefix; };
  if (std::any_of(kMemoryCalls.begin(), kMemoryCalls.end(), begins)) return CallKind::kAllocateHost;
  const auto has = [&](std::string_view part) { return HasPart(call, part); };
  return std::any_of(kFirstUses.begin(), kFirstUses.end(), has) ? CallKind::kFirstUse : CallKind::kOther;
}

bool IsInputPipeline(std::string_view annotation) {
  constexpr std::string_view kTfData = "IteratorGetNext";
  return annotation.substr(0, kTfData.size()) == kTfData;
}

// One of the two parts is enough, because versions of PyTorch differ. The word DataLoader alone may also name a
// constructor, which nothing waits for.
bool IsDataLoader(std::string_view annotation) {
  if (IsInputPipeline(annotation)) return true;
  return HasPart(annotation, "DataLoader") && (HasPart(annotation, "__next__") || HasPart(annotation, "enumerate("));
}

bool IsScalarRead(std::string_view op) {
  return std::find(kScalarReads.begin(), kScalarReads.end(), op) != kScalarReads.end();
}

namespace {

// Calls ordered by correlation id, then process, for look-ups by id. Files are mostly written in that order, and then
// the index takes no memory.
class CallsById {
 public:
  explicit CallsById(const std::vector<HostCall>& calls) : calls_(calls) {
    if (std::is_sorted(calls.begin(), calls.end(), Before)) return;
    order_.resize(calls.size());
    std::iota(order_.begin(), order_.end(), 0U);
    std::sort(order_.begin(), order_.end(),
              [&](std::uint32_t a, std::uint32_t b) { return Before(calls[a], calls[b]); });
  }
  [[nodiscard]] std::size_t size() const { return calls_.size(); }
  [[nodiscard]] const HostCall& operator[](std::size_t i) const { return calls_[order_.empty() ? i : order_[i]]; }

  // The first call with that id, or size(). Consecutive ids are found without a search.
  std::size_t First(std::int64_t correlation) {
    if (last_ + 1 < size() && IsFirst(last_ + 1, correlation)) return ++last_;
    const std::size_t first = Find(0, [&](const HostCall& call) { return call.correlation < correlation; });
    if (first == size() || (*this)[first].correlation != correlation) return size();
    return last_ = first;
  }
  // Whether another process has a call with the id of call `first`, which is the first with its id.
  [[nodiscard]] bool IsShared(std::size_t first) const {
    const HostCall& one = (*this)[first];
    if (first + 1 == size() || (*this)[first + 1].correlation != one.correlation) return false;
    const std::size_t next = Find(first + 1, [&one](const HostCall& call) { return !Before(one, call); });
    return next < size() && (*this)[next].correlation == one.correlation;
  }

 private:
  static bool Before(const HostCall& a, const HostCall& b) {
    return std::tie(a.correlation, a.process) < std::tie(b.correlation, b.process);
  }
  // The first call from `low` on that `passed` does not hold for. Calls for which it holds come first.
  template <typename Passed>
  [[nodiscard]] std::size_t Find(std::size_t low, Passed passed) const {
    for (std::size_t high = size(); low < high;) {
      const std::size_t middle = low + (high - low) / 2;
      if (passed((*this)[middle])) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }
  // Whether call i is the first with that id. Call i - 1 must exist.
  [[nodiscard]] bool IsFirst(std::size_t i, std::int64_t correlation) const {
    return (*this)[i].correlation == correlation && (*this)[i - 1].correlation != correlation;
  }

  const std::vector<HostCall>& calls_;
  std::vector<std::uint32_t> order_;  // empty: in their own order
  std::size_t last_ = 0;
};

}  // namespace

// Events without a launch tell nothing about a process and are left out.
bool LaunchedBySeveral(const ProfiledDevice& device) {
  const auto launched = [](const DeviceEvent& e) { return e.correlation != kNoCorrelation; };
  const auto first = std::find_if(device.events.begin(), device.events.end(), launched);
  return std::any_of(first, device.events.end(),
                     [&](const DeviceEvent& e) { return launched(e) && e.process != first->process; });
}

// Goes over the calls of each id. They overlap if the last begins before the first ends; otherwise the id was used
// again.
std::int64_t DropReusedIds(Profile& profile) {
  const CallsById calls(profile.calls);
  using Id = std::pair<std::int64_t, std::uint16_t>;
  const auto id_of = [](const auto& row) { return Id(row.correlation, row.process); };
  std::vector<Id> reused;  // ascending
  for (std::size_t i = 0; i < calls.size();) {
    const Id id = id_of(calls[i]);
    std::int64_t first_end = calls[i].end_ns;
    std::int64_t last_start = calls[i].start_ns;
    std::int64_t count = 1;
    for (++i; i < calls.size() && id_of(calls[i]) == id; ++i, ++count) {
      first_end = std::min(first_end, calls[i].end_ns);
      last_start = std::max(last_start, calls[i].start_ns);
    }
    if (count >= kCallsOfNoId && last_start > first_end && id.first != kNoCorrelation) reused.push_back(id);
  }
  std::int64_t dropped = 0;
  for (ProfiledDevice& device : profile.devices) {
    for (DeviceEvent& event : device.events) {
      if (reused.empty() || !std::binary_search(reused.begin(), reused.end(), id_of(event))) continue;
      event.correlation = kNoCorrelation;
      ++dropped;
    }
  }
  return dropped;
}

// With one process there is nothing to find: every event has its index already, which is 0.
std::int64_t FindLaunchProcesses(Profile& profile) {
  if (profile.processes.size() < 2) return 0;
  CallsById calls(profile.calls);
  std::int64_t ambiguous = 0;
  for (ProfiledDevice& device : profile.devices) {
    for (DeviceEvent& event : device.events) {
      if (event.correlation == kNoCorrelation) continue;
      const std::size_t first = calls.First(event.correlation);
      if (first == calls.size()) continue;
      event.process = calls[first].process;
      ambiguous += calls.IsShared(first) ? 1 : 0;
    }
  }
  if (ambiguous > 0) profile.correlation_by_process = false;
  return ambiguous;
}

}  // namespace idleburn
