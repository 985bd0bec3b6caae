#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "telemetry/device.h"
#include "telemetry/run_facts.h"

namespace idleburn {

// What the links of one GPU can move, in bytes per second: PCIe in each direction, NVLink in both directions together.
// 0 means not known.
struct LinkSpeed {
  std::int64_t pcie = 0;
  std::int64_t nvlink = 0;
};

// What the links of each device can move, by DeviceId. PCIe comes from what an input tells of the link
// (import/device_facts.h): boards of one model sit in slots of different speed. NVLink comes from the model, and from
// the number of links that a recording counts as up.
std::vector<LinkSpeed> LinksOf(const DeviceTable& devices, const RunFacts& facts);

// Whether LinksOf reads facts with this key.
bool TellsLink(std::string_view key);

}  // namespace idleburn
