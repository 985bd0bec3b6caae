#include "audit/input_overlap.h"

#include <algorithm>
#include <array>
#include <string>

#include "telemetry/counter_choice.h"
#include "text/number.h"
#include "text/strings.h"

// Errors of this file all have one purpose: no two GPUs become one, and no GPU becomes two, without a word. Both
// mistakes leave a plausible report with a wrong bill. Guessing by the size of readings was no option, because GPUs of
// one job have nearly equal readings. So the user is asked, and the message shows what to write (docs/readings.md,
// "Whose a reading is").

namespace idleburn {
namespace {

// How long two logs of one GPU may overlap when one logger takes over from another.
constexpr Nanos kHandOver{5 * kNanosPerSecond};

// Whether rows about `a` that name no host may be about `b`, which is on another host: same bus id or index, and no
// different model.
bool MayBeMeant(const Device& a, const Device& b) {
  if (a.host.empty() || b.host.empty() || a.host == b.host || a.mig || b.mig) return false;
  if (!a.name.empty() && !b.name.empty() && a.name != b.name) return false;
  if (!a.bus_id.empty() && !b.bus_id.empty()) return a.bus_id == b.bus_id;
  return a.index && a.index == b.index;
}

}  // namespace

void InputOverlap::See(const Sample& sample) {
  for (std::size_t i = 0; i < kDecisive.size(); ++i) {
    if (!sample.Has(kDecisive[i])) continue;
    if (sample.device >= present_.size()) present_.resize(sample.device + 1);
    present_[sample.device][i].See(sample.time);
  }
}

Result<void> InputOverlap::End(const std::string& input) {
  inputs_.push_back(input);
  for (DeviceId device = 0; device < present_.size(); ++device) {
    for (std::size_t i = 0; i < kDecisive.size(); ++i) {
      Coverage& covered = present_[device][i];
      if (covered.empty()) continue;
      covered.Settle();
      const Signal signal = kDecisive[i];
      std::string counter = devices_[device].counter[Index(signal)];
      if (counter.empty()) counter = Info(signal).name;
      const Series now{inputs_.size() - 1, devices_.NamedBy(device), std::move(counter), std::move(covered)};
      std::vector<Series>& before = ended_[{device, signal}];
      for (const Series& series : before) TRY(Check(series, now, device));
      before.push_back(now);
    }
  }
  present_.clear();
  for (DeviceId device = 0; device < devices_.size(); ++device) {
    if (devices_.NamedBy(device) == DeviceTable::kByPlace) placed_.emplace_back(inputs_.size() - 1, device);
  }
  return {};
}

Result<void> InputOverlap::Finish() const {
  for (const auto& [input, device] : placed_) {
    const Device& taken = devices_[device];
    for (DeviceId id = 0; id < devices_.size() && !taken.host.empty(); ++id) {
      const Device& other = devices_[id];
      if (!MayBeMeant(taken, other)) continue;
      const std::string& name = inputs_[input];
      return Fail(name + ": does not say whether its " + NameOf(taken) + " is that of " + taken.host + " or of " +
                  other.host + "; say which: " + taken.host + "=" + name + " or " + other.host + "=" + name);
    }
  }
  return {};
}

// Two series are certain if both name the device by UUID, or both by host. Otherwise only a short overlap is accepted:
// that of a hand-over, or 2.5 steps of a slow log.
Result<void> InputOverlap::Check(const Series& before, const Series& now, DeviceId device) const {
  constexpr unsigned kSure = DeviceTable::kByUuid | DeviceTable::kByHost;
  if ((before.named_by & now.named_by & kSure) != 0 || !IsSameCounter(before.counter, now.counter)) return {};
  const Nanos overlap = Coverage::Overlap(before.covered, now.covered);
  const Nanos step = std::max(before.covered.Step(), now.covered.Step());
  if (overlap <= std::max(kHandOver, step * 5 / 2)) return {};
  const std::string& first = inputs_[before.input];
  const std::string& second = inputs_[now.input];
  return Fail(first + " and " + second + ": both give " + now.counter + " of " + NameOf(devices_[device]) +
              " for the same " + SecondsText(overlap) + ", and not both say by a UUID or a host whose GPU it is; if " +
              "of two machines, name them: NODE1=" + first + " NODE2=" + second +
              "; if of one, leave out one of the two");
}

namespace {

// An unknown text agrees with any other.
bool MayAgree(std::string_view a, std::string_view b) { return a.empty() || b.empty() || a == b; }

// Whether nothing that is known of two devices contradicts that they are one GPU.
bool MayBeOne(const Device& a, const Device& b) {
  const auto keyed = [](const Device& d) { return !d.uuid.empty() || !d.bus_id.empty() || d.index; };
  if (a.mig || b.mig || !keyed(a) || !keyed(b)) return false;
  return MayAgree(a.uuid, b.uuid) && MayAgree(a.bus_id, b.bus_id) && MayAgree(a.host, b.host) &&
         MayAgree(a.name, b.name) && (!a.index || !b.index || *a.index == *b.index);
}

}  // namespace

std::string NameOf(const Device& device) {
  if (!device.uuid.empty()) return device.uuid;
  if (!device.bus_id.empty()) return "the GPU at " + Printable(device.bus_id);
  return device.index ? "GPU " + std::to_string(*device.index) : "GPU '" + Printable(device.name) + "'";
}

// Looks for words instead of parsing the head: the importer that could parse it is not chosen yet, and a wrong guess
// changes only the order of reading.
InputKeys KeysOf(std::string_view head) {
  constexpr std::array<std::string_view, 6> kPlaces = {"index",  "gpu=\"",   "minor_number",
                                                       "bus_id", "<gpu id=", "ordinal"};
  if (!Mentions(head, "uuid")) return InputKeys::kIndex;
  const bool placed =
      std::any_of(kPlaces.begin(), kPlaces.end(), [&](std::string_view place) { return Mentions(head, place); });
  return placed ? InputKeys::kSeveral : InputKeys::kUuid;
}

Result<void> CheckDistinct(const DeviceTable& devices) {
  for (DeviceId a = 0; a < devices.size(); ++a) {
    for (DeviceId b = a + 1; b < devices.size(); ++b) {
      if (!MayBeOne(devices[a], devices[b])) continue;
      return Fail("the inputs do not say whether " + NameOf(devices[a]) + " and " + NameOf(devices[b]) +
                  " are one GPU; add an input that names it by both its UUID and its index, or audit them one by one");
    }
  }
  return {};
}

}  // namespace idleburn
