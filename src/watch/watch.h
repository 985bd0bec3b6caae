#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/money.h"
#include "base/time.h"
#include "watch/gpu_load.h"
#include "watch/held_stretch.h"

namespace idleburn {

// What a run must not go beyond. Absent: not watched.
struct WatchLimits {
  std::optional<Nanos> idle_held;  // a GPU idle for longer, without a break, while a process holds its memory
  LoadRules load;
  std::optional<Money> budget;
  std::optional<Nanos> gpu_time;  // GPU-hours, as time
  bool asks_checkpoint = false;   // somebody acts on WatchAct::kCheckpoint
  std::string currency;

  // Whether there is one that stops a run; the others only warn.
  [[nodiscard]] bool stops() const { return idle_held || budget || gpu_time; }
  [[nodiscard]] bool watches_load() const {
    return std::any_of(load.begin(), load.end(), [](const auto& rule) { return rule.has_value(); });
  }
  [[nodiscard]] bool any() const { return stops() || watches_load(); }
};

// A GPU, or MIG instance, that the run may use.
struct WatchedGpu {
  DeviceId device = 0;
  std::string name;
  std::optional<Money> per_hour = {};  // to say what it costs idle
  std::int64_t pcie = 0;               // bytes a second that its link moves each way; 0: not known
  std::int64_t nvlink = 0;             // the same of its NVLinks, both ways together
};

// What the run has used since its start.
struct Spend {
  Nanos gpu_time{0};
  std::optional<Money> cost;
  std::optional<Money> per_hour;  // of all its GPUs
  double gpus = 0;                // of a MIG board as much as is the run's
};

// What an alert asks for, of whoever is to act on it.
enum class WatchAct : std::uint8_t { kWarn, kCheckpoint, kStop };

struct WatchAlert {
  WatchAct act = WatchAct::kWarn;
  std::string text;
};

// Says when a run goes beyond its limits, each thing once. Knows no clock: time is that of the samples.
//
//   a GPU idle-held beyond the limit            warn, once for each unbroken stretch
//   one at least, and every GPU idle that long  stop: nothing works (a GPU that nobody holds does not keep a job alive)
//   80, 95, 100 % of the budget or GPU-hours    warn, checkpoint, stop
//   a load rule met (watch/gpu_load.h)          warn, once for each unbroken stretch; GPUs that meet it together share
//                                               one alert
class Watch {
 public:
  // `thresholds` outlives the watch.
  Watch(WatchLimits limits, const Thresholds& thresholds) : limits_(std::move(limits)), thresholds_(thresholds) {}

  void OnSamples(std::span<const Sample> samples);
  // To be called now and then, about once a second.
  std::vector<WatchAlert> Look(const std::vector<WatchedGpu>& gpus, const Spend& spend);

  [[nodiscard]] const WatchLimits& limits() const { return limits_; }

 private:
  void LookAtIdle(const std::vector<WatchedGpu>& gpus, std::vector<WatchAlert>& alerts);
  void LookAtLoad(const std::vector<WatchedGpu>& gpus, std::vector<WatchAlert>& alerts);
  void LookAtSpend(const Spend& spend, std::vector<WatchAlert>& alerts);
  [[nodiscard]] std::string CostText(const std::optional<Money>& cost) const;

  WatchLimits limits_;
  const Thresholds& thresholds_;
  std::map<DeviceId, HeldStretch> stretches_;
  std::map<DeviceId, GpuLoad> loads_;
  std::map<DeviceId, Instant> told_;  // the start of the stretch an alert was about
  bool told_of_all_ = false;
  std::size_t money_level_ = 0;  // how many of the levels were passed
  std::size_t time_level_ = 0;
};

}  // namespace idleburn
