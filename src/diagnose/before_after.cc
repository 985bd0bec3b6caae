#include "diagnose/before_after.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace idleburn {
namespace {

constexpr double kRecovered = 0.8;
constexpr double kSameWork = 0.02;
constexpr std::size_t kStepsForVerdict = 20;

double PerStep(const DeviceDiagnosis& d, double sum) {
  return sum / static_cast<double>(std::max<std::size_t>(d.steps.steps.size(), 1));
}

std::optional<double> Change(double before, double after) {
  if (before == 0) return std::nullopt;
  return after / before - 1;
}

void Doubt(const DeviceDiagnosis& before, const DeviceDiagnosis& after, BeforeAfter& pair) {
  const std::size_t steps = std::min(before.steps.steps.size(), after.steps.steps.size());
  if (!pair.realised) {
    pair.doubts.emplace_back("a capture has no steps: without them captures cannot be compared");
  } else if (steps < kStepsForVerdict) {
    pair.doubts.push_back(fmt::format("{} steps a side: {} are needed before the change is more than an estimate",
                                      steps, kStepsForVerdict));
  }
  for (const auto& [change, what] :
       {std::pair(pair.kernels_change, "kernels"), {pair.compute_change, "compute time"}}) {
    if (change && std::abs(*change) > kSameWork) {
      pair.doubts.push_back(
          fmt::format("{} a step changed by {:+.1f} %: the work is not the same, the captures are "
                      "not comparable",
                      what, 100 * *change));
    }
  }
  pair.doubts.emplace_back("a capture is one run: what differs from run to run is not seen");
}

}  // namespace

BeforeAfter CompareCaptures(const DeviceDiagnosis& before, const DeviceDiagnosis& after) {
  BeforeAfter pair;
  const auto first =
      std::find_if(before.findings.begin(), before.findings.end(), [](const Finding& f) { return f.bound > 0; });
  if (first != before.findings.end()) {
    pair.cause = first->cause;
    pair.bound = first->bound;
    pair.expected = kRecovered * first->bound;
  }
  pair.before_ns = before.steps.median_ns;
  pair.after_ns = after.steps.median_ns;
  if (pair.before_ns && pair.after_ns && *pair.before_ns > 0) {
    pair.realised = 1 - *pair.after_ns / *pair.before_ns;
    if (pair.bound > 0) pair.recovered = *pair.realised / pair.bound;
    const auto count = [](const DeviceDiagnosis& d) { return static_cast<double>(d.Deciding().kernels.count); };
    const auto compute = [](const DeviceDiagnosis& d) { return static_cast<double>(d.Deciding().compute_ns); };
    pair.kernels_change = Change(PerStep(before, count(before)), PerStep(after, count(after)));
    pair.compute_change = Change(PerStep(before, compute(before)), PerStep(after, compute(after)));
  }
  Doubt(before, after, pair);
  if (!after.findings.empty()) pair.next = after.findings.front().cause;
  return pair;
}

}  // namespace idleburn
