// Gives every busy instant of a device to one event, so that the times of events add up to the time budget.

#pragma once

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <vector>

#include "diagnose/trace_rows.h"
#include "profile/profile.h"

namespace idleburn {

// The order in which events claim an instant that several of them cover. It is that of the budget: compute, then
// communication, then copies.
constexpr int PaintRank(DeviceOp op) { return op == DeviceOp::kKernel ? 0 : op == DeviceOp::kComm ? 1 : 2; }

// Calls `visit(row, within_ns, own_ns)` for each event of the device that overlaps the window or lies in it without
// length. `within_ns` is its part of the window. `own_ns` are the instants that it claims: of a kernel and a copy at
// the same time the kernel claims them, of two kernels the one that started first. So the own times of all compute
// kernels are the budget's compute, those of communication its exposed_comm, those of copies and sets its exposed_copy.
//
// The heap holds the events that have begun, the next to claim on top. Events that ended meanwhile leave it when they
// come up. Memory: one row for each event that runs at a time, and for those that ended under a longer one.
template <typename Visit>
void PaintEvents(const ProfiledDevice& device, const StartOrder<DeviceEvent>& order, Interval window, Visit visit) {
  struct Running {
    int rank;
    std::int64_t start_ns;
    std::uint32_t row;
    std::int64_t end_ns;  // within the window
    std::int64_t within_ns;
    std::int64_t own_ns;
  };
  const auto later = [](const Running& a, const Running& b) {
    return std::tie(a.rank, a.start_ns, a.row) > std::tie(b.rank, b.start_ns, b.row);
  };
  std::vector<Running> running;
  std::int64_t now = window.start;
  const auto paint = [&](std::int64_t until) {
    while (!running.empty() && now < until) {
      Running& top = running.front();
      const std::int64_t stop = std::min(top.end_ns, until);
      top.own_ns += std::max<std::int64_t>(stop - now, 0);
      now = std::max(now, stop);
      if (top.end_ns > now) return;
      visit(top.row, top.within_ns, top.own_ns);
      std::pop_heap(running.begin(), running.end(), later);
      running.pop_back();
    }
    now = std::max(now, until);
  };
  for (StartOrder<DeviceEvent>::Walk walk(order); !walk.done(); walk.Next()) {
    const DeviceEvent& e = device.events[walk.row()];
    if (e.start_ns >= window.end && !(e.start_ns == window.end && window.Ns() == 0)) continue;
    if (e.end_ns <= window.start && e.start_ns != window.start) continue;
    const Interval at{std::max(e.start_ns, window.start), std::min(e.end_ns, window.end)};
    if (at.Ns() <= 0) {
      visit(walk.row(), 0, 0);
      continue;
    }
    paint(at.start);
    running.push_back({PaintRank(e.op), e.start_ns, walk.row(), at.end, at.Ns(), 0});
    std::push_heap(running.begin(), running.end(), later);
  }
  paint(window.end);
  while (!running.empty()) {  // ended under longer ones
    visit(running.front().row, running.front().within_ns, running.front().own_ns);
    std::pop_heap(running.begin(), running.end(), later);
    running.pop_back();
  }
}

}  // namespace idleburn
