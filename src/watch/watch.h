// Watches a running workload for waste and overspending, and decides how to stop it. This part has no clock, no
// signals and no processes, so tests can run days of it in milliseconds. The command that wraps a workload acts
// on its alerts.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
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

// The limits that a run must not exceed. An absent limit is not watched.
struct WatchLimits {
  // Continuous idle time of a GPU whose memory a process holds.
  std::optional<Nanos> idle_held;
  LoadRules load;
  std::optional<Money> budget;
  std::optional<Nanos> gpu_time;  // GPU-hours, as time
  // Someone acts on WatchAct::kCheckpoint.
  bool asks_checkpoint = false;
  std::string currency;

  // Whether a limit can stop a run. Load rules only warn.
  [[nodiscard]] bool stops() const { return idle_held || budget || gpu_time; }
  // Whether any load rule, or any limit at all, is set.
  [[nodiscard]] bool watches_load() const {
    return std::any_of(load.begin(), load.end(), [](const auto& rule) { return rule.has_value(); });
  }
  [[nodiscard]] bool any() const { return stops() || watches_load(); }
};

// A GPU or MIG instance that the run may use.
struct WatchedGpu {
  DeviceId device = 0;
  std::string name;
  std::optional<Money> per_hour = {};  // to state the cost of idle time
  // Bytes a second of its PCIe link in each direction; 0: unknown.
  std::int64_t pcie = 0;
  // Bytes a second of its NVLinks, both directions together.
  std::int64_t nvlink = 0;
};

// What the run has used since its start.
struct Spend {
  Nanos gpu_time{0};
  std::optional<Money> cost;
  std::optional<Money> per_hour;  // of all its GPUs
  // A MIG instance counts as its share of the board.
  double gpus = 0;
};

// What an alert asks the caller to do.
enum class WatchAct : std::uint8_t { kWarn, kCheckpoint, kStop };

// An alert with its text for people.
struct WatchAlert {
  WatchAct act = WatchAct::kWarn;
  std::string text;
};

// Reports when a run exceeds its limits, each event once. It has no clock: time is that of the samples.
//
//   a GPU held idle beyond the limit            warn, once for each continuous stretch
//   all GPUs idle that long, one of them held   stop: nothing works. A GPU that nobody holds does not keep a job alive
//   80, 95, 100 % of the budget or GPU-hours    warn, checkpoint, stop
//   a load rule met (watch/gpu_load.h)          warn, once for each continuous stretch; GPUs that meet it together
//                                               share one alert
class Watch {
 public:
  // `thresholds` outlives the watch.
  Watch(WatchLimits limits, const Thresholds& thresholds) : limits_(std::move(limits)), thresholds_(thresholds) {}

  // Takes new samples.
  void OnSamples(std::span<const Sample> samples);
  // The alerts since the last call. Call it about once a second.
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
  std::map<DeviceId, Instant> told_;  // start of the stretch that was reported
  bool told_of_all_ = false;
  std::size_t money_level_ = 0;  // how many levels of the budget were reached
  std::size_t time_level_ = 0;   // how many levels of the GPU-hours were reached
};

// How a workload is stopped.
struct StopRules {
  // A signal chosen by the user requests a checkpoint before SIGTERM.
  bool checkpoint = false;
  Nanos grace{120 * kNanosPerSecond};
  // Send SIGKILL if SIGTERM did not help.
  bool kill = false;
};

// A step of stopping a workload.
enum class StopDeed : std::uint8_t { kCheckpoint, kTerminate, kSayItRuns, kKill };

// Decides what to do, and when, to a workload that must stop. Each step happens once. A workload that is asked
// to checkpoint has `grace` before SIGTERM, and `grace` again before SIGKILL. New activity does not cancel a
// stop. Example: with a grace of 120 s, a checkpoint is requested at 0 s, SIGTERM follows at 120 s and SIGKILL
// at 240 s.
class Stopping {
 public:
  explicit Stopping(const StopRules& rules) : rules_(rules) {}

  // Takes over what an alert asks for.
  void Ask(WatchAct act);
  // The next step that is due. Call it until it returns nothing.
  std::optional<StopDeed> Next(Nanos now);
  // The checkpoint request reached no process, so there is nothing to wait for.
  void NobodyCheckpoints() { checkpoint_at_.reset(); }
  // Whether SIGTERM was due.
  [[nodiscard]] bool terminated() const { return terminated_at_.has_value(); }

 private:
  StopRules rules_;
  bool checkpoint_ = false;
  bool stop_ = false;
  bool checkpoint_done_ = false;
  bool last_done_ = false;
  std::optional<Nanos> checkpoint_at_;
  std::optional<Nanos> terminated_at_;
};

}  // namespace idleburn
