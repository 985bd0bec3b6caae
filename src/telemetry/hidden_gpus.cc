#include "telemetry/hidden_gpus.h"

#include "text/strings.h"

namespace idleburn {
namespace {

constexpr const char* kDevices = "gpus.hidden";
constexpr const char* kBecause = "gpus.hidden_by";
constexpr const char* kDoubt = "gpus.hidden_doubt";

// A name of a device that is the same in every table.
std::string LastingName(const Device& device) {
  std::string name = !device.uuid.empty() ? device.uuid : device.bus_id;
  if (name.empty()) name = "index " + std::to_string(device.index.value_or(-1));
  return device.mig ? name + "/" + device.mig->id : name;
}

}  // namespace

std::vector<RunFact> HiddenGpus::Facts(const DeviceTable& table) const {
  std::vector<RunFact> facts;
  const std::string names = ListText(devices, ",", [&](DeviceId id) { return LastingName(table[id]); });
  if (!names.empty()) facts.push_back({kDevices, names});
  if (!names.empty()) facts.push_back({kBecause, because});
  if (!doubt.empty()) facts.push_back({kDoubt, doubt});
  return facts;
}

HiddenGpus HiddenGpus::From(const RunFacts& facts, const DeviceTable& table) {
  HiddenGpus hidden;
  hidden.because = FactIn(facts, kBecause);
  hidden.doubt = FactIn(facts, kDoubt);
  const std::string names = "," + FactIn(facts, kDevices) + ",";
  for (DeviceId id = 0; id < table.size(); ++id) {
    if (names.find("," + LastingName(table[id]) + ",") != std::string::npos) hidden.devices.push_back(id);
  }
  return hidden;
}

}  // namespace idleburn
