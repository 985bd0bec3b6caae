#pragma once

#include <string>

#include "cli/live_watch.h"
#include "run/live_session.h"
#include "run/workload.h"

namespace idleburn {

// Waits for a workload and acts on what a watch says meanwhile: tells it on standard error and, only where the user
// asked for that, stops the workload. What it does is a note of the run.
class RunGuard {
 public:
  // All outlive it.
  RunGuard(const WatchPlan& plan, LiveWatch& watch, Workload& workload, LiveSession& session)
      : plan_(plan), watch_(watch), workload_(workload), session_(session), stopping_(plan.rules) {}

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
  Stopping stopping_;
};

}  // namespace idleburn
