#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/common_flags.h"
#include "price/find_rate.h"
#include "run/alert_command.h"
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

}  // namespace idleburn
