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

// What a GPU may be watched for besides idle memory. None of them stops a run.
enum class LoadAlert : std::uint8_t { kLowUtilization, kMemory, kPcieStall, kAllReduceStall };

// A share, in micro-percent, and for how long it must be beyond it.
struct LoadRule {
  std::int64_t share = 0;
  Nanos time{0};
};
struct LoadAlertInfo {
  LoadAlert id;
  std::string_view name;  // as --watch takes it
  LoadRule usual;
};
// low-utilization: the mean of the last hour lies below half. memory: more is in use than that share. pcie-stall:
// little computes while the link to the host moves that share of what it can. allreduce-stall: the same of NVLink, or
// spin-wait.
inline constexpr std::array<LoadAlertInfo, 4> kLoadAlerts = {{
    {LoadAlert::kLowUtilization, "low-utilization", {50 * kPercent, Nanos(kNanosPerHour)}},
    {LoadAlert::kMemory, "memory", {85 * kPercent, Nanos(0)}},
    {LoadAlert::kPcieStall, "pcie-stall", {80 * kPercent, Nanos(600 * kNanosPerSecond)}},
    {LoadAlert::kAllReduceStall, "allreduce-stall", {80 * kPercent, Nanos(600 * kNanosPerSecond)}},
}};
constexpr std::size_t Index(LoadAlert a) { return static_cast<std::size_t>(a); }
// By Index; absent: not watched.
using LoadRules = std::array<std::optional<LoadRule>, kLoadAlerts.size()>;

// The mean of a quantity over the last `time`, to a 3600th of it, in bounded memory.
class TrailingMean {
 public:
  explicit TrailingMean(Nanos time);
  void Add(std::int64_t value, std::int64_t seconds);
  // Absent before `time` has passed since the first second, or since Clear.
  [[nodiscard]] std::optional<std::int64_t> Mean() const;
  void Clear();

 private:
  std::int64_t slot_seconds_;
  std::vector<std::int64_t> slots_;  // value x seconds
  std::size_t next_ = 0;
  std::size_t filled_ = 0;
  std::int64_t sum_ = 0;  // of the slots
  std::int64_t open_ = 0;
  std::int64_t open_seconds_ = 0;
};

// Follows one GPU second by second and says when a rule is met, once for each unbroken stretch. What is not known
// breaks a stretch, and counts as 100 % utilization: readings more than 2.5 s apart, another signal not read for
// Thresholds::side_hold, a clock that was set back, a link whose speed nobody told, and a counter that reads exactly 0
// while the board draws what it draws only with work.
class GpuLoad {
 public:
  // Both outlive it.
  GpuLoad(const LoadRules& rules, const Thresholds& thresholds);

  // What its links move at most, in bytes a second; 0: not known.
  void SetLinks(std::int64_t pcie, std::int64_t nvlink) {
    pcie_ = pcie;
    nvlink_ = nvlink;
  }
  void Feed(const Sample& sample);

  // A rule that was met since the last call.
  struct Met {
    std::int64_t share = 0;  // the mean utilization, or the memory in use, in micro-percent
    bool spins = false;      // by spin-wait, not by traffic
  };
  std::optional<Met> Take(LoadAlert alert);

 private:
  struct Side {
    std::int64_t value = 0;
    std::optional<Instant> time;
  };
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
  std::optional<std::int64_t> second_;  // the open one
  std::int64_t sum_ = 0;                // of its readings of utilization
  std::int64_t count_ = 0;
  std::optional<Instant> read_;  // the last of them
  bool broken_ = false;          // one of them is of a broken counter
  std::int64_t mean_ = 0;        // of the last second that has one
  TrailingMean trailing_;
  std::array<Stretch, kLoadAlerts.size()> stretches_{};
  std::array<std::optional<Met>, kLoadAlerts.size()> met_{};
};

}  // namespace idleburn
