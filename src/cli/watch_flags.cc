#include "cli/watch_flags.h"

#include <array>
#include <csignal>
#include <utility>

#include "cli/find_rate.h"
#include "cli/flag_values.h"
#include "cli/keep_run.h"
#include "text/duration.h"

namespace idleburn {
namespace {

// Those by which programs are asked for something, and not ended for sure.
constexpr std::array<int, 5> kCheckpointSignals = {SIGUSR1, SIGUSR2, SIGHUP, SIGINT, SIGCONT};

Result<Nanos> ParseIdleHeld(const std::string& text) {
  const std::size_t sign = text.find_first_of("=>");
  if (text.substr(0, sign) != "idle-held") {
    return FailUsage("--watch: '" + text.substr(0, 40) +
                     "' is no limit; give idle-held=TIME, for example idle-held=15m");
  }
  if (sign == std::string::npos) {
    return FailUsage("--watch: idle-held has no limit; write idle-held=15m (the shell takes a > without quotes)");
  }
  const Result<Nanos> limit = ParseDuration(text.substr(sign + 1));
  if (!limit) return FailUsage("--watch: idle-held: " + limit.error().message);
  return *limit;
}

}  // namespace

void WatchFlags::AddTo(CommandFlags& flags) {
  flags
      .Add("--watch", "LIMIT",
           "say so when a GPU is idle while its memory is held for longer: idle-held=15m (repeatable)")
      .list = &watch;
  flags.Add("--budget", "AMOUNT", "say so at 80 and 100 % of this cost, in the currency of the price").text = &budget;
  flags.Add("--gpu-hours", "HOURS", "say so at 80 and 100 % of these GPU-hours").text = &gpu_hours;
  flags.Add("--on-alert", "CMD", "run this by sh for each alert; $IDLEBURN_ALERT says it").text = &on_alert;
}

Result<std::unique_ptr<AlertCommand>> WatchFlags::StartAlertCommand() const {
  return on_alert.empty() ? std::unique_ptr<AlertCommand>() : AlertCommand::Start(on_alert);
}

void WatchFlags::AddEnforceTo(CommandFlags& flags) {
  flags.Add("--enforce", "", "beyond a limit, stop the command with SIGTERM").on = &enforce;
  flags
      .Add("--enforce-signal", "SIGNAL",
           "first ask it to checkpoint, at 95 % of a cap, with this: SIGUSR1 and the like")
      .text = &enforce_signal;
  flags.Add("--grace", "TIME", "how long it has for each, before SIGTERM and after (default 120s)").text = &grace;
  flags.Add("--enforce-kill", "", "SIGKILL when it still runs after that").on = &kill;
}

Result<WatchPlan> WatchFlags::Plan(const Settings& settings, bool ask_cloud, Instant now) const {
  WatchPlan plan;
  RunFacts facts;
  if (!budget.empty()) {
    plan.machine = MachineFacts(ask_cloud);
    for (const RunFact& fact : *plan.machine) facts[fact.key] = fact.value;
  }
  RateQuestion question = QuestionOf(facts);
  question.now = now;
  question.host = HostName();
  question.live = true;
  DataQuality later;  // doubts about the price are the audit's
  Result<RateBook> rates = OpenRates(settings, question, later);
  if (!rates) return tl::unexpected<Error>(rates.error());
  plan.rates = *std::move(rates);
  const Result<Rate> any = RateOfModels(plan.rates, {});
  if (!any) return tl::unexpected<Error>(any.error());
  plan.limits.currency = any->currency;
  TRY(ReadLimits(plan, any->per_gpu_hour.has_value()));
  TRY(ReadEnforce(plan));
  if (!on_alert.empty() && !plan.limits.any()) {
    return FailUsage("--on-alert has no limit to speak of; give --watch idle-held=15m, --budget or --gpu-hours");
  }
  return plan;
}

Result<void> WatchFlags::ReadLimits(WatchPlan& plan, bool priced) const {
  WatchLimits& limits = plan.limits;
  for (const std::string& text : watch) {
    const Result<Nanos> limit = ParseIdleHeld(text);
    if (!limit) return tl::unexpected<Error>(limit.error());
    limits.idle_held = *limit;
  }
  if (!budget.empty()) {
    const Result<Money> amount = Money::Parse(budget);
    if (!amount || amount->nano() <= 0) {
      return FailUsage("--budget: '" + budget.substr(0, 20) + "' is no amount above 0, for example 50");
    }
    if (!priced) {
      if (!plan.rates.stated.empty()) {
        return FailUsage("--budget cannot be watched: --price is of some GPUs only; give one for all others too");
      }
      return FailUsage("--budget cannot be watched: no price is known before the start; give --price, or --gpu-hours");
    }
    limits.budget = *amount;
  }
  if (gpu_hours.empty()) return {};
  const Result<Nanos> time = ParseDuration(gpu_hours + "h");
  if (!time) return FailUsage("--gpu-hours: '" + gpu_hours.substr(0, 20) + "' is no number above 0, for example 12");
  limits.gpu_time = *time;
  return {};
}

Result<void> WatchFlags::ReadEnforce(WatchPlan& plan) const {
  plan.enforce = enforce;
  plan.rules.kill = kill;
  if (!enforce) {
    const char* lone = !enforce_signal.empty() ? "--enforce-signal" : !grace.empty() ? "--grace" : "--enforce-kill";
    if (!enforce_signal.empty() || !grace.empty() || kill) {
      return FailUsage(std::string(lone) + " does nothing without --enforce");
    }
    return {};
  }
  if (!plan.limits.any())
    return FailUsage("--enforce has no limit; give --watch idle-held=15m, --budget or --gpu-hours");
  if (!grace.empty()) {
    const Result<Nanos> time = ParseDuration(grace);
    if (!time) return FailUsage("--grace: " + time.error().message);
    plan.rules.grace = *time;
  }
  if (enforce_signal.empty()) return {};
  const Result<int> signal = FlagSignal("--enforce-signal", enforce_signal, kCheckpointSignals);
  if (!signal) return tl::unexpected<Error>(signal.error());
  plan.checkpoint_signal = *signal;
  plan.rules.checkpoint = true;
  plan.limits.asks_checkpoint = true;
  return {};
}

}  // namespace idleburn
