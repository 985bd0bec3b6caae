#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "diagnose/finding.h"
#include "diagnose/host_evidence.h"
#include "diagnose/kernel_classes.h"
#include "diagnose/step_statistics.h"
#include "diagnose/trace_budget.h"

namespace idleburn {

// The share of the window that a cause claims. Shares of one device are disjoint parts of one additive budget: the
// pools w_k of docs/combining.md.
struct ClaimedShare {
  std::string_view cause;
  double share = 0;
};

// What comes to light once a cause is gone.
struct NextBottleneck {
  std::string_view removed;       // the cause that was taken out, wholly
  double removed_share = 0;       // of the window
  std::string_view cause;         // the largest finding of what is left, worked out anew
  double share = 0;               // of the shortened window
  double adds = 0;                // of the original window, if it were removed as well; 0 if its gain is not known
  std::vector<Finding> findings;  // of what is left
};

struct DeviceDiagnosis {
  std::size_t profile = 0;  // of those that were diagnosed
  std::string file;
  std::optional<std::int64_t> rank;
  std::int64_t device = 0;
  std::string model;
  std::string profiler;                      // that recorded it
  bool events_missing = false;               // in the file: all figures are of what is left
  std::map<std::string, std::string> facts;  // its versions and those of what it recorded, as the file says
  // gpu_span, then profiler_steps; the last one decides. Steps in which the device does nothing stand first.
  std::vector<TraceBudget> budgets;
  StepStatistics steps;
  std::vector<Finding> findings;  // of this device; shares of its deciding window
  std::vector<ClaimedShare> claims;
  std::optional<NextBottleneck> next;
  std::vector<KernelClass> top_kernels;
  std::optional<double> memory_held;  // by the framework's allocator at most, a share of the device's memory

  [[nodiscard]] const TraceBudget& Deciding() const { return budgets.back(); }
  // What the device did outside the steps, and did at all. Without steps nothing lies outside of them.
  [[nodiscard]] std::int64_t OutsideStepsNs() const {
    return std::abs(budgets.front().busy_ns - budgets.back().busy_ns);
  }
  [[nodiscard]] std::int64_t BusyNs() const { return std::max(budgets.front().busy_ns, budgets.back().busy_ns); }
};

struct TraceDiagnosis {
  std::vector<DeviceDiagnosis> devices;  // as the profiles came, then by id
  // Of all devices together, the largest share first but "healthy" last: shares of the sum of the deciding windows.
  // With one device these are its own. Never empty.
  std::vector<Finding> findings;
  std::string apart;  // why several profiles are not joined as ranks of one job; empty: they are, or it is one
};

// The diagnosis of the profiles of one job: one file, or one for each rank. `host`: what the host did meanwhile.
TraceDiagnosis DiagnoseProfiles(std::span<const Profile> profiles, const HostEvidence& host = {});

}  // namespace idleburn
