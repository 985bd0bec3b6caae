#include "doctor/doctor_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/money.h"
#include "price/find_rate.h"
#include "text/figures.h"

namespace idleburn {
namespace {

// The host, what is kept, and prices. What the kernel does not show is a warning and no failure: idleburn measures all
// else without it, and says of what lacks that it is unknown.

// The kernel gives the first namespace of processes this number.
constexpr std::string_view kFirstPidNamespace = "pid:[4026531836]";
// Every reading takes the clocks, so a slow one makes all of measuring dearer.
constexpr Nanos kSlowClock(2'000);
constexpr std::int64_t kLittleSpace = std::int64_t{1} << 30;

// Whether that signal of the host was read at all.
bool Read(const DoctorReadings& readings, HostScope scope, HostSignal signal) {
  return (readings.host_present[static_cast<std::size_t>(scope)] & Bit(signal)) != 0;
}

// Who holds a GPU from outside of the container is only counted, so this matters where there is a GPU.
CheckVerdict JudgePidNamespace(const DoctorReadings& readings, const CheckInfo& /*check*/) {
  if (readings.pid_namespace.empty()) {
    return {CheckStatus::kWarning, "/proc/self/ns/pid cannot be read", "mount /proc"};
  }
  const std::string evidence = "/proc/self/ns/pid is " + readings.pid_namespace;
  if (readings.pid_namespace == kFirstPidNamespace) return {CheckStatus::kOk, evidence + ", the machine's own", {}};
  if (readings.devices.size() == 0) return {CheckStatus::kOk, evidence + ", a container's", {}};
  return {
      CheckStatus::kWarning, evidence + ", in a container: processes outside count, but idleburn cannot see them",
      "to see the whole machine, start the container with --pid=host (hostPID: true); idleburn run does not need it"};
}

// One of the three files stands for all: a kernel has all of them or none.
CheckVerdict JudgePressure(const DoctorReadings& readings, const CheckInfo& /*check*/) {
  if (Read(readings, HostScope::kMachine, HostSignal::kPsiIoSome)) {
    return {CheckStatus::kOk, "/proc/pressure/cpu, io, memory", {}};
  }
  return {CheckStatus::kWarning, "/proc/pressure/* cannot be read",
          "boot with psi=1, on a kernel of 4.20 or newer; a container may need /proc/pressure from its host"};
}

// This reading and the next are of idleburn's own process. What may be read of it may be read of a workload of this
// user.
CheckVerdict JudgeSchedstat(const DoctorReadings& readings, const CheckInfo& /*check*/) {
  if (Read(readings, HostScope::kWorkload, HostSignal::kCpuWait)) {
    return {CheckStatus::kOk, "/proc/PID/task/TID/schedstat, of idleburn itself", {}};
  }
  return {CheckStatus::kWarning, "/proc/PID/task/TID/schedstat cannot be read",
          "needs a kernel with CONFIG_SCHED_INFO; without it only pressure shows a lack of CPUs"};
}

// The kernel shows what a process reads to its own user only.
CheckVerdict JudgeProcIo(const DoctorReadings& readings, const CheckInfo& /*check*/) {
  if (Read(readings, HostScope::kWorkload, HostSignal::kReadChars)) {
    return {CheckStatus::kOk, "/proc/PID/io, of idleburn itself", {}};
  }
  return {CheckStatus::kWarning, "/proc/PID/io cannot be read",
          "run as the workload's user or as root, on a kernel with CONFIG_TASK_IO_ACCOUNTING"};
}

// Limits of CPU and of memory may stand in two hierarchies (version 1) or in one.
CheckVerdict JudgeCgroup(const DoctorReadings& readings, const CheckInfo& /*check*/) {
  const auto place = [](const char* what, const CgroupPlace& at) {
    return at.folder.empty() ? std::string(what) + " not mounted"
                             : fmt::format("{} in {} (version {})", what, at.folder, at.version2 ? 2 : 1);
  };
  const CgroupPlaces& at = readings.cgroups;
  const std::string evidence = place("cpu", at.cpu) + ", " + place("memory", at.memory);
  if (!at.cpu.folder.empty() && !at.memory.folder.empty()) return {CheckStatus::kOk, evidence, {}};
  return {CheckStatus::kWarning, evidence,
          "mount /sys/fs/cgroup; without it quotas and limits of a workload are unknown"};
}

// The source is named because it explains the cost.
CheckVerdict JudgeClock(const DoctorReadings& readings, const CheckInfo& /*check*/) {
  const std::string source = readings.clock_source.empty() ? "unknown source" : readings.clock_source;
  const std::string evidence = fmt::format("{} ns to read the clocks once ({})", readings.clock_cost.count(), source);
  if (readings.clock_cost <= kSlowClock) return {CheckStatus::kOk, evidence, {}};
  return {CheckStatus::kWarning, evidence,
          "boot with clocksource=tsc if the machine's is stable; measuring costs more"};
}

// Nowhere to record to is a failure: what is measured cannot be kept then.
CheckVerdict JudgeFolder(const DoctorReadings& readings, const CheckInfo& /*check*/) {
  if (readings.recording_folder.empty()) {
    return {CheckStatus::kFailure, "neither XDG_DATA_HOME nor HOME names a folder",
            "set HOME, or name a file with --recording"};
  }
  const FolderProbe& probe = readings.folder;
  if (!probe.fault.empty()) {
    return {CheckStatus::kFailure,
            readings.recording_folder + ": cannot create a file in " + probe.existing + ": " + probe.fault,
            "make the folder writable, set XDG_DATA_HOME, or name a file with --recording"};
  }
  const std::string evidence =
      fmt::format("{}: {} free", readings.recording_folder, BinaryBytes(static_cast<double>(probe.free_bytes)));
  if (probe.free_bytes >= kLittleSpace) return {CheckStatus::kOk, evidence, {}};
  return {CheckStatus::kWarning, evidence, "make room, or keep recordings elsewhere with XDG_DATA_HOME"};
}

// The age of the list does not matter where the price is given.
CheckVerdict JudgePriceList(const DoctorReadings& readings, const CheckInfo& /*check*/) {
  const PriceListFacts& list = readings.prices;
  if (!list.fault.empty())
    return {CheckStatus::kFailure, list.fault, "correct the file of --prices or price.catalogue"};
  const std::string evidence =
      fmt::format("{} offers of {} to {}", list.rows, DayOrUndated(list.oldest), DayOrUndated(list.newest));
  if (readings.rate && readings.rate->per_gpu_hour && readings.rate->kind != RateKind::kCatalogue) {
    return {CheckStatus::kOk, evidence + "; not needed, the price is given", {}};
  }
  if (list.newest && !IsStale(list.newest, readings.now)) return {CheckStatus::kOk, evidence, {}};
  return {CheckStatus::kWarning, evidence + fmt::format(", older than {} days", kStaleAfterDays),
          "give your price (--price 2.50) or a newer list (--prices FILE, see idleburn prices import)"};
}

// A machine outside of any cloud has nothing to mend.
CheckVerdict JudgeInstance(const DoctorReadings& readings, const CheckInfo& /*check*/) {
  if (!readings.instance.empty()) return {CheckStatus::kOk, readings.instance + ", by /sys/class/dmi/id", {}};
  if (readings.provider.empty()) return {CheckStatus::kSkipped, "/sys/class/dmi/id names no known cloud", {}};
  return {CheckStatus::kSkipped, readings.provider + " does not name the type in /sys/class/dmi/id",
          "name it with --price provider:instance@region"};
}

// A price that several offers could be is shown as a range, and one of them is to be chosen. It is no failure to have
// no price: all figures of time are the same without one.
CheckVerdict JudgePrice(const DoctorReadings& readings, const CheckInfo& /*check*/) {
  if (!readings.rate)
    return {CheckStatus::kFailure, readings.rate.error().message, "correct the setting in the message"};
  const Rate& rate = *readings.rate;
  if (rate.per_gpu_hour) {
    return {
        CheckStatus::kOk, fmt::format("{} {} ({})", FormatExact(*rate.per_gpu_hour), rate.currency, rate.source), {}};
  }
  if (rate.reason == "several_rates") return {CheckStatus::kOk, "several rates: " + rate.source, {}};
  if (readings.devices.size() == 0) return {CheckStatus::kSkipped, "no GPU, and no --price", {}};
  if (rate.low && rate.high) {
    return {CheckStatus::kWarning,
            fmt::format("{} to {} {}: {} offers of this GPU", FormatExact(*rate.low), FormatExact(*rate.high),
                        rate.currency, rate.candidates.size()),
            "choose one: --price KEY, see idleburn prices resolve 'NAME OF THE GPU'"};
  }
  return {CheckStatus::kWarning, "no offer of this GPU in the price list", "give a price: --price 2.50, or price.rate"};
}

// Only Parquet needs the library, so this is never more than a warning.
CheckVerdict JudgeDuckDb(const DoctorReadings& readings, const CheckInfo& /*check*/) {
  if (readings.duckdb_fault.empty()) return {CheckStatus::kOk, "idleburn loads DuckDB's library when it needs it", {}};
  return {CheckStatus::kWarning, readings.duckdb_fault, "CSV needs no library: idleburn export --format csv"};
}

// The data of --data, and the run that read them. These checks are skipped unless they are asked for, because they read
// the user's files for seconds.

constexpr std::int64_t kSmallFile = 128 * kKibiByte;
constexpr std::size_t kManyFiles = 1000;
constexpr double kNearly = 0.8;  // of what storage delivers: a run that reads so much waits for it

// The flag that would have asked for it stands in place of evidence.
CheckVerdict NotAsked(const char* flag) {
  return {CheckStatus::kSkipped, fmt::format("not tested; run idleburn doctor {}", flag), {}};
}

// Of one way to read, as a speed.
std::string Described(const ReadSpeed& speed) { return DecimalBytes(speed.BytesPerSecond()) + "/s"; }

// The files of --data can be read, and they are not many small ones. Each small file costs an open and a seek, which no
// storage makes up for.
CheckVerdict JudgeDataFiles(const DoctorReadings& readings, const CheckInfo& /*check*/) {
  if (!readings.storage) return NotAsked("--data PATH");
  if (!*readings.storage)
    return {CheckStatus::kFailure, readings.storage->error().message, "name a path that can be read"};
  const StorageProbe& probe = **readings.storage;
  const DataFiles& data = probe.data;
  const std::string& path = readings.question.probe.path;
  if (data.files.empty())
    return {CheckStatus::kFailure, path + ": holds no file", "name the folder or file of the data"};
  std::string evidence =
      fmt::format("{}: {}{} file{}, {} in all, median {}", path, data.all ? "" : "at least ", data.files.size(),
                  data.files.size() == 1 ? "" : "s", DecimalBytes(static_cast<double>(data.bytes)),
                  DecimalBytes(static_cast<double>(data.MedianBytes())));
  if (data.links > 0) evidence += fmt::format("; {} links not followed", data.links);
  if (probe.unreadable + data.closed > 0) {
    const std::string first = probe.first_fault.empty() ? "" : " (" + probe.first_fault + ")";
    return {CheckStatus::kWarning,
            evidence + fmt::format("; {} of the sample cannot be opened{}", probe.unreadable + data.closed, first),
            "run as the user who reads the data"};
  }
  // A few small files cost nothing that matters.
  if (data.files.size() >= kManyFiles && data.MedianBytes() < kSmallFile) {
    return {
        CheckStatus::kWarning, evidence + ": many small files",
        "pack them into a few large files (sharded_reads): each file costs an open and a seek, however small it is"};
  }
  return {CheckStatus::kOk, evidence, {}};
}

// How fast the storage delivers. Only a cold reading tells that: a warm one is of the page cache, and never stands for
// a cold one.
CheckVerdict JudgeDataSpeed(const DoctorReadings& readings, const CheckInfo& /*check*/) {
  if (!readings.storage) return NotAsked("--data PATH");
  if (!*readings.storage || (*readings.storage)->data.files.empty()) {
    return {CheckStatus::kSkipped, "nothing to read", {}};
  }
  const StorageProbe& probe = **readings.storage;
  const ReadSpeeds& sequential = probe.speeds[0];
  const std::string warm = sequential.warm.unknown.empty() ? "warm " + Described(sequential.warm)
                                                           : "warm unknown: " + sequential.warm.unknown;
  if (!sequential.cold.unknown.empty()) {
    return {CheckStatus::kWarning, "cold unknown: " + sequential.cold.unknown + "; " + warm,
            "give data on a disk or a network file system; run as their owner, after sync"};
  }
  std::string evidence =
      fmt::format("read in order, {} threads: cold {}, {}", probe.threads, Described(sequential.cold), warm);
  for (std::size_t i = 1; i < kReadWays.size(); ++i) {
    const ReadSpeed& cold = probe.speeds[i].cold;
    const std::string what = fmt::format("; cold blocks of {} KiB at random ", kReadWays[i].block / kKibiByte);
    evidence +=
        what + (cold.unknown.empty() ? ThreeDigits(cold.ReadsPerSecond()) + " a second" : "unknown: " + cold.unknown);
  }
  return {CheckStatus::kOk, evidence, {}};
}

// Whether the run read about as fast as its storage delivers. Then it waits for storage.
CheckVerdict JudgeDataRun(const DoctorReadings& readings, const CheckInfo& /*check*/) {
  if (!readings.run_reads) return NotAsked("--data PATH --run RECORDING");
  if (!*readings.run_reads) {
    return {CheckStatus::kFailure, readings.run_reads->error().message, "name a recording of idleburn run or record"};
  }
  const RunReads& run = **readings.run_reads;
  if (!run.storage) {
    return {CheckStatus::kWarning, "the run's reads from storage are unknown (read_bytes)",
            "record it as the workload's user or as root"};
  }
  // The scope is part of the evidence: a recording made beside a job knows the whole machine only.
  const std::string_view of = kHostScopeNames[static_cast<std::size_t>(run.scope)];
  std::string evidence = "the run read " + DecimalBytes(*run.storage) + "/s";
  const std::string counter = fmt::format(" (read_bytes of the {}, mean of {})", of, DurationForPeople(run.watched));
  if (run.asked && *run.asked > 2 * *run.storage) {
    evidence += fmt::format(" of the {}/s it requested (the rest came from the page cache, pipes or sockets),",
                            DecimalBytes(*run.asked));
  }
  // Without a cold speed there is nothing to compare the run with.
  const bool known = readings.storage && *readings.storage && (*readings.storage)->speeds[0].cold.unknown.empty();
  if (!known) {
    return {CheckStatus::kWarning, evidence + "; the cold speed of this path is unknown" + counter, "see data_speed"};
  }
  const ReadSpeed& cold = (*readings.storage)->speeds[0].cold;
  evidence += " of " + Described(cold) + " this path delivers" + counter;
  if (*run.storage < kNearly * cold.BytesPerSecond()) return {CheckStatus::kOk, evidence, {}};
  return {CheckStatus::kWarning, evidence + ": it waits for storage",
          "faster_storage, sharded_reads, prefetch, or cache_dataset where it fits"};
}

// The table of all checks.

// Of counters that every NVIDIA driver of the last years has.
constexpr std::string_view kNewerDriver = "update the NVIDIA driver; figures from this counter are unknown until then";

// The rows are in the order of the report. docs/doctor.md has the same ones.
constexpr std::array<CheckInfo, 37> kChecks = {{
    {"nvml_library", "NVIDIA's library", false, JudgeLibrary},
    {"nvml_version", "NVIDIA's driver answers", false, JudgeVersion},
    {"gpu_count", "GPUs", false, JudgeCount},
    {"amd_gpus", "AMD GPUs", false, JudgeAmd},
    {"mig", "MIG instances", false, JudgeMig},
    {"utilization", "phases of the GPU", true, JudgeSignal,
     "see nvidia-smi dmon; without utilization the time of this GPU is unobserved", Signal::kUtilization},
    {"utilization_ring", "each utilization once, by the driver's time stamp", false, JudgeRing},
    {"utilization_window", "update interval of utilization", false, JudgeWindow},
    {"gpm_sm_active", "SM activity, which tells work from waiting", true, JudgeSignal,
     "needs GPM (Hopper or newer, driver 520 or newer); elsewhere audit a log of dcgm-exporter with "
     "DCGM_FI_PROF_SM_ACTIVE",
     Signal::kSmActive},
    {"power", "power", true, JudgeSignal, kNewerDriver, Signal::kPower},
    {"energy_counter", "energy", true, JudgeSignal,
     "boards before Volta have no energy counter; energy is integrated from power instead", Signal::kEnergy},
    {"sm_clock", "SM clock", true, JudgeSignal, kNewerDriver, Signal::kSmClock},
    {"event_reason_fields", "reasons for lowered clocks", true, JudgeReasons, kNewerDriver, Signal::kEventReasons},
    {"memory", "memory in use", true, JudgeSignal, kNewerDriver, Signal::kMemoryUsed},
    {"temperature", "temperature", true, JudgeSignal, kNewerDriver, Signal::kTemperature},
    {"process_list", "processes that hold a GPU", true, JudgeSignal,
     "run as root, or where nvidia-smi lists processes; until then memory in use decides idle-held time",
     Signal::kProcesses},
    {"pcie", "PCIe traffic", true, JudgeSignal, kNewerDriver, Signal::kPcieRx},
    {"ecc_xid", "memory errors and Xid events", true, JudgeErrors},
    {"sampler", "readings in time", false, JudgeSampler},
    {"pid_namespace", "processes outside this container", false, JudgePidNamespace},
    {"psi", "waiting for CPUs, disks and memory", true, JudgePressure},
    {"schedstat", "a workload's wait for a CPU", true, JudgeSchedstat},
    {"proc_io", "a workload's reads and writes", true, JudgeProcIo},
    {"cgroup", "a workload's CPU and memory limits", true, JudgeCgroup},
    {"host_clock", "the host's clock", false, JudgeClock},
    {"recording_folder", "room for recordings", false, JudgeFolder},
    {"price_catalogue", "the price list", false, JudgePriceList},
    {"instance_type", "the type of this machine", false, JudgeInstance},
    {"price", "the price of a GPU-hour", false, JudgePrice},
    {"parquet", "Parquet files", false, JudgeDuckDb},
    {"data_files", "the data of --data", false, JudgeDataFiles},
    {"data_speed", "the storage speed of --data", false, JudgeDataSpeed},
    {"data_run", "the reads of the run in --run", false, JudgeDataRun},
    {"agent_owners", "who holds each GPU", false, JudgeAgentOwners},
    {"agent_processes", "experiments of other users", false, JudgeAgentProcesses},
    {"agent_state", "counts over restarts of the agent", false, JudgeAgentState},
    {"agent_address", "the agent's address", false, JudgeAgentAddress},
}};

}  // namespace

// The names are part of the JSON document.
std::string_view Name(CheckStatus status) {
  constexpr std::array<std::string_view, 4> kNames = {"skipped", "ok", "warning", "failure"};
  return kNames[static_cast<std::size_t>(status)];
}

std::span<const CheckInfo> DoctorChecks() { return kChecks; }

// Every check judges, also where an earlier one failed: what is wrong may have several causes.
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
