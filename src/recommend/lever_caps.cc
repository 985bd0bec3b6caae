#include "recommend/lever_caps.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "diagnose/trace_rules.h"
#include "text/figures.h"

namespace idleburn {
namespace {

// Twice as much in one step: half of what each step costs once. A batch, or gradients of two batches.
LeverCap HalvedByTwo(const Scene& /*scene*/) { return {0.5, "twice as much in one step leaves half of it: 1 - 1/2"}; }

LeverCap NotCountable(const Scene& /*scene*/) {
  return {std::nullopt, "how many launches remain is not known before it is tried"};
}

// Copies from pageable memory become as fast as the link at best. Time in which copies wait is not their own.
LeverCap Pinned(const Scene& scene) {
  if (scene.trace == nullptr) return {};
  double ns = 0;
  double at_link_ns = 0;
  for (const DeviceDiagnosis& d : scene.trace->devices) {
    const std::optional<double> link = HostLinkGBs(d.model);
    for (const CopyFigures& copy : d.Deciding().copies) {
      if (copy.kind != CopyKind::kHtoD || copy.from == MemoryKind::kPinned) continue;
      if (copy.from != MemoryKind::kPageable) {
        return {std::nullopt, "the trace does not tell whether the memory is pinned"};
      }
      if (!link) return {std::nullopt, "the rate of the link is not known"};
      ns += static_cast<double>(copy.ns);
      at_link_ns += static_cast<double>(copy.bytes) / *link;
    }
  }
  if (ns <= 0) return {0, "no copy comes from pageable memory"};
  const double part = std::clamp(1 - at_link_ns / ns, 0.0, 1.0);
  return {part, fmt::format("pageable copies reach {} of the link's rate: 1 - reached/link", PercentText(1 - part))};
}

// Transfers can hide behind the compute that does not hide any yet, and no further.
LeverCap Overlapped(const Scene& scene) {
  if (scene.trace == nullptr) return {};
  double exposed = 0;
  double free = 0;
  for (const DeviceDiagnosis& d : scene.trace->devices) {
    const TraceBudget& b = d.Deciding();
    exposed += static_cast<double>(b.exposed_comm_ns);
    free += static_cast<double>(std::min(b.exposed_comm_ns, b.compute_ns - b.comm_overlap_ns));
  }
  if (exposed <= 0) return {};
  const double part = std::clamp(free / exposed, 0.0, 1.0);
  return part == 1
             ? LeverCap{}
             : LeverCap{part, "only compute beside which nothing is sent yet can hide it: min(transfer, compute)"};
}

// Graphs that are replayed already cannot be launched once more.
LeverCap NotReplayed(const Scene& scene) {
  if (scene.trace == nullptr) return {};
  const bool replays = std::any_of(scene.trace->devices.begin(), scene.trace->devices.end(),
                                   [](const DeviceDiagnosis& d) { return d.replay_share > d.launch_share / 2; });
  return replays ? LeverCap{0, "most of that time is before replays of graphs"} : LeverCap{};
}

struct CapRow {
  std::string_view lever;
  std::string_view cause;
  LeverCap (*cap)(const Scene&);
};
// Levers without a row may recover all that their cause takes.
constexpr auto kCaps = std::to_array<CapRow>({
    {"larger_batch", "launch_bound", HalvedByTwo},
    {"gradient_accumulation", "comm_exposed", HalvedByTwo},
    {"fused_kernels", "launch_bound", NotCountable},
    {"mps", "launch_bound", NotCountable},
    {"mig", "launch_bound", NotCountable},
    {"smaller_gpu", "launch_bound", NotCountable},
    {"cuda_graphs", "launch_bound", NotReplayed},
    {"pin_memory", "h2d_small", Pinned},
    {"overlap_communication", "comm_exposed", Overlapped},
});

}  // namespace

LeverCap CapOf(const Scene& scene, const Finding& finding, std::string_view lever) {
  const auto* const row = std::find_if(
      kCaps.begin(), kCaps.end(), [&](const CapRow& cap) { return cap.lever == lever && cap.cause == finding.cause; });
  return row == kCaps.end() ? LeverCap() : row->cap(scene);
}

}  // namespace idleburn
