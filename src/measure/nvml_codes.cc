#include "measure/nvml_codes.h"

#include <algorithm>
#include <array>

namespace idleburn {
namespace {

using H = NvmlHandling;

constexpr std::array<NvmlCode, 31> kCodes = {{
    {0, H::kOk, "success"},
    {1, H::kLost, "NVML is not initialised: the driver was reloaded; it is opened again by itself"},
    {2, H::kPassing, "invalid argument: this driver does not know the request; update the driver"},
    {3, H::kUnsupported, "not supported by this GPU"},
    {4, H::kPermission, "no permission: run as root, or ask for the right to read this GPU's counters"},
    {5, H::kOk, "already initialised"},
    {6, H::kNothingNew, "nothing found since the last call"},
    {7, H::kPassing, "the list grew while it was read; it is read again by itself"},
    {8, H::kPassing, "a power cable of the GPU is not attached; check the connectors"},
    {9, H::kNoDriver, "the NVIDIA driver is not loaded: run nvidia-smi, and install or load the driver"},
    {10, H::kPassing, "the driver did not answer in time"},
    {11, H::kPassing, "the kernel found a problem with the GPU's interrupts; see dmesg"},
    {12, H::kNoDriver, "libnvidia-ml.so is not to be found: install the NVIDIA driver's utilities"},
    {13, H::kUnsupported, "this driver's library has no such function"},
    {14, H::kPassing, "the GPU's info memory is corrupted; ask the vendor"},
    {15, H::kLost, "the GPU is lost: it fell off the bus or was reset; see dmesg for Xid errors, then reboot"},
    {16, H::kLost, "the GPU needs a reset: nvidia-smi --gpu-reset, when nothing uses it"},
    {17, H::kPassing, "the GPU is blocked by the operating system or its control group; check device permissions"},
    {18, H::kMismatch, "the driver was upgraded and its kernel module was not: reboot, or reload the module"},
    {19, H::kPassing, "the GPU is in use by an exclusive process"},
    {20, H::kPassing, "out of memory"},
    {21, H::kNothingNew, "no data yet"},
    {22, H::kUnsupported, "not with ECC under virtual GPUs"},
    {23, H::kPassing, "the driver is out of resources"},
    {24, H::kUnsupported, "that clock cannot be read"},
    {25, H::kUnsupported, "this driver wants another version of the request"},
    {26, H::kUnsupported, "this driver has given the request up"},
    {27, H::kPassing, "the driver is not ready yet"},
    {28, H::kLost, "the GPU is not found: it was removed"},
    {29, H::kPassing, "the GPU's state does not allow the request now"},
    {999, H::kPassing, "unknown failure inside the driver; see dmesg"},
}};

constexpr bool InOrder() {
  for (std::size_t i = 1; i < kCodes.size(); ++i) {
    if (kCodes[i - 1].code >= kCodes[i].code) return false;
  }
  return true;
}
static_assert(InOrder());

}  // namespace

const NvmlCode& NvmlCodeOf(nvml::Return code) {
  const auto* const row = std::lower_bound(kCodes.begin(), kCodes.end(), code,
                                           [](const NvmlCode& a, nvml::Return b) { return a.code < b; });
  return row != kCodes.end() && row->code == code ? *row : kCodes.back();
}

std::string NvmlSentence(nvml::Return code) {
  return "NVML says " + std::to_string(code) + ": " + std::string(NvmlCodeOf(code).sentence);
}

}  // namespace idleburn
