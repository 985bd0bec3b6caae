#include "measure/nvml_library.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

namespace idleburn {

// Looks up every function. The second name is that of an older version with the same parameters.
NvmlLibrary::NvmlLibrary(DynamicLibrary library, std::string path, std::shared_ptr<RunClock> run_clock)
    : library_(library), path_(std::move(path)), clock_(std::move(run_clock)) {
  Find(init, "nvmlInit");
  Find(shutdown);
  Find(device_count, "nvmlDeviceGetCount");
  Find(handle_by_index, "nvmlDeviceGetHandleByIndex");
  Find(driver_version);
  Find(nvml_version);
  Find(name);
  Find(uuid);
  Find(pci_info, "nvmlDeviceGetPciInfo_v2");
  FindDescribing();
  FindMeasuring();
  FindRest();
}

void NvmlLibrary::FindDescribing() {
  Find(cuda_version, "nvmlSystemGetCudaDriverVersion");
  Find(vbios);
  Find(pcie_generation);
  Find(pcie_width);
  Find(most_pcie_generation);
  Find(most_pcie_width);
  Find(common_ancestor);
  Find(nvlink_state);
}

void NvmlLibrary::FindMeasuring() {
  Find(samples);
  Find(utilization);
  Find(memory_v2);
  Find(memory);
  Find(power_usage);
  Find(energy);
  Find(power_limit);
  Find(default_limit);
  Find(clock);
  Find(max_clock);
  Find(event_reasons, "nvmlDeviceGetCurrentClocksThrottleReasons");
  Find(temperature);
  Find(temperature_v1);
  Find(field_values);
  Find(ecc_errors);
}

void NvmlLibrary::FindRest() {
  Find(processes, "nvmlDeviceGetComputeRunningProcesses_v2");  // of the same layout; the oldest has another
  Find(processes_v1);
  Find(mps_processes, "nvmlDeviceGetMPSComputeRunningProcesses_v2");
  Find(drawing_processes, "nvmlDeviceGetGraphicsRunningProcesses_v2");
  Find(mig_mode);
  Find(mig_count);
  Find(mig_handle);
  Find(gpu_instance);
  Find(attributes);
  Find(event_set_create);
  Find(event_set_free);
  Find(register_events);
  Find(event_wait);
  Find(gpm_support);
  Find(gpm_alloc);
  Find(gpm_free);
  Find(gpm_sample);
  Find(gpm_mig_sample);
  Find(gpm_metrics);
}

// The plain name is the second try, for machines where only that link exists.
Result<std::unique_ptr<NvmlLibrary>> NvmlLibrary::Open(const std::string& path, std::shared_ptr<RunClock> run_clock) {
  std::string used = path.empty() ? "libnvidia-ml.so.1" : path;
  Result<DynamicLibrary> library = DynamicLibrary::Open(used);
  if (!library && path.empty()) {
    used = "libnvidia-ml.so";
    library = DynamicLibrary::Open(used);
  }
  if (!library) {
    if (path.empty()) return Fail("no NVIDIA GPU can be measured: " + NvmlSentence(nvml::kLibraryNotFound));
    return Fail("IDLEBURN_NVML_LIBRARY: " + library.error().message);
  }
  std::unique_ptr<NvmlLibrary> opened(new NvmlLibrary(*library, used, std::move(run_clock)));
  const bool enough = opened->init.address != nullptr && opened->shutdown.address != nullptr &&
                      opened->device_count.address != nullptr && opened->handle_by_index.address != nullptr;
  if (!enough) return Fail(used + ": is no NVML library, or one too old: it cannot list GPUs; install a newer driver");
  return opened;
}

void NvmlLibrary::VisitTimes(const std::function<void(const NvmlEntry&)>& visit) const {
  for (const NvmlEntry* entry : entries_) {
    if (entry->times.count() > 0) visit(*entry);
  }
}

// Notes which function is called, for the watching thread, and returns when the call began.
Nanos NvmlLibrary::Begin(const NvmlEntry& function) {
  pending_.store(function.name, std::memory_order_release);
  return pass_at_ ? *pass_at_ : clock_->Monotonic();
}

// Records the duration. A thread that was abandoned meanwhile never gets beyond the first line: its caller may be
// gone, and the process is about to end.
void NvmlLibrary::End(NvmlEntry& function, Nanos start) {
  while (abandoned_.load()) pause();
  const Nanos now = clock_->Monotonic();
  function.times.Add(now - start);
  spent_ += now - start;
  if (pass_at_) pass_at_ = now;
  pending_.store(nullptr, std::memory_order_release);
}

namespace {

using H = NvmlHandling;

// All codes of NVML 13.3, sorted by number. Each sentence says what to do where something can be done.
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

// Whether NvmlCodeOf may search the table by halving.
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
