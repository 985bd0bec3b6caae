#include "compare/compared_captures.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "diagnose/trace_diagnosis.h"
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

// The rank that a capture is of, in a job of several.
std::optional<std::int64_t> RankOf(const ComparedInput& input) {
  const Profile& profile = input.capture->profiles.front();
  return profile.world_size.value_or(1) > 1 ? profile.rank : std::nullopt;
}

// All ranks of a job are one run, however many were recorded: of a side the rank with the most captures is compared.
void KeepOneRank(std::vector<ComparedInput>& side, std::vector<ComparisonReport::Input>& rows,
                 ComparisonReport& report) {
  std::map<std::int64_t, int> captures;
  for (const ComparedInput& input : side) {
    if (const std::optional<std::int64_t> rank = RankOf(input)) ++captures[*rank];
  }
  if (captures.size() < 2) return;
  const std::int64_t kept = std::max_element(captures.begin(), captures.end(), [](const auto& a, const auto& b) {
                              return a.second < b.second;
                            })->first;
  const auto other = [kept](const ComparedInput& input) { return RankOf(input).value_or(kept) != kept; };
  for (const ComparedInput& input : side) {
    if (!other(input)) continue;
    const std::string why =
        fmt::format("rank {} of a job of which rank {} is compared: ranks are one run", *RankOf(input), kept);
    report.exclusions.push_back({input.name + ": " + why, 0});
    for (ComparisonReport::Input& row : rows) {
      if (row.name == input.name) row.note = "left out: " + why;
    }
  }
  side.erase(std::remove_if(side.begin(), side.end(), other), side.end());
}

// Kernels and compute time are those of the steps: what lies outside of them is no work of a step.
const TraceBudget& BudgetOfSteps(const DeviceDiagnosis& device) {
  const auto steps = std::find_if(device.budgets.begin(), device.budgets.end(),
                                  [](const TraceBudget& b) { return b.window == Window::kProfilerSteps; });
  return steps == device.budgets.end() ? device.Deciding() : *steps;
}

StepCapture CaptureOf(const ComparedInput& input, const DeviceDiagnosis& device) {
  StepCapture capture;
  capture.name = input.name;
  capture.sha256 = input.sha256;
  if (input.capture->quality.CountOf(QualityId::kNoTimestamp) == 0) capture.start = input.capture->run.start;
  for (const StepTime& step : device.steps.steps) {
    capture.step_seconds.push_back(static_cast<double>(step.at.Ns()) / 1e9);
  }
  if (device.steps.steps.empty()) return capture;
  const auto steps = static_cast<double>(device.steps.steps.size());
  capture.kernels_per_step = static_cast<double>(BudgetOfSteps(device).kernels.count) / steps;
  capture.compute_seconds_per_step = static_cast<double>(BudgetOfSteps(device).compute_ns) / 1e9 / steps;
  return capture;
}

SideEstimate SideOf(const CaptureSide& side) {
  SideEstimate estimate;
  estimate.runs = side.captures;
  estimate.rows = estimate.summed = side.steps;
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

Result<void> JudgeCaptureSides(ComparedSides& sides, const VerdictTerms& terms, ComparisonReport& report) {
  KeepOneRank(sides.before, sides.inputs, report);
  KeepOneRank(sides.after, sides.inputs, report);
  std::vector<StepCapture> captures[2];
  std::vector<const DeviceDiagnosis*> devices[2];
  for (const bool after : {false, true}) {
    for (const ComparedInput& input : after ? sides.after : sides.before) {
      const DeviceDiagnosis* device = TRY(DeviceOf(input));
      devices[after ? 1 : 0].push_back(device);
      captures[after ? 1 : 0].push_back(CaptureOf(input, *device));
    }
  }
  CaptureVerdict judged = JudgeCaptures(captures[0], captures[1], terms, kSeed);
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
