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
#include "telemetry/host_signal.h"
#include "telemetry/sample.h"

namespace idleburn {

// Work a process says it has done, since it started. Read from markers in the code or from the progress lines a job
// prints.
struct WorkMark {
  Instant time;
  std::int32_t rank = 0;  // which process of the workload says so
  WorkCount done;
};

// Something that happened while measuring and that the figures must be read with.
enum class NoteKind : std::uint8_t {
  kWorkloadStarted,  // text: the command
  kWorkloadEnded,    // text: "exit 0", "signal 9 (SIGKILL)"
  kDeviceLost,       // text: which GPU and what the driver said
  kDeviceFound,      // a GPU that came back, or came late
  kDriverHang,       // a call that did not return in time; text: which
  kMissedTicks,      // the sampler could not keep up; text: how many
  kClockStep,        // the wall clock was set
  kSuspend,          // the machine slept
  kXid,              // text: GPU and code
  kSettled,          // a fact found while running: the refresh of a counter, the ids of renumbered fields
  kFailure,          // something could not be measured or kept; text: what, where, what to do
  kAlert,            // the run went beyond a limit it is watched for; text: which, by how much
  kEnforced,         // the workload was sent a signal because of that; text: which, to how many processes
  kSlowDriver,       // a driver's answers took so long that it is asked less often; text: how long
};
inline constexpr std::size_t kNoteKindCount = 14;
inline constexpr std::array<std::string_view, kNoteKindCount> kNoteKindNames = {
    "workload_started", "workload_ended", "device_lost", "device_found", "driver_hang",
    "missed_ticks",     "clock_step",     "suspend",     "xid",          "settled",
    "failure",          "alert",          "enforced",    "slow_driver"};

struct Note {
  Instant time;
  NoteKind kind = NoteKind::kFailure;
  std::string text;
};

// A fact about the whole run: "command", "cwd", "host", "driver", "tag.project", "exit". Later facts of one key
// replace earlier ones.
struct RunFact {
  std::string key;
  std::string value;
};

// A process that holds a context on a GPU, as the driver lists it.
struct GpuHolder {
  std::int64_t pid = 0;                     // as the driver numbers processes, perhaps not as this container does
  std::optional<std::int64_t> memory;       // bytes; absent where the driver does not say
  std::optional<std::int64_t> start_ticks;  // of the process that has this pid here; absent: none is seen
};
// Which processes hold a GPU or MIG instance, from now on and until the next list.
struct GpuHolders {
  Instant time;
  DeviceId device = 0;
  bool listed = false;             // the driver told; else `holders` is empty because nothing is known
  std::vector<GpuHolder> holders;  // in order of pid, each once
};

// The seam of everything live: what a sampler, a host reader, a workload's markers and a wrapper push, and what a
// recording gives back. Calls come from one thread at a time; stamps of one stream (a device, a host scope) do not
// go backwards except by a clock step, which is noted. Devices are entered in the DeviceTable both sides hold, through
// ChangeDevices.
class LiveSink : public SampleSink {
 public:
  virtual void OnHost(std::span<const HostSample> samples) = 0;
  virtual void OnWork(const WorkMark& mark) = 0;
  virtual void OnNote(const Note& note) = 0;
  virtual void OnFact(const RunFact& fact) = 0;
  // Samples that were read and will be pushed in their turn, all of them as they are now: for who must not lose them
  // should this process be killed before.
  virtual void OnHeld(std::span<const Sample> /*samples*/) {}
  // Only what shows the present asks for it: no recording keeps which processes of others ran on a machine.
  virtual void OnHolders(const GpuHolders& /*holders*/) {}
  // Runs `change`, which changes the DeviceTable. Where several threads push, no other call is under way meanwhile: who
  // reads the table from within a call finds it at rest.
  virtual void ChangeDevices(const std::function<void()>& change) { change(); }
};

}  // namespace idleburn
