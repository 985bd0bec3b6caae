#include "diagnose/stop_time.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "diagnose/late_peer.h"
#include "diagnose/make_finding.h"

namespace idleburn {
namespace {

// Sets of positions that grow together.
class Groups {
 public:
  explicit Groups(std::size_t size) : of_(size) { std::iota(of_.begin(), of_.end(), std::size_t{0}); }
  std::size_t Find(std::size_t i) {
    while (of_[i] != i) i = of_[i] = of_[of_[i]];
    return i;
  }
  void Join(std::size_t a, std::size_t b) { of_[Find(b)] = Find(a); }

 private:
  std::vector<std::size_t> of_;
};

// Joins GPUs that share an owner. False where none has one.
bool JoinByOwner(const Scene& scene, Groups& groups) {
  std::map<std::string, std::size_t> first;
  for (std::size_t i = 0; i < scene.run.devices.size(); ++i) {
    const CostReport::DeviceCost* cost = scene.cost.Of(scene.run.devices[i].device);
    if (cost == nullptr) continue;
    for (const std::string& owner : cost->owners) groups.Join(first.try_emplace(owner, i).first->second, i);
  }
  return !first.empty();
}

std::vector<ZeroRun> Intersection(const std::vector<ZeroRun>& a, const std::vector<ZeroRun>& b, std::int64_t least) {
  std::vector<ZeroRun> both;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const std::int64_t from = std::max(a[i].from, b[j].from);
    const std::int64_t to = std::min(a[i].to(), b[j].to());
    if (to - from >= least && to > from) both.push_back({from, to - from});
    if (a[i].to() < b[j].to()) {
      ++i;
    } else {
      ++j;
    }
  }
  return both;
}

}  // namespace

std::vector<std::vector<std::size_t>> JobsOf(const Scene& scene) {
  const std::vector<DeviceResult>& all = scene.run.devices;
  Groups groups(all.size());
  if (!JoinByOwner(scene, groups)) {
    std::size_t used = all.size();
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (!TakesPart(all[i].totals) && all[i].totals.idle_unknown_ns == 0 && all[i].totals.ObservedNs() > 0) continue;
      if (used < all.size()) groups.Join(used, i);
      used = i;
    }
  }
  std::map<std::size_t, std::vector<std::size_t>> jobs;
  for (std::size_t i = 0; i < all.size(); ++i) {
    // What is read of a board with instances is theirs.
    if (!scene.devices[all[i].device].has_instances) jobs[groups.Find(i)].push_back(i);
  }
  std::vector<std::vector<std::size_t>> list;
  for (auto& [first, members] : jobs) list.push_back(std::move(members));
  return list;
}

std::vector<StopTime> FindStopTimes(const Scene& scene) {
  const std::int64_t least = scene.thresholds.idle_after.count();
  std::vector<StopTime> stops(scene.run.devices.size());
  for (const std::vector<std::size_t>& job : JobsOf(scene)) {
    std::vector<ZeroRun> runs = scene.run.devices[job.front()].totals.zero_runs;
    for (const std::size_t i : job) runs = Intersection(runs, scene.run.devices[i].totals.zero_runs, least);
    for (const std::size_t i : job) {
      stops[i] = {runs, runs.empty() && !scene.run.devices[i].totals.zero_runs.empty(), job.size()};
    }
  }
  return stops;
}

std::int64_t BeyondGrace(const Thresholds& thresholds, const StopTime& stop, const Timeline& timeline,
                         const std::vector<bool>& taken) {
  const std::int64_t width = timeline.bucket_seconds * kNanosPerSecond;
  std::int64_t sum = 0;
  for (const ZeroRun& run : stop.runs) {
    std::int64_t inside = 0;
    const std::int64_t first = std::max<std::int64_t>(run.from / width - timeline.first, 0);
    for (auto b = static_cast<std::size_t>(first); b < taken.size(); ++b) {
      const std::int64_t begin = (timeline.first + static_cast<std::int64_t>(b)) * width;
      if (begin >= run.to()) break;
      if (!taken[b]) inside += std::max<std::int64_t>(std::min(run.to(), begin + width) - std::max(run.from, begin), 0);
    }
    sum += std::max<std::int64_t>(inside - thresholds.idle_grace.count(), 0);
  }
  return sum;
}

std::string WhyNoStop(const Scene& scene) {
  const std::vector<StopTime> stops = FindStopTimes(scene);
  if (std::any_of(stops.begin(), stops.end(), [](const StopTime& s) { return !s.runs.empty(); })) return "";
  const double minutes = Seconds(scene.thresholds.idle_after.count()) / 60;
  if (std::any_of(stops.begin(), stops.end(), [](const StopTime& s) { return s.peers_work; })) {
    return fmt::format(
        "other GPUs of the same job work while these are idle: in no {:g} minutes are all of them at 0 %", minutes);
  }
  return fmt::format("no run of {:g} minutes or longer at 0 % on all GPUs of a job (--idle-after)", minutes);
}

}  // namespace idleburn
