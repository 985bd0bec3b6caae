#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "measure/nvml_abi.h"

namespace idleburn {

// What a return code of NVML means to somebody who measures.
enum class NvmlHandling : std::uint8_t {
  kOk,
  kNothingNew,   // no news since the last call
  kUnsupported,  // never on this device: not asked again before the next initialisation
  kPermission,   // not for this user: likewise
  kLost,         // the device is gone, or the library no longer is initialised
  kNoDriver,     // no GPU can be measured here
  kMismatch,     // the driver was replaced under a running process: nothing may be reported
  kPassing,      // failed this time
};

struct NvmlCode {
  nvml::Return code;
  NvmlHandling handling;
  std::string_view sentence;  // what it says and what to do about it
};

// The row of a code; of kUnknown for codes that are in no table.
const NvmlCode& NvmlCodeOf(nvml::Return code);
// "GPU is lost (15): it fell off the bus; ..."
std::string NvmlSentence(nvml::Return code);

}  // namespace idleburn
