#include "telemetry/device.h"

#include <algorithm>
#include <cctype>
#include <climits>
#include <iterator>
#include <tuple>

#include "base/result.h"
#include "telemetry/gpu_facts.h"
#include "text/number.h"
#include "text/strings.h"

namespace idleburn {
namespace {

constexpr std::size_t kUuidPrefix = 4;  // "GPU-" or "MIG-"

// Keeps what is known, and takes over what is new.
template <typename T>
void FillIn(T& known, const T& learned) {
  if (known == T{}) known = learned;
}

// nvidia-smi prints an eight-digit PCI domain, and other sources four digits. The domain of a GPU fits into
// four.
std::string NormalBusId(std::string_view text) {
  std::string bus(text);
  std::transform(bus.begin(), bus.end(), bus.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  if (bus.size() == 16 && bus.starts_with("0000")) bus.erase(0, 4);
  return bus;
}

// Adds [from, to) to disjoint stretches (start to end), and merges those that touch.
void Unite(std::map<std::int64_t, std::int64_t>& stretches, std::int64_t from, std::int64_t to) {
  auto next = stretches.upper_bound(from);
  if (next != stretches.begin() && std::prev(next)->second >= from) {
    --next;
    from = next->first;
  }
  while (next != stretches.end() && next->first <= to) {
    to = std::max(to, next->second);
    next = stretches.erase(next);
  }
  stretches.emplace_hint(next, from, to);
}

}  // namespace

int BoardSlices(std::string_view gpu_name) {
  constexpr int kOfNearlyAll = 7;
  return MigSlices(gpu_name).value_or(kOfNearlyAll);
}

int ProfileSlices(std::string_view profile) {
  const std::size_t g = profile.find("g.");
  if (g == std::string_view::npos || g == 0) return 1;
  const char digit = profile[g - 1];
  return digit >= '1' && digit <= '8' ? digit - '0' : 1;
}

std::string NormalUuid(std::string_view text) {
  // A UUID has 36 characters with dashes at fixed places, with or without its prefix.
  const std::string_view prefix = text.substr(0, kUuidPrefix);
  const bool mig = EqualsIgnoreCase(prefix, "MIG-");
  const bool gpu = EqualsIgnoreCase(prefix, "GPU-");
  const std::string_view bare = text.substr(mig || gpu ? kUuidPrefix : 0);
  const bool amd = gpu && bare.size() == 16;  // AMD's unique id, as ROCm spells it in a device list
  if (bare.size() != 36 && !amd) return {};
  std::string uuid(mig ? "MIG-" : "GPU-");
  for (std::size_t i = 0; i < bare.size(); ++i) {
    const auto c = static_cast<unsigned char>(bare[i]);
    const bool dash = !amd && (i == 8 || i == 13 || i == 18 || i == 23);
    if (dash != (c == '-') || (!dash && std::isxdigit(c) == 0)) return {};
    uuid += static_cast<char>(std::tolower(c));
  }
  return uuid;
}

bool IsUnsizedInstance(const Device& device) { return !device.mig && device.uuid.starts_with("MIG-"); }

bool IsMaskedUuid(std::string_view uuid) {
  if (uuid.size() < kUuidPrefix) return false;
  return std::all_of(uuid.begin() + kUuidPrefix, uuid.end(), [](char c) { return c == '0' || c == '-'; });
}

// The key of a device in by_uuid_. MIG instances share the UUID of their board, so their id is part of the key.
std::string DeviceTable::KeyOf(const DeviceKey& key, const std::string& uuid) const {
  std::string full = key.mig ? uuid + "/" + key.mig->id : uuid;
  if (!twins_.empty() && twins_.count(uuid) != 0) full += "@" + HostOf(key);
  return full;
}

// Finds the entry of a key by UUID, then by bus id and model, then by index. Anything that is known on both
// sides and differs rules an entry out.
std::optional<DeviceId> DeviceTable::Find(const DeviceKey& key, const std::string& uuid) const {
  if (!uuid.empty()) {
    const auto found = by_uuid_.find(KeyOf(key, uuid));
    if (found != by_uuid_.end()) return found->second;
    if (by_uuid_.size() == devices_.size()) return std::nullopt;  // each has a UUID of its own
  }
  const std::string bus = NormalBusId(key.bus_id);
  for (DeviceId id = 0; id < devices_.size(); ++id) {
    const Device& d = devices_[id];
    // A board never matches one of its instances.
    if (d.mig.has_value() != key.mig.has_value()) continue;
    if (d.mig && d.mig->id != key.mig->id) continue;
    if (!uuid.empty() && !d.uuid.empty()) continue;  // both known and different
    if (!HostOf(key).empty() && !d.host.empty() && HostOf(key) != d.host) continue;
    if (!bus.empty() && !d.bus_id.empty()) {
      // Machines often have their GPU in the same slot; a slot does not change its model.
      const bool other_model = !key.name.empty() && !d.name.empty() && key.name != d.name;
      if (bus == d.bus_id && !other_model) return id;
      continue;
    }
    // An index is the weakest name: it only decides if nothing better is known on both sides.
    if (key.index && d.index && *key.index == *d.index) return id;
  }
  return std::nullopt;
}

// Enters a device or a board, without its relation to the other.
DeviceId DeviceTable::EnterOne(const DeviceKey& key) {
  std::string uuid = NormalUuid(key.uuid);
  if (!uuid.empty() && IsMaskedUuid(uuid)) uuid.clear();
  std::optional<DeviceId> id = Find(key, uuid);
  if (!id) {
    id = static_cast<DeviceId>(devices_.size());
    devices_.emplace_back();
  }
  Device& d = devices_[*id];
  FillIn(d.uuid, uuid);
  FillIn(d.bus_id, NormalBusId(key.bus_id));
  FillIn(d.index, key.index);
  FillIn(d.host, HostOf(key));
  FillIn(d.name, key.name);
  // A later input may know the profile that an earlier one lacked.
  if (!d.mig || (d.mig->profile.empty() && key.mig)) d.mig = key.mig;
  if (!uuid.empty()) by_uuid_.emplace(KeyOf({{}, {}, {}, key.host, {}, d.mig}, uuid), *id);
  Meet(*id, key);
  return *id;
}

// How devices are named starts anew with each input. What is known about them stays.
void DeviceTable::BeginInput(std::string host) {
  host_ = std::move(host);
  named_by_.clear();
}

void DeviceTable::Meet(DeviceId id, const DeviceKey& key) {
  if (id >= named_by_.size()) named_by_.resize(id + 1);
  const std::string uuid = NormalUuid(key.uuid);
  named_by_[id] |= kByPlace;
  if (!uuid.empty() && !IsMaskedUuid(uuid)) named_by_[id] |= kByUuid;
  if (!HostOf(key).empty()) named_by_[id] |= kByHost;
}

// An instance is never without its board, because power and cost belong to the board.
DeviceId DeviceTable::Enter(const DeviceKey& key) {
  const DeviceId id = EnterOne(key);
  if (key.mig && !devices_[id].board) {
    // The same key without the instance names the board.
    DeviceKey board = key;
    board.mig.reset();
    const DeviceId board_id = EnterOne(board);
    devices_[id].board = board_id;
    devices_[board_id].has_instances = true;
  }
  return id;
}

bool IsNotebook(std::string_view name) {
  constexpr std::array<std::string_view, 4> kWords = {"jupyter", "ipykernel", "colab-kernel", "colab_kernel"};
  const std::string lower = Lower(name);
  return std::any_of(kWords.begin(), kWords.end(),
                     [&](std::string_view word) { return lower.find(word) != std::string::npos; });
}

void DeviceTable::NameCounter(DeviceId device, Signal signal, std::string_view counter) {
  CHECK(device < devices_.size());
  Device& d = devices_[device];
  std::string& name = d.counter[Index(signal)];
  if (name == counter) return;
  // Remembers the other counters, because the report names them.
  if (!name.empty()) d.also[Index(signal)].insert(name);
  d.also[Index(signal)].erase(std::string(counter));
  name = counter;
}

DeviceId DeviceTable::Home(DeviceId device, Signal signal) const {
  const Device& d = devices_[device];
  return d.board && Info(signal).scope == Scope::kBoard ? *d.board : device;
}

// Sweeps over the starts and ends of all stays. Between two of them the set of owners is constant, so each
// owner gets an equal part of that time. Updating every owner at every edge would be quadratic. Instead `now`
// accumulates what one owner would have received so far, and an owner's time is the difference between its end
// and its start.
void OwnerLedger::Account::Add(const std::vector<Stay>& stays) {
  struct Edge {
    std::int64_t time;
    bool starts;
    std::string_view owner;
  };
  std::vector<Edge> edges;
  for (const Stay& stay : stays) {
    if (!stay.owner.empty()) tallies.try_emplace(std::string(stay.owner));  // listed, however short
    if (stay.from == stay.to) continue;
    edges.push_back({stay.from, true, stay.owner});
    edges.push_back({stay.to, false, stay.owner});
  }
  std::sort(edges.begin(), edges.end(),
            [](const Edge& a, const Edge& b) { return std::pair(a.time, a.starts) < std::pair(b.time, b.starts); });
  // What an owner who stays throughout has received so far, and for how long it was shared.
  struct Mark {
    Int128 parts = 0;
    std::int64_t shared_ns = 0;
  };
  Mark now;
  Int128 nobodys = 0;
  struct Since {
    Mark mark;
    int times = 0;  // number of overlapping stays of this owner
  };
  // The owners who are present, with the mark at which each arrived.
  std::map<std::string_view, Since> here;
  for (std::size_t i = 0; i < edges.size(); ++i) {
    const Edge& edge = edges[i];
    const auto owner = here.try_emplace(edge.owner, Since{now, 0}).first;
    owner->second.times += edge.starts ? 1 : -1;
    if (owner->second.times == 0) {
      const Mark since = owner->second.mark;
      here.erase(owner);
      if (!edge.owner.empty()) {
        Tally& tally = tallies.find(edge.owner)->second;
        tally.parts += now.parts - since.parts;
        tally.shared = tally.shared || now.shared_ns > since.shared_ns;
      }
    }
    // Time passes only between edges at different times.
    if (here.empty() || edges[i + 1].time == edge.time) continue;
    const std::int64_t ns = edges[i + 1].time - edge.time;
    const std::size_t named = here.size() - here.count({});
    if (named == 0) nobodys += static_cast<Int128>(kParts) * ns;
    if (named > 0) now.parts += static_cast<Int128>(kParts / static_cast<std::int64_t>(named)) * ns;
    if (named > 1) now.shared_ns += ns;
    Unite(told, edge.time, edges[i + 1].time);
  }
  if (nobodys > 0) tallies[""].parts += nobodys;
}

// Held stretches are applied to a copy. Later calls of Add may still end them earlier.
OwnerLedger::Account OwnerLedger::Account::Settled() const {
  Account all = *this;
  for (const Held& stretch : held) {
    const auto next = told.upper_bound(stretch.from);
    // Held time applies only until the next stretch that was told, and not where time is known already.
    const bool known = next != told.begin() && std::prev(next)->second > stretch.from;
    if (known || next == told.end()) continue;
    std::vector<Stay> stays;
    for (const std::string& owner : stretch.owners) {
      stays.push_back({owner, stretch.from, std::min(stretch.to, next->first)});
    }
    all.Add(stays);
  }
  return all;
}

void OwnerLedger::Add(DeviceId device, const std::vector<Stay>& stays) {
  std::vector<Stay> kept;
  for (const Stay& stay : stays) {
    if (stay.to < within_.first || stay.from > within_.second) continue;
    kept.push_back({stay.owner, std::max(stay.from, within_.first), std::min(stay.to, within_.second)});
  }
  accounts_[device].Add(kept);
}

void OwnerLedger::Add(DeviceId device, const std::vector<std::string>& owners, Instant from, Instant to) {
  // An instant still names an owner.
  to = std::max(to, from + Nanos(1));
  std::vector<Stay> stays;
  for (const std::string& owner : owners) stays.push_back({owner, from.nanos(), to.nanos()});
  if (owners.empty()) stays.push_back({{}, from.nanos(), to.nanos()});
  Add(device, stays);
}

void OwnerLedger::Hold(DeviceId device, std::vector<std::string> owners, Instant from, Instant to) {
  const std::int64_t start = std::max(from.nanos(), within_.first);
  const std::int64_t end = std::min(to.nanos(), within_.second);
  if (start < end) accounts_[device].held.push_back({std::move(owners), start, end});
}

Nanos OwnerLedger::ToldTime(DeviceId device) const {
  const auto found = accounts_.find(device);
  if (found == accounts_.end()) return Nanos();
  Nanos sum{};
  for (const auto& [from, to] : found->second.Settled().told) sum += Nanos(to - from);
  return sum;
}

// Time that names no owner is a share too, with an empty name. So shares are shares of all known time.
std::vector<OwnerLedger::Share> OwnerLedger::SharesOf(DeviceId device) const {
  const auto found = accounts_.find(device);
  if (found == accounts_.end()) return {};
  const Account account = found->second.Settled();
  const auto& tallies = account.tallies;
  if (tallies.empty() || (tallies.size() == 1 && tallies.begin()->first.empty())) return {};
  double sum = 0;
  for (const auto& [owner, tally] : tallies) sum += static_cast<double>(tally.parts);
  if (sum == 0) return {};
  std::vector<Share> shares;
  for (const auto& [owner, tally] : tallies) {
    shares.push_back({owner, static_cast<double>(tally.parts) / sum, tally.shared});
  }
  return shares;
}

namespace {

// The sort key of a device. A missing index or instance sorts last or first, as people expect.
auto SortKey(DeviceId id, const DeviceTable& devices) {
  const Device& device = devices[id];
  const Device& board = device.board ? devices[*device.board] : device;
  const std::int64_t instance = device.mig ? ParseInteger(device.mig->id).value_or(INT64_MAX) : -1;
  return std::tuple(std::string_view(board.host), board.index.value_or(INT_MAX), std::string_view(board.bus_id),
                    std::string_view(board.uuid), device.board.value_or(id), instance, id);
}

}  // namespace

bool StandsBefore(DeviceId a, DeviceId b, const DeviceTable& devices) {
  return SortKey(a, devices) < SortKey(b, devices);
}

bool OfSeveralHosts(const DeviceTable& devices) {
  for (DeviceId id = 1; id < devices.size(); ++id) {
    if (devices[id].host != devices[0].host) return true;
  }
  return false;
}

}  // namespace idleburn
