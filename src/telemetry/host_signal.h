#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/time.h"

namespace idleburn {

// Every quantity a source may report about a host, or about the processes of one workload on it. A counter only
// rises within one boot (or one life of the workload); its differences over time are what is meant.
enum class HostSignal : std::uint8_t {
  kCpuTime,        // counter: time on a CPU, all cores together
  kCpuWait,        // counter: time ready to run but waiting in a run queue (of the workload's threads)
  kBlockedTime,    // counter: time in uninterruptible sleep (state D), integrated from what was seen at ticks
  kCpus,           // CPUs that may be used: online, or the quota and affinity of the workload
  kThrottledTime,  // counter: a CPU quota kept the group from running
  kPsiCpuSome,     // counters of pressure: some, or all, tasks stalled on that resource
  kPsiIoSome,
  kPsiIoFull,
  kPsiMemorySome,
  kPsiMemoryFull,
  kMemoryUsed,
  kMemoryLimit,  // of the machine, or of the workload's group
  kMajorFaults,  // counter
  kReadBytes,    // counter: fetched from storage
  kWriteBytes,   // counter: sent to storage
  kReadChars,    // counter: asked for by read calls; more than kReadBytes where the page cache answered
  kWriteChars,   // counter
  kNetReceived,  // counter
  kNetSent,      // counter
  kProcesses,    // processes of the workload, or of the machine
  kThreads,
  kWorkerTime,         // counters: time alive of the workload's workers, all of them together, and of that the time
  kWorkerCpuTime,      //     on a CPU,
  kWorkerCpuWait,      //     ready but waiting for one,
  kWorkerBlockedTime,  //     in uninterruptible sleep
  kRdmaReceived,       // counter: over InfiniBand and RoCE ports, with or without the kernel's network
  kRdmaSent,           // counter
};
inline constexpr std::size_t kHostSignalCount = 27;

enum class HostUnit : std::uint8_t { kNanosecond, kByte, kCount };

struct HostSignalInfo {
  HostSignal id;
  std::string_view name;
  HostUnit unit;
  bool counter;
};

inline constexpr std::array<HostSignalInfo, kHostSignalCount> kHostSignals = {{
    {HostSignal::kCpuTime, "cpu_time", HostUnit::kNanosecond, true},
    {HostSignal::kCpuWait, "cpu_wait", HostUnit::kNanosecond, true},
    {HostSignal::kBlockedTime, "blocked_time", HostUnit::kNanosecond, true},
    {HostSignal::kCpus, "cpus", HostUnit::kCount, false},
    {HostSignal::kThrottledTime, "throttled_time", HostUnit::kNanosecond, true},
    {HostSignal::kPsiCpuSome, "psi_cpu_some", HostUnit::kNanosecond, true},
    {HostSignal::kPsiIoSome, "psi_io_some", HostUnit::kNanosecond, true},
    {HostSignal::kPsiIoFull, "psi_io_full", HostUnit::kNanosecond, true},
    {HostSignal::kPsiMemorySome, "psi_memory_some", HostUnit::kNanosecond, true},
    {HostSignal::kPsiMemoryFull, "psi_memory_full", HostUnit::kNanosecond, true},
    {HostSignal::kMemoryUsed, "memory_used", HostUnit::kByte, false},
    {HostSignal::kMemoryLimit, "memory_limit", HostUnit::kByte, false},
    {HostSignal::kMajorFaults, "major_faults", HostUnit::kCount, true},
    {HostSignal::kReadBytes, "read_bytes", HostUnit::kByte, true},
    {HostSignal::kWriteBytes, "write_bytes", HostUnit::kByte, true},
    {HostSignal::kReadChars, "read_chars", HostUnit::kByte, true},
    {HostSignal::kWriteChars, "write_chars", HostUnit::kByte, true},
    {HostSignal::kNetReceived, "net_received", HostUnit::kByte, true},
    {HostSignal::kNetSent, "net_sent", HostUnit::kByte, true},
    {HostSignal::kProcesses, "processes", HostUnit::kCount, false},
    {HostSignal::kThreads, "threads", HostUnit::kCount, false},
    {HostSignal::kWorkerTime, "worker_time", HostUnit::kNanosecond, true},
    {HostSignal::kWorkerCpuTime, "worker_cpu_time", HostUnit::kNanosecond, true},
    {HostSignal::kWorkerCpuWait, "worker_cpu_wait", HostUnit::kNanosecond, true},
    {HostSignal::kWorkerBlockedTime, "worker_blocked_time", HostUnit::kNanosecond, true},
    {HostSignal::kRdmaReceived, "rdma_received", HostUnit::kByte, true},
    {HostSignal::kRdmaSent, "rdma_sent", HostUnit::kByte, true},
}};

constexpr std::size_t Index(HostSignal s) { return static_cast<std::size_t>(s); }
constexpr const HostSignalInfo& Info(HostSignal s) { return kHostSignals[Index(s)]; }
constexpr std::uint32_t Bit(HostSignal s) { return std::uint32_t{1} << Index(s); }

constexpr bool HostSignalTableInOrder() {
  for (std::size_t i = 0; i < kHostSignalCount; ++i) {
    if (Index(kHostSignals[i].id) != i) return false;
  }
  return true;
}
static_assert(HostSignalTableInOrder());

// Of whom a host sample speaks.
enum class HostScope : std::uint8_t { kMachine, kWorkload };
inline constexpr std::size_t kHostScopeCount = 2;
inline constexpr std::array<std::string_view, kHostScopeCount> kHostScopeNames = {"machine", "workload"};

// What was read of one scope at one time. `value` holds only the signals of `present`. A signal that was asked for
// and may not be read (no permission, pressure accounting switched off) is in `unavailable`, never 0.
struct HostSample {
  HostSample() {}  // NOLINT(modernize-use-equals-default): leaves `value` uninitialised, as Sample does

  Instant time;
  HostScope scope = HostScope::kMachine;
  std::uint32_t present = 0;
  std::uint32_t unavailable = 0;
  std::array<std::int64_t, kHostSignalCount> value;

  [[nodiscard]] bool Has(HostSignal s) const { return (present & Bit(s)) != 0; }
  [[nodiscard]] bool Lacks(HostSignal s) const { return (unavailable & Bit(s)) != 0; }
  [[nodiscard]] std::int64_t Get(HostSignal s) const { return value[Index(s)]; }
  void Set(HostSignal s, std::int64_t v) {
    present |= Bit(s);
    value[Index(s)] = v;
  }
  void SetUnavailable(HostSignal s) { unavailable |= Bit(s); }
};

}  // namespace idleburn
