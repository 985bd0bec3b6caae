// The load rules of one GPU: low utilization, full memory, and stalls on a link.

#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "classify/thresholds.h"
#include "telemetry/sample.h"

namespace idleburn {

// What a GPU can be watched for besides held idle memory. These alerts only warn, and never stop a run.
enum class LoadAlert : std::uint8_t { kLowUtilization, kMemory, kPcieStall, kAllReduceStall };

// The limit of an alert: a share in micro-percent, and how long the GPU must exceed it.
struct LoadRule {
  std::int64_t share = 0;
  Nanos time{0};
};
// A row of the table of alerts.
struct LoadAlertInfo {
  LoadAlert id;
  std::string_view name;  // as the flag --watch spells it
  LoadRule usual;         // unless the user sets another
};
// The table of alerts. low-utilization: the mean of the last hour is below half. memory: more than this share
// is in use. pcie-stall: little computes while the host link moves this share of its capacity. allreduce-stall:
// the same for NVLink, or spin-wait.
inline constexpr std::array<LoadAlertInfo, 4> kLoadAlerts = {{
    {LoadAlert::kLowUtilization, "low-utilization", {50 * kPercent, Nanos(kNanosPerHour)}},
    {LoadAlert::kMemory, "memory", {85 * kPercent, Nanos(0)}},
    {LoadAlert::kPcieStall, "pcie-stall", {80 * kPercent, Nanos(600 * kNanosPerSecond)}},
    {LoadAlert::kAllReduceStall, "allreduce-stall", {80 * kPercent, Nanos(600 * kNanosPerSecond)}},
}};
// Position of an alert in the table.
constexpr std::size_t Index(LoadAlert a) { return static_cast<std::size_t>(a); }
// The rules by Index; absent: not watched.
using LoadRules = std::array<std::optional<LoadRule>, kLoadAlerts.size()>;

// The mean of a quantity over the last `time`, in bounded memory. Its resolution is 1/3600 of that time: a mean
// over one hour moves every second, one over ten hours every ten seconds.
class TrailingMean {
 public:
  explicit TrailingMean(Nanos time);
  // Adds `seconds` at `value`.
  void Add(std::int64_t value, std::int64_t seconds);
  // Absent until `time` has passed since the start or the last Clear.
  [[nodiscard]] std::optional<std::int64_t> Mean() const;
  // Starts again without data.
  void Clear();

 private:
  std::int64_t slot_seconds_;
  std::vector<std::int64_t> slots_;  // value x seconds
  std::size_t next_ = 0;
  std::size_t filled_ = 0;
  std::int64_t sum_ = 0;  // of all slots
  std::int64_t open_ = 0;
  std::int64_t open_seconds_ = 0;
};

// Follows one GPU second by second and reports a rule that is met, once for each continuous stretch. Unknown
// time ends a stretch, and counts as 100 % utilization, so missing data never raises an alert. Unknown is:
// readings more than 2.5 s apart, a signal older than Thresholds::side_hold, a clock that was set back, a link
// of unknown speed, and a counter that reads exactly 0 while the board draws power that only work explains.
class GpuLoad {
 public:
  // Both references outlive it.
  GpuLoad(const LoadRules& rules, const Thresholds& thresholds);

  // The capacity of its links in bytes a second; 0 if unknown.
  void SetLinks(std::int64_t pcie, std::int64_t nvlink) {
    pcie_ = pcie;
    nvlink_ = nvlink;
  }
  // Takes the next sample of the GPU.
  void Feed(const Sample& sample);

  // A rule that was met.
  struct Met {
    // Mean utilization or memory in use, in micro-percent.
    std::int64_t share = 0;
    bool spins = false;  // met by spin-wait, not by traffic
  };
  // The rule, if it was met since the last call.
  std::optional<Met> Take(LoadAlert alert);

 private:
  // The latest reading of a signal.
  struct Side {
    std::int64_t value = 0;
    std::optional<Instant> time;
  };
  // A continuous stretch in which a rule holds.
  struct Stretch {
    std::optional<std::int64_t> since;  // second
    bool told = false;
  };
  void CloseSecond(std::int64_t next);
  void Judge(std::int64_t seconds);
  void JudgeUtilization(std::optional<std::int64_t> utilization, std::int64_t seconds);
  void Hold(LoadAlert alert, bool holds, std::int64_t seconds, const Met& met);
  void Break();
  [[nodiscard]] std::optional<std::int64_t> Known(Signal signal) const;
  [[nodiscard]] bool LittleComputes() const;
  [[nodiscard]] bool Spins(std::optional<std::int64_t> utilization) const;
  [[nodiscard]] static bool IsFull(std::optional<std::int64_t> moved, std::int64_t speed, std::int64_t share);

  const LoadRules& rules_;
  const Thresholds& thresholds_;
  std::int64_t pcie_ = 0;
  std::int64_t nvlink_ = 0;
  std::array<Side, kSignalCount> sides_{};
  std::optional<Instant> last_;
  std::optional<std::int64_t> second_;  // the open second
  std::int64_t sum_ = 0;                // of its utilization readings
  std::int64_t count_ = 0;
  std::optional<Instant> read_;  // time of the last one
  bool broken_ = false;          // one of them comes from a broken counter
  std::int64_t mean_ = 0;        // of the last second with readings
  TrailingMean trailing_;
  std::array<Stretch, kLoadAlerts.size()> stretches_{};
  std::array<std::optional<Met>, kLoadAlerts.size()> met_{};
};

}  // namespace idleburn
