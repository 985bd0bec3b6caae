#include "telemetry/hidden_gpus.h"

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

std::string TextOf(const std::map<std::string, std::string>& facts, const char* key) {
  const auto found = facts.find(key);
  return found == facts.end() ? std::string() : found->second;
}

}  // namespace

std::vector<RunFact> HiddenGpus::Facts(const DeviceTable& table) const {
  std::vector<RunFact> facts;
  std::string names;
  for (const DeviceId id : devices) names += (names.empty() ? "" : ",") + LastingName(table[id]);
  if (!names.empty()) facts.push_back({kDevices, names});
  if (!names.empty()) facts.push_back({kBecause, because});
  if (!doubt.empty()) facts.push_back({kDoubt, doubt});
  return facts;
}

HiddenGpus HiddenGpus::From(const std::map<std::string, std::string>& facts, const DeviceTable& table) {
  HiddenGpus hidden;
  hidden.because = TextOf(facts, kBecause);
  hidden.doubt = TextOf(facts, kDoubt);
  const std::string names = "," + TextOf(facts, kDevices) + ",";
  for (DeviceId id = 0; id < table.size(); ++id) {
    if (names.find("," + LastingName(table[id]) + ",") != std::string::npos) hidden.devices.push_back(id);
  }
  return hidden;
}

}  // namespace idleburn
