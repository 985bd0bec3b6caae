#include "diagnose/row_figures.h"

#include <utility>

namespace idleburn {
namespace {

constexpr std::int64_t kShortKernelNs = 10'000;

}  // namespace

void RowMeter::AddEvent(const DeviceEvent& event, std::int64_t ns, Take take) {
  if (event.op == DeviceOp::kKernel || event.op == DeviceOp::kComm) {
    (kernel_median_.*take)(ns);
    if (!first_walk_) return;
    ++kernels_.count;
    kernel_ns_ += ns;
    kernels_.under_10us += ns < kShortKernelNs ? 1 : 0;
  } else if (event.op == DeviceOp::kMemcpy) {
    Copies& copies = copies_[{event.copy, event.from, event.to}];
    (copies.bytes.*take)(event.bytes);
    if (event.copy == CopyKind::kHtoD) (htod_bytes_.*take)(event.bytes);
    if (!first_walk_) return;
    ++copies.figures.count;
    copies.figures.ns += ns;
    copies.figures.bytes += event.bytes;
  }
}

void RowMeter::Walk(const TraceSlice& slice, Take take) {
  for (const SliceEvent& s : slice.events) {
    // One without length counts where it starts.
    Open event{s.at.Ns() + s.outside, s.at.Ns() > 0 || (s.begins && s.at.start < slice.at.end)};
    if (const auto open = open_.find(s.row); open != open_.end()) {
      event.ns += open->second.ns;
      event.seen = event.seen || open->second.seen;
      open_.erase(open);
    }
    if (s.goes_on) {
      open_[s.row] = event;
    } else if (event.seen) {
      AddEvent(device_.events[s.row], event.ns, take);
    }
  }
  for (const std::int64_t launch : slice.launches) {
    if (slice.last && launch >= slice.at.end) break;
    if (launched_) (launch_distance_.*take)(launch - *launched_);
    launched_ = launch;
  }
}

bool RowMeter::Narrow() {
  first_walk_ = false;
  launched_.reset();
  bool again = false;
  for (WalkedMedian* median : {&kernel_median_, &htod_bytes_, &launch_distance_}) again |= median->Narrow();
  for (auto& [key, copies] : copies_) again |= copies.bytes.Narrow();
  return again;
}

RowFigures RowMeter::Figures() const {
  RowFigures figures;
  figures.kernels = kernels_;
  if (kernels_.count > 0) {
    figures.kernels.mean_ns = static_cast<double>(kernel_ns_) / static_cast<double>(kernels_.count);
    figures.kernels.median_ns = kernel_median_.Value();
  }
  for (const auto& [key, copies] : copies_) {
    CopyFigures& copy = figures.copies.emplace_back(copies.figures);
    std::tie(copy.kind, copy.from, copy.to) = key;
    copy.median_bytes = copies.bytes.Value();
  }
  if (htod_bytes_.count() > 0) figures.htod_median_bytes = htod_bytes_.Value();
  if (launch_distance_.count() > 0) figures.launch_distance_ns = launch_distance_.Value();
  return figures;
}

}  // namespace idleburn
