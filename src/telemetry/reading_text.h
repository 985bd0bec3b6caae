#pragma once

#include <cstdint>
#include <string>

#include "telemetry/device.h"

namespace idleburn {

// A reading for people, with its unit: "85 %", "350 W", "20.0 GiB".
std::string ReadingText(Signal signal, std::int64_t value);

// "GPU 3", "GPU 3 MIG 1g.10gb #7".
std::string ShortName(const Device& device);

// "GPU 3" by index, else the start of its UUID, its bus id, its name, or "device 3"; "n1 GPU 3" where a table has
// several hosts.
std::string DeviceLabel(const DeviceTable& devices, DeviceId device);

}  // namespace idleburn
