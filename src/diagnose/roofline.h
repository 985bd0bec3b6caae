// How much arithmetic a device did, against what it could do: FLOPs from recorded shapes, peaks from data/gpus.csv.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "diagnose/launch_scopes.h"
#include "diagnose/trace_budget.h"
#include "diagnose/trace_rows.h"
#include "profile/profile.h"

namespace idleburn {

// All calls of one operator in a window.
struct OperatorRate {
  std::string name;
  std::int64_t calls = 0;
  double flops = 0;
  double bytes = 0;         // the least that had to move
  std::int64_t own_ns = 0;  // instants of its kernels (diagnose/painted_time.h)

  // FLOPs a second of its kernels; absent without time.
  [[nodiscard]] std::optional<double> Rate() const {
    return own_ns > 0 ? std::optional(flops * 1e9 / static_cast<double>(own_ns)) : std::nullopt;
  }
  // FLOPs a byte.
  [[nodiscard]] double Intensity() const { return bytes > 0 ? flops / bytes : 0; }
};

// The arithmetic of one device in its deciding window. FLOPs are those of products, convolutions and attention; other
// operators have next to none. Example: 4.945e11 FLOPs in a window of 1 ms on a GPU of 989 TFLOP/s are an MFU of 50 %.
struct Roofline {
  std::vector<OperatorRate> operators;  // most FLOPs first
  double flops = 0;
  double single_flops = 0;  // of inputs of 32 bits or more
  std::int64_t window_ns = 0;
  std::int64_t shapes_missing = 0;  // calls of such operators whose shapes the file lacks: FLOPs are then a lower bound
  std::string gpu;                  // as data/gpus.csv names it; "" if it has no such GPU
  std::optional<double> peak_flops_per_s;  // dense, bf16 or fp16
  std::optional<double> memory_bytes_per_s;

  // Model FLOPs utilization: FLOPs against the half-precision peak over the whole window, idle time included. Absent
  // without a peak, and if shapes are missing.
  [[nodiscard]] std::optional<double> Mfu() const;
  // FLOPs a byte at which a kernel leaves the memory's limit for the peak. Absent without either figure.
  [[nodiscard]] std::optional<double> Ridge() const;
  // What an operator of that intensity can reach at most, and whether memory sets the limit.
  [[nodiscard]] std::optional<double> Attainable(const OperatorRate& op) const;
  [[nodiscard]] bool MemoryBound(const OperatorRate& op) const { return Ridge() && op.Intensity() < *Ridge(); }
};

// Absent if the file records no shape. An operator counts if one of its kernels lies in the window.
std::optional<Roofline> MeasureRoofline(const Profile& profile, const ProfiledDevice& device,
                                        const LaunchIndex& launches, const TraceBudget& budget);

}  // namespace idleburn
