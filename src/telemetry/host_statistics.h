#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/int128.h"
#include "telemetry/host_signal.h"
#include "telemetry/value_spread.h"

namespace idleburn {

// A quantity of a host that a report shows, and the unit of its mean, p95 and peak. A counter of time is shown as a
// share of it: 100 % is one CPU, or all of the time stalled.
struct HostMeasure {
  HostSignal id;
  Unit unit;
  std::array<std::string_view, kHostScopeCount> source;  // by scope; empty: not read of that one
};
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

// What is known of one such quantity: mean = area / ns.
struct HostStatistic {
  std::int64_t ns = 0;  // over which it is known
  Int128 area = 0;      // in its unit x ns
  std::int64_t peak = 0;
  ValueSpread spread;  // in steps of SpreadStep
  [[nodiscard]] std::optional<double> Mean() const {
    return ns == 0 ? std::nullopt : std::optional(static_cast<double>(area) / static_cast<double>(ns));
  }
};

// Mean, p95 and peak of what a host, or a workload on it, did, in bounded memory. The rate of a counter is taken
// over intervals of a second at least, because counters of time rise in steps of 10 ms; a level holds until the next
// reading. Between two readings more than HostTimeline::kMostApart apart, and where a counter fell, nothing is known.
class HostStatistics {
 public:
  void Add(const HostSample& sample);
  // So far, with the interval that has just begun. `measure`: its place in kHostMeasures.
  [[nodiscard]] HostStatistic Of(HostScope scope, std::size_t measure) const;
  // It was asked for and may not be read, or is switched off.
  [[nodiscard]] bool Lacks(HostScope scope, std::size_t measure) const { return At(scope, measure).lacked; }

 private:
  struct Reading {
    Instant time;
    std::int64_t value = 0;
  };
  struct Series {
    std::optional<Reading> from;  // of the interval that has begun
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
