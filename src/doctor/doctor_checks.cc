#include "doctor/doctor_checks.h"

#include <algorithm>
#include <array>

namespace idleburn {
namespace {

constexpr std::string_view kNewerDriver = "update the NVIDIA driver; what rests on this counter is unknown until then";

constexpr std::array<CheckInfo, 33> kChecks = {{
    {"nvml_library", "NVIDIA's library", false, JudgeLibrary},
    {"nvml_version", "NVIDIA's driver answers", false, JudgeVersion},
    {"gpu_count", "GPUs", false, JudgeCount},
    {"amd_gpus", "AMD GPUs", false, JudgeAmd},
    {"mig", "MIG instances", false, JudgeMig},
    {"utilization", "phases of the GPU", true, JudgeSignal,
     "see nvidia-smi dmon; without utilization the time of this GPU is unobserved", Signal::kUtilization},
    {"utilization_ring", "each utilization once, by the driver's stamp", false, JudgeRing},
    {"utilization_window", "how often utilization is renewed", false, JudgeWindow},
    {"gpm_sm_active", "activity of the SMs, which tells work from waiting", true, JudgeSignal,
     "needs GPM (Hopper or newer, driver 520 or newer); elsewhere audit a log of dcgm-exporter with "
     "DCGM_FI_PROF_SM_ACTIVE",
     Signal::kSmActive},
    {"power", "power", true, JudgeSignal, kNewerDriver, Signal::kPower},
    {"energy_counter", "energy", true, JudgeSignal,
     "boards before Volta have no energy counter; energy is integrated from power instead", Signal::kEnergy},
    {"sm_clock", "SM clock", true, JudgeSignal, kNewerDriver, Signal::kSmClock},
    {"event_reason_fields", "why clocks are lowered", true, JudgeReasons, kNewerDriver, Signal::kEventReasons},
    {"memory", "memory in use", true, JudgeSignal, kNewerDriver, Signal::kMemoryUsed},
    {"temperature", "temperature", true, JudgeSignal, kNewerDriver, Signal::kTemperature},
    {"process_list", "processes that hold a GPU", true, JudgeSignal,
     "run as root, or where the driver shows processes (nvidia-smi lists them); idle-held time is then known by memory",
     Signal::kProcesses},
    {"pcie", "what moves over PCIe", true, JudgeSignal, kNewerDriver, Signal::kPcieRx},
    {"ecc_xid", "memory errors and Xid events", true, JudgeErrors},
    {"sampler", "readings in time", false, JudgeSampler},
    {"pid_namespace", "processes outside this container", false, JudgePidNamespace},
    {"psi", "waiting for CPUs, disks and memory", true, JudgePressure},
    {"schedstat", "a workload's waiting for a CPU", true, JudgeSchedstat},
    {"proc_io", "what a workload reads and writes", true, JudgeProcIo},
    {"cgroup", "a workload's CPU and memory limits", true, JudgeCgroup},
    {"host_clock", "the host's clock", false, JudgeClock},
    {"recording_folder", "room for recordings", false, JudgeFolder},
    {"price_catalogue", "the price list", false, JudgePriceList},
    {"instance_type", "the type of this machine", false, JudgeInstance},
    {"price", "the price of a GPU-hour", false, JudgePrice},
    {"parquet", "Parquet files", false, JudgeDuckDb},
    {"data_files", "the data of --data", false, JudgeDataFiles},
    {"data_speed", "what the storage of --data delivers", false, JudgeDataSpeed},
    {"data_run", "what the run of --run read of it", false, JudgeDataRun},
}};

}  // namespace

std::string_view Name(CheckStatus status) {
  constexpr std::array<std::string_view, 4> kNames = {"skipped", "ok", "warning", "failure"};
  return kNames[static_cast<std::size_t>(status)];
}

std::span<const CheckInfo> DoctorChecks() { return kChecks; }

std::vector<CheckResult> JudgeAll(const DoctorReadings& readings) {
  std::vector<CheckResult> results;
  for (const CheckInfo& check : kChecks) results.push_back({&check, check.judge(readings, check)});
  return results;
}

CheckStatus WorstOf(std::span<const CheckResult> results) {
  CheckStatus worst = CheckStatus::kOk;
  for (const CheckResult& result : results) worst = std::max(worst, result.verdict.status);
  return worst;
}

}  // namespace idleburn
