#include "diagnose/trace_rules.h"

#include <array>

namespace idleburn {
namespace {

using Side = FactTest::Side;
using Gain = TraceRule::Gain;

constexpr double kMaterial = 0.03;  // the lowest threshold in use by peers (xprof)

// Small or pageable copies; one of them is enough.
constexpr auto kWeakCopies =
    std::to_array<FactTest>({{Fact::kHtodMedianBytes, Side::kBelow, 1e6}, {Fact::kHtodPageable, Side::kAtLeast, 0.5}});
constexpr auto kFullLink =
    std::to_array<FactTest>({{Fact::kHtodPinned, Side::kAtLeast, 0.5}, {Fact::kLinkUse, Side::kAtLeast, 0.6}});
constexpr auto kFullMemory = std::to_array<FactTest>({{Fact::kMemoryHeld, Side::kAtLeast, 0.9}});
constexpr auto kManyLaunches =
    std::to_array<FactTest>({{Fact::kHostGaps, Side::kAtLeast, 20}, {Fact::kKernelPerLaunch, Side::kBelow, 1}});
constexpr auto kNotLaunches = std::to_array<FactTest>({
    {Fact::kLoader, Side::kAtLeast, kMaterial},
    {Fact::kSyncApi, Side::kAtLeast, kMaterial},
    {Fact::kQueuedWait, Side::kAtLeast, 0.1},    // a deep queue: the host was early
    {Fact::kLargestHostGap, Side::kAbove, 0.5},  // then it is one function a step, not many launches
});
constexpr auto kFp32 = std::to_array<FactTest>({{Fact::kFp32, Side::kAtLeast, kMaterial}});

constexpr auto kRules = std::to_array<TraceRule>({
    {"loader_cpu_spare_cores", "idle time inside the data loader", LoaderTime, kMaterial, {}, {}, {}, Gain::kAll},
    {"synchronization",
     "idle time inside synchronising calls of the launching thread",
     SyncTime,
     kMaterial,
     {},
     {},
     {},
     Gain::kAll},
    {"memory_pressure",
     "idle time inside calls that take device memory or give it back, after the first step",
     AllocationTime,
     kMaterial,
     kFullMemory,
     {},
     {},
     Gain::kAll},
    {"h2d_bandwidth",
     "copies to the device that nothing hides",
     ExposedHtodTime,
     0.2,
     kFullLink,
     {},
     {},
     Gain::kOverlap},
    {"h2d_small",
     "copies to the device that nothing hides, and idle time inside copy calls",
     HtodTime,
     kMaterial,
     {},
     kWeakCopies,
     {},
     Gain::kAll},
    {"launch_bound",
     "idle time in which the host prepares launches (operators, other host work, launch latency)",
     LaunchTime,
     0.2,
     kManyLaunches,
     {},
     kNotLaunches,
     Gain::kAll},
    {"comm_exposed", "communication that compute does not hide", TransferTime, kMaterial, {}, {}, {}, Gain::kAll, true},
    {"straggler_or_dependency",
     "exposed communication in which this rank waits for another",
     PeerTime,
     kMaterial,
     {},
     {},
     {},
     Gain::kAllRanks,
     true},
    {"straggler_or_dependency",
     "idle time with launched work queued, after the launch call returned",
     QueuedTime,
     kMaterial,
     {},
     {},
     {},
     Gain::kUnknown},
    {"compute_bound", "kernels that compute", ComputeTime, 0.9, kFp32, {}, {}, Gain::kUnknown},
});

template <IdleClass c>
TimeSet IdleOf(const TraceScene& scene) {
  return IdleTime(scene, c);
}

TimeSet ExposedCopy(const TraceScene& scene) {
  return scene.Where(
      [](Traits t) { return Has(t, BitOf(Trait::kCopy)) && !Has(t, AnyOf(Trait::kCompute, Trait::kComm)); });
}
TimeSet Unattributed(const TraceScene& scene) {
  return scene.trace.budget.idle_by_class ? TimeSet() : scene.Where([](Traits t) { return !Has(t, kBusyTraits); });
}

constexpr auto kShares = std::to_array<TestedShare>({
    {"loader", "idle time inside the data loader", LoaderTime, "record at least four steps"},
    {"sync_api", "idle time inside synchronising calls", IdleOf<IdleClass::kSyncApi>, "", &RecordAgain::names},
    {"memcpy_api", "idle time inside copy calls", IdleOf<IdleClass::kMemcpyApi>, "", &RecordAgain::names},
    {"host", "idle time while the host prepares launches", HostTime, "", &RecordAgain::names},
    {"queued_wait", "idle time with launched work queued", IdleOf<IdleClass::kQueuedWait>,
     "record every rank at once: waiting for a peer shows only beside it"},
    {"no_launch_record", "idle time before work whose launch is not in the file", IdleOf<IdleClass::kNoLaunchRecord>,
     "", &RecordAgain::early},
    {"tail_head", "idle time at the end of the steps", IdleOf<IdleClass::kTailHead>,
     "record 20 steps: the end of the capture then weighs less"},
    {"exposed_comm", "communication that compute does not hide", ExposedComm, "record every rank at once"},
    {"exposed_copy", "copies that compute does not hide", ExposedCopy, "", &RecordAgain::names},
    {"unattributed", "idle time whose launches cannot be told apart", Unattributed,
     "record one process a file: correlation ids of several processes are the same in this one"},
});

}  // namespace

std::span<const TraceRule> TraceRules() { return kRules; }
std::span<const TestedShare> TestedShares() { return kShares; }

}  // namespace idleburn
