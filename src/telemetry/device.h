#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/int128.h"
#include "base/time.h"
#include "telemetry/sample.h"

namespace idleburn {

// A MIG GPU instance: a share of a board that counts in compute slices.
struct MigInstance {
  std::string id;       // GPU instance id as the source spells it
  std::string profile;  // "1g.10gb"
  int slices = 1;       // of the board's compute slices (BoardSlices)
};
// Compute slices of a board by its name (telemetry/mig_boards.h); 7 where they are not known.
int BoardSlices(std::string_view gpu_name);
// Slices of a profile name: "3g.40gb" -> 3, "1c.3g.71gb" -> 3 (the GPU instance's), unknown -> 1.
int ProfileSlices(std::string_view profile);

// What a source knows of a device's identity. Empty fields are unknown.
struct DeviceKey {
  std::string uuid;  // with or without "GPU-", any case
  std::string bus_id;
  std::optional<int> index;
  std::string host;
  std::string name;
  std::optional<MigInstance> mig;
};

struct Device {
  std::string uuid;  // "GPU-..." or empty
  std::string bus_id;
  std::optional<int> index;
  std::string host;
  std::string name;
  std::optional<MigInstance> mig;
  std::optional<DeviceId> board;  // of a MIG instance
  bool has_instances = false;     // a board whose capacity is counted through its instances
  // "<source>.<field>" of each signal: of the readings that come, and in the end of those that were used.
  std::array<std::string, kSignalCount> counter;
  // The other counters that were named for a signal. Their readings are left aside (telemetry/counter_choice.h).
  std::array<std::set<std::string>, kSignalCount> also;
  bool notebook = false;  // a process or server of notebooks was listed on it (IsNotebook)
};

// Whether a process, command or owner of that name is a notebook's: "jupyter-lab", "ipykernel_launcher",
// "colab-kernel", a pod "ml/jupyter-ada". A kernel that is listed as "python3" is not seen to be one.
bool IsNotebook(std::string_view name);

// Every device of a run, one entry per physical GPU or MIG instance. Key of a device is its UUID; without one
// (or with a masked, all-zero one) its bus id and model, and last its index on its host.
class DeviceTable {
 public:
  // The device of that key, entered if new; fills in what the entry did not know yet. An instance enters its
  // board too.
  DeviceId Enter(const DeviceKey& key);
  // What is entered from here on is of another input. Its devices are of `host` where it names none.
  void BeginInput(std::string host = {});
  // Notes that the present input names `id` so, as Enter does.
  void Meet(DeviceId id, const DeviceKey& key);
  // GPUs of these normal UUIDs count once for each host: two machines have one each at the same time.
  void TellApartByHost(std::set<std::string> uuids) { twins_ = std::move(uuids); }
  [[nodiscard]] const std::set<std::string>& TwinUuids() const { return twins_; }
  // By what the present input names a device: bits of the following; 0 if it does not. Only a UUID or a host says that
  // no other machine's GPU is meant.
  static constexpr unsigned kByPlace = 1;  // bus id, index or name
  static constexpr unsigned kByUuid = 2;
  static constexpr unsigned kByHost = 4;
  [[nodiscard]] unsigned NamedBy(DeviceId id) const { return id < named_by_.size() ? named_by_[id] : 0; }
  // Of the present input; empty if it says none.
  [[nodiscard]] const std::string& HostOf(const DeviceKey& key) const { return key.host.empty() ? host_ : key.host; }
  void NameCounter(DeviceId device, Signal signal, std::string_view counter);
  // A process of that name is listed on the device.
  void NoteProcess(DeviceId device, std::string_view name) {
    if (IsNotebook(name)) devices_[device].notebook = true;
  }

  [[nodiscard]] const Device& operator[](DeviceId id) const { return devices_[id]; }
  [[nodiscard]] std::size_t size() const { return devices_.size(); }
  // Whether a device of that normal UUID was entered.
  [[nodiscard]] bool KnowsUuid(std::string_view uuid) const { return by_uuid_.find(uuid) != by_uuid_.end(); }
  // Where a signal of `device` belongs: board values of an instance go to its board.
  [[nodiscard]] DeviceId Home(DeviceId device, Signal signal) const;

 private:
  [[nodiscard]] std::string KeyOf(const DeviceKey& key, const std::string& uuid) const;
  [[nodiscard]] std::optional<DeviceId> Find(const DeviceKey& key, const std::string& uuid) const;
  DeviceId EnterOne(const DeviceKey& key);

  std::vector<Device> devices_;
  std::map<std::string, DeviceId, std::less<>> by_uuid_;  // KeyOf: uuid, or uuid/instance; of twins with @host
  std::set<std::string> twins_;
  std::string host_;                // of the present input's devices, as was said with it
  std::vector<unsigned> named_by_;  // in the present input, by device
};

// Whether a device is a MIG instance of which only its own UUID is known: neither how much of a board it is nor of
// which.
bool IsUnsizedInstance(const Device& device);

// "GPU-5f3a..." from any spelling, also AMD's "GPU-79ccd55167a2124a"; empty when the text is no UUID.
std::string NormalUuid(std::string_view text);
bool IsMaskedUuid(std::string_view uuid);

// Who a device was copied to or allocated to, when, for splitting its cost (attribution by label). Copies are not
// summed: the time of a device is shared equally among the owners that are named for it.
class OwnerLedger {
 public:
  // One owner's time on a device.
  struct Stay {
    std::string_view owner;  // empty: a series that names none
    std::int64_t from = 0;   // nanoseconds
    std::int64_t to = 0;     // at least `from`
  };
  // What is told from here on counts within [from, to) only: the rest of an owner's time is not billed.
  void KeepWithin(Instant from, Instant to) { within_ = {from.nanos(), to.nanos()}; }
  // Whose a device was, by all of an input: owners of one time share it in equal parts, and it is nobody's where no
  // stay names one. An owner whose stays overlap is there once. N log N in their number.
  void Add(DeviceId device, const std::vector<Stay>& stays);
  // `owners` of `device` in [from, to); empty when none is named. An instant counts as a nanosecond.
  void Add(DeviceId device, const std::vector<std::string>& owners, Instant from, Instant to);
  // What was told last holds in [from, to) too, if the device goes on: as far as something is told later of it (of the
  // same run in another input), and nothing of this time.
  void Hold(DeviceId device, std::vector<std::string> owners, Instant from, Instant to);
  struct Share {
    std::string owner;  // "job 48211", "pod ml/train-0"; empty: none named
    double fraction = 0;
    bool estimated = false;  // shared with another owner for some time: an equal split, not a measurement
  };
  // Shares in the time that was told of a device (ToldTime), summing to 1; empty when no owner was ever named.
  [[nodiscard]] std::vector<Share> SharesOf(DeviceId device) const;
  // The time of a device for which owners, or that it has none, were told: once, however often. Whose the rest was is
  // not known.
  [[nodiscard]] Nanos ToldTime(DeviceId device) const;

 private:
  struct Tally {
    Int128 parts = 0;  // in 1/kParts of a nanosecond
    bool shared = false;
  };
  struct Held {
    std::vector<std::string> owners;
    std::int64_t from;
    std::int64_t to;
  };
  struct Account {
    std::map<std::string, Tally, std::less<>> tallies;
    std::map<std::int64_t, std::int64_t> told;  // ends of stretches that do not touch, by their starts
    std::vector<Held> held;

    void Add(const std::vector<Stay>& stays);
    // With what was held and counts.
    [[nodiscard]] Account Settled() const;
  };
  static constexpr std::int64_t kParts = 720720;  // divisible by 1..16
  std::map<DeviceId, Account> accounts_;
  std::pair<std::int64_t, std::int64_t> within_ = {INT64_MIN, INT64_MAX};
};

}  // namespace idleburn
