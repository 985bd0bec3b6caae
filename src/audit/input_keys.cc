#include "audit/input_keys.h"

#include <algorithm>
#include <array>
#include <string>

#include "text/escape.h"
#include "text/strings.h"

namespace idleburn {
namespace {

bool MayAgree(std::string_view a, std::string_view b) { return a.empty() || b.empty() || a == b; }

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
