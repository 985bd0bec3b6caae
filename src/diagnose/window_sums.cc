#include "diagnose/window_sums.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace idleburn {
namespace {

constexpr std::int64_t kLongGapNs = 1'000'000;
constexpr std::size_t kLongestGaps = 5;

bool IsLonger(Interval a, Interval b) { return std::pair(-a.Ns(), a.start) < std::pair(-b.Ns(), b.start); }

}  // namespace

bool IsLaunchTime(Traits traits) {
  if (Has(traits, BitOf(Trait::kInsideGraph))) return false;
  if (Has(traits, AnyOf(Trait::kCpuOp, Trait::kHostOther, Trait::kLaunchLatency))) return true;
  return Has(traits, BitOf(Trait::kDataloader)) && Has(traits, BitOf(Trait::kLoaderAhead));
}

void WindowSums::Add(const TraceSlice& slice, const SliceTraits& traits, const std::vector<ProfiledStep>& steps) {
  span_ = {start_.value_or(slice.at.start), slice.at.end};
  start_ = span_.start;
  auto gap = traits.gaps.begin();
  std::int64_t launch_ns = 0;
  ForEachStretch(traits.of, slice.at, [&](Interval at, Traits what) {
    ns_[what] += at.Ns();
    if (Has(what, kBusyTraits)) return;
    launch_ns += IsLaunchTime(what) ? at.Ns() : 0;
    if (at.end < gap->at.end) return;
    AddGap(*gap++, launch_ns, steps);
    launch_ns = 0;
  });
  KeepLongest(traits);
  if (!steps.empty()) {
    const Interval first{std::max(steps[0].start_ns, slice.at.start), std::min(steps[0].end_ns, slice.at.end)};
    ForEachStretch(traits.of, first, [&](Interval at, Traits what) { first_step_ns_[what] += at.Ns(); });
  }
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Interval step{std::max(steps[i].start_ns, slice.at.start), std::min(steps[i].end_ns, slice.at.end)};
    if (step.Ns() > 0) busy_by_step_[i] += traits.busy.OverlapNs(step);
  }
}

void WindowSums::AddGap(const IdleGap& gap, std::int64_t launch_ns, const std::vector<ProfiledStep>& steps) {
  const std::int64_t ns = gap.at.Ns();
  ++gaps_.count;
  gaps_.longest_ns = std::max(gaps_.longest_ns, ns);
  if (ns >= kLongGapNs) {
    ++gaps_.long_count;
    gaps_.long_ns += ns;
  }
  if (gap.launch != nullptr) ++launches_[gap.launch->thread];
  if (launch_ns == 0) return;
  ++launch_gaps_;
  const auto after = std::partition_point(steps.begin(), steps.end(),
                                          [&gap](const ProfiledStep& step) { return step.start_ns <= gap.at.start; });
  std::int64_t& largest =
      largest_by_step_[static_cast<std::size_t>(std::max<std::ptrdiff_t>(after - steps.begin() - 1, 0))];
  largest = std::max(largest, launch_ns);
}

void WindowSums::KeepLongest(const SliceTraits& traits) {
  std::vector<const IdleGap*> some;
  for (const IdleGap& gap : traits.gaps) {
    if (longest_.size() == kLongestGaps && !IsLonger(gap.at, longest_.back().at)) continue;
    some.push_back(&gap);
  }
  const auto middle = some.begin() + static_cast<std::ptrdiff_t>(std::min(kLongestGaps, some.size()));
  std::partial_sort(some.begin(), middle, some.end(),
                    [](const IdleGap* a, const IdleGap* b) { return IsLonger(a->at, b->at); });
  for (auto gap = some.begin(); gap != middle; ++gap) {
    std::unordered_map<Traits, std::int64_t> ns;
    ForEachStretch(traits.of, (*gap)->at, [&ns](Interval at, Traits what) { ns[what] += at.Ns(); });
    const HostCall* launch = (*gap)->launch;
    longest_.push_back({(*gap)->at, TimeSet(ns), launch == nullptr ? std::nullopt : std::optional(launch->thread)});
  }
  std::sort(longest_.begin(), longest_.end(),
            [](const KnownGap& a, const KnownGap& b) { return IsLonger(a.at, b.at); });
  if (longest_.size() > kLongestGaps) longest_.resize(kLongestGaps);
}

std::int64_t WindowSums::LargestLaunchGapsNs() const {
  return std::accumulate(largest_by_step_.begin(), largest_by_step_.end(), std::int64_t{0});
}

std::uint32_t WindowSums::LaunchingThread() const {
  const auto most = std::max_element(launches_.begin(), launches_.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == launches_.end() ? 0 : most->first;
}

}  // namespace idleburn
