#include "audit/live_watch.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstring>
#include <string_view>
#include <thread>
#include <utility>

#include "base/money.h"
#include "os/held_signals.h"
#include "price/cost_report.h"
#include "price/find_rate.h"
#include "telemetry/link_speed.h"
#include "telemetry/reading_times.h"
#include "telemetry/run_facts.h"
#include "terminal/output.h"
#include "text/figures.h"

// Two threads meet here. The sampling thread counts and queues alerts (LiveWatch). The thread that waits for the
// workload prints them and sends signals (RunGuard). The sampling thread must not wait for a process or a signal: a
// late reading is time without data.
//
// What is spent is counted by the classifier and the pricing of the audit, not by a faster estimate. A cap that stops a
// run at 50 USD must agree with the bill of its report (docs/watch.md, "What counts").

namespace idleburn {
std::vector<WatchAlert> LiveWatch::OnSamples(std::span<const Sample> samples, const RunInputs& inputs) {
  watch_.OnSamples(samples);
  std::int64_t second = second_;
  for (const Sample& s : samples) second = std::max(second, s.time.nanos() / kNanosPerSecond);
  // One look a second is enough, since a second is the shortest time that is classified.
  if (second == second_) return {};
  second_ = second;

  const DeviceTable& devices = inputs.devices;
  const std::vector<DeviceId> hidden =
      all_gpus_ ? std::vector<DeviceId>() : HiddenGpus::From(inputs.summary.facts(), devices).devices;
  FindRates(inputs);
  std::vector<WatchedGpu> gpus;
  const std::vector<LinkSpeed> links = watch_.limits().watches_load() ? LinksOf(devices, inputs.summary.facts())
                                                                      : std::vector<LinkSpeed>(devices.size());
  for (DeviceId id = 0; id < devices.size(); ++id) {
    const bool counts = std::find(hidden.begin(), hidden.end(), id) == hidden.end() && !devices[id].has_instances;
    if (counts)
      gpus.push_back({id, ShortName(devices[id]), card_.Of(id).per_gpu_hour, links[id].pcie, links[id].nvlink});
  }
  std::vector<WatchAlert> fresh = watch_.Look(gpus, SpendSoFar(hidden, inputs));
  if (gpus.empty() && !told_of_none_) {
    fresh.push_back(NothingIsWatched("no GPU of this machine is visible to the command"));
    told_of_none_ = true;
  }
  // A budget that misses a GPU would guard less than its user thinks, so that is said once.
  for (const WatchedGpu& gpu : gpus) {
    if (!watch_.limits().budget || gpu.per_hour || told_of_unpriced_) continue;
    fresh.push_back({WatchAct::kWarn, gpu.name + " has no price: the budget does not count its cost"});
    told_of_unpriced_ = true;
  }
  const std::lock_guard lock(mutex_);
  alerts_.insert(alerts_.end(), fresh.begin(), fresh.end());
  return fresh;
}

// Rates cost a search in catalogue and contracts, and devices are rarely added. So they are found again only when the
// number of devices changes.
void LiveWatch::FindRates(const RunInputs& inputs) {
  if (carded_ == inputs.devices.size()) return;
  carded_ = inputs.devices.size();
  const Instant now = Instant::FromNanos(second_ * kNanosPerSecond);
  Result<RateCard> card = RatesOf(rates_, inputs.devices, AllOf(inputs.devices), RunSpan{now, now});
  if (card) card_ = *std::move(card);  // if not, the audit says why
}

// A run that cannot be priced has spent nothing as far as a watch can tell. The audit then says why.
Spend LiveWatch::SpendSoFar(const std::vector<DeviceId>& hidden, const RunInputs& inputs) const {
  Spend spend;
  if (!watch_.limits().budget && !watch_.limits().gpu_time) return spend;
  RunResult run = inputs.classifier.SoFar();
  run.LeaveOut(hidden);
  const Result<CostReport> cost = PriceRun(run, inputs.devices, {}, card_, {}, {}, kUsualMonthHours);
  if (!cost) return spend;  // the audit says why
  spend.gpu_time = Nanos(cost->whole.window_ns);
  spend.cost = cost->whole.total;
  spend.per_hour = cost->hourly;
  spend.gpus = cost->gpus - cost->others;
  return spend;
}

std::vector<WatchAlert> LiveWatch::Take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(alerts_, {});
}

namespace {

// The values of $IDLEBURN_ALERT_KIND, in the order of WatchAct.
constexpr std::array<std::string_view, 3> kActNames = {"warn", "checkpoint", "stop"};

}  // namespace

void TellAlert(const WatchAlert& alert, AlertCommand* command) {
  Say("alert: " + alert.text);
  if (command == nullptr || command->Tell(std::string(kActNames[static_cast<std::size_t>(alert.act)]), alert.text)) {
    return;
  }
  Say("--on-alert: the process that passes alerts on ended or is far behind; it did not pass this one on");
}

WatchAlert NothingIsWatched(const std::string& why) {
  return {WatchAct::kWarn, "no limit can take effect, because no GPU is measured (" + why + ")"};
}

namespace {

// How often the guard looks for alerts while the workload runs: a fraction of the second in which alerts arise.
constexpr Nanos kLook(200'000'000);

std::string ToProcesses(std::size_t count) {
  return " sent to " + std::to_string(count) + (count == 1 ? " process" : " processes");
}

}  // namespace

WorkloadEnd RunGuard::Wait() {
  // Without limits there is nothing to look for, and waiting needs no wake-ups.
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

// Alerts are reported with and without --enforce. Only --enforce lets them ask for a stop.
void RunGuard::Act() {
  for (const WatchAlert& alert : watch_.Take()) {
    TellAlert(alert, on_alert_);
    if (plan_.enforce) stopping_.Ask(alert.act);
  }
  while (const std::optional<StopDeed> deed = stopping_.Next(MonotonicNow())) Do(*deed);
}

// Carries out one step of a stop and reports to how many processes it was sent. A checkpoint signal goes only to
// processes that handle it, because it would end the others, such as the shell around a job.
void RunGuard::Do(StopDeed deed) {
  const std::string grace = DurationForPeople(plan_.rules.grace);
  switch (deed) {
    case StopDeed::kCheckpoint: {
      const std::string name = "SIG" + std::string(sigabbrev_np(plan_.checkpoint_signal));
      const std::size_t sent = workload_.Signal(plan_.checkpoint_signal, true);
      if (sent == 0) {
        stopping_.NobodyCheckpoints();
        return Tell(name + " was not sent: no process of the command handles it, so it would end the processes");
      }
      return Tell(name + ToProcesses(sent) + " to ask for a checkpoint; SIGTERM follows at the limit, " + grace +
                  " from now at the earliest");
    }
    case StopDeed::kTerminate:
      return Tell("SIGTERM" + ToProcesses(workload_.Signal(SIGTERM, false)) + "; the command has " + grace + " to end");
    case StopDeed::kSayItRuns:
      return Tell("the command still runs " + grace +
                  " after SIGTERM; idleburn lets it run (--enforce-kill would end it)");
    case StopDeed::kKill:
      return Tell("SIGKILL" + ToProcesses(workload_.Signal(SIGKILL, false)) + " that still ran " + grace +
                  " after SIGTERM");
  }
}

void RunGuard::Tell(const std::string& text) {
  Say("--enforce: " + text);
  session_.Tell(NoteKind::kEnforced, text);
}

// The command itself has ended. Its processes get the rest of the grace period, unless the user interrupts.
void RunGuard::WaitForLeftovers() {
  while (!workload_.Processes().empty() && !workload_.EndedBefore()) {
    const std::optional<StopDeed> last = stopping_.Next(MonotonicNow());
    if (last) return Do(*last);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

}  // namespace idleburn
