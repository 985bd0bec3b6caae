#include "diagnose/trace_slice.h"

#include <algorithm>
#include <utility>

#include "stats/order.h"

namespace idleburn {
namespace {

// In a slice, as a rule, whatever the device does: it may copy and never compute.
constexpr std::size_t kMostEvents = std::size_t{1} << 16;

}  // namespace

SliceClock::SliceClock(Interval slice, std::int64_t before, const IntervalSet& removed)
    : slice_(slice), before_(before), removed_(removed) {
  removed_before_.reserve(removed.parts().size());
  std::int64_t total = 0;
  for (const Interval& part : removed.parts()) {
    removed_before_.push_back(total);
    total += part.Ns();
  }
}

std::int64_t SliceClock::operator()(std::int64_t t) const {
  t = std::clamp(t, slice_.start, slice_.end);
  const std::span<const Interval> parts = removed_.parts();
  if (parts.empty()) return t - before_;
  const std::size_t guess = EvenGuess(parts.size(), static_cast<double>(slice_.start), static_cast<double>(slice_.end),
                                      static_cast<double>(t));
  const std::size_t next = PartitionPointNear(parts.size(), guess, [&](std::size_t i) { return parts[i].start < t; });
  if (next == 0) return t - before_;
  const Interval& last = parts[next - 1];
  return t - before_ - removed_before_[next - 1] - (std::min(t, last.end) - last.start);
}

IntervalSet SliceClock::operator()(const IntervalSet& set) const {
  std::vector<Interval> parts;
  parts.reserve(set.parts().size());
  for (const Interval& part : set.parts()) parts.push_back((*this)(part));
  return IntervalSet::UnionOf(std::move(parts));
}

Slicer::Slicer(const TraceRows& rows, const WindowSpec& spec)
    : rows_(rows), spec_(spec), from_(spec.span.start), events_(rows.events), calls_(rows.calls) {}

bool Slicer::Next(TraceSlice* slice) {
  if (done_) return false;
  TakeEvents(slice);
  TakeCalls(slice);
  TakeRanges(slice);
  slice->clock = SliceClock(slice->at, 0, {});
  from_ = slice->at.end;
  done_ = slice->last;
  return true;
}

// The events in it, and with them where it ends.
void Slicer::TakeEvents(TraceSlice* slice) {
  const std::vector<DeviceEvent>& events = rows_.device.events;
  const Interval window = spec_.span;
  std::vector<std::uint32_t> some = std::exchange(open_events_, {});
  std::int64_t to = window.end;
  bool last = true;
  for (std::size_t fresh = 0; !events_.done(); events_.Next()) {
    const std::uint32_t row = events_.row();
    const DeviceEvent& e = events[row];
    if (e.start_ns > window.end || (e.start_ns == window.end && spec_.window == Window::kProfilerSteps)) break;
    if (!last && e.start_ns >= to) break;
    if (e.start_ns < from_ && e.end_ns <= from_) continue;
    some.push_back(row);
    const std::size_t enough = e.op == DeviceOp::kKernel ? spec_.slice_events : kMostEvents;
    const bool goes_on = e.start_ns >= from_ && e.start_ns + 1 < std::min(e.end_ns, window.end);
    if (++fresh < enough || !last || !goes_on) continue;
    to = e.start_ns + 1;
    last = false;
  }
  slice->at = {from_, to};
  slice->last = last;
  slice->events.clear();
  for (const std::uint32_t row : some) {
    const DeviceEvent& e = events[row];
    SliceEvent part;
    part.at = {std::clamp(e.start_ns, from_, to), std::clamp(e.end_ns, from_, to)};
    part.row = row;
    part.begins = e.start_ns >= window.start;
    part.goes_on = !last && e.end_ns > to;
    if (from_ == window.start) part.outside += std::max<std::int64_t>(window.start - e.start_ns, 0);
    if (last) part.outside += std::max<std::int64_t>(e.end_ns - window.end, 0);
    slice->events.push_back(part);
    if (part.goes_on) open_events_.push_back(row);
  }
}

void Slicer::TakeCalls(TraceSlice* slice) {
  const std::vector<HostCall>& calls = rows_.profile.calls;
  slice->calls.clear();
  slice->launches.clear();
  std::vector<std::uint32_t> some = std::exchange(open_calls_, {});
  for (; !calls_.done(); calls_.Next()) {
    const std::uint32_t row = calls_.row();
    const HostCall& call = calls[row];
    if (call.start_ns >= slice->at.end) break;
    switch (call.kind) {
      case CallKind::kLaunchKernel:
        if (call.start_ns >= slice->at.start && rows_.drives[call.process]) slice->launches.push_back(call.start_ns);
        break;
      case CallKind::kSync:
      case CallKind::kMemcpy:
      case CallKind::kAllocate:
        if (call.end_ns > slice->at.start) some.push_back(row);
        break;
      case CallKind::kLaunchGraph:
      case CallKind::kOther:
        break;
    }
  }
  for (const std::uint32_t row : some) {
    const HostCall& call = calls[row];
    slice->calls.push_back({{std::max(call.start_ns, slice->at.start), std::min(call.end_ns, slice->at.end)}, row});
    if (call.end_ns > slice->at.end) open_calls_.push_back(row);
  }
}

void Slicer::TakeRanges(TraceSlice* slice) const {
  const HostRanges& host = rows_.profile.host;
  slice->dataloader = Clip(host.dataloader, slice->at);
  slice->loader_ahead = Clip(host.loader_ahead, slice->at);
  slice->cpu_op = Clip(host.cpu_op, slice->at);
  slice->scalar_read = Clip(host.scalar_read, slice->at);
  slice->overhead = Clip(host.overhead, slice->at);
  slice->peer_wait = spec_.peer_wait == nullptr ? IntervalSet() : Clip(*spec_.peer_wait, slice->at);
}

}  // namespace idleburn
