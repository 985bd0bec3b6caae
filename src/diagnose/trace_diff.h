// What differs between two traces: the parts of the budget, the kinds of kernels, kernels, operators and modules.

#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "diagnose/trace_diagnosis.h"
#include "diagnose/traced_time.h"

namespace idleburn {

// One side: the sums over the traced devices in their deciding windows.
struct DiffSide {
  std::size_t devices = 0;
  std::size_t steps = 0;  // of all devices; 0 if a device has none
  std::int64_t window_ns = 0;
  std::int64_t compute_ns = 0;
  std::int64_t exposed_comm_ns = 0;
  std::int64_t exposed_copy_ns = 0;
  std::optional<double> median_step_ns;  // the median over devices of their median step
  std::string model;                     // "" if devices differ or name none
  TracedTime time;

  [[nodiscard]] std::int64_t IdleNs() const { return window_ns - compute_ns - exposed_comm_ns - exposed_copy_ns; }
};

// One thing on both sides, in the unit of the diff.
struct DiffRow {
  std::string name;  // "": launched under none, or without a name
  double before_ns = 0;
  double after_ns = 0;
  double before_count = 0;  // device events; 0 for parts of the budget
  double after_count = 0;

  [[nodiscard]] double ChangeNs() const { return after_ns - before_ns; }
};

// The difference. With steps on both sides every figure is that of one step on one device: sums over the window divided
// by the number of steps. Otherwise it is that of one device's window, and says nothing about speed.
//
// The parts of the budget add up to the window on each side, and the rows of a grouping to its busy time. So the
// changes add up to the change of the window: nothing is left unexplained, and nothing counts twice.
struct TraceDiff {
  DiffSide before;
  DiffSide after;
  bool per_step = false;
  DiffRow window;
  std::vector<DiffRow> parts;                     // compute, exposed_comm, exposed_copy, idle
  std::array<std::vector<DiffRow>, kTimesBy> by;  // the largest change first
  std::vector<std::string> doubts;                // why the sides may not do the same work, in sentences
  [[nodiscard]] const std::vector<DiffRow>& Of(TimeBy group) const { return by[static_cast<std::size_t>(group)]; }
};

// Compares two diagnoses. Each has at least one device.
TraceDiff DiffTraces(const TraceDiagnosis& before, const TraceDiagnosis& after);

}  // namespace idleburn
