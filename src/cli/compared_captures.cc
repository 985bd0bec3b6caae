#include "cli/compared_captures.h"

#include <algorithm>

#include "diagnose/before_after.h"
#include "verify/captures.h"

namespace idleburn {
namespace {

constexpr std::uint64_t kSeed = 1;

// The device whose steps are compared: the first that has some, else the first.
Result<const DeviceDiagnosis*> DeviceOf(const ComparedInput& input) {
  const std::vector<DeviceDiagnosis>& devices = input.capture->trace->devices;
  if (devices.empty()) return Fail(input.name + ": holds no device that did anything; nothing to compare");
  const auto stepped =
      std::find_if(devices.begin(), devices.end(), [](const DeviceDiagnosis& d) { return !d.steps.steps.empty(); });
  return stepped == devices.end() ? &devices.front() : &*stepped;
}

StepCapture CaptureOf(const ComparedInput& input, const DeviceDiagnosis& device) {
  StepCapture capture;
  capture.name = input.name;
  for (const StepTime& step : device.steps.steps) {
    capture.step_seconds.push_back(static_cast<double>(step.at.Ns()) / 1e9);
  }
  if (device.steps.steps.empty()) return capture;
  const auto steps = static_cast<double>(device.steps.steps.size());
  capture.kernels_per_step = static_cast<double>(device.Deciding().kernels.count) / steps;
  capture.compute_seconds_per_step = static_cast<double>(device.Deciding().compute_ns) / 1e9 / steps;
  return capture;
}

SideEstimate SideOf(const CaptureSide& side) {
  SideEstimate estimate;
  estimate.runs = side.captures;
  estimate.rows = side.steps;
  if (side.steps > 0) {
    estimate.tau = side.tau;
    estimate.n_eff = static_cast<double>(side.steps) / side.tau;
  }
  return estimate;
}

SavingVerdict VerdictOfCaptures(CaptureVerdict captures) {
  SavingVerdict verdict;
  verdict.verdict = captures.verdict;
  verdict.reasons = std::move(captures.reasons);
  verdict.unit = WorkUnit::kStep;
  verdict.before = SideOf(captures.before);
  verdict.after = SideOf(captures.after);
  verdict.level = captures.level;
  verdict.fraction = captures.fraction;
  verdict.saving = captures.saving;
  verdict.saving90 = captures.saving90;
  verdict.guard = captures.guard;
  verdict.seed = captures.seed;
  verdict.retrospective = captures.retrospective;
  return verdict;
}

}  // namespace

Result<void> JudgeCaptureSides(const ComparedSides& sides, const std::optional<Claim>& claim,
                               ComparisonReport& report) {
  std::vector<StepCapture> captures[2];
  std::vector<const DeviceDiagnosis*> devices[2];
  for (const bool after : {false, true}) {
    for (const ComparedInput& input : after ? sides.after : sides.before) {
      const Result<const DeviceDiagnosis*> device = DeviceOf(input);
      if (!device) return tl::unexpected<Error>(device.error());
      devices[after ? 1 : 0].push_back(*device);
      captures[after ? 1 : 0].push_back(CaptureOf(input, **device));
    }
  }
  CaptureVerdict judged = JudgeCaptures(captures[0], captures[1], claim, kSeed);
  report.mean_step_fraction = judged.mean_fraction;
  report.verdict = VerdictOfCaptures(std::move(judged));
  report.verdict.before.runs = static_cast<int>(captures[0].size());
  report.verdict.after.runs = static_cast<int>(captures[1].size());
  const bool comparable = report.verdict.verdict != Verdict::kInvalid;
  if (!comparable) report.mean_step_fraction.reset();
  for (std::size_t i = 0; i < std::min(devices[0].size(), devices[1].size()); ++i) {
    BeforeAfter pair = CompareCaptures(*devices[0][i], *devices[1][i]);
    if (!comparable) {  // a step of other work is shorter or longer for itself, not by the change
      pair.realised.reset();
      pair.recovered.reset();
    }
    report.captures.push_back(std::move(pair));
  }
  return {};
}

}  // namespace idleburn
