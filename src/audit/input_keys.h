#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "telemetry/device.h"

namespace idleburn {

// By how many keys an input seems to name its GPUs, from its first bytes. In the order of this list inputs are read: an
// input that knows both a UUID and an index joins what others know by one of them.
enum class InputKeys : std::uint8_t { kSeveral, kUuid, kIndex };
InputKeys KeysOf(std::string_view head);

// A device, for people who are told that it is doubtful.
std::string NameOf(const Device& device);

// Fails where nothing says that two devices of several inputs are two: one that counts twice would cost twice.
Result<void> CheckDistinct(const DeviceTable& devices);

}  // namespace idleburn
