#include "measure/nvml_library.h"

#include <unistd.h>

#include <utility>

#include "measure/nvml_codes.h"

namespace idleburn {

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

Nanos NvmlLibrary::Begin(const NvmlEntry& function) {
  pending_.store(function.name, std::memory_order_release);
  return pass_at_ ? *pass_at_ : clock_->Monotonic();
}

void NvmlLibrary::End(NvmlEntry& function, Nanos start) {
  while (abandoned_.load()) pause();
  const Nanos now = clock_->Monotonic();
  function.times.Add(now - start);
  spent_ += now - start;
  if (pass_at_) pass_at_ = now;
  pending_.store(nullptr, std::memory_order_release);
}

}  // namespace idleburn
