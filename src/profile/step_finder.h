#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "profile/interval_set.h"
#include "profile/profile.h"

namespace idleburn {

// Finds training steps among the named ranges of host threads (NVTX), for profilers that do not mark steps. A wrong
// step is worse than no step, so a whole rule must hold.
//
// Ranges of one thread whose names differ only in numbers form a group: "step 1", "step 2". A group is the steps of
// its process if
//   1. by name, it is a step, an iteration or a batch (in this order) of nothing but the training ("Train Step 5/100",
//      "train_batch"; not "optimizer step", not "eval batch"), no two of its ranges overlap, and at least half of its
//      thread's launches are in them (of equal names, the thread that launches most); or else, if no name says so,
//   2. it is regular: at least 5 ranges that do not overlap and cover 90 % of the time from the first to the last, hold
//      80 % of the thread's launches, each but the first and the last at least 20, and whose durations without those
//      two deviate from their median by 10 % at the median. Of several such groups, the one of the longest ranges.
//
// Example: a framework marks "forward" and "backward" in turn, and "train_batch" around both. "train_batch" is chosen
// by rule 1. Without it neither of the two covers 90 % of the time, and there are no steps.
class StepFinder {
 public:
  // Adds a launch of a kernel or graph, and a named range. In any order, on the profile's clock.
  void AddLaunch(std::uint32_t thread, std::int64_t start_ns);
  void AddRange(std::string_view name, Interval range, std::uint32_t thread, std::uint16_t process);
  // Decides. Nothing may be added afterwards.
  void Choose();

  // The steps of all processes, by start. Numbers come from the names if they ascend there, else they count from 0.
  [[nodiscard]] std::span<const ProfiledStep> steps() const { return steps_; }
  // Whether a range became a step. Such ranges are no operators.
  [[nodiscard]] bool IsStep(std::string_view name, std::uint32_t thread) const;

 private:
  struct Range {
    Interval at;
    std::int64_t number = -1;  // in the name; -1: none
  };
  struct Group {
    std::vector<Range> ranges;  // by start, once complete
    std::uint16_t process = 0;
    std::optional<std::size_t> rank;  // of the name as a step's
    bool dropped = false;             // cannot be the steps
  };
  using Key = std::pair<std::uint32_t, std::string>;  // thread, name without numbers

  // How many launches of the thread are in the range, or in all ranges of the group.
  [[nodiscard]] std::int64_t LaunchesIn(std::uint32_t thread, Interval range) const;
  [[nodiscard]] std::int64_t LaunchesIn(std::uint32_t thread, const Group& group) const;
  // Whether rule 1 or rule 2 holds for the group.
  [[nodiscard]] bool ServesByName(std::uint32_t thread, const Group& group) const;
  [[nodiscard]] bool ServesByRegularity(std::uint32_t thread, const Group& group) const;
  // Makes the group the steps of its process.
  void Take(const Key& key, const Group& group);

  std::map<Key, Group> groups_;
  std::unordered_map<std::uint32_t, std::vector<std::int64_t>> launches_;  // of each thread: starts
  std::vector<Key> chosen_;
  std::vector<ProfiledStep> steps_;
};

// How clearly a name means training steps: 0 most. Absent if it names something else. For tests.
std::optional<std::size_t> StepRank(std::string_view name);

}  // namespace idleburn
