#include "audit/watch_flags.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <utility>

#include "audit/keep_run.h"
#include "audit/machine_facts.h"
#include "config/flag_values.h"
#include "price/find_rate.h"
#include "text/number.h"
#include "text/strings.h"

// Reads the flags of watching and stopping. A flag without effect is a usage error here, never ignored: its user
// believes that a run is guarded. Examples are --grace without --enforce, and --on-alert without a limit.

namespace idleburn {
namespace {

// Signals that programs take as a request. SIGTERM and SIGKILL are not among them: they end a program, and a checkpoint
// must come before that.
constexpr std::array<int, 5> kCheckpointSignals = {SIGUSR1, SIGUSR2, SIGHUP, SIGINT, SIGCONT};

// The limit of idle-held in --watch all: 15 minutes.
constexpr Nanos kUsualIdleHeld{900 * kNanosPerSecond};

// Reads "50%", "1h" or "50%:1h" into `rule`. The part that is not given keeps its usual value.
Result<void> ParseLoadRule(const std::string& name, const std::string& text, LoadRule& rule) {
  for (const std::string_view part : Split(text, ':')) {
    if (!part.ends_with('%')) {
      const Result<Nanos> time = ParseDuration(part);
      if (!time) return FailUsage("--watch: " + name + ": " + time.error().message);
      rule.time = *time;
      continue;
    }
    const ScaledNumber share = ParseScaled(part.substr(0, part.size() - 1), 6);
    if (share.fault != NumberFault::kNone || share.value <= 0 || share.value > kFull) {
      return FailUsage("--watch: " + name + ": '" + std::string(part.substr(0, 20)) +
                       "' is not a share above 0 and up to 100%");
    }
    rule.share = share.value;
  }
  return {};
}

// Reads one value of --watch: "idle-held=15m", "memory", "low-utilization=40%:30m" or "all". ">" is accepted for "=",
// because gates of --fail-on are written so.
Result<void> ParseWatch(const std::string& text, WatchLimits& limits) {
  const std::size_t sign = std::min(text.find_first_of("=>"), text.size());
  const std::string name = text.substr(0, sign);
  const bool valued = sign < text.size();
  if (name == "all" && !valued) {
    limits.idle_held = kUsualIdleHeld;
    for (const LoadAlertInfo& info : kLoadAlerts) limits.load[Index(info.id)] = info.usual;
    return {};
  }
  if (name == "idle-held") {
    if (!valued) {
      return FailUsage("--watch: idle-held has no limit; write idle-held=15m (the shell takes a > without quotes)");
    }
    const Result<Nanos> limit = ParseDuration(text.substr(sign + 1));
    if (!limit) return FailUsage("--watch: idle-held: " + limit.error().message);
    limits.idle_held = *limit;
    return {};
  }
  for (const LoadAlertInfo& info : kLoadAlerts) {
    if (info.name != name) continue;
    LoadRule rule = info.usual;
    if (valued) TRY(ParseLoadRule(name, text.substr(sign + 1), rule));
    limits.load[Index(info.id)] = rule;
    return {};
  }
  std::string names;
  for (const LoadAlertInfo& info : kLoadAlerts) names += std::string(info.name) + ", ";
  return FailUsage("--watch: '" + text.substr(0, 40) +
                   "' is not a limit; give idle-held=TIME, for example idle-held=15m, " + names + "or all");
}

}  // namespace

void WatchFlags::AddTo(CommandFlags& flags) {
  flags
      .Add("--watch", "LIMIT",
           "alert when a GPU is idle but its memory is held for longer: idle-held=15m; or low-utilization, memory, "
           "pcie-stall, allreduce-stall, all; with your own limits: memory=90%, low-utilization=40%:30m "
           "(repeatable)")
      .list = &watch;
  flags.Add("--budget", "AMOUNT", "alert at 80 and 100 % of this cost, in the currency of the price").text = &budget;
  flags.Add("--gpu-hours", "HOURS", "alert at 80 and 100 % of these GPU-hours").text = &gpu_hours;
  flags.Add("--on-alert", "CMD", "run this shell command for each alert; $IDLEBURN_ALERT has its text").text =
      &on_alert;
}

Result<std::unique_ptr<AlertCommand>> WatchFlags::StartAlertCommand() const {
  return on_alert.empty() ? std::unique_ptr<AlertCommand>() : AlertCommand::Start(on_alert);
}

void WatchFlags::AddEnforceTo(CommandFlags& flags) {
  flags.Add("--enforce", "", "stop the command with SIGTERM when it is beyond a limit").on = &enforce;
  flags.Add("--enforce-signal", "SIGNAL", "signal that asks for a checkpoint at 95 % of a cap: SIGUSR1 or similar")
      .text = &enforce_signal;
  flags.Add("--grace", "TIME", "time to checkpoint before SIGTERM, and time to end after it (default 120s)").text =
      &grace;
  flags.Add("--enforce-kill", "", "send SIGKILL if the command still runs after that").on = &kill;
}

Result<WatchPlan> WatchFlags::Plan(const Prices& prices, bool ask_cloud) const {
  WatchPlan plan;
  RunFacts facts;
  // Only a budget needs a price, so only a budget asks the machine and the cloud for it.
  if (!budget.empty()) {
    plan.machine = MachineFacts(ask_cloud);
    for (const RunFact& fact : *plan.machine) facts[fact.key] = fact.value;
  }
  RateQuestion question = QuestionOf(facts);
  question.host = HostName();
  question.live = true;
  plan.rates = prices.For(question);
  // A rate without any model is the one that every GPU would have. A budget needs such a rate.
  const Rate any = TRY(RateOfModels(plan.rates, {}));
  plan.limits.currency = any.currency;
  TRY(ReadLimits(plan, any.per_gpu_hour.has_value()));
  TRY(ReadEnforce(plan));
  if (!on_alert.empty() && !plan.limits.any()) {
    return FailUsage("--on-alert needs a limit; give --watch idle-held=15m, --budget or --gpu-hours");
  }
  return plan;
}

Result<void> WatchFlags::ReadLimits(WatchPlan& plan, bool priced) const {
  WatchLimits& limits = plan.limits;
  for (const std::string& text : watch) TRY(ParseWatch(text, limits));
  if (!budget.empty()) {
    const Result<Money> amount = Money::Parse(budget);
    if (!amount || amount->nano() <= 0) {
      return FailUsage("--budget: '" + budget.substr(0, 20) + "' is not an amount above 0, for example 50");
    }
    // The name of a GPU is known only after the start, so a price of the catalogue cannot help here.
    if (!priced) {
      for (const RateBook::Stated& stated : plan.rates.stated) {
        if (stated.rate.per_gpu_hour) continue;
        return FailUsage("--budget cannot be watched: --price " + stated.text +
                         " is a range of offers; give a number, or the key of one offer");
      }
      if (!plan.rates.stated.empty()) {
        return FailUsage("--budget cannot be watched: --price covers only some GPUs; give a price for all others too");
      }
      return FailUsage("--budget cannot be watched: no price is known before the start; give --price, or --gpu-hours");
    }
    limits.budget = *amount;
  }
  if (gpu_hours.empty()) return {};
  // GPU-hours are counted exactly, as GPU-nanoseconds.
  const Result<Nanos> time = ParseDuration(gpu_hours + "h");
  if (!time) return FailUsage("--gpu-hours: '" + gpu_hours.substr(0, 20) + "' is not a number above 0, for example 12");
  limits.gpu_time = *time;
  return {};
}

Result<void> WatchFlags::ReadEnforce(WatchPlan& plan) const {
  plan.enforce = enforce;
  plan.rules.kill = kill;
  if (!enforce) {
    // Names the flag that has no effect, since the user expects it to stop something.
    const char* lone = !enforce_signal.empty() ? "--enforce-signal" : !grace.empty() ? "--grace" : "--enforce-kill";
    if (!enforce_signal.empty() || !grace.empty() || kill) {
      return FailUsage(std::string(lone) + " does nothing without --enforce");
    }
    return {};
  }
  if (!plan.limits.stops()) {
    return FailUsage(std::string("--enforce has no limit") + (plan.limits.any() ? " that stops a command" : "") +
                     "; give --watch idle-held=15m, --budget or --gpu-hours");
  }
  if (!grace.empty()) {
    const Result<Nanos> time = ParseDuration(grace);
    if (!time) return FailUsage("--grace: " + time.error().message);
    plan.rules.grace = *time;
  }
  if (enforce_signal.empty()) return {};
  plan.checkpoint_signal = TRY(FlagSignal("--enforce-signal", enforce_signal, kCheckpointSignals));
  plan.rules.checkpoint = true;
  // The watch warns at 95 % of a cap only if somebody acts on that.
  plan.limits.asks_checkpoint = true;
  return {};
}

void LiveFlags::AddTo(CommandFlags& flags) {
  flags.Add("--work", "LIST", "work done, if the run does not report it: samples=200000,tokens=...").text =
      &report.work;
  flags.Add("--fail-on", "GATE", "exit 3 if waste>PERCENT, cost>AMOUNT or unobserved>PERCENT (repeatable)").list =
      &report.fail_on;
  flags.Add("--hz", "RATE", "readings a second, 1 to 100 (default 10)").text = &hz;
  AddDetectCloud(flags);
  flags.Add("--tag", "KEY=VALUE", "mark the run in the history (repeatable)").list = &tags;
  flags.Add("--no-history", "", "do not write or read the history").on = &no_history;
  flags.Add("--full", "", "print every table, not one screen").on = &report.full;
  flags.Add("--explain", "", "also print rules, priors and rejected levers").on = &report.explain;
  flags.Add("--no-color", "", "plain text").on = &report.no_color;
}

void LiveFlags::AddDetectCloud(CommandFlags& flags) {
  flags.Add("--detect-cloud", "", "get instance type, region and market from the cloud's metadata service").on =
      &detect_cloud;
}

Result<LiveGpuOptions> LiveFlags::GpuOptions() const {
  LiveGpuOptions options;
  if (const char* library = std::getenv("IDLEBURN_NVML_LIBRARY")) options.nvml_library = library;
  if (hz.empty()) return options;
  const std::optional<std::int64_t> rate = ParseInteger(hz);
  if (!rate || *rate < 1 || *rate > 100)
    return FailUsage("--hz: '" + hz.substr(0, 20) + "' is not a rate from 1 to 100");
  options.period = Nanos(kNanosPerSecond / *rate);
  return options;
}

std::optional<std::string> OwnVariable(std::string_view name) {
  const char* value = std::getenv(std::string(name).c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

Result<std::optional<Nanos>> ParseFor(const std::string& text) {
  if (text.empty()) return std::optional<Nanos>();
  const Result<Nanos> parsed = ParseDuration(text);
  if (!parsed) return FailUsage("--for: " + parsed.error().message);
  return std::optional(*parsed);
}

}  // namespace idleburn
