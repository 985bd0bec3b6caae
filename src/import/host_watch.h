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

// Watches for one UUID on two hosts at once, in one input or in several: a machine that was cloned, or labels that are
// wrong. Joined, the readings of two GPUs would be those of one that costs half. One GPU whose host changes its name
// (an exporter's pod that starts again) stays one. Wrong for exporters that call one machine by two unlike names: such
// an input is refused, too.
class HostWatch {
 public:
  // When series of one host gave readings of a device.
  struct Stay {
    Instant first = Instant::FromNanos(INT64_MAX);
    Instant last = Instant::FromNanos(INT64_MIN);
    void See(Instant time);
  };

  // The stay of `device` on `host`, good as long as the watch.
  Stay* Track(DeviceId device, const std::string& host) { return &stays_[device][host]; }
  // At the end of an input: an error if a device was on two hosts at the same time.
  [[nodiscard]] Result<void> Verdict(const std::string& file, const DeviceTable& devices) const;

 private:
  std::map<DeviceId, std::map<std::string, Stay>> stays_;
};

// Whether two names mean one machine: "node7" and "Node7.example.com".
bool IsOneHost(std::string_view a, std::string_view b);

// The fact by which a recording tells the boot of the kernel it was made on: the same in all containers of a machine,
// another one on any other machine and after a restart.
inline constexpr const char* kBootFact = "boot";

// When a recording gave readings of a GPU, and on which machine.
struct RecordedStay {
  std::string file;
  std::string host;   // as said with the input, else as the recording says; empty: not known
  bool said = false;  // NODE=FILE
  std::string boot;   // empty: not known
  std::string uuid;   // normal, of the board
  Instant first = Instant::FromNanos(INT64_MAX);
  Instant last = Instant::FromNanos(INT64_MIN);
};

// Finds one UUID in recordings of two machines: a GPU that moved, or two GPUs, as a cloned image and a stand-in for the
// driver may have. A host name alone does not tell two machines, as each container has its own; the boot does.
// Wrong where clocks of two machines differ by more than the gap in which a GPU moved: it then counts as two GPUs, each
// for the time it was read.
class RecordedHosts {
 public:
  void Add(RecordedStay stay) { stays_.push_back(std::move(stay)); }
  // The UUIDs that two machines had at one time.
  [[nodiscard]] std::set<std::string> Twins() const;
  // Fails where two recordings of one time leave it open whether a UUID is of one machine or two. `apart`: the UUIDs
  // whose GPUs are told apart by their hosts.
  [[nodiscard]] Result<void> Check(const std::set<std::string>& apart) const;
  // Counts the GPUs that moved from one machine to another.
  void CountMoved(DataQuality& quality) const;
  // The machines of recordings with that UUID: "n1 and n2".
  [[nodiscard]] std::string HostsOf(const std::string& uuid) const;
  [[nodiscard]] const std::vector<RecordedStay>& stays() const { return stays_; }

 private:
  std::vector<RecordedStay> stays_;
};

}  // namespace idleburn
