#include "diagnose/trace_window.h"

#include <algorithm>

#include "base/check.h"

namespace idleburn {
namespace {

// Events or steps.
template <typename Row>
Interval Around(const std::vector<Row>& rows) {
  CHECK(!rows.empty());
  Interval all{rows.front().start_ns, rows.front().end_ns};
  for (const Row& row : rows) {
    all.start = std::min(all.start, row.start_ns);
    all.end = std::max(all.end, row.end_ns);
  }
  return all;
}

}  // namespace

std::string_view Name(Window window) { return window == Window::kGpuSpan ? "gpu_span" : "profiler_steps"; }

Interval SpanOf(const ProfiledDevice& device) { return Around(device.events); }

std::vector<ProfiledStep> StepsOf(const Profile& profile, const ProfiledDevice& device) {
  std::vector<bool> drives(profile.processes.size() + 1, false);
  for (const DeviceEvent& e : device.events) {
    if (e.process < drives.size()) drives[e.process] = true;
  }
  std::vector<ProfiledStep> own;
  for (const ProfiledStep& step : profile.steps) {
    if (step.process < drives.size() && drives[step.process]) own.push_back(step);
  }
  return own.empty() ? profile.steps : own;
}

Interval StepWindow(const std::vector<ProfiledStep>& steps) { return Around(steps); }

}  // namespace idleburn
