#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "audit/audit_plan.h"
#include "config/common_flags.h"
#include "measure/live_gpus.h"
#include "price/find_rate.h"
#include "run/live_session.h"
#include "telemetry/live_sink.h"
#include "watch/watch.h"

namespace idleburn {
// What a live run is watched for, and what happens when a limit is exceeded. Made from WatchFlags before the run
// starts.
struct WatchPlan {
  WatchLimits limits;
  RateBook rates;  // by which a budget is counted
  bool enforce = false;
  StopRules rules;
  int checkpoint_signal = 0;
  std::optional<std::vector<RunFact>> machine;  // what it tells of its price, where a budget made that a question
};

// The flags that say what a live run is watched for, as written.
struct WatchFlags {
  // Adds the flags. The object must not move until they were read, because the flags point into it.
  void AddTo(CommandFlags& flags);
  // Adds the flags that stop a workload. Only `run` has them: `record` did not start what it measures.
  void AddEnforceTo(CommandFlags& flags);

  // Checks the flags and turns them into a plan. Nothing is started yet. A budget needs a price that is known before
  // the start, from the settings or the machine, for whatever GPU there is. Without one it is an error, because a run
  // that was to be guarded must not begin unguarded.
  [[nodiscard]] Result<WatchPlan> Plan(const Prices& prices, bool ask_cloud) const;

  // Starts the process that passes alerts on; null if no command was given. Call it while there is one thread, because
  // it forks.
  [[nodiscard]] Result<std::unique_ptr<AlertCommand>> StartAlertCommand() const;

  std::vector<std::string> watch;
  std::string budget;
  std::string gpu_hours;
  std::string on_alert;
  bool enforce = false;
  std::string enforce_signal;
  std::string grace;
  bool kill = false;

 private:
  [[nodiscard]] Result<void> ReadLimits(WatchPlan& plan, bool priced) const;
  [[nodiscard]] Result<void> ReadEnforce(WatchPlan& plan) const;
};

// The flags that `run`, `record` and `top` share.
struct LiveFlags {
  // The prefixes of the settings for which these commands have flags.
  static std::vector<std::string> SettingKeys() {
    return {"price.",  "advice.", "energy.", "classify.idle_power", "classify.idle_after", "classify.idle_grace",
            "output.", "history."};
  }
  // Adds the flags. The object must not move until they were read, because the flags point into it.
  void AddTo(CommandFlags& flags);
  // Adds only the flag of `detect_cloud`, which AddTo adds too.
  void AddDetectCloud(CommandFlags& flags);
  // How GPUs are sampled, from --hz and the environment. Fails on a rate outside 1 to 100 per second. The driver may
  // take as long as it likes to list its GPUs: the run goes on meanwhile.
  [[nodiscard]] Result<LiveGpuOptions> GpuOptions() const;

  ReportRequest report;
  std::string hz;
  bool detect_cloud = false;
  bool no_history = false;
  std::vector<std::string> tags;  // --tag, as given
};

// How long `top` and `doctor` wait for the driver, since they do nothing without it. A driver that loads for eight GPUs
// takes half a minute.
inline constexpr Nanos kDriverPatience{60 * kNanosPerSecond};

// Looks up a variable of our environment, which a workload inherits. Absent if it is not set.
std::optional<std::string> OwnVariable(std::string_view name);

// Reads --for. Absent if the flag was not given.
Result<std::optional<Nanos>> ParseFor(const std::string& text);

}  // namespace idleburn
