#pragma once

#include <cstdint>
#include <string>

#include "telemetry/device.h"

namespace idleburn {

// A reading for people, with its unit: "85 %", "350 W", "20.0 GiB".
std::string ReadingText(Signal signal, std::int64_t value);

// "GPU 3", "GPU 3 MIG 1g.10gb #7".
std::string ShortName(const Device& device);

}  // namespace idleburn
