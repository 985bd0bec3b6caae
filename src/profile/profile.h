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

namespace idleburn {

// What a profiler recorded of a process, or of several of one machine, in the terms of the diagnosis: whatever the
// profiler, the same few rows. All times are integer nanoseconds on the profile's own clock, ranges half-open.

// Index into Profile::names.
using NameId = std::uint32_t;
inline constexpr NameId kNoName = 0;  // names[0] is ""

// Of a device event or a host call without one.
inline constexpr std::int64_t kNoCorrelation = -1;

// Nothing in a profile lasts a week; what seems to is an error of the file.
inline constexpr std::int64_t kLongestEventNs = 7 * 24 * kNanosPerHour;

enum class DeviceOp : std::uint8_t {
  kKernel,
  kComm,  // a kernel that moves data between GPUs (comm_kernels.h)
  kMemcpy,
  kMemset
};
enum class CopyKind : std::uint8_t { kNone, kHtoD, kDtoH, kDtoD, kPtoP, kHtoH, kOther };
enum class MemoryKind : std::uint8_t { kUnknown, kPageable, kPinned, kDevice, kManaged };

// Something a device did.
struct DeviceEvent {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;                    // not before start_ns
  std::int64_t correlation = kNoCorrelation;  // of the call that launched it, within `process`
  std::int64_t bytes = 0;                     // of a copy or a set
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

enum class CallKind : std::uint8_t {
  kLaunchKernel,  // the name has LaunchKernel in it
  kLaunchGraph,
  kSync,      // {cuda,hip}{Stream,Device,Event}Synchronize...
  kMemcpy,    // the name has Memcpy in it, blocking or not; never also kSync
  kAllocate,  // takes device memory from the driver, or gives it back: an allocator that caches does so rarely
  kOther
};

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

// What host threads did, united over all of them (HostCall has each call). Device mirrors of annotations are in none.
struct HostRanges {
  IntervalSet dataloader;    // the iterator of a data loader
  IntervalSet loader_ahead;  // of it, in threads that launch no kernel: they fetch ahead, and nobody waits in them
  IntervalSet cpu_op;        // operators and annotations, but no step
  IntervalSet scalar_read;   // operators that fetch a value from the device: item, is_nonzero, nonzero
  IntervalSet overhead;      // of the profiler itself

  friend bool operator==(const HostRanges&, const HostRanges&) = default;
};

// A host function or annotation: the longest are kept, to say what covers a long gap.
struct HostFrame {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  NameId name = kNoName;
  std::uint32_t thread = 0;
  bool python = false;  // a Python frame, else an annotation

  friend bool operator==(const HostFrame&, const HostFrame&) = default;
};
inline constexpr std::size_t kKeptFrames = 16384;

// A training step as the profiler marks it.
struct ProfiledStep {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t number = 0;
  std::uint16_t process = 0;

  friend bool operator==(const ProfiledStep&, const ProfiledStep&) = default;
};

// A collective operation: the device event that is it, and what identifies it on every rank.
struct Collective {
  std::size_t event = 0;  // index into ProfiledDevice::events
  NameId group = kNoName;
  NameId operation = kNoName;  // "all_reduce"
  std::optional<std::int64_t> sequence;
  std::int64_t elements = -1;  // in message; -1: not said

  friend bool operator==(const Collective&, const Collective&) = default;
};

struct ProfiledDevice {
  std::int64_t id = 0;  // as the profiler numbers it; may start above 0
  std::string model;    // "" where the profiler does not say
  std::optional<std::int64_t> memory_bytes;
  std::optional<std::int64_t> most_reserved_bytes;  // that the framework's allocator held, where it says so
  std::vector<DeviceEvent> events;                  // in file order
  std::vector<Collective> collectives;

  friend bool operator==(const ProfiledDevice&, const ProfiledDevice&) = default;
};

enum class ProfilerKind : std::uint8_t { kPyTorch, kNsight, kXla };

struct Profile {
  std::string file;  // as given
  ProfilerKind kind = ProfilerKind::kPyTorch;
  std::string profiler;  // "PyTorch profiler", "Nsight Systems 2024.5"
  std::string counter;   // that its figures name: "kineto.device_activity"
  std::vector<std::string> names = {""};
  std::vector<std::string> processes;  // what the file calls each; at least one, "" where it names none
  std::vector<std::string> threads;
  std::vector<ProfiledDevice> devices;  // with events only, by id
  std::vector<HostCall> calls;          // in file order
  std::vector<HostFrame> frames;        // by start
  std::vector<ProfiledStep> steps;      // by start; of steps of one number in a process, the longest
  HostRanges host;
  bool correlation_by_process = true;  // false: ids of several processes may collide and cannot be told apart
  bool events_missing = false;         // cut off, sampled or trimmed: what is not there proves nothing
  std::optional<std::int64_t> rank;
  std::optional<std::int64_t> world_size;
  std::optional<std::int64_t> wall_base_ns;  // wall clock = time + this, where the file relates the two
  std::map<std::string, std::string> facts;  // allow-listed: "backend", "cuda_runtime", "nccl"; never users or hosts
  std::vector<std::string> foreign_accelerators;  // categories of devices that are not understood: "hpu_op"
  std::int64_t events_total = 0;                  // all entries of the file, of any kind
  std::int64_t dataloader_events = 0;

  friend bool operator==(const Profile&, const Profile&) = default;
};

std::string_view Name(CopyKind kind);
std::string_view Name(MemoryKind kind);
// By the name of a runtime or driver call, with or without a version suffix.
CallKind CallKindOf(std::string_view call);
// "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__" and its like; of TensorFlow, "IteratorGetNext...".
bool IsDataLoader(std::string_view annotation);
// Of these, TensorFlow's: it stands for the wait of a step, whichever thread of its pool it runs in.
bool IsInputPipeline(std::string_view annotation);
// "aten::item", "aten::is_nonzero", "aten::nonzero", "aten::_local_scalar_dense".
bool IsScalarRead(std::string_view op);

// For profiles whose device events do not say which process launched them: each takes the process whose call has its
// correlation id. Where calls of several processes share the id of a device event, they cannot be told apart: then
// correlation_by_process becomes false. Returns the number of such device events.
std::int64_t FindLaunchProcesses(Profile& profile);

// Whether several processes launched its events, as far as these say so. One number may then stand for several GPUs.
bool LaunchedBySeveral(const ProfiledDevice& device);

// An id that kCallsOfNoId or more calls of one process had, not all at one time, is none ("0" in every row, or numbers
// that begin anew with each step): its device events become events without a launch. Returns the number of these. Of
// fewer calls the first of the file launched.
inline constexpr std::int64_t kCallsOfNoId = 4;
std::int64_t DropReusedIds(Profile& profile);

}  // namespace idleburn
