#include "classify/stretch.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

namespace idleburn {
namespace {

// Host and place of a board. Empty where none is known, and for MIG instances, which share that of their board.
std::string SlotOf(const Device& device) {
  if (device.mig || device.board) return {};
  if (device.index) return device.host + "/index " + std::to_string(*device.index);
  return device.bus_id.empty() ? std::string() : device.host + "/bus " + device.bus_id;
}

// Positions of boards in `run` that took turns in one slot, in order of time.
std::vector<std::vector<std::size_t>> TurnsIn(const RunResult& run, const DeviceTable& devices) {
  std::map<std::string, std::vector<std::size_t>> slots;
  for (std::size_t i = 0; i < run.devices.size(); ++i) {
    const std::string slot = SlotOf(devices[run.devices[i].device]);
    if (!slot.empty()) slots[slot].push_back(i);
  }
  std::vector<std::vector<std::size_t>> turns;
  for (auto& [slot, boards] : slots) {
    std::sort(boards.begin(), boards.end(), [&](std::size_t a, std::size_t b) {
      return std::pair(run.devices[a].first, a) < std::pair(run.devices[b].first, b);
    });
    bool apart = boards.size() > 1;
    for (std::size_t i = 1; i < boards.size(); ++i) {
      apart = apart && run.devices[boards[i - 1]].last <= run.devices[boards[i]].first;
    }
    if (apart) turns.push_back(boards);
  }
  return turns;
}

}  // namespace

Silence Silence::Of(const DeviceTotals& t) {
  Silence silence;
  silence.time = RunTime::Of(t);
  silence.idle_held_ns = t.idle_held_ns;
  silence.idle_empty_ns = t.idle_empty_ns;
  silence.idle_unknown_ns = t.idle_unknown_ns;
  silence.bound_with_activity_ns = t.bound_with_activity_ns;
  silence.bound_with_power_ns = t.bound_with_power_ns;
  for (std::size_t slot = 0; slot < kMeasured.size(); ++slot) {
    const Integral& mean = t.*kMeasuredMean[slot];
    if (mean.ns > 0) silence.held.push_back({slot, mean, t.range[slot].seconds});
  }
  return silence;
}

void Silence::AddTo(DeviceTotals* t) const {
  for (std::size_t i = 0; i < kPhaseCount; ++i) t->phase_ns[i] += time.phase_ns[i];
  for (std::size_t i = 0; i < kUnobservedCount; ++i) t->unobserved_ns[i] += time.unobserved_ns[i];
  t->idle_held_ns += idle_held_ns;
  t->idle_empty_ns += idle_empty_ns;
  t->idle_unknown_ns += idle_unknown_ns;
  t->bound_with_activity_ns += bound_with_activity_ns;
  t->bound_with_power_ns += bound_with_power_ns;
  for (const Held& signal : held) {
    (t->*kMeasuredMean[signal.slot]).Merge(signal.mean);
    t->range[signal.slot].seconds.Merge(signal.seconds);
  }
  t->energy_mj += energy_mj;
  t->energy_ns += energy_ns;
  t->energy_resets += energy_resets;
  t->energy_out_of_range += energy_out_of_range;
}

// One pass in order of time: a stretch that begins within the reach of all before it goes on with their run.
std::vector<RunSpan> RunsOf(const std::vector<std::vector<Stretch>>& stretches) {
  std::vector<const Stretch*> all;
  for (const std::vector<Stretch>& device : stretches) {
    for (const Stretch& stretch : device) all.push_back(&stretch);
  }
  std::sort(all.begin(), all.end(), [](const Stretch* a, const Stretch* b) { return a->first < b->first; });
  std::vector<RunSpan> runs;
  std::int64_t reach = 0;
  for (const Stretch* stretch : all) {
    const Instant first = Instant::FromNanos(stretch->first);
    const Instant last = Instant::FromNanos(stretch->last);
    if (runs.empty() || stretch->first > reach) {
      runs.push_back({first, last});
      reach = stretch->reach;
    }
    runs.back().end = std::max(runs.back().end, last);
    reach = std::max(reach, stretch->reach);
  }
  return runs;
}

// Runs begin and end with stretches, so a stretch lies in one run as a whole.
void EnterRuns(const std::vector<Stretch>& stretches, const std::vector<RunSpan>& runs, DeviceResult* device) {
  const Silence* before = nullptr;
  for (const Stretch& stretch : stretches) {
    const Instant first = Instant::FromNanos(stretch.first);
    const auto next = std::upper_bound(runs.begin(), runs.end(), first,
                                       [](Instant time, const RunSpan& run) { return time < run.start; });
    const auto run = static_cast<std::size_t>(next - runs.begin()) - 1;
    if (device->runs.empty() || device->runs.back().run != run) {
      device->runs.push_back({run, first, first, {}});
    } else if (before != nullptr) {
      before->AddTo(&device->totals);
      device->runs.back().time.Merge(before->time);
    }
    device->runs.back().last = Instant::FromNanos(stretch.last);
    device->runs.back().time.Merge(stretch.time);
    before = &stretch.after;
  }
}

// A gap within what is held at an end is left out: nobody can tell it from the pace of reading.
void CarryToEnds(const RunWindow& window, const DeviceTable& devices, const std::vector<Nanos>& hold, RunResult* run) {
  if (window.start) run->start = std::min(run->start, *window.start);
  if (window.end) run->end = std::max(run->end, *window.end);
  std::vector<RunSpan> ends(run->devices.size(), {run->start, run->end});
  if (window.named) {
    for (const std::vector<std::size_t>& boards : TurnsIn(*run, devices)) {
      for (std::size_t i = 1; i < boards.size(); ++i) {
        ends[boards[i]].start = ends[boards[i - 1]].end = run->devices[boards[i - 1]].last;
      }
    }
  }
  for (std::size_t i = 0; i < run->devices.size(); ++i) {
    DeviceResult& d = run->devices[i];
    std::int64_t& gap = d.totals.unobserved_ns[static_cast<std::size_t>(Unobserved::kGap)];
    if (d.first - ends[i].start > hold[i]) {
      gap += (d.first - ends[i].start).count();
      d.first = ends[i].start;
    }
    if (ends[i].end - d.last > hold[i]) {
      gap += (ends[i].end - d.last).count();
      d.last = ends[i].end;
    }
    d.runs = {{0, d.first, d.last, RunTime::Of(d.totals)}};
  }
  run->runs = {{run->start, run->end}};
  run->window_named = window.named;
}

}  // namespace idleburn
