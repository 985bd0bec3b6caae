// Who a reading is about: the devices of a run, how inputs name them, and which owner used them when.
//
// Inputs disagree about names. nvidia-smi prints an index, dcgm-exporter a UUID, Kubernetes a pod. DeviceTable
// maps all of these to one DeviceId, so that time is never counted twice when inputs are joined.

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

// A MIG GPU instance: a share of a board, measured in compute slices. Cost is split by slices. Example: a
// 3g.40gb instance of an H100 has 3 of 7 slices.
struct MigInstance {
  // GPU instance id, in the source's spelling.
  std::string id;
  std::string profile;  // "1g.10gb"
  int slices = 1;       // of the board's compute slices (BoardSlices)
};
// The number of compute slices of a board, by the name of its GPU (telemetry/gpu_facts.h). Unknown boards count
// as 7, the number of nearly all MIG-capable boards.
int BoardSlices(std::string_view gpu_name);
// The compute slices of a profile: "3g.40gb" has 3. A compute instance counts as its GPU instance: "1c.3g.71gb"
// has 3. Unknown profiles have 1.
int ProfileSlices(std::string_view profile);

// What a source knows about a device's identity. Empty fields are unknown. Sources differ: dcgm-exporter names UUIDs,
// a plain nvidia-smi log often only an index.
struct DeviceKey {
  std::string uuid;  // with or without "GPU-", any case
  std::string bus_id;
  std::optional<int> index;
  std::string host;
  std::string name;
  std::optional<MigInstance> mig;
};

// One physical GPU or MIG instance of a run, with everything that any input told about it.
struct Device {
  std::string uuid;  // "GPU-..." or empty
  std::string bus_id;
  std::optional<int> index;
  std::string host;
  std::string name;
  std::optional<MigInstance> mig;
  std::optional<DeviceId> board;  // the board of a MIG instance
  // A board whose capacity is counted through its instances.
  bool has_instances = false;
  // The "<source>.<field>" that supplies each signal. Example: "dcgm.DCGM_FI_DEV_GPU_UTIL". While inputs are
  // read it names the latest counter; in the end, the chosen one.
  std::array<std::string, kSignalCount> counter;
  // Other counters that were named for a signal. Their readings are not used (telemetry/counter_choice.h).
  std::array<std::set<std::string>, kSignalCount> also;
  // A notebook process or server was listed on it (IsNotebook).
  bool notebook = false;
};

// Whether the name of a process, command or owner belongs to a notebook: "jupyter-lab", "ipykernel_launcher",
// "colab-kernel", a pod "ml/jupyter-ada". A kernel that is listed as "python3" cannot be recognised.
bool IsNotebook(std::string_view name);

// Every device of a run, one entry for each physical GPU or MIG instance. Several inputs may name the same
// device differently, so the table matches keys in this order: the UUID; without one (or with a masked,
// all-zero UUID) the bus id together with the model; last the index on its host.
class DeviceTable {
 public:
  // Returns the device with this key, and adds it if it is new. Fills in what the entry did not know yet.
  // Entering a MIG instance also enters its board.
  DeviceId Enter(const DeviceKey& key);
  // Starts another input. Devices that it enters without a host belong to `host`.
  void BeginInput(std::string host = {});
  // Records how the present input names device `id`. Enter does this too.
  void Meet(DeviceId id, const DeviceKey& key);
  // Declares that two machines have a GPU with the same UUID at the same time. Such a GPU counts once for each
  // host. `uuids` are in normal form (NormalUuid).
  void TellApartByHost(std::set<std::string> uuids) { twins_ = std::move(uuids); }
  [[nodiscard]] const std::set<std::string>& TwinUuids() const { return twins_; }
  // How the present input names a device, as bits; 0 if it does not name it. Only a UUID or a host proves that
  // the name does not mean a GPU of another machine.
  static constexpr unsigned kByPlace = 1;  // bus id, index or name
  static constexpr unsigned kByUuid = 2;
  static constexpr unsigned kByHost = 4;
  [[nodiscard]] unsigned NamedBy(DeviceId id) const { return id < named_by_.size() ? named_by_[id] : 0; }
  // The host of a key: its own, else that of the present input; empty if unknown.
  [[nodiscard]] const std::string& HostOf(const DeviceKey& key) const { return key.host.empty() ? host_ : key.host; }
  // Sets the counter that supplies a signal of a device. The counter before it moves to Device::also.
  void NameCounter(DeviceId device, Signal signal, std::string_view counter);
  // Notes a process that is listed on the device.
  void NoteProcess(DeviceId device, std::string_view name) {
    if (IsNotebook(name)) devices_[device].notebook = true;
  }

  [[nodiscard]] const Device& operator[](DeviceId id) const { return devices_[id]; }
  [[nodiscard]] std::size_t size() const { return devices_.size(); }
  // Whether the table has a device with this UUID, in normal form.
  [[nodiscard]] bool KnowsUuid(std::string_view uuid) const { return by_uuid_.find(uuid) != by_uuid_.end(); }
  // The device that stores a signal of `device`: the board for board values of an instance, else the device
  // itself.
  [[nodiscard]] DeviceId Home(DeviceId device, Signal signal) const;

 private:
  [[nodiscard]] std::string KeyOf(const DeviceKey& key, const std::string& uuid) const;
  [[nodiscard]] std::optional<DeviceId> Find(const DeviceKey& key, const std::string& uuid) const;
  // Enters one device; see KeyOf and Find in the .cc.
  DeviceId EnterOne(const DeviceKey& key);

  std::vector<Device> devices_;
  std::map<std::string, DeviceId, std::less<>> by_uuid_;  // KeyOf: uuid or uuid/instance, plus @host for twins
  std::set<std::string> twins_;
  std::string host_;                // default host of the present input
  std::vector<unsigned> named_by_;  // NamedBy of each device in the present input
};

// Whether only the UUID of a MIG instance is known. Then neither its board nor its share of the board is known,
// so it can be in no figure.
bool IsUnsizedInstance(const Device& device);

// Normalises a UUID: "GPU-5f3a..." in lower case. Also accepts AMD's "GPU-79ccd55167a2124a". Returns an empty
// string if the text is not a UUID.
std::string NormalUuid(std::string_view text);
// Whether a UUID in normal form has only zeros, as some container runtimes report it.
bool IsMaskedUuid(std::string_view uuid);

// Who a device was allocated to, and when, for splitting its cost by job, pod or user. An owner's time is never
// added twice: owners that share a device share its time in equal parts. Example: two pods on one GPU for an
// hour get half an hour each.
class OwnerLedger {
 public:
  // One owner's time on a device.
  struct Stay {
    std::string_view owner;  // empty: a series that names no owner
    std::int64_t from = 0;   // nanoseconds
    std::int64_t to = 0;     // at least `from`
  };
  // Restricts all later calls of Add and Hold to [from, to). Owners are not billed outside this window.
  void KeepWithin(Instant from, Instant to) { within_ = {from.nanos(), to.nanos()}; }
  // Adds all stays of one input on a device. Simultaneous owners share the time equally. Time belongs to nobody
  // where no stay names an owner. Overlapping stays of one owner count once. Takes O(n log n).
  void Add(DeviceId device, const std::vector<Stay>& stays);
  // Adds the owners of a device in [from, to); an empty list means that it has none. An instant counts as one
  // nanosecond.
  void Add(DeviceId device, const std::vector<std::string>& owners, Instant from, Instant to);
  // Extends the owners that were added last to [from, to), in case the device goes on in another input of the
  // run. The extension ends where the next Add begins, and has no effect if nothing is added later or if its
  // time is already known.
  void Hold(DeviceId device, std::vector<std::string> owners, Instant from, Instant to);
  struct Share {
    std::string owner;  // "job 48211", "pod ml/train-0"; empty: none named
    double fraction = 0;
    // Shared with another owner for some time: an equal split, not a measurement.
    bool estimated = false;
  };
  // Each owner's share of the device's ToldTime. Shares sum to 1. Empty if no owner was ever named.
  [[nodiscard]] std::vector<Share> SharesOf(DeviceId device) const;
  // The time for which the owners of a device are known, including time known to have none. Overlaps count
  // once.
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
    std::map<std::int64_t, std::int64_t> told;  // disjoint stretches: start to end
    std::vector<Held> held;

    void Add(const std::vector<Stay>& stays);
    // This account with the held stretches that apply.
    [[nodiscard]] Account Settled() const;
  };
  // Divisible by 1 to 16, so up to 16 owners share exactly.
  static constexpr std::int64_t kParts = 720720;
  std::map<DeviceId, Account> accounts_;
  std::pair<std::int64_t, std::int64_t> within_ = {INT64_MIN, INT64_MAX};
};

// The order in which people look for devices: by host, index, bus id and UUID. A MIG instance follows its
// board, ordered by its id. Devices that are equal in all of these keep the order in which they were read.
bool StandsBefore(DeviceId a, DeviceId b, const DeviceTable& devices);

// Whether the devices belong to several hosts. Then an index alone is ambiguous.
bool OfSeveralHosts(const DeviceTable& devices);

}  // namespace idleburn
