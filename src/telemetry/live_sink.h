// What a live run or a replayed recording delivers besides GPU samples: host samples, marks of work, notes,
// facts and holders of GPUs.

#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/work_unit.h"
#include "telemetry/host.h"
#include "telemetry/sample.h"

namespace idleburn {

// Work that a process has completed since it started. It comes from markers in the code or from the progress
// lines of a job.
struct WorkMark {
  Instant time;
  std::int32_t rank = 0;  // of the process that reports it
  WorkCount done;
};

// An event during measuring that a reader of the figures must know.
enum class NoteKind : std::uint8_t {
  kWorkloadStarted,  // text: the command
  kWorkloadEnded,    // text: "exit 0", "signal 9 (SIGKILL)"
  kDeviceLost,       // text: which GPU and what the driver said
  kDeviceFound,      // a GPU that came back, or came late
  kDriverHang,       // a driver call timed out; text: which
  kMissedTicks,      // the sampler could not keep up; text: how many
  kClockStep,        // the wall clock was set
  kSuspend,          // the machine slept
  kXid,              // text: GPU and code
  kSettled,          // a fact found at run time: the refresh interval of a counter, the ids of renumbered fields
  kFailure,          // something could not be measured or stored; text: what, where, what to do
  kAlert,            // the run exceeded a limit; text: which, by how much
  kEnforced,         // the workload was signalled for an alert; text: the signal, how many processes
  kSlowDriver,       // the driver answers slowly and is asked less often; text: how long
};
inline constexpr std::size_t kNoteKindCount = 14;
inline constexpr std::array<std::string_view, kNoteKindCount> kNoteKindNames = {
    "workload_started", "workload_ended", "device_lost", "device_found", "driver_hang",
    "missed_ticks",     "clock_step",     "suspend",     "xid",          "settled",
    "failure",          "alert",          "enforced",    "slow_driver"};

// A note with its time.
struct Note {
  Instant time;
  NoteKind kind = NoteKind::kFailure;
  std::string text;
};

// A fact about the whole run: "command", "cwd", "host", "driver", "tag.project", "exit". Later facts replace
// earlier ones with the same key.
struct RunFact {
  std::string key;
  std::string value;
};

// A process that holds a context on a GPU, as the driver lists it.
struct GpuHolder {
  // The driver's number, which may differ inside a container.
  std::int64_t pid = 0;
  // Bytes; absent if the driver does not report it.
  std::optional<std::int64_t> memory;
  std::optional<std::int64_t> start_ticks;  // of the process with this pid here; absent if there is none
};
// The processes that hold a GPU or MIG instance, from this time until the next list.
struct GpuHolders {
  Instant time;
  DeviceId device = 0;
  // The driver answered; otherwise `holders` is empty because nothing is known.
  bool listed = false;
  std::vector<GpuHolder> holders;  // ordered by pid, without duplicates
};

// The traffic of one InfiniBand or RoCE port since the reading before. Absent: not known.
struct PortTraffic {
  std::string port;                      // "mlx5_0/1": the device and its port, as the kernel names them
  std::optional<std::int64_t> received;  // bytes
  std::optional<std::int64_t> sent;      // bytes
};

// The interface of everything live. Samplers, host readers, markers of a workload and wrappers push into it,
// and a recording replays into it. Calls come from one thread at a time. The stamps of one stream (a device, a
// host scope) do not go backwards except at a clock step, which is noted. Devices are added to the shared
// DeviceTable through ChangeDevices.
class LiveSink : public SampleSink {
 public:
  // New samples of the host, a mark of work, a note, and a fact. References are valid during the call.
  virtual void OnHost(std::span<const HostSample> samples) = 0;
  virtual void OnWork(const WorkMark& mark) = 0;
  virtual void OnNote(const Note& note) = 0;
  virtual void OnFact(const RunFact& fact) = 0;
  // All samples that were read and will be pushed later. Override this to keep them safe in case the process is
  // killed before.
  virtual void OnHeld(std::span<const Sample> /*samples*/) {}
  // The processes on a GPU. Only live displays use it: recordings must not store which other processes ran on a
  // machine.
  virtual void OnHolders(const GpuHolders& /*holders*/) {}
  // The traffic of each port since the last call. Only an agent counts ports; a recording has their sum (OnHost).
  virtual void OnPorts(std::span<const PortTraffic> /*ports*/) {}
  // Runs `change`, which modifies the DeviceTable. If several threads push, no other call runs meanwhile, so a
  // call can read the table safely.
  virtual void ChangeDevices(const std::function<void()>& change) { change(); }
};

}  // namespace idleburn
