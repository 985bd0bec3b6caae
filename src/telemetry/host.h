// The host side of a run: its signals and samples, and two summaries of them in bounded memory. HostTimeline
// keeps when something happened, for diagnosis. HostStatistics keeps mean, p95 and peak, for the report.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/int128.h"
#include "base/time.h"
#include "telemetry/histograms.h"

namespace idleburn {

// Every quantity that a source can report about a host or about the processes of one workload. A counter only
// rises within one boot, or within one life of the workload. Only its differences over time have a meaning.
enum class HostSignal : std::uint8_t {
  kCpuTime,        // counter: time on a CPU, summed over cores
  kCpuWait,        // counter: time the workload's threads waited in a run queue
  kBlockedTime,    // counter: time in uninterruptible sleep (state D), integrated from ticks
  kCpus,           // usable CPUs: online ones, or the workload's quota and affinity
  kThrottledTime,  // counter: time a CPU quota stopped the group
  kPsiCpuSome,     // counters of pressure (PSI): some or all tasks stalled on the resource
  kPsiIoSome,
  kPsiIoFull,
  kPsiMemorySome,
  kPsiMemoryFull,
  kMemoryUsed,
  kMemoryLimit,  // of the machine or of the workload's control group
  kMajorFaults,  // counter
  kReadBytes,    // counter: fetched from storage
  kWriteBytes,   // counter: sent to storage
  kReadChars,    // counter: requested by read calls; above kReadBytes where the page cache served them
  kWriteChars,   // counter
  kNetReceived,  // counter
  kNetSent,      // counter
  kProcesses,    // processes of the workload, or of the machine
  kThreads,
  kWorkerTime,         // counters: time alive of all workers of the workload together,
  kWorkerCpuTime,      // their time on a CPU,
  kWorkerCpuWait,      // their time ready but waiting for a CPU,
  kWorkerBlockedTime,  // their time in uninterruptible sleep
  kRdmaReceived,       // counter: over InfiniBand and RoCE ports
  kRdmaSent,           // counter
};
inline constexpr std::size_t kHostSignalCount = 27;

// The unit of a host signal.
enum class HostUnit : std::uint8_t { kNanosecond, kByte, kCount };

// A row of the table of host signals.
struct HostSignalInfo {
  HostSignal id;
  std::string_view name;
  HostUnit unit;
  bool counter;
};

// The table of host signals, in the order of HostSignal.
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

// Position of a host signal in kHostSignals, its row there, and its bit in HostSample::present.
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

// Whether a host sample describes the whole machine or only the workload.
enum class HostScope : std::uint8_t { kMachine, kWorkload };
inline constexpr std::size_t kHostScopeCount = 2;
inline constexpr std::array<std::string_view, kHostScopeCount> kHostScopeNames = {"machine", "workload"};

// What was read of one scope at one time. The array `value` holds only the signals in `present`. A signal that
// may not be read (no permission, pressure accounting switched off) is in `unavailable`. It is never stored as
// 0.
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

// What a host or a workload did in total while it was watched.
struct HostUse {
  Instant first;
  Instant last;
  std::array<std::optional<std::int64_t>, kHostSignalCount> change{};  // rise of each counter
  std::array<std::optional<std::int64_t>, kHostSignalCount> most{};    // maximum of each other signal
  // The time from the first to the last reading.
  [[nodiscard]] Nanos watched() const { return last - first; }
};

// What is known about one signal in a stretch of time. `ns` is the known time. `amount` is the rise of a
// counter in its unit, or for a number of things the area (count x ns). Both add up, so stretches can be merged
// exactly.
struct HostSum {
  std::int64_t ns = 0;
  std::int64_t amount = 0;
  void Merge(const HostSum& o) {
    ns += o.ns;
    amount += o.amount;
  }
  friend bool operator==(const HostSum&, const HostSum&) = default;
};

// The sums of all signals in one bucket of a timeline.
struct HostBucket {
  std::array<HostSum, kHostSignalCount> sum{};
  void Merge(const HostBucket& o) {
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i].Merge(o.sum[i]);
  }
  friend bool operator==(const HostBucket&, const HostBucket&) = default;
};

// What a host or a workload did over time, in bounded memory. Only the sums of each bucket are kept. Levels in
// bytes are left out, because they do not add up.
class HostTimeline {
 public:
  // Nothing is known between two readings that are further apart than this: the source was not there.
  static constexpr Nanos kMostApart{10 * kNanosPerSecond};

  // Adds a sample. The samples of a scope arrive in time order.
  void Add(const HostSample& sample);
  // Whether no scope has any known time.
  [[nodiscard]] bool empty() const {
    return Of(HostScope::kMachine).buckets.empty() && Of(HostScope::kWorkload).buckets.empty();
  }
  // The buckets of a scope; empty if nothing was read.
  [[nodiscard]] const SecondBuckets<HostBucket>& Of(HostScope scope) const {
    return scopes_[static_cast<std::size_t>(scope)].buckets;
  }

 private:
  struct Last {
    Instant time;
    std::int64_t value = 0;
  };
  struct Scope {
    SecondBuckets<HostBucket> buckets;
    std::array<std::optional<Last>, kHostSignalCount> last{};
  };
  static void Spread(HostSignal signal, const Last& from, Instant to, std::int64_t amount,
                     SecondBuckets<HostBucket>& buckets);

  std::array<Scope, kHostScopeCount> scopes_;
};

// A quantity of a host that reports show, with the unit of its mean, p95 and peak. A counter of time is shown
// as a share of time. Example: a CPU time that rises by 2 s in 1 s is 200 %, two CPUs.
struct HostMeasure {
  HostSignal id;
  Unit unit;
  std::array<std::string_view, kHostScopeCount> source;  // by scope; empty: not read for that scope
};
// The quantities in the order of the report.
inline constexpr std::array<HostMeasure, 15> kHostMeasures = {{
    {HostSignal::kCpuTime, Unit::kMicroPercent, {"/proc/stat", "/proc/PID/stat"}},
    {HostSignal::kCpuWait, Unit::kMicroPercent, {"", "/proc/PID/task/TID/schedstat"}},
    {HostSignal::kThrottledTime, Unit::kMicroPercent, {"", "cgroup cpu.stat"}},
    {HostSignal::kMemoryUsed, Unit::kByte, {"/proc/meminfo", "cgroup memory"}},
    {HostSignal::kReadBytes, Unit::kBytePerSecond, {"/proc/diskstats", "/proc/PID/io"}},
    {HostSignal::kWriteBytes, Unit::kBytePerSecond, {"/proc/diskstats", "/proc/PID/io"}},
    {HostSignal::kNetReceived, Unit::kBytePerSecond, {"/proc/net/dev", ""}},
    {HostSignal::kNetSent, Unit::kBytePerSecond, {"/proc/net/dev", ""}},
    {HostSignal::kRdmaReceived, Unit::kBytePerSecond, {"/sys/class/infiniband", ""}},
    {HostSignal::kRdmaSent, Unit::kBytePerSecond, {"/sys/class/infiniband", ""}},
    {HostSignal::kPsiCpuSome, Unit::kMicroPercent, {"/proc/pressure/cpu", "cgroup cpu.pressure"}},
    {HostSignal::kPsiIoSome, Unit::kMicroPercent, {"/proc/pressure/io", "cgroup io.pressure"}},
    {HostSignal::kPsiIoFull, Unit::kMicroPercent, {"/proc/pressure/io", "cgroup io.pressure"}},
    {HostSignal::kPsiMemorySome, Unit::kMicroPercent, {"/proc/pressure/memory", "cgroup memory.pressure"}},
    {HostSignal::kPsiMemoryFull, Unit::kMicroPercent, {"/proc/pressure/memory", "cgroup memory.pressure"}},
}};

// What is known about one quantity. Its mean is area / ns.
struct HostStatistic {
  std::int64_t ns = 0;  // the time for which it is known
  Int128 area = 0;      // value x ns
  std::int64_t peak = 0;
  ValueSpread spread;  // in steps of SpreadStep
  [[nodiscard]] std::optional<double> Mean() const {
    return ns == 0 ? std::nullopt : std::optional(static_cast<double>(area) / static_cast<double>(ns));
  }
};

// Mean, p95 and peak of what a host or a workload did, in bounded memory. Rates are taken over intervals of at
// least one second, because counters of CPU time rise in steps of 10 ms. A level holds until the next reading.
// Nothing is known where a counter fell, or between readings more than HostTimeline::kMostApart apart.
class HostStatistics {
 public:
  // Adds a sample. The samples of a scope arrive in time order.
  void Add(const HostSample& sample);
  // The statistic so far, with the open interval. `measure` is a position in kHostMeasures.
  [[nodiscard]] HostStatistic Of(HostScope scope, std::size_t measure) const;
  // Whether the quantity may not be read or is switched off.
  [[nodiscard]] bool Lacks(HostScope scope, std::size_t measure) const { return At(scope, measure).lacked; }

 private:
  struct Reading {
    Instant time;
    std::int64_t value = 0;
  };
  struct Series {
    std::optional<Reading> from;  // start of the open interval
    std::optional<Reading> last;
    bool lacked = false;
    HostStatistic range;
  };
  [[nodiscard]] const Series& At(HostScope scope, std::size_t measure) const {
    return series_[static_cast<std::size_t>(scope)][measure];
  }
  static void Close(const HostMeasure& measure, const Reading& from, const Reading& to, HostStatistic& range);

  std::array<std::array<Series, kHostMeasures.size()>, kHostScopeCount> series_;
};

}  // namespace idleburn
