#include "diagnose/host_work.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "diagnose/trace_rows.h"
#include "stats/order.h"

namespace idleburn {
namespace {

// A wait that is worth the question whether its work is in the file.
constexpr std::int64_t kLongWaitNs = 1'000'000;
// A copy explains a call of ten times its bytes at 1 GB/s, which is a slow pageable copy, and a millisecond.
constexpr std::int64_t kCopyNsPerByte = 10;
// The copy itself runs at the end of its call.
constexpr std::int64_t kCopyBusyPercent = 5;

bool Launches(const HostCall& call) { return call.kind == CallKind::kLaunchKernel; }

// Graph captures: from the call that begins one to the call that ends it, on one thread.
IntervalSet FindCaptures(const std::vector<const HostCall*>& borders) {
  std::map<std::uint32_t, std::int64_t> open;  // by thread
  std::vector<Interval> captures;
  for (const HostCall* call : borders) {
    if (call->kind == CallKind::kBeginCapture) {
      open.emplace(call->thread, call->start_ns);
    } else if (const auto begun = open.find(call->thread); begun != open.end()) {
      captures.push_back({begun->second, call->end_ns});
      open.erase(begun);
    }
  }
  return IntervalSet::UnionOf(std::move(captures));
}

// Whether an instant lies in the set.
bool Holds(const IntervalSet& set, std::int64_t t) { return set.OverlapNs({t, t + 1}) > 0; }

// The call that launched each kernel's first run, if it ran more than once or not.
std::unordered_map<NameId, const DeviceEvent*> FirstRuns(const ProfiledDevice& device) {
  std::unordered_map<NameId, const DeviceEvent*> first;
  for (const DeviceEvent& e : device.events) {
    if ((e.op != DeviceOp::kKernel && e.op != DeviceOp::kComm) || e.name == kNoName) continue;
    const DeviceEvent*& known = first[e.name];
    if (known == nullptr || e.start_ns < known->start_ns) known = &e;
  }
  return first;
}

// Launches that loaded or compiled what they launched. Launches inside a capture run nothing and are quick, so they
// are left out of the median.
void FindSlowLaunches(const Profile& profile, const ProfiledDevice& device, const std::vector<bool>& drives,
                      const LaunchIndex& launches, FirstUse& first) {
  WalkedMedian lengths;
  const auto each = [&](auto take) {
    for (const HostCall& call : profile.calls) {
      if (Launches(call) && drives[call.process] && !Holds(first.capture, call.start_ns)) {
        (lengths.*take)(call.end_ns - call.start_ns);
      }
    }
  };
  each(&WalkedMedian::Count);
  if (lengths.count() == 0) return;
  if (lengths.Narrow()) each(&WalkedMedian::Collect);
  first.median_launch_ns = lengths.Value();
  std::vector<Interval> slow;
  for (const auto& [name, event] : FirstRuns(device)) {
    const HostCall* call = launches.Of(*event);
    if (call == nullptr || !Launches(*call)) continue;
    const std::int64_t ns = call->end_ns - call->start_ns;
    if (static_cast<double>(ns) < kSlowLaunch * first.median_launch_ns || ns == 0) continue;
    slow.push_back({call->start_ns, call->end_ns});
    ++first.slow_launches;
    // Of equal ones the first name, so that the order of a hash table decides nothing.
    if (ns > first.slowest_ns || (ns == first.slowest_ns && name < first.slowest)) first.slowest = name;
    first.slowest_ns = std::max(first.slowest_ns, ns);
  }
  first.launches = IntervalSet::UnionOf(std::move(slow));
}

// The bytes of the copy that a long call made. A call without a copy in the file copied nothing that is known.
using CopiedBytes = std::unordered_map<const HostCall*, std::int64_t>;

// The calls that wait while no device of the file works.
IntervalSet FindCut(const Profile& profile, const std::vector<const HostCall*>& waits, const CopiedBytes& bytes) {
  std::vector<Interval> all;
  for (const HostCall* call : waits) all.push_back({call->start_ns, call->end_ns});
  const IntervalSet asked = IntervalSet::UnionOf(std::move(all));
  if (asked.empty()) return {};
  IntervalUnion work;
  for (const ProfiledDevice& device : profile.devices) {
    for (const DeviceEvent& e : device.events) {
      if (asked.OverlapNs({e.start_ns, e.end_ns}) > 0) work.Add({e.start_ns, e.end_ns});
    }
  }
  const IntervalSet busy = work.Take();
  std::vector<Interval> cut;
  for (const HostCall* call : waits) {
    const Interval at{call->start_ns, call->end_ns};
    const std::int64_t worked = busy.OverlapNs(at);
    if (call->kind == CallKind::kMemcpy) {
      const auto copied = bytes.find(call);
      const std::int64_t own = copied == bytes.end() ? 0 : std::min(copied->second, at.Ns()) * kCopyNsPerByte;
      if (100 * worked > kCopyBusyPercent * at.Ns() || at.Ns() <= own + kLongWaitNs) continue;
    } else if (worked > 0) {
      continue;
    }
    cut.push_back(at);
  }
  if (cut.size() >= kRecurringWaits) return {};
  return IntervalSet::UnionOf(std::move(cut));
}

}  // namespace

HostWork FindHostWork(const Profile& profile, const ProfiledDevice& device, const LaunchIndex& launches) {
  const std::vector<bool> drives = Drivers(profile, device);
  HostWork work;
  IntervalUnion setup;
  IntervalUnion allocating;
  std::vector<const HostCall*> waits;
  std::vector<const HostCall*> borders;
  const HostCall* earliest = nullptr;
  for (const HostCall& call : profile.calls) {
    if (drives[call.process] && (earliest == nullptr || call.start_ns < earliest->start_ns)) earliest = &call;
  }
  for (const HostCall& call : profile.calls) {
    if (!drives[call.process]) continue;
    const Interval at{call.start_ns, call.end_ns};
    const bool wait = call.kind == CallKind::kSync || call.kind == CallKind::kMemcpy;
    if (wait && at.Ns() > kLongWaitNs) waits.push_back(&call);
    if (call.kind == CallKind::kBeginCapture || call.kind == CallKind::kEndCapture) borders.push_back(&call);
    // Freeing nothing as the very first call is the usual way to create the context.
    if (call.kind == CallKind::kFirstUse || (&call == earliest && call.kind == CallKind::kFree)) {
      setup.Add(at);
    } else if (IsAllocation(call.kind)) {
      allocating.Add(at);
      work.allocation_starts.push_back(at.start);
    }
  }
  std::stable_sort(borders.begin(), borders.end(),
                   [](const HostCall* a, const HostCall* b) { return a->start_ns < b->start_ns; });
  work.first.setup = setup.Take();
  work.first.capture = FindCaptures(borders);
  work.allocating = allocating.Take();
  FindSlowLaunches(profile, device, drives, launches, work.first);
  work.first_use =
      Union(Union(work.first.launches, work.first.setup), Union(work.first.capture, profile.host.compiling));

  CopiedBytes bytes;
  IntervalUnion to_host;
  for (const DeviceEvent& e : device.events) {
    if (e.op != DeviceOp::kMemcpy) continue;
    const HostCall* call = launches.Of(e);
    if (call == nullptr) continue;
    if (e.copy == CopyKind::kDtoH) to_host.Add({call->start_ns, call->end_ns});
    if (call->end_ns - call->start_ns > kLongWaitNs) bytes.emplace(call, e.bytes);
  }
  work.to_host = to_host.Take();
  work.cut = FindCut(profile, waits, bytes);
  return work;
}

}  // namespace idleburn
