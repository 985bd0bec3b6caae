#pragma once

#include <cstdint>
#include <string>

#include "telemetry/device.h"

namespace idleburn {

// A reading for people, with its unit: "85 %", "350 W", "20.0 GiB". `value` is in the unit of kSignals.
std::string ReadingText(Signal signal, std::int64_t value);

// The name of a device in a sentence: "GPU 3", "GPU 3 MIG 1g.10gb #7".
std::string ShortName(const Device& device);

// The name of a device in a table: "GPU 3" by index, else the start of its UUID, its bus id, its name, or "device 3".
// It is "n1 GPU 3" if the run has several hosts.
std::string DeviceLabel(const DeviceTable& devices, DeviceId device);

}  // namespace idleburn
