#pragma once

#include <string>

#include "audit/live_watch.h"
#include "run/alert_command.h"
#include "run/live_session.h"
#include "run/workload.h"

namespace idleburn {

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
