#include "audit/run_guard.h"

#include <chrono>
#include <csignal>
#include <cstring>
#include <thread>
#include <utility>

#include "audit/tell_alert.h"
#include "os/held_signals.h"
#include "terminal/output.h"
#include "text/number.h"

namespace idleburn {
namespace {

constexpr Nanos kLook(200'000'000);

std::string ToProcesses(std::size_t count) {
  return " sent to " + std::to_string(count) + (count == 1 ? " process" : " processes");
}

}  // namespace

WorkloadEnd RunGuard::Wait() {
  if (!plan_.limits.any()) return workload_.Wait();
  while (true) {
    std::optional<WorkloadEnd> end = workload_.WaitUntil(MonotonicNow() + kLook);
    if (end) {
      for (const WatchAlert& alert : watch_.Take()) TellAlert(alert, on_alert_);
      if (stopping_.terminated()) WaitForLeftovers();
      return *std::move(end);
    }
    Act();
  }
}

void RunGuard::NoGpu(const std::string& why) {
  if (!plan_.limits.any() || std::exchange(told_no_gpu_, true)) return;
  const WatchAlert alert = NothingIsWatched(why);
  TellAlert(alert, on_alert_);
  session_.Tell(NoteKind::kAlert, alert.text);
}

void RunGuard::Act() {
  for (const WatchAlert& alert : watch_.Take()) {
    TellAlert(alert, on_alert_);
    if (plan_.enforce) stopping_.Ask(alert.act);
  }
  while (const std::optional<StopDeed> deed = stopping_.Next(MonotonicNow())) Do(*deed);
}

void RunGuard::Do(StopDeed deed) {
  const std::string grace = SecondsText(plan_.rules.grace);
  switch (deed) {
    case StopDeed::kCheckpoint: {
      const std::string name = "SIG" + std::string(sigabbrev_np(plan_.checkpoint_signal));
      const std::size_t sent = workload_.Signal(plan_.checkpoint_signal, true);
      if (sent == 0) {
        stopping_.NobodyCheckpoints();
        return Tell(name + " was not sent: no process of the command handles it, and it would end them");
      }
      return Tell(name + ToProcesses(sent) + " so that the command checkpoints; SIGTERM comes at the limit, " + grace +
                  " from now at the earliest");
    }
    case StopDeed::kTerminate:
      return Tell("SIGTERM" + ToProcesses(workload_.Signal(SIGTERM, false)) + "; the command has " + grace + " to end");
    case StopDeed::kSayItRuns:
      return Tell("the command still runs " + grace + " after SIGTERM and is left to run; --enforce-kill would end it");
    case StopDeed::kKill:
      return Tell("SIGKILL" + ToProcesses(workload_.Signal(SIGKILL, false)) + " that still ran " + grace +
                  " after SIGTERM");
  }
}

void RunGuard::Tell(const std::string& text) {
  Say("--enforce: " + text);
  session_.Tell(NoteKind::kEnforced, text);
}

void RunGuard::WaitForLeftovers() {
  while (!workload_.Processes().empty() && !workload_.EndedBefore()) {
    const std::optional<StopDeed> last = stopping_.Next(MonotonicNow());
    if (last) return Do(*last);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

}  // namespace idleburn
