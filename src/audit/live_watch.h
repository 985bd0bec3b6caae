#pragma once

#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "audit/run_inputs.h"
#include "audit/watch_flags.h"
#include "classify/run_classifier.h"
#include "run/live_session.h"
#include "run/workload.h"
#include "watch/watch.h"

namespace idleburn {
// Watches a live run from within its stream of samples. Once a second, by the time of the samples, it counts what the
// run has used, as its audit will, and asks Watch for alerts. Alerts wait in a queue for the thread that acts on them.
class LiveWatch {
 public:
  // `plan` and `thresholds` must outlive the watch. `all_gpus` also counts GPUs that the command cannot see.
  LiveWatch(const WatchPlan& plan, const Thresholds& thresholds, bool all_gpus)
      : watch_(plan.limits, thresholds), rates_(plan.rates), all_gpus_(all_gpus) {}

  // Called by the stream. `inputs` belong to the run, and their classifier must already have these samples. Returns new
  // alerts.
  std::vector<WatchAlert> OnSamples(std::span<const Sample> samples, const RunInputs& inputs);
  // Returns and forgets the alerts since the last call. May be called from any thread.
  std::vector<WatchAlert> Take();

 private:
  // What the run has used. Empty without a cap, because pricing a run every second has a cost.
  [[nodiscard]] Spend SpendSoFar(const std::vector<DeviceId>& hidden, const RunInputs& inputs) const;
  // Finds the rates of the devices known so far; does so again when devices were added.
  void FindRates(const RunInputs& inputs);

  Watch watch_;
  const RateBook& rates_;
  RateCard card_;
  std::size_t carded_ = 0;  // devices that it is of
  bool all_gpus_;
  std::int64_t second_ = 0;  // of the last look, since the epoch
  bool told_of_none_ = false;
  bool told_of_unpriced_ = false;
  std::mutex mutex_;  // of what follows
  std::vector<WatchAlert> alerts_;
};

// Reports an alert on standard error, and to `command` if it is not null.
void TellAlert(const WatchAlert& alert, AlertCommand* command);

// The alert for a watch that sees no GPU; `why` says why there is none.
WatchAlert NothingIsWatched(const std::string& why);

// Waits for a workload and acts on alerts meanwhile. It reports each alert on standard error. With --enforce it also
// stops the workload. What it does becomes a note of the run.
class RunGuard {
 public:
  // All arguments must outlive the guard. `on_alert` may be null.
  RunGuard(const WatchPlan& plan, LiveWatch& watch, Workload& workload, LiveSession& session, AlertCommand* on_alert)
      : plan_(plan),
        watch_(watch),
        workload_(workload),
        session_(session),
        on_alert_(on_alert),
        stopping_(plan.rules) {}

  // Reports that the session has no GPU, or none yet, so that no limit can hold. Reports it once. May be called from
  // one other thread.
  void NoGpu(const std::string& why);

  // Waits as Workload::Wait does. After a stop it also waits for processes that the workload left behind, until they
  // end or their grace is over: they may still be writing a checkpoint.
  WorkloadEnd Wait();

 private:
  void Act();
  void Do(StopDeed deed);
  void Tell(const std::string& text);
  void WaitForLeftovers();

  const WatchPlan& plan_;
  LiveWatch& watch_;
  Workload& workload_;
  LiveSession& session_;
  AlertCommand* on_alert_;
  Stopping stopping_;
  bool told_no_gpu_ = false;
};

}  // namespace idleburn
