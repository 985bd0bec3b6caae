#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "diagnose/idle_attribution.h"
#include "diagnose/time_set.h"
#include "diagnose/trace_budget.h"
#include "diagnose/trace_slice.h"
#include "profile/profile.h"

namespace idleburn {

// An idle gap and what is true of its time.
struct KnownGap {
  Interval at;
  TimeSet time;
  std::optional<std::uint32_t> thread;  // that launched what ended it
};

// Idle time while the host prepares launches, without the gaps inside graphs, which no launch can shorten.
bool IsLaunchTime(Traits traits);

// What a window comes to, slice by slice.
class WindowSums {
 public:
  explicit WindowSums(std::size_t steps) : busy_by_step_(steps), largest_by_step_(std::max<std::size_t>(steps, 1)) {}
  // `steps`: by start; those that begin after the slice may still stand as recorded.
  void Add(const TraceSlice& slice, const SliceTraits& traits, const std::vector<ProfiledStep>& steps);

  [[nodiscard]] TimeSet time() const { return TimeSet(ns_); }
  [[nodiscard]] TimeSet first_step() const { return TimeSet(first_step_ns_); }
  [[nodiscard]] Interval span() const { return span_; }
  [[nodiscard]] const GapFigures& gaps() const { return gaps_; }
  [[nodiscard]] const std::vector<KnownGap>& longest() const { return longest_; }  // the longest first
  [[nodiscard]] const std::vector<std::int64_t>& busy_by_step() const { return busy_by_step_; }
  // Gaps that hold launch time, and how much of it lies in the largest one of each step.
  [[nodiscard]] std::int64_t launch_gaps() const { return launch_gaps_; }
  [[nodiscard]] std::int64_t LargestLaunchGapsNs() const;
  // The thread that launches most of what ends gaps: it is asked what the host did where no launch tells.
  [[nodiscard]] std::uint32_t LaunchingThread() const;

 private:
  void AddGap(const IdleGap& gap, std::int64_t launch_ns, const std::vector<ProfiledStep>& steps);
  void KeepLongest(const SliceTraits& traits);

  std::optional<std::int64_t> start_;
  Interval span_;
  std::unordered_map<Traits, std::int64_t> ns_;
  std::unordered_map<Traits, std::int64_t> first_step_ns_;
  GapFigures gaps_;
  std::vector<KnownGap> longest_;
  std::vector<std::int64_t> busy_by_step_;
  std::vector<std::int64_t> largest_by_step_;
  std::int64_t launch_gaps_ = 0;
  std::map<std::uint32_t, std::int64_t> launches_;  // that end gaps, by thread
};

}  // namespace idleburn
