#include "profile/step_finder.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "text/strings.h"

namespace idleburn {

// Names are the better evidence: "step 12" is a step. Regularity is the fallback: ranges that repeat, tile the time and
// contain the launches. Both must hold for a whole group of ranges, because a wrong step length would mislead every
// figure per step.

namespace {

// Words that mean a step, best first.
constexpr auto kStepWords = std::to_array<std::string_view>({"step", "iteration", "iter", "batch"});
// Words that may accompany a step's word.
constexpr auto kStepQualifiers = std::to_array<std::string_view>(
    {"train", "training", "trainer", "profiler", "profile", "global", "epoch", "run", "pl"});

// The limits of the rules; see the class.
constexpr std::size_t kFewestRegular = 5;
constexpr std::int64_t kFewestLaunches = 20;  // of a regular step
constexpr std::int64_t kTiledPercent = 90;
constexpr std::int64_t kLaunchesPercent = 80;
constexpr std::int64_t kNamedLaunchesPercent = 50;
constexpr std::int64_t kDeviationPercent = 10;

// Memory limits. A capture has some thousand names, and steps fill at least half of their time.
constexpr std::size_t kMostGroups = 65536;
constexpr std::size_t kMostRanges = std::size_t{1} << 20;
constexpr std::size_t kJudgedAfter = 64;

// The place of a word in a table. Absent if it is not there.
template <typename Table>
std::optional<std::size_t> Find(const Table& table, std::string_view word) {
  const auto at = std::find(table.begin(), table.end(), word);
  if (at == table.end()) return std::nullopt;
  return static_cast<std::size_t>(at - table.begin());
}

// The name of a group: "step #" for "step 12".
std::string WithoutNumbers(std::string_view name) {
  std::string base;
  for (const char c : name) {
    if (!IsDigit(c)) {
      base += c;
    } else if (base.empty() || base.back() != '#') {
      base += '#';
    }
  }
  return base;
}

// The first number in a name (5 for "Step 5/100"). -1 without one; a number that is too long counts as none.
std::int64_t NumberIn(std::string_view name) {
  const auto* at = std::find_if(name.begin(), name.end(), IsDigit);
  std::int64_t number = at == name.end() ? -1 : 0;
  for (std::size_t digits = 0; at != name.end() && IsDigit(*at); ++at, ++digits) {
    if (digits == 18) return -1;
    number = number * 10 + (*at - '0');
  }
  return number;
}

// The upper median. `values` must not be empty.
std::int64_t Median(std::vector<std::int64_t> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// The median distance of the values from their median. One long step, such as one with a checkpoint, does not move
// it.
std::int64_t MedianDeviation(std::vector<std::int64_t> values, std::int64_t median) {
  for (std::int64_t& value : values) value = std::abs(value - median);
  return Median(std::move(values));
}

// Whether `part` is at least `percent` of `whole`.
bool AtLeast(std::int64_t part, std::int64_t percent, std::int64_t whole) {
  return static_cast<double>(part) * 100 >= static_cast<double>(percent) * static_cast<double>(whole);
}

// The sum of all durations. The ranges of a group that is judged do not overlap.
template <typename Ranges>
std::int64_t Covered(const Ranges& ranges) {
  std::int64_t covered = 0;
  for (const auto& range : ranges) covered += range.at.Ns();
  return covered;
}

}  // namespace

// Splits the name into words, at anything but letters and before a capital: "TrainStep" has two. Exactly one word may
// be a step's, and all others must be qualifiers.
std::optional<std::size_t> StepRank(std::string_view name) {
  std::optional<std::size_t> rank;
  for (std::size_t at = 0; at < name.size();) {
    if (!IsLetter(name[at])) {
      ++at;
      continue;
    }
    std::string word;
    for (; at < name.size() && IsLetter(name[at]); ++at) {
      const bool hump = IsUpper(name[at]) && !IsUpper(name[at - (at > 0 ? 1 : 0)]);
      if (hump && !word.empty()) break;  // "TrainStep"
      word += static_cast<char>(std::tolower(static_cast<unsigned char>(name[at])));
    }
    if (Find(kStepQualifiers, word)) continue;
    const std::optional<std::size_t> found = Find(kStepWords, word);
    if (!found || rank) return std::nullopt;
    rank = found;
  }
  return rank;
}

void StepFinder::AddLaunch(std::uint32_t thread, std::int64_t start_ns) { launches_[thread].push_back(start_ns); }

void StepFinder::AddRange(std::string_view name, Interval range, std::uint32_t thread, std::uint16_t process) {
  Key key{thread, WithoutNumbers(name)};
  auto at = groups_.find(key);
  if (at == groups_.end()) {
    if (groups_.size() == kMostGroups) return;
    Group group;
    group.process = process;
    group.rank = StepRank(name);
    at = groups_.emplace(std::move(key), std::move(group)).first;
  }
  Group& group = at->second;
  if (group.dropped) return;
  group.ranges.push_back({range, NumberIn(name)});
  // Ranges of operators come by the million. After 64 ranges a group that covers little of its time is dropped.
  bool hopeless = group.ranges.size() > kMostRanges;
  if (group.ranges.size() == kJudgedAfter && !group.rank) {
    Interval all = group.ranges.front().at;
    for (const Range& r : group.ranges) all = {std::min(all.start, r.at.start), std::max(all.end, r.at.end)};
    hopeless = !AtLeast(Covered(group.ranges), kTiledPercent / 2, all.Ns());
  }
  if (hopeless) {
    group.dropped = true;
    group.ranges = {};
  }
}

std::int64_t StepFinder::LaunchesIn(std::uint32_t thread, Interval range) const {
  const auto found = launches_.find(thread);
  if (found == launches_.end()) return 0;
  const auto first = std::lower_bound(found->second.begin(), found->second.end(), range.start);
  return std::lower_bound(first, found->second.end(), range.end) - first;
}

std::int64_t StepFinder::LaunchesIn(std::uint32_t thread, const Group& group) const {
  std::int64_t all = 0;
  for (const Range& range : group.ranges) all += LaunchesIn(thread, range.at);
  return all;
}

// Rule 1: the name means steps, and they contain enough launches.
bool StepFinder::ServesByName(std::uint32_t thread, const Group& group) const {
  const auto launches = launches_.find(thread);
  if (!group.rank || launches == launches_.end()) return false;
  return AtLeast(LaunchesIn(thread, group), kNamedLaunchesPercent, static_cast<std::int64_t>(launches->second.size()));
}

// Rule 2: the ranges are regular, tile the time, and contain nearly all launches.
bool StepFinder::ServesByRegularity(std::uint32_t thread, const Group& group) const {
  const auto launches = launches_.find(thread);
  if (group.ranges.size() < kFewestRegular || launches == launches_.end()) return false;
  const std::int64_t time = group.ranges.back().at.end - group.ranges.front().at.start;
  if (!AtLeast(Covered(group.ranges), kTiledPercent, time)) return false;
  if (!AtLeast(LaunchesIn(thread, group), kLaunchesPercent, static_cast<std::int64_t>(launches->second.size()))) {
    return false;
  }
  std::vector<std::int64_t> durations;
  for (std::size_t i = 1; i + 1 < group.ranges.size(); ++i) {
    if (LaunchesIn(thread, group.ranges[i].at) < kFewestLaunches) return false;
    durations.push_back(group.ranges[i].at.Ns());
  }
  const std::int64_t median = Median(durations);
  return AtLeast(median, 100, MedianDeviation(durations, median) * (100 / kDeviationPercent));
}

// Makes a group the steps of its process.
void StepFinder::Take(const Key& key, const Group& group) {
  const auto descends = [](const Range& a, const Range& b) { return a.number >= b.number; };
  const bool numbered = group.ranges.front().number >= 0 &&
                        std::adjacent_find(group.ranges.begin(), group.ranges.end(), descends) == group.ranges.end();
  std::int64_t count = 0;
  for (const Range& range : group.ranges) {
    steps_.push_back({range.at.start, range.at.end, numbered ? range.number : count, group.process});
    ++count;
  }
  chosen_.push_back(key);
}

// Judges all groups and takes the best of each process. A group with a name beats every regular one, because its rank
// is smaller.
void StepFinder::Choose() {
  for (auto& [thread, starts] : launches_) std::sort(starts.begin(), starts.end());
  // How well a group serves; the smallest is best.
  using Merit = std::pair<std::size_t, std::int64_t>;
  std::map<std::uint16_t, std::pair<Merit, decltype(groups_)::const_iterator>> best;  // of each process
  for (auto at = groups_.begin(); at != groups_.end(); ++at) {
    Group& group = at->second;
    std::sort(group.ranges.begin(), group.ranges.end(),
              [](const Range& a, const Range& b) { return a.at.start < b.at.start; });
    const auto overlap = [](const Range& a, const Range& b) { return b.at.start < a.at.end; };
    if (group.ranges.empty() ||
        std::adjacent_find(group.ranges.begin(), group.ranges.end(), overlap) != group.ranges.end()) {
      continue;
    }
    const std::uint32_t thread = at->first.first;
    Merit merit{kStepWords.size(), 0};
    if (ServesByName(thread, group)) {
      merit = {*group.rank, -LaunchesIn(thread, group)};
    } else if (ServesByRegularity(thread, group)) {
      merit.second = -Covered(group.ranges) / static_cast<std::int64_t>(group.ranges.size());
    } else {
      continue;
    }
    const auto [held, is_new] = best.try_emplace(group.process, merit, at);
    if (!is_new && merit < held->second.first) held->second = {merit, at};
  }
  for (const auto& [process, group] : best) Take(group.second->first, group.second->second);
  groups_.clear();
  std::sort(steps_.begin(), steps_.end(),
            [](const ProfiledStep& a, const ProfiledStep& b) { return a.start_ns < b.start_ns; });
}

bool StepFinder::IsStep(std::string_view name, std::uint32_t thread) const {
  return std::any_of(chosen_.begin(), chosen_.end(),
                     [&](const Key& key) { return key.first == thread && key.second == WithoutNumbers(name); });
}

}  // namespace idleburn
