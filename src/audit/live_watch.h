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
// Watches a live run from within its stream: once a second of the samples' time it counts what the run has used, as its
// audit will, and asks the Watch. Alerts wait for the thread that acts on them.
class LiveWatch {
 public:
  // `plan` and `thresholds` outlive it.
  LiveWatch(const WatchPlan& plan, const Thresholds& thresholds, bool all_gpus)
      : watch_(plan.limits, thresholds), rates_(plan.rates), all_gpus_(all_gpus) {}

  // In the stream. `inputs` are of the run, whose classifier has these samples already.
  std::vector<WatchAlert> OnSamples(std::span<const Sample> samples, const RunInputs& inputs);
  // The alerts since the last call, from any thread.
  std::vector<WatchAlert> Take();

 private:
  [[nodiscard]] Spend SpendSoFar(const std::vector<DeviceId>& hidden, const RunInputs& inputs) const;
  // The rates of the devices known by now; found anew when there are more.
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

// Says an alert on standard error, and to `command` if there is one.
void TellAlert(const WatchAlert& alert, AlertCommand* command);

// What to say where a watch sees nothing; `why` there is no GPU.
WatchAlert NothingIsWatched(const std::string& why);

// Waits for a workload and acts on what a watch says meanwhile: tells it on standard error and, only where the user
// asked for that, stops the workload. What it does is a note of the run.
class RunGuard {
 public:
  // All outlive it; `on_alert` may be null.
  RunGuard(const WatchPlan& plan, LiveWatch& watch, Workload& workload, LiveSession& session, AlertCommand* on_alert)
      : plan_(plan),
        watch_(watch),
        workload_(workload),
        session_(session),
        on_alert_(on_alert),
        stopping_(plan.rules) {}

  // From one other thread: the session has no GPU, or none yet. Told once.
  void NoGpu(const std::string& why);

  // As Workload::Wait. A workload that was stopped is over when what it leaves behind is, too, or had its time.
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
