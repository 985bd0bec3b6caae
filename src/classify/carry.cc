#include "classify/carry.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

namespace idleburn {
namespace {

// Host and place of a board; empty where none is known, and for MIG instances, which share theirs.
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
