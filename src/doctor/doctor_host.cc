// The checks of the host, of what is kept, and of prices.
#include <fmt/format.h>

#include "base/billing.h"
#include "doctor/doctor_checks.h"
#include "price/find_rate.h"

namespace idleburn {
namespace {

// The kernel gives the first namespace of processes this number.
constexpr std::string_view kFirstPidNamespace = "pid:[4026531836]";
constexpr Nanos kSlowClock(2'000);
constexpr std::int64_t kLittleSpace = std::int64_t{1} << 30;

bool Read(const DoctorReadings& readings, HostScope scope, HostSignal signal) {
  return (readings.host_present[static_cast<std::size_t>(scope)] & Bit(signal)) != 0;
}

}  // namespace

CheckVerdict JudgePidNamespace(const DoctorReadings& readings, const CheckInfo& /*check*/) {
  if (readings.pid_namespace.empty()) {
    return {CheckStatus::kWarning, "/proc/self/ns/pid cannot be read", "mount /proc"};
  }
  const std::string evidence = "/proc/self/ns/pid is " + readings.pid_namespace;
  if (readings.pid_namespace == kFirstPidNamespace) return {CheckStatus::kOk, evidence + ", the machine's own", {}};
  if (readings.devices.size() == 0) return {CheckStatus::kOk, evidence + ", a container's", {}};
  return {CheckStatus::kWarning, evidence + ", a container's: others that hold a GPU are counted and not seen",
          "to see all of the machine start the container with --pid=host (hostPID: true); idleburn run needs nothing"};
}

CheckVerdict JudgePressure(const DoctorReadings& readings, const CheckInfo& /*check*/) {
  if (Read(readings, HostScope::kMachine, HostSignal::kPsiIoSome)) {
    return {CheckStatus::kOk, "/proc/pressure/cpu, io, memory", {}};
  }
  return {CheckStatus::kWarning, "/proc/pressure/* cannot be read",
          "boot with psi=1, on a kernel of 4.20 or newer; a container may need /proc/pressure from its host"};
}

CheckVerdict JudgeSchedstat(const DoctorReadings& readings, const CheckInfo& /*check*/) {
  if (Read(readings, HostScope::kWorkload, HostSignal::kCpuWait)) {
    return {CheckStatus::kOk, "/proc/PID/task/TID/schedstat, of idleburn itself", {}};
  }
  return {CheckStatus::kWarning, "/proc/PID/task/TID/schedstat cannot be read",
          "needs a kernel with CONFIG_SCHED_INFO; without it a lack of CPUs is known by pressure only"};
}

CheckVerdict JudgeProcIo(const DoctorReadings& readings, const CheckInfo& /*check*/) {
  if (Read(readings, HostScope::kWorkload, HostSignal::kReadChars)) {
    return {CheckStatus::kOk, "/proc/PID/io, of idleburn itself", {}};
  }
  return {CheckStatus::kWarning, "/proc/PID/io cannot be read",
          "run as the workload's user or as root, on a kernel with CONFIG_TASK_IO_ACCOUNTING"};
}

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

CheckVerdict JudgeClock(const DoctorReadings& readings, const CheckInfo& /*check*/) {
  const std::string source = readings.clock_source.empty() ? "unknown source" : readings.clock_source;
  const std::string evidence = fmt::format("{} ns to read the clocks once ({})", readings.clock_cost.count(), source);
  if (readings.clock_cost <= kSlowClock) return {CheckStatus::kOk, evidence, {}};
  return {CheckStatus::kWarning, evidence,
          "boot with clocksource=tsc if the machine's is stable; measuring costs more"};
}

CheckVerdict JudgeFolder(const DoctorReadings& readings, const CheckInfo& /*check*/) {
  if (readings.recording_folder.empty()) {
    return {CheckStatus::kFailure, "neither XDG_DATA_HOME nor HOME names a folder",
            "set HOME, or name a file with --recording"};
  }
  const FolderProbe& probe = readings.folder;
  if (!probe.fault.empty()) {
    return {CheckStatus::kFailure,
            readings.recording_folder + ": no file can be made in " + probe.existing + ": " + probe.fault,
            "make it writable, or set XDG_DATA_HOME, or name a file with --recording"};
  }
  const std::string evidence = fmt::format("{}: {:.1f} GiB free", readings.recording_folder,
                                           static_cast<double>(probe.free_bytes) / static_cast<double>(1 << 30));
  if (probe.free_bytes >= kLittleSpace) return {CheckStatus::kOk, evidence, {}};
  return {CheckStatus::kWarning, evidence, "make room, or keep recordings elsewhere with XDG_DATA_HOME"};
}

CheckVerdict JudgePriceList(const DoctorReadings& readings, const CheckInfo& /*check*/) {
  const PriceListFacts& list = readings.prices;
  if (!list.fault.empty()) return {CheckStatus::kFailure, list.fault, "mend the file of --prices or price.catalogue"};
  const std::string evidence =
      fmt::format("{} offers of {} to {}", list.rows, DayOrUndated(list.oldest), DayOrUndated(list.newest));
  if (readings.rate && readings.rate->per_gpu_hour && readings.rate->kind != RateKind::kCatalogue) {
    return {CheckStatus::kOk, evidence + "; not needed, the price is given", {}};
  }
  if (list.newest && !IsStale(list.newest, readings.now)) return {CheckStatus::kOk, evidence, {}};
  return {CheckStatus::kWarning, evidence + fmt::format(", older than {} days", kStaleAfterDays),
          "give your price (--price 2.50) or a newer list (--prices FILE, see idleburn prices import)"};
}

CheckVerdict JudgeInstance(const DoctorReadings& readings, const CheckInfo& /*check*/) {
  if (!readings.instance.empty()) return {CheckStatus::kOk, readings.instance + ", by /sys/class/dmi/id", {}};
  if (readings.provider.empty()) return {CheckStatus::kSkipped, "/sys/class/dmi/id names no cloud known here", {}};
  return {CheckStatus::kSkipped, readings.provider + " does not tell the type in /sys/class/dmi/id",
          "name it with --price provider:instance@region"};
}

CheckVerdict JudgePrice(const DoctorReadings& readings, const CheckInfo& /*check*/) {
  if (!readings.rate) return {CheckStatus::kFailure, readings.rate.error().message, "mend the setting it names"};
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
  return {CheckStatus::kWarning, "no offer of this GPU in the price list", "give it: --price 2.50, or price.rate"};
}

CheckVerdict JudgeDuckDb(const DoctorReadings& readings, const CheckInfo& /*check*/) {
  if (readings.duckdb_fault.empty()) return {CheckStatus::kOk, "DuckDB's library is loaded when it is needed", {}};
  return {CheckStatus::kWarning, readings.duckdb_fault, "CSV needs no library: idleburn export --format csv"};
}

}  // namespace idleburn
