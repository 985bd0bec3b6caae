#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "profile/interval_set.h"
#include "profile/named_scope.h"
#include "profile/op_work.h"
#include "profile/profile_names.h"

namespace idleburn {

// What a profiler recorded about one or more processes of a machine, as the few kinds of rows that the diagnosis uses
// (diagnose/trace_diagnosis.h). They are the same for every profiler. Times are integer nanoseconds on the profile's
// own clock; ranges are half-open.
//
// Rows are small and names are indices, because a trace of some minutes has millions of events.

// The correlation of a device event or host call that has none. The correlation id of a device event is that of the
// call that launched it. So it tells what the host did while the device waited for the event.
inline constexpr std::int64_t kNoCorrelation = -1;

// A longer event is an error of the file: no profile lasts a week.
inline constexpr std::int64_t kLongestEventNs = 7 * 24 * kNanosPerHour;

// What a device event is. To the profiler communication is a kernel, and only its name tells it from compute.
enum class DeviceOp : std::uint8_t {
  kKernel,
  kComm,  // a kernel that moves data between GPUs (CommFamily)
  kMemcpy,
  kMemset
};
// The direction of a copy (H host, D device, P another device), and the memory at each end. Copies from pageable
// memory are staged by the CPU and cannot overlap with kernels as copies from pinned memory do.
enum class CopyKind : std::uint8_t { kNone, kHtoD, kDtoH, kDtoD, kPtoP, kHtoH, kOther };
enum class MemoryKind : std::uint8_t { kUnknown, kPageable, kPinned, kDevice, kManaged };

// Work of a device: a kernel, a copy or a set.
struct DeviceEvent {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;                    // not before start_ns
  std::int64_t correlation = kNoCorrelation;  // id of the call that launched it, within `process`
  std::int64_t bytes = 0;                     // copied or set
  NameId name = kNoName;
  std::uint32_t stream = 0;
  std::uint16_t process = 0;  // index into Profile::processes
  DeviceOp op = DeviceOp::kKernel;
  CopyKind copy = CopyKind::kNone;
  MemoryKind from = MemoryKind::kUnknown;
  MemoryKind to = MemoryKind::kUnknown;

  friend bool operator==(const DeviceEvent&, const DeviceEvent&) = default;
};
static_assert(sizeof(DeviceEvent) <= 48);

// What a call of the host does to a device, as far as the causes of idle time ask for it.
enum class CallKind : std::uint8_t {
  kLaunchKernel,  // the name has LaunchKernel in it
  kLaunchGraph,
  kSync,          // {cuda,hip}{Stream,Device,Event}Synchronize...
  kMemcpy,        // the name has Memcpy in it, blocking or not; never also kSync
  kAllocate,      // takes device memory from the driver; a caching allocator does so rarely
  kFree,          // returns it
  kAllocateHost,  // pinned host memory, or memory of a pool: taken, registered or returned
  kFirstUse,      // loads code, creates a context, a handle or a communicator: once in a process
  kBeginCapture,  // starts recording a graph: launches from here on run nothing
  kEndCapture,
  kOther
};
// Whether the call takes memory or returns it, of any kind.
constexpr bool IsAllocation(CallKind kind) {
  return kind == CallKind::kAllocate || kind == CallKind::kFree || kind == CallKind::kAllocateHost;
}

// A call of the host into the runtime or the driver.
struct HostCall {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t correlation = kNoCorrelation;
  std::uint32_t thread = 0;  // index into Profile::threads
  std::uint16_t process = 0;
  CallKind kind = CallKind::kOther;

  friend bool operator==(const HostCall&, const HostCall&) = default;
};
static_assert(sizeof(HostCall) <= 32);

// What host threads did, as unions over all threads. Device mirrors of annotations are in none of them. Unions
// suffice: the diagnosis asks what any thread did during a gap of the device, and never which operator.
struct HostRanges {
  IntervalSet dataloader;    // in the iterator of a data loader
  IntervalSet loader_ahead;  // the part in threads that launch no kernel: they prefetch, and nothing waits for them
  IntervalSet cpu_op;        // operators and annotations, without steps
  IntervalSet scalar_read;   // operators that fetch a value from the device: item, is_nonzero, nonzero
  IntervalSet overhead;      // the profiler's own work
  IntervalSet compiling;     // a compiler or a tuner of kernels works, not the code that it made
  IntervalSet optimizer;     // optimizer steps on the host: "Optimizer.step#AdamW.step"

  friend bool operator==(const HostRanges&, const HostRanges&) = default;
};

// A host function or annotation. The longest ones are kept, to say what covers a long gap.
struct HostFrame {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  NameId name = kNoName;
  std::uint32_t thread = 0;
  bool python = false;  // a Python frame, else an annotation

  friend bool operator==(const HostFrame&, const HostFrame&) = default;
};
// The number of frames that are kept. A trace with stacks has millions, and only long ones cover a long gap.
inline constexpr std::size_t kKeptFrames = 16384;

// A training step as the profiler marks it.
struct ProfiledStep {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t number = 0;
  std::uint16_t process = 0;
  std::int64_t device = -1;  // the device that ran the step; -1: one step for all devices

  friend bool operator==(const ProfiledStep&, const ProfiledStep&) = default;
};

// A collective operation: its device event, and what identifies it on every rank. Captures of several ranks are
// joined by these (diagnose/stalls.h).
struct Collective {
  std::size_t event = 0;  // index into ProfiledDevice::events
  NameId group = kNoName;
  NameId operation = kNoName;  // "all_reduce"
  std::optional<std::int64_t> sequence;
  std::int64_t elements = -1;  // per message; -1: unknown
  // What a rank contributes, or receives in an all-gather, in bytes; the number of ranks. -1: unknown.
  std::int64_t bytes = -1;
  std::int32_t ranks = -1;
  // Of a send or a receive: the two ranks. -1: unknown.
  std::int32_t from = -1;
  std::int32_t to = -1;

  friend bool operator==(const Collective&, const Collective&) = default;
};

// A device and its work. Its number is the profiler's; several processes may use one number for different GPUs.
struct ProfiledDevice {
  std::int64_t id = 0;  // as the profiler numbers it; may start above 0
  std::string model;    // "" if unknown
  std::optional<std::int64_t> memory_bytes;
  std::optional<std::int64_t> most_reserved_bytes;  // held by the framework's allocator, if known
  std::vector<DeviceEvent> events;                  // in file order
  std::vector<Collective> collectives;

  friend bool operator==(const ProfiledDevice&, const ProfiledDevice&) = default;
};

// Which profiler wrote a file. It decides which rules hold and how a report says to record more.
enum class ProfilerKind : std::uint8_t { kPyTorch, kNsight, kXla, kRocprof };

// One file of a profiler. ProfileBuilder makes it, and nothing changes it afterwards.
struct Profile {
  std::string file;  // as given
  ProfilerKind kind = ProfilerKind::kPyTorch;
  std::string profiler;  // "PyTorch profiler", "Nsight Systems 2024.5"
  std::string counter;   // named in figures: "kineto.device_activity"
  std::vector<std::string> names = {""};
  std::vector<std::string> processes;  // names from the file; at least one, "" if the file names none
  std::vector<std::string> threads;
  std::vector<ProfiledDevice> devices;  // only those with events, by id
  std::vector<HostCall> calls;          // in file order
  std::vector<HostFrame> frames;        // by start
  std::vector<NamedScope> scopes;       // in file order; what launched work is named after
  std::vector<ShapedOp> shaped;         // in file order; operators of known arithmetic
  std::int64_t shapes_missing = 0;      // such operators without shapes, or beyond the limit of op_work.h
  std::int64_t scopes_left_out = 0;     // beyond the limits of named_scope.h
  std::vector<ProfiledStep> steps;      // by start; if a process has a step number twice, the longest
  // Where steps are not marked, what comes once in each: starts of the optimizer's step, ascending, and its name.
  std::vector<std::int64_t> step_marks;
  std::string step_mark_name;
  HostRanges host;
  std::optional<Interval> recorded;          // around all events of devices and host
  std::vector<std::int64_t> without_events;  // devices that the profiler watched, and that did nothing
  bool correlation_by_process = true;        // false: processes share ids, which cannot be told apart
  bool events_missing = false;               // cut off, sampled or trimmed: absence of an event proves nothing
  std::optional<std::int64_t> rank;
  std::optional<std::int64_t> world_size;
  std::optional<std::int64_t> wall_base_ns;  // wall clock = time + this, if the file relates the two
  std::map<std::string, std::string> facts;  // allow-listed: "backend", "cuda_runtime", "nccl"; never users or hosts
  std::vector<std::string> foreign_accelerators;  // categories of unsupported devices: "hpu_op"
  std::int64_t events_total = 0;                  // all entries of the file, of any kind
  std::int64_t dataloader_events = 0;

  friend bool operator==(const Profile&, const Profile&) = default;
};

// "HtoD", "pinned", as reports show them. The names are literals and live forever.
std::string_view Name(CopyKind kind);
std::string_view Name(MemoryKind kind);
// Classifies a runtime or driver call by its name, with or without a version suffix: "cudaMemcpyAsync_v3020" is
// kMemcpy, "cuLaunchKernel" is kLaunchKernel.
CallKind CallKindOf(std::string_view call);
// True for the iterator of a data loader: "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__" in PyTorch,
// "IteratorGetNext..." in TensorFlow.
bool IsDataLoader(std::string_view annotation);
// True for TensorFlow's iterator only. It marks the wait of a step, whichever pool thread it runs in.
bool IsInputPipeline(std::string_view annotation);
// True for operators that read a value from the device: "aten::item", "aten::is_nonzero", "aten::nonzero",
// "aten::_local_scalar_dense".
bool IsScalarRead(std::string_view op);

// Finds the launching process of device events that do not name it: each event gets the process of the call with its
// correlation id. If calls of several processes share an id, they cannot be told apart, and correlation_by_process
// becomes false. Returns the number of such device events.
std::int64_t FindLaunchProcesses(Profile& profile);

// Whether several processes launched events of the device. One device number may then stand for several GPUs, and its
// figures would be of a mixture.
bool LaunchedBySeveral(const ProfiledDevice& device);

// Drops ids that are not ids: if kCallsOfNoId or more calls of a process share one, not all at the same time, it is a
// constant or a counter that restarts with each step. Its device events lose their launch. Returns the number of
// these events. With fewer calls, the first call in the file is the launch.
//
// Calls at the same time are nested: a runtime call and the driver call within it share an id, which is right.
inline constexpr std::int64_t kCallsOfNoId = 4;
std::int64_t DropReusedIds(Profile& profile);

}  // namespace idleburn
