#include "diagnose/trace_budget.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/result.h"
#include "stats/order.h"
#include "text/figures.h"

namespace idleburn {
namespace {

// The interval around events or steps.
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

Interval EventSpan(const ProfiledDevice& device) { return Around(device.events); }

std::vector<ProfiledStep> StepsOf(const Profile& profile, const ProfiledDevice& device) {
  std::vector<bool> drives(profile.processes.size() + 1, false);
  for (const DeviceEvent& e : device.events) {
    if (e.process < drives.size()) drives[e.process] = true;
  }
  const bool by_device = std::any_of(profile.steps.begin(), profile.steps.end(),
                                     [](const ProfiledStep& step) { return step.device >= 0; });
  std::vector<ProfiledStep> own;
  for (const ProfiledStep& step : profile.steps) {
    if (by_device && step.device != device.id) continue;
    if (step.process < drives.size() && drives[step.process]) own.push_back(step);
  }
  return own.empty() && !by_device ? profile.steps : own;
}

Interval StepWindow(const std::vector<ProfiledStep>& steps) { return Around(steps); }

namespace {

// The modified z-score of Iglewicz and Hoaglin with their limit. An outlier must also differ by this share of
// the median, because steps may be so even that any difference is far.
constexpr double kFarZ = 3.5;
// The ratio of the MAD to the standard deviation of a normal distribution.
constexpr double kZOfMad = 0.6745;
constexpr double kFarShare = 0.03;

// Marks counted steps that are far from the median by both criteria.
void MarkOutliers(StepStatistics& statistics) {
  for (StepTime& step : statistics.steps) {
    const double distance = std::abs(static_cast<double>(step.at.Ns()) - *statistics.median_ns);
    step.outlier =
        step.counted && kZOfMad * distance > kFarZ * *statistics.mad_ns && distance > kFarShare * *statistics.median_ns;
  }
}

}  // namespace

// Median and MAD do not move with one long step, such as one that writes a checkpoint.
StepStatistics MeasureSteps(const std::vector<ProfiledStep>& steps, const std::vector<std::int64_t>& busy_by_step) {
  CHECK(steps.size() == busy_by_step.size());
  StepStatistics statistics;
  const bool drop_ends = steps.size() >= StepStatistics::kEnough;
  std::vector<double> times;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    StepTime step{steps[i].number, {steps[i].start_ns, steps[i].end_ns}};
    step.busy_ns = busy_by_step[i];
    step.counted = !drop_ends || (i > 0 && i + 1 < steps.size());
    if (step.counted) times.push_back(static_cast<double>(step.at.Ns()));
    statistics.steps.push_back(step);
  }
  statistics.counted = static_cast<std::int64_t>(times.size());
  if (times.empty()) return statistics;
  const double median = Median(times);
  for (double& time : times) time = std::abs(time - median);
  statistics.median_ns = median;
  statistics.mad_ns = Median(times);
  if (drop_ends && median > 0) statistics.noise = 2 * *statistics.mad_ns / median;
  if (drop_ends) MarkOutliers(statistics);
  return statistics;
}

std::string Describe(const StepStatistics& statistics) {
  if (!statistics.median_ns) return "no steps";
  std::string text =
      fmt::format("{} step{}, median {}", statistics.steps.size(), statistics.steps.size() == 1 ? "" : "s",
                  SecondsForPeople(*statistics.median_ns / 1e9));
  if (statistics.Enough()) {
    text += fmt::format(" without the first and the last, noise {}", PercentText(statistics.noise));
  }
  for (const StepTime& step : statistics.steps) {
    if (step.outlier) {
      text += fmt::format("; step {} is an outlier ({})", step.number, DurationForPeople(Nanos(step.at.Ns())));
    }
  }
  return text;
}

namespace {

// How much of a gap a frame must cover to be named, in percent.
constexpr std::int64_t kNearlyAll = 95;
constexpr std::int64_t kHalf = 50;

// The part of a gap that a frame covers.
std::int64_t Overlap(const HostFrame& frame, Interval gap) {
  return std::min(frame.end_ns, gap.end) - std::max(frame.start_ns, gap.start);
}

// Frames of one thread nest and are sorted by start. So of the frames that cover enough, the innermost ends
// first.
bool IsInside(const HostFrame& frame, const HostFrame* other) {
  if (other == nullptr) return true;
  if (frame.python != other->python) return frame.python;
  return frame.end_ns <= other->end_ns;
}

}  // namespace

std::vector<CoveringFrame> FramesOver(const std::vector<HostFrame>& by_start, const std::vector<std::string>& names,
                                      Interval gap, std::uint32_t thread) {
  const HostFrame* whole = nullptr;
  const HostFrame* half = nullptr;
  for (const HostFrame& frame : by_start) {
    if (frame.start_ns >= gap.end) break;
    if (frame.thread != thread) continue;
    const std::int64_t percent = 100 * Overlap(frame, gap) / gap.Ns();
    if (percent >= kNearlyAll && IsInside(frame, whole)) whole = &frame;
    if (percent >= kHalf && IsInside(frame, half)) half = &frame;
  }
  std::vector<CoveringFrame> frames;
  if (whole != nullptr) frames.push_back({names[whole->name], Overlap(*whole, gap)});
  if (half != nullptr && half != whole) frames.push_back({names[half->name], Overlap(*half, gap)});
  return frames;
}

std::string Describe(const std::vector<CoveringFrame>& frames, bool exact) {
  std::string text;
  for (const CoveringFrame& frame : frames) {
    text += fmt::format(
        "{}{} ({})", text.empty() ? "" : ", most of it in ", frame.name,
        exact ? fmt::format("{:.3f} ms", Milliseconds(frame.covered_ns)) : DurationForPeople(Nanos(frame.covered_ns)));
  }
  return text;
}

std::string_view Name(IdleClass c) {
  constexpr auto kNames =
      std::to_array<std::string_view>({"dataloader", "sync_api", "memcpy_api", "cpu_op", "host_other",
                                       "launch_latency_le30us", "queued_wait_gt30us", "no_launch_record", "tail_head"});
  static_assert(kNames.size() == kIdleClasses);
  return kNames[static_cast<std::size_t>(c)];
}

}  // namespace idleburn
