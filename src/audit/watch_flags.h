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
// What a live run is watched for, and what is done about it.
struct WatchPlan {
  WatchLimits limits;
  RateBook rates;  // by which a budget is counted
  bool enforce = false;
  StopRules rules;
  int checkpoint_signal = 0;
  std::optional<std::vector<RunFact>> machine;  // what it tells of its price, where a budget made that a question
};

// The flags of that.
struct WatchFlags {
  // Adds them; this must stay where it is until they were read.
  void AddTo(CommandFlags& flags);
  // Those by which a workload is stopped too.
  void AddEnforceTo(CommandFlags& flags);

  // Understood; nothing is started yet. A budget needs a price that is known before the start, by the settings or by
  // the machine, for whatever GPU there is: without one it is refused, because a run that was to be guarded must not
  // begin unguarded.
  [[nodiscard]] Result<WatchPlan> Plan(const Prices& prices, bool ask_cloud) const;

  // The process that tells alerts on; null where none was asked for. To be called while there is one thread.
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

// What the commands that measure live have in common.
struct LiveFlags {
  // Of the settings that these commands have flags for.
  static std::vector<std::string> SettingKeys() {
    return {"price.",  "advice.", "energy.", "classify.idle_power", "classify.idle_after", "classify.idle_grace",
            "output.", "history."};
  }
  // Adds the flags; this must stay where it is until they were read.
  void AddTo(CommandFlags& flags);
  // Only the flag of `detect_cloud`; AddTo has it too.
  void AddDetectCloud(CommandFlags& flags);
  // How GPUs are sampled, by --hz and the environment. A driver is waited for until the run ends.
  [[nodiscard]] Result<LiveGpuOptions> GpuOptions() const;

  ReportRequest report;
  std::string hz;
  bool detect_cloud = false;
  bool no_history = false;
  std::vector<std::string> tags;  // --tag, as given
};

// For somebody who waits for GPUs and nothing else: a driver that loads for eight of them takes half a minute.
inline constexpr Nanos kDriverPatience{60 * kNanosPerSecond};

// A variable of our environment, which is a workload's too.
std::optional<std::string> OwnVariable(std::string_view name);

// The text of --for; nothing where it was not given.
Result<std::optional<Nanos>> ParseFor(const std::string& text);

}  // namespace idleburn
