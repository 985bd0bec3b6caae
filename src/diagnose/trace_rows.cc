#include "diagnose/trace_rows.h"

#include <algorithm>
#include <bit>
#include <cctype>
#include <numeric>
#include <utility>

#include "stats/order.h"

namespace idleburn {

// Calls and device events are compared by the same two members.
template <typename Row>
bool LaunchIndex::Before(const HostCall& call, const Row& row) const {
  if (call.correlation != row.correlation) return call.correlation < row.correlation;
  return ProcessOf(call.process) < ProcessOf(row.process);
}

LaunchIndex::LaunchIndex(const Profile& profile) : calls_(profile.calls), by_process_(profile.correlation_by_process) {
  const auto before = [this](const HostCall& a, const HostCall& b) { return Before(a, b); };
  // Ids are assigned in call order, so many files are sorted except for a few overtaking threads.
  if (std::is_sorted(calls_.begin(), calls_.end(), before)) return;
  order_.resize(calls_.size());
  std::iota(order_.begin(), order_.end(), 0U);
  // Equal calls keep their order in the file.
  std::sort(order_.begin(), order_.end(), [&](std::uint32_t a, std::uint32_t b) {
    return Before(calls_[a], calls_[b]) || (!Before(calls_[b], calls_[a]) && a < b);
  });
}

// The first call with at least the event's id. Ids are nearly evenly spaced, so the search starts from a good
// guess.
std::size_t LaunchIndex::First(const DeviceEvent& event) const {
  const std::size_t n = event.correlation == kNoCorrelation ? 0 : calls_.size();
  if (n == 0) return 0;
  const auto id = [](const auto& row) { return static_cast<double>(row.correlation); };
  return PartitionPointNear(n, EvenGuess(n, id(At(0)), id(At(n - 1)), id(event)),
                            [&](std::size_t i) { return Before(At(i), event); });
}

// Whether call `i` has the event's id and process.
bool LaunchIndex::Matches(std::size_t i, const DeviceEvent& event) const {
  if (event.correlation == kNoCorrelation || i >= calls_.size()) return false;
  const HostCall& call = At(i);
  return call.correlation == event.correlation && ProcessOf(call.process) == ProcessOf(event.process);
}

const HostCall* LaunchIndex::Of(const DeviceEvent& event) const {
  const std::size_t first = First(event);
  return Matches(first, event) ? &At(first) : nullptr;
}

bool LaunchIndex::IsAmbiguous(const DeviceEvent& event) const {
  if (by_process_) return false;
  const std::size_t first = First(event);
  for (std::size_t i = first; Matches(i, event); ++i) {
    if (At(i).process != At(first).process) return true;
  }
  return false;
}

bool IsFp32Matrix(std::string_view kernel) {
  for (const std::string_view word : {"sgemm", "scudnn"}) {
    for (std::size_t at = kernel.find(word); at != std::string_view::npos; at = kernel.find(word, at + 1)) {
      if (at == 0 || std::isalnum(static_cast<unsigned char>(kernel[at - 1])) == 0) return true;
    }
  }
  return false;
}

std::vector<bool> Fp32Names(const Profile& profile) {
  std::vector<bool> fp32(profile.names.size());
  std::transform(profile.names.begin(), profile.names.end(), fp32.begin(), IsFp32Matrix);
  return fp32;
}

template <typename Row>
StartOrder<Row>::StartOrder(const std::vector<Row>& rows, std::size_t at_once)
    : rows_(rows), sorted_(std::is_sorted(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
        return a.start_ns < b.start_ns;
      })) {
  if (sorted_) return;
  if (rows.size() <= at_once) {
    Sort(INT64_MIN, INT64_MAX, &order_);
    return;
  }
  // Borders come from a sample of the rows. Parts are usually half as large as they may be.
  constexpr std::size_t kSamplesPerPart = 64;
  const std::size_t parts = 2 * (rows.size() / at_once + 1);
  const std::size_t stride = std::max<std::size_t>(rows.size() / (parts * kSamplesPerPart), 1);
  std::vector<std::int64_t> starts;
  for (std::size_t i = 0; i < rows.size(); i += stride) starts.push_back(rows[i].start_ns);
  std::sort(starts.begin(), starts.end());
  borders_.push_back(INT64_MIN);
  for (std::size_t part = 1; part < parts; ++part) borders_.push_back(starts[part * starts.size() / parts]);
}

template <typename Row>
void StartOrder<Row>::Sort(std::int64_t from, std::int64_t before, std::vector<std::uint32_t>* order) const {
  order->clear();
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    if (rows_[i].start_ns >= from && rows_[i].start_ns < before) order->push_back(static_cast<std::uint32_t>(i));
  }
  std::sort(order->begin(), order->end(), [this](std::uint32_t a, std::uint32_t b) {
    return rows_[a].start_ns != rows_[b].start_ns ? rows_[a].start_ns < rows_[b].start_ns : a < b;
  });
}

template <typename Row>
void StartOrder<Row>::Walk::Load() {
  const std::vector<std::int64_t>& borders = order_.borders_;
  passed_ += at_;
  at_ = 0;
  part_.clear();
  while (part_.empty() && next_part_ < borders.size()) {
    const std::int64_t from = borders[next_part_++];
    order_.Sort(from, next_part_ < borders.size() ? borders[next_part_] : INT64_MAX, &part_);
  }
}

template class StartOrder<HostCall>;
template class StartOrder<DeviceEvent>;

// Keeps the first row of each launch.
void GraphLaunches::Join(std::vector<Launch>& launches) {
  std::sort(launches.begin(), launches.end());
  std::size_t kept = 0;
  for (const Launch& launch : launches) {
    if (kept > 0 && launches[kept - 1].Same(launch)) {
      launches[kept - 1].many = true;
    } else {
      launches[kept++] = launch;
    }
  }
  launches.resize(kept);
}

// Handles part of the ids at a time. All at once would take half as much memory as the events.
GraphLaunches::GraphLaunches(const std::vector<DeviceEvent>& events) {
  constexpr std::size_t kAtOnce = std::size_t{1} << 17;
  const std::size_t parts = std::bit_ceil(events.size() / kAtOnce + 1);
  std::vector<Launch> some;
  for (std::size_t part = 0; part < parts; ++part) {
    some.clear();
    std::size_t join_at = 2 * kAtOnce;
    for (const DeviceEvent& e : events) {
      if (e.correlation == kNoCorrelation || (static_cast<std::uint64_t>(e.correlation) & (parts - 1)) != part)
        continue;
      some.push_back({e.correlation, e.start_ns, e.process, false});
      if (some.size() < join_at) continue;
      Join(some);
      join_at = some.size() + 2 * kAtOnce;
    }
    Join(some);
    std::copy_if(some.begin(), some.end(), std::back_inserter(launches_), [](const Launch& l) { return l.many; });
  }
  std::sort(launches_.begin(), launches_.end());
}

std::optional<std::int64_t> GraphLaunches::FirstStart(const DeviceEvent& event) const {
  const Launch one{event.correlation, INT64_MIN, event.process, true};
  const auto at = std::lower_bound(launches_.begin(), launches_.end(), one);
  return at != launches_.end() && at->Same(one) ? std::optional(at->start_ns) : std::nullopt;
}

std::vector<bool> Drivers(const Profile& profile, const ProfiledDevice& device) {
  std::vector<bool> drives(UINT16_MAX + 1, !profile.correlation_by_process);
  for (const DeviceEvent& e : device.events) drives[e.process] = true;
  return drives;
}

namespace {

// The usual maximum in a slice, even for a device that copies and never computes.
constexpr std::size_t kMostEvents = std::size_t{1} << 16;

}  // namespace

// Stores how much is cut before each part, so that moving an instant is one binary search.
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

// The events decide where a slice ends; calls and ranges follow.
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

// Takes the events of the slice and decides where it ends: one nanosecond into an event that goes on, once enough
// events began. So the device is busy at the border, and no idle gap crosses it.
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

// Takes the calls that touch the slice. Calls that continue stay open for the next one.
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
        if (call.start_ns >= slice->at.start && rows_.drives[call.process] &&
            rows_.work.first.capture.OverlapNs({call.start_ns, call.start_ns + 1}) == 0) {
          slice->launches.push_back(call.start_ns);
        }
        break;
      case CallKind::kSync:
      case CallKind::kMemcpy:
      case CallKind::kAllocate:
      case CallKind::kFree:
        if (call.end_ns > slice->at.start) some.push_back(row);
        break;
      default:
        break;
    }
  }
  for (const std::uint32_t row : some) {
    const HostCall& call = calls[row];
    slice->calls.push_back({{std::max(call.start_ns, slice->at.start), std::min(call.end_ns, slice->at.end)}, row});
    if (call.end_ns > slice->at.end) open_calls_.push_back(row);
  }
}

// Clips the ranges of loaders, operators, reads, overhead and waiting to the slice.
void Slicer::TakeRanges(TraceSlice* slice) const {
  const HostRanges& host = rows_.profile.host;
  slice->dataloader = Clip(host.dataloader, slice->at);
  slice->loader_ahead = Clip(host.loader_ahead, slice->at);
  slice->cpu_op = Clip(host.cpu_op, slice->at);
  slice->scalar_read = Clip(host.scalar_read, slice->at);
  slice->overhead = Clip(host.overhead, slice->at);
  slice->first_use = Clip(rows_.work.first_use, slice->at);
  slice->memory_calls = Clip(rows_.work.allocating, slice->at);
  slice->to_host = Clip(rows_.work.to_host, slice->at);
  slice->cut = Clip(rows_.work.cut, slice->at);
  slice->optimizer = Clip(host.optimizer, slice->at);
  slice->peer_wait = spec_.peer_wait == nullptr ? IntervalSet() : Clip(*spec_.peer_wait, slice->at);
}

}  // namespace idleburn
