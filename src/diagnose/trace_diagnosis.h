// The diagnosis of the profiles of one job: budgets, findings and the next bottleneck of each device, as a run
// that can be priced, and the comparison of two captures.

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

#include "classify/totals.h"
#include "diagnose/cause_table.h"
#include "diagnose/framework.h"
#include "diagnose/host_evidence.h"
#include "diagnose/roofline.h"
#include "diagnose/time_set.h"
#include "diagnose/trace_budget.h"
#include "diagnose/traced_time.h"
#include "profile/profile.h"
#include "telemetry/data_quality.h"
#include "telemetry/device.h"

namespace idleburn {

// A kernel and the class that its name was mapped to. Reports show it, so that a wrong mapping is visible.
struct KernelClass {
  std::string name;
  DeviceOp op = DeviceOp::kKernel;
  std::int64_t count = 0;
  std::int64_t ns = 0;  // sum of durations
};

// The kernels with the largest sums, largest first.
std::vector<KernelClass> TopKernels(const Profile& profile, const ProfiledDevice& device, std::size_t most = 20);

// The share of the window that a cause claims. The shares of one device are disjoint parts of one additive
// budget: the pools w_k of docs/combining.md.
struct ClaimedShare {
  std::string_view cause;
  double share = 0;
  TimeSet time;  // the claimed instants
};

// What remains once a cause is removed completely.
struct NextBottleneck {
  std::string_view removed;  // the removed cause
  double removed_share = 0;  // of the window
  // Largest finding of the rest, which is analysed again.
  std::string_view cause;
  double share = 0;               // of the shortened window
  double adds = 0;                // of the original window, if it were removed as well; 0 if unknown
  std::vector<Finding> findings;  // of the rest
};

// The diagnosis of one device of one profile.
struct DeviceDiagnosis {
  // Position among the diagnosed profiles.
  std::size_t profile = 0;
  std::string file;
  std::optional<std::int64_t> rank;
  std::int64_t device = 0;
  std::string model;
  std::string profiler;  // that recorded it
  // From the file: all figures describe what is left.
  bool events_missing = false;
  // Versions of the profiler and of the software, as the file states them.
  std::map<std::string, std::string> facts;
  // gpu_span, then profiler_steps; the last one decides. If the device does nothing in the steps, they come
  // first.
  std::vector<TraceBudget> budgets;
  StepStatistics steps;
  std::vector<Finding> findings;  // shares of the deciding window
  std::vector<ClaimedShare> claims;
  std::optional<NextBottleneck> next;
  std::vector<KernelClass> top_kernels;
  TracedTime time;                   // of the deciding window, by kernel, operator and module
  std::optional<Roofline> roofline;  // of the same window; absent without recorded shapes
  // Peak of the framework's allocator, as a share of the device's memory.
  std::optional<double> memory_held;
  // How long the file covers, events of the host included, and the share of it in which the device worked. Below
  // kHardlyUsed its idle time is a fact of the capture and not of the job.
  std::int64_t capture_ns = 0;
  double active = 1;
  static constexpr double kHardlyUsed = 0.01;
  Framework framework = Framework::kUnknown;
  // Shares of the deciding window: the host's launch time, and the part of it before replays of graphs.
  double launch_share = 0;
  double replay_share = 0;

  // The budget of the window that decides.
  [[nodiscard]] const TraceBudget& Deciding() const { return budgets.back(); }
  // The device's busy time outside the steps (0 without steps), and its busy time in total.
  [[nodiscard]] std::int64_t OutsideStepsNs() const {
    return std::abs(budgets.front().busy_ns - budgets.back().busy_ns);
  }
  [[nodiscard]] std::int64_t BusyNs() const { return std::max(budgets.front().busy_ns, budgets.back().busy_ns); }
};

// The diagnosis of all profiles of a job.
struct TraceDiagnosis {
  // In the order of the profiles, then by id.
  std::vector<DeviceDiagnosis> devices;
  // The findings of all devices together, largest share first but "healthy" last. Shares refer to the sum of
  // the deciding windows. With one device they are its own. Never empty.
  std::vector<Finding> findings;
  // Why several profiles are not joined as ranks of one job; empty if they are.
  std::string apart;
};

// Diagnoses the profiles of one job: one file, or one for each rank. `host` is what the host did meanwhile.
TraceDiagnosis DiagnoseProfiles(std::span<const Profile> profiles, const HostEvidence& host = {});

// Turns a traced job into a run that can be priced. Each device counts for its deciding window. Idle time is
// idle (held, because a traced process runs), exposed copies and communication are underutilized, and computing
// is productive. Utilization is the computing share, so waste is all the time that a fix could recover. A trace
// has no readings, so compute_bound and the ticks stay 0. Enters the devices, and counts clocks without a date.
RunResult TracedRun(std::span<const Profile> profiles, const TraceDiagnosis& diagnosis, DeviceTable& devices,
                    DataQuality& quality);

// Compares two captures of one job, before and after a change: did the steps shrink as the first diagnosis
// predicted? The effect is the change of the median step. It is not money, which needs the mean over whole
// evaluation cycles, and no capture holds these.
struct BeforeAfter {
  // First cause before the change that a fix could recover; "" if none.
  std::string_view cause;
  // Share of the step that its fix could recover at most.
  double bound = 0;
  // 0.8 of it: one published pair realised 0.84.
  double expected = 0;
  std::optional<double> before_ns;  // median step
  std::optional<double> after_ns;
  // Relative cut of the median step; below 0 if steps grew.
  std::optional<double> realised;
  std::optional<double> recovered;  // realised / bound
  // Relative change of kernels and of compute time in a step. Example: 0.01 is 1 % more.
  std::optional<double> kernels_change;
  std::optional<double> compute_change;
  // What keeps this from being proof, in sentences.
  std::vector<std::string> doubts;
  std::string_view next;  // first cause after the change
};

// Compares two captures of the same device.
BeforeAfter CompareCaptures(const DeviceDiagnosis& before, const DeviceDiagnosis& after);

}  // namespace idleburn
