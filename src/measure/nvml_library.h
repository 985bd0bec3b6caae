#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "measure/lane.h"
#include "measure/nvml_abi.h"
#include "os/dynamic_library.h"
#include "os/run_clock.h"

namespace idleburn {

// libnvidia-ml, loaded at run time: its functions, what their return codes mean, and how long calls take. Linking
// against it was no choice: one program must run on machines with any driver, and without one.

// A function of the library, with the durations of its calls. The untyped part, for VisitTimes.
struct NvmlEntry {
  const char* name;  // as exported
  Spread times;
};
// The same with its parameters, so that the compiler checks each call.
template <typename... Parameters>
struct NvmlFunction : NvmlEntry {
  explicit NvmlFunction(const char* exported) : NvmlEntry{exported, {}} {}
  nvml::Return (*address)(Parameters...) = nullptr;  // null: this library lacks the function
};

// libnvidia-ml, loaded at run time. All functions except init, shutdown, device_count and handle_by_index may be
// missing; a call of a missing one returns kFunctionNotFound. Opening does not initialise the library.
//
// One thread makes the calls: in the driver they would wait for each other anyway. Any thread may use Pending and
// Abandon.
class NvmlLibrary {
 public:
  // Loads `path`, or if that is empty the system's libnvidia-ml.so.1 or libnvidia-ml.so. Fails if there is none, or
  // if it cannot initialise, shut down, count and find GPUs. `run_clock` measures the calls.
  static Result<std::unique_ptr<NvmlLibrary>> Open(const std::string& path, std::shared_ptr<RunClock> run_clock);

  // Calls a function and measures how long it takes.
  template <typename... Parameters, typename... Arguments>
  nvml::Return Call(NvmlFunction<Parameters...>& function, Arguments... arguments) {
    if (function.address == nullptr) return nvml::kFunctionNotFound;
    const Nanos start = Begin(function);
    const nvml::Return code = function.address(arguments...);
    End(function, start);
    return code;
  }

  // Halves the cost of measuring calls that follow each other closely. Reading the clock costs as much as a quick call.
  // While a Pass lives, each call counts from the end of the one before.
  class Pass {
   public:
    explicit Pass(NvmlLibrary& library) : library_(library) { library_.pass_at_ = library_.clock_->Monotonic(); }
    ~Pass() { library_.pass_at_.reset(); }
    Pass(const Pass&) = delete;
    Pass& operator=(const Pass&) = delete;

   private:
    NvmlLibrary& library_;
  };

  // The function that has not returned yet. Null if there is none.
  [[nodiscard]] const char* Pending() const { return pending_.load(std::memory_order_acquire); }
  // Gives up the thread that is inside a call. When the call returns, the thread sleeps forever, because its data may
  // be gone by then.
  void Abandon() { abandoned_.store(true); }

  // Visits all functions that were called, with the durations of their calls.
  void VisitTimes(const std::function<void(const NvmlEntry&)>& visit) const;
  // The total duration of all calls so far.
  [[nodiscard]] Nanos spent() const { return spent_; }
  [[nodiscard]] const std::string& path() const { return path_; }
  // The functions that this library does not export, each by its newest name. `doctor` lists them.
  [[nodiscard]] const std::vector<const char*>& missing() const { return missing_; }
  [[nodiscard]] std::size_t functions() const { return entries_.size(); }

  using U32 = std::uint32_t;
  using U64 = std::uint64_t;
  using Device = nvml::Device;

  // Needed to do anything at all, and to tell one GPU from another.
  NvmlFunction<> init{"nvmlInit_v2"};
  NvmlFunction<> shutdown{"nvmlShutdown"};
  NvmlFunction<U32*> device_count{"nvmlDeviceGetCount_v2"};
  NvmlFunction<U32, Device*> handle_by_index{"nvmlDeviceGetHandleByIndex_v2"};
  NvmlFunction<char*, U32> driver_version{"nvmlSystemGetDriverVersion"};
  NvmlFunction<char*, U32> nvml_version{"nvmlSystemGetNVMLVersion"};
  NvmlFunction<Device, char*, U32> name{"nvmlDeviceGetName"};
  NvmlFunction<Device, char*, U32> uuid{"nvmlDeviceGetUUID"};
  NvmlFunction<Device, nvml::PciInfo*> pci_info{"nvmlDeviceGetPciInfo_v3"};

  // Descriptions of boards, called once (DescribeBoards).
  NvmlFunction<int*> cuda_version{"nvmlSystemGetCudaDriverVersion_v2"};  // 1000 x major + 10 x minor
  NvmlFunction<Device, char*, U32> vbios{"nvmlDeviceGetVbiosVersion"};
  NvmlFunction<Device, U32*> pcie_generation{"nvmlDeviceGetCurrPcieLinkGeneration"};
  NvmlFunction<Device, U32*> pcie_width{"nvmlDeviceGetCurrPcieLinkWidth"};
  NvmlFunction<Device, U32*> most_pcie_generation{"nvmlDeviceGetMaxPcieLinkGeneration"};
  NvmlFunction<Device, U32*> most_pcie_width{"nvmlDeviceGetMaxPcieLinkWidth"};
  NvmlFunction<Device, Device, int*> common_ancestor{"nvmlDeviceGetTopologyCommonAncestor"};
  NvmlFunction<Device, U32, U32*> nvlink_state{"nvmlDeviceGetNvLinkState"};

  // Measurements, called again and again.
  NvmlFunction<Device, U32, U64, U32*, U32*, nvml::DriverSample*> samples{"nvmlDeviceGetSamples"};
  NvmlFunction<Device, nvml::Utilization*> utilization{"nvmlDeviceGetUtilizationRates"};
  NvmlFunction<Device, nvml::MemoryV2*> memory_v2{"nvmlDeviceGetMemoryInfo_v2"};
  NvmlFunction<Device, nvml::Memory*> memory{"nvmlDeviceGetMemoryInfo"};
  NvmlFunction<Device, U32*> power_usage{"nvmlDeviceGetPowerUsage"};                     // mW
  NvmlFunction<Device, U64*> energy{"nvmlDeviceGetTotalEnergyConsumption"};              // mJ
  NvmlFunction<Device, U32*> power_limit{"nvmlDeviceGetEnforcedPowerLimit"};             // mW
  NvmlFunction<Device, U32*> default_limit{"nvmlDeviceGetPowerManagementDefaultLimit"};  // mW
  NvmlFunction<Device, U32, U32*> clock{"nvmlDeviceGetClockInfo"};                       // MHz
  NvmlFunction<Device, U32, U32*> max_clock{"nvmlDeviceGetMaxClockInfo"};                // MHz
  NvmlFunction<Device, U64*> event_reasons{"nvmlDeviceGetCurrentClocksEventReasons"};
  NvmlFunction<Device, U32, U32*> temperature{"nvmlDeviceGetTemperature"};
  NvmlFunction<Device, nvml::TemperatureV1*> temperature_v1{"nvmlDeviceGetTemperatureV"};
  NvmlFunction<Device, int, nvml::FieldValue*> field_values{"nvmlDeviceGetFieldValues"};
  NvmlFunction<Device, U32, U32, U64*> ecc_errors{"nvmlDeviceGetTotalEccErrors"};

  // Lists of processes. A list takes milliseconds.
  NvmlFunction<Device, U32*, nvml::ProcessInfo*> processes{"nvmlDeviceGetComputeRunningProcesses_v3"};
  NvmlFunction<Device, U32*, nvml::ProcessInfoV1*> processes_v1{"nvmlDeviceGetComputeRunningProcesses"};
  NvmlFunction<Device, U32*, nvml::ProcessInfo*> mps_processes{"nvmlDeviceGetMPSComputeRunningProcesses_v3"};
  NvmlFunction<Device, U32*, nvml::ProcessInfo*> drawing_processes{"nvmlDeviceGetGraphicsRunningProcesses_v3"};

  // MIG instances.
  NvmlFunction<Device, U32*, U32*> mig_mode{"nvmlDeviceGetMigMode"};
  NvmlFunction<Device, U32*> mig_count{"nvmlDeviceGetMaxMigDeviceCount"};
  NvmlFunction<Device, U32, Device*> mig_handle{"nvmlDeviceGetMigDeviceHandleByIndex"};
  NvmlFunction<Device, U32*> gpu_instance{"nvmlDeviceGetGpuInstanceId"};
  NvmlFunction<Device, nvml::Attributes*> attributes{"nvmlDeviceGetAttributes_v2"};

  // Xid events.
  NvmlFunction<nvml::EventSet*> event_set_create{"nvmlEventSetCreate"};
  NvmlFunction<nvml::EventSet> event_set_free{"nvmlEventSetFree"};
  NvmlFunction<Device, U64, nvml::EventSet> register_events{"nvmlDeviceRegisterEvents"};
  NvmlFunction<nvml::EventSet, nvml::EventData*, U32> event_wait{"nvmlEventSetWait_v2"};

  NvmlFunction<Device, nvml::GpmSupport*> gpm_support{"nvmlGpmQueryDeviceSupport"};
  NvmlFunction<nvml::GpmSample*> gpm_alloc{"nvmlGpmSampleAlloc"};
  NvmlFunction<nvml::GpmSample> gpm_free{"nvmlGpmSampleFree"};
  NvmlFunction<Device, nvml::GpmSample> gpm_sample{"nvmlGpmSampleGet"};
  NvmlFunction<Device, U32, nvml::GpmSample> gpm_mig_sample{"nvmlGpmMigSampleGet"};
  NvmlFunction<nvml::GpmMetricsGet*> gpm_metrics{"nvmlGpmMetricsGet"};

 private:
  NvmlLibrary(DynamicLibrary library, std::string path, std::shared_ptr<RunClock> run_clock);
  // Finds a function. `fallback` is an older name of the same function with the same parameters.
  template <typename... Parameters>
  void Find(NvmlFunction<Parameters...>& function, const char* fallback = nullptr) {
    library_.Find(function.name, &function.address);
    if (function.address == nullptr && fallback != nullptr) {
      library_.Find(fallback, &function.address);
      if (function.address != nullptr) function.name = fallback;
    }
    if (function.address == nullptr) missing_.push_back(function.name);
    entries_.push_back(&function);
  }
  void FindDescribing();
  void FindMeasuring();
  void FindRest();
  Nanos Begin(const NvmlEntry& function);
  void End(NvmlEntry& function, Nanos start);

  DynamicLibrary library_;
  std::string path_;
  std::shared_ptr<RunClock> clock_;
  std::vector<const NvmlEntry*> entries_;
  std::vector<const char*> missing_;
  std::optional<Nanos> pass_at_;  // in a pass: when its last call ended
  Nanos spent_{0};
  std::atomic<const char*> pending_{nullptr};
  std::atomic<bool> abandoned_{false};
};

// How a return code of NVML affects measuring.
enum class NvmlHandling : std::uint8_t {
  kOk,
  kNothingNew,   // nothing new since the last call
  kUnsupported,  // not on this device; not asked again before the next initialisation
  kPermission,   // not for this user; not asked again before the next initialisation
  kLost,         // the device is gone, or the library is no longer initialised
  kNoDriver,     // no GPU can be measured here
  kMismatch,     // the driver was replaced under the running process, so its values must not be reported
  kPassing,      // failed this time; may work next time
};

// A return code and its meaning.
struct NvmlCode {
  nvml::Return code;
  NvmlHandling handling;
  std::string_view sentence;  // what it means and what to do
};

// The row of a code. An unlisted code, of a newer driver, gets the row of kUnknown.
const NvmlCode& NvmlCodeOf(nvml::Return code);
// A sentence for people: "NVML says 3: not supported by this GPU".
std::string NvmlSentence(nvml::Return code);

}  // namespace idleburn
