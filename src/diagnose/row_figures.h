#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "diagnose/trace_budget.h"
#include "diagnose/trace_slice.h"
#include "profile/profile.h"
#include "stats/order.h"

namespace idleburn {

struct RowFigures {
  KernelFigures kernels;
  std::vector<CopyFigures> copies;           // by kind, from, to
  std::optional<double> htod_median_bytes;   // of copies to the device from any memory
  std::optional<double> launch_distance_ns;  // median, of the starts of successive kernel launches
};

// Works out the figures of single rows from one or two walks over the slices of a window.
class RowMeter {
 public:
  explicit RowMeter(const ProfiledDevice& device) : device_(device) {}
  // Each slice, in the first walk.
  void Count(const TraceSlice& slice) { Walk(slice, &WalkedMedian::Count); }
  // After it. False: there need be no second one.
  [[nodiscard]] bool Narrow();
  // Each slice again.
  void Collect(const TraceSlice& slice) { Walk(slice, &WalkedMedian::Collect); }
  [[nodiscard]] RowFigures Figures() const;

 private:
  using Take = void (WalkedMedian::*)(std::int64_t);
  // A device event that reaches over the border of slices.
  struct Open {
    std::int64_t ns = 0;
    bool seen = false;  // in the window
  };
  struct Copies {
    CopyFigures figures;
    WalkedMedian bytes;
  };
  void Walk(const TraceSlice& slice, Take take);
  void AddEvent(const DeviceEvent& event, std::int64_t ns, Take take);

  const ProfiledDevice& device_;
  bool first_walk_ = true;
  KernelFigures kernels_;
  std::int64_t kernel_ns_ = 0;
  WalkedMedian kernel_median_;
  std::map<std::tuple<CopyKind, MemoryKind, MemoryKind>, Copies> copies_;
  WalkedMedian htod_bytes_;
  WalkedMedian launch_distance_;
  std::optional<std::int64_t> launched_;  // last
  std::unordered_map<std::uint32_t, Open> open_;
};

}  // namespace idleburn
