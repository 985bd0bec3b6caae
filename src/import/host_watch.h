#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "telemetry/data_quality.h"
#include "telemetry/device.h"

namespace idleburn {

// Refuses inputs in which one UUID is on two hosts at once: a cloned machine, or wrong labels. Joined, two GPUs would
// read as one GPU at half the cost. A GPU stays one if its host only changes its name, as when an exporter's pod
// restarts, because the two stays then hardly overlap. Used by formats whose rows name hosts (Prometheus, agents,
// tables); recordings use RecordedHosts, which knows more.
// Known limit: an exporter that gives one machine two unlike names is refused too.
class HostWatch {
 public:
  // The time from the first to the last reading of a device on a host. Gaps in between do not matter. `first` is
  // later than `last` until a reading was seen.
  struct Stay {
    Instant first = Instant::FromNanos(INT64_MAX);
    Instant last = Instant::FromNanos(INT64_MIN);
    void See(Instant time);
  };

  // The stay of `device` on `host`. Valid as long as the watch.
  Stay* Track(DeviceId device, const std::string& host) { return &stays_[device][host]; }
  // Call at the end of an input. Fails if a device was on two hosts at the same time.
  [[nodiscard]] Result<void> Verdict(const std::string& file, const DeviceTable& devices) const;

 private:
  std::map<DeviceId, std::map<std::string, Stay>> stays_;
};

// Whether two names mean the same machine: "node7" and "Node7.example.com". A short name equals the start of a longer
// one up to a dot; case does not matter.
bool IsOneHost(std::string_view a, std::string_view b);

// The fact that identifies a boot of the kernel. It is the same in all containers of a machine, and differs between
// machines and after a reboot.
inline constexpr const char* kBootFact = "boot";

// When a recording has readings of a GPU, and on which machine. One per recording and GPU.
struct RecordedStay {
  std::string file;
  std::string host;   // given by the user (NODE=FILE), else from the recording; empty: unknown
  bool said = false;  // `host` comes from the user
  std::string boot;   // empty: unknown
  std::string uuid;   // normalized, of the board
  Instant first = Instant::FromNanos(INT64_MAX);
  Instant last = Instant::FromNanos(INT64_MIN);
};

// Finds a UUID that recordings of two machines have: a GPU that moved, or two GPUs with the same UUID, as cloned
// images and driver stand-ins produce. A host name alone does not identify a machine, because each container has its
// own. The boot does. docs/rows.md, "Which GPU a reading belongs to", has the table of cases.
// Known limit: if the clocks of two machines differ by more than the gap in which a GPU moved, the GPU counts as two,
// each for the time it was read.
class RecordedHosts {
 public:
  void Add(RecordedStay stay) { stays_.push_back(std::move(stay)); }
  // UUIDs that two machines had at the same time.
  [[nodiscard]] std::set<std::string> Twins() const;
  // Fails if two recordings of the same time leave open whether a UUID belongs to one machine or two. `apart`: UUIDs
  // whose GPUs are told apart by host.
  [[nodiscard]] Result<void> Check(const std::set<std::string>& apart) const;
  // Counts the GPUs that moved from one machine to another.
  void CountMoved(DataQuality& quality) const;
  // The machines whose recordings have that UUID: "n1 and n2".
  [[nodiscard]] std::string HostsOf(const std::string& uuid) const;
  [[nodiscard]] const std::vector<RecordedStay>& stays() const { return stays_; }

 private:
  std::vector<RecordedStay> stays_;
};

}  // namespace idleburn
