#include "cli/plan_launch.h"

#include <fmt/format.h>

#include <algorithm>

#include "audit/keep_run.h"
#include "cli/cmd_run.h"
#include "plan/evidence.h"
#include "plan/gpu_rate.h"
#include "plan/plan_report.h"
#include "report/plan_output.h"
#include "terminal/output.h"
#include "text/figures.h"

// From a plan to a run. The run gets its flags as words, as if the user had written them, and goes through
// ReadRunWords. So a launched run is an ordinary run: same checks, same recording, same report. Passing structures
// instead would be shorter, but would bypass the checks of its flags.

namespace idleburn {
namespace {

// The price that forecast, gate and run use.
struct LaunchPrice {
  std::string flag;  // as --price of `run` takes it; empty if unknown
  std::string currency;
  std::optional<Money> per_gpu_hour;
};

// Finds that price: the user's own, then the rate of the model, then the offer that the plan's table chose. Empty if
// the GPU has no price. A key is passed on as a key, so that the run's report names its source.
Result<LaunchPrice> LaunchPriceOf(const PlanLaunch& launch) {
  const RunConfig& run = launch.answer.report.plan.run.run;
  const std::optional<GpuRate> gpu = RateOf(run.gpu);
  const std::string model(gpu ? gpu->gpu : "");
  const int gpus = static_cast<int>(run.gpus);
  const std::optional<OwnPrice> own = TRY(launch.prices->Of(model, gpus));
  if (own && own->on_demand) {
    // The user's own price is that of all GPUs together.
    const Money each = TRY(Scale(*own->on_demand, 1, gpus));
    const CatalogueRow* row = own->row;
    return LaunchPrice{row != nullptr ? KeyOf(*row) : FormatExact(each), own->currency, each};
  }
  const Rate rate = TRY(launch.prices->RateOf(model));
  if (rate.per_gpu_hour) {
    const std::string flag = rate.key.empty() ? FormatExact(*rate.per_gpu_hour) : rate.key;
    return LaunchPrice{flag, rate.currency, rate.per_gpu_hour};
  }
  if (!launch.answer.options || !gpu) return LaunchPrice();
  // The GPU has several prices. The plan's table has chosen one for this number of GPUs.
  for (const PlanOffer& offer : launch.answer.options->offers) {
    const CatalogueRow* row = launch.prices->catalogue().Find(offer.price_key);
    const bool launched = offer.run.gpu == gpu->gpu && offer.run.gpus == gpus && offer.market == Market::kOnDemand;
    if (!launched || row == nullptr) continue;
    const Money each = TRY(PerGpuHour(*row));
    return LaunchPrice{offer.price_key, offer.currency, each};
  }
  return LaunchPrice();
}

// Adds the cost to a forecast, from its GPU-hours. An amount that exceeds Money stays unknown.
void PutCost(const LaunchPrice& price, KeptForecast& forecast) {
  if (!price.per_gpu_hour) return;
  const auto cost = [&](const std::optional<double>& gpu_hours) -> std::optional<std::int64_t> {
    const Result<Money> amount = CostOf(*price.per_gpu_hour, *gpu_hours);
    return amount ? std::optional(amount->nano()) : std::nullopt;
  };
  forecast.currency = price.currency;
  forecast.cost_nano = cost(forecast.gpu_hours);
  forecast.cost_low_nano = cost(forecast.gpu_hours_low);
  forecast.cost_high_nano = cost(forecast.gpu_hours_high);
}

// The forecast in the form that the history keeps. Fails if the plan has no hours: without the amount of work or the
// speed there is nothing that could turn out wrong.
Result<KeptForecast> ForecastOf(const PlanLaunch& launch, const LaunchPrice& price) {
  const PlanReport& report = launch.answer.report;
  const RunConfig& run = report.plan.run.run;
  if (!report.hours || !report.plan.samples) {
    return FailUsage(
        "plan: --launch has nothing to forecast: give the work with --samples, and its speed with --gpu, "
        "--probe or --tokens-per-s");
  }
  KeptForecast forecast;
  forecast.plan = LineOfWords(launch.words);
  forecast.basis = report.stated_tokens_per_s ? "throughput as stated" : BasisText(report);
  forecast.gpus = run.gpus;
  forecast.sequence = run.sequence;
  forecast.tokens = *report.plan.samples * report.plan.epochs * run.sequence;
  forecast.tokens_per_step = report.effective_batch * run.sequence;
  forecast.hours = report.hours->likely;
  forecast.hours_low = report.hours->low;
  forecast.hours_high = report.hours->high;
  forecast.gpu_hours = report.hours->likely * run.gpus;
  forecast.gpu_hours_low = report.hours->low * run.gpus;
  forecast.gpu_hours_high = report.hours->high * run.gpus;
  // A speed that the user only stated has no interval: its ends meet.
  const LikelyRange speed = StatedRange(report).value_or(*report.tokens_per_s);
  forecast.tokens_s = speed.likely;
  forecast.tokens_s_low = speed.low;
  forecast.tokens_s_high = speed.high;
  forecast.memory = report.memory.likely;
  forecast.memory_low = report.memory.low;
  forecast.memory_high = report.memory.high;
  PutCost(price, forecast);
  return forecast;
}

// Says which cap the forecast breaks, and by how much. Empty if it likely keeps all of them. The likely value is
// judged, not the upper bound, which would stop runs that most likely keep their cap. An unknown cost breaks a budget,
// because nobody can say that it keeps it.
std::string BrokenBy(const KeptForecast& forecast, const OptionCaps& caps) {
  // The first cap that breaks is named: cost, then GPU-hours, then time.
  const auto beyond = [](double forecast_of, double cap, const char* what) {
    return forecast_of <= cap
               ? std::string()
               : fmt::format("over-budget: {} forecast is {} beyond its cap", what, PercentText(forecast_of / cap - 1));
  };
  std::string broken;
  if (caps.budget && !forecast.cost_nano) return "over-budget: not judged: the price of this GPU is not known";
  if (caps.budget) {
    broken = beyond(static_cast<double>(*forecast.cost_nano), static_cast<double>(caps.budget->nano()), "the cost");
  }
  if (broken.empty() && caps.gpu_hours) {
    broken = beyond(*forecast.gpu_hours, caps.gpu_hours->count(), "the number of GPU-hours");
  }
  if (broken.empty() && caps.deadline) broken = beyond(*forecast.hours, caps.deadline->count(), "the time");
  return broken;
}

// Whether a flag is among these words, as "--budget 50" or "--budget=50".
bool Gives(const std::vector<std::string>& flags, const std::string& name) {
  return std::any_of(flags.begin(), flags.end(),
                     [&](const std::string& flag) { return flag.substr(0, flag.find('=')) == name; });
}

// Fails on flags of the run that the forecast rests on. They must be the plan's: a run at another price would be
// compared with a forecast at this one.
Result<void> CheckRunFlags(const std::vector<std::string>& flags) {
  for (const char* name :
       {"--price", "--prices", "--contracts", "--owned", "--currency", "--config", "--history", "--no-history"}) {
    if (!Gives(flags, name)) continue;
    return FailUsage(
        fmt::format("plan: --launch: {0} also affects the plan; write it before the first two dashes: "
                    "idleburn plan {0} ... --launch -- ... -- CMD",
                    name));
  }
  return {};
}

// The words of `run`: its own flags, then the plan's price and limits, unless the run's flags give limits of their own.
std::vector<std::string> RunArguments(const PlanLaunch& launch, const LaunchPrice& price, const Settings& settings) {
  std::vector<std::string> arguments = launch.run_flags;
  const auto add = [&](const char* flag, const std::string& value) {
    if (!value.empty()) arguments.insert(arguments.end(), {flag, value});
  };
  add("--price", price.flag);
  add("--currency", price.per_gpu_hour ? price.currency : "");
  add("--config", launch.config_file);
  add("--prices", settings.Text("price.catalogue"));
  add("--history", settings.Text("history.file"));
  if (launch.no_history) arguments.emplace_back("--no-history");
  // A budget in money needs a price by which it is counted.
  if (price.per_gpu_hour && !Gives(launch.run_flags, "--budget")) add("--budget", launch.budget);
  if (!Gives(launch.run_flags, "--gpu-hours")) add("--gpu-hours", launch.gpu_hours);
  arguments.emplace_back("--");
  arguments.insert(arguments.end(), launch.command.words.begin(), launch.command.words.end());
  return arguments;
}

// Writes the plan. Text goes to standard error, where it does not mix with the output of the command.
Result<void> WritePlan(const PlanLaunch& launch, const Environment& environment) {
  const std::string text = Written(kPlanWriters, launch.format, launch.answer, PaperAside(environment, launch.output));
  if (!launch.output.empty()) return WriteOutput(launch.output, text);
  PrintAside(text);
  return {};
}

}  // namespace

Result<bool> CheckLaunch(const PlanLaunch& launch, const Settings& settings, const Environment& environment) {
  if (launch.format != ReportFormat::kText && launch.output.empty()) {
    return FailUsage(
        fmt::format("plan: --launch --format {}: standard output belongs to the command; name a file with -o",
                    NamesOf({&launch.format, 1})));
  }
  TRY(CheckRunFlags(launch.run_flags));
  // Any price will do for checking the flags; the plan decides which it is.
  const LaunchPrice some{"1", "USD", Money::Cents(100)};
  const std::shared_ptr<ReadyRun> ready = TRY(ReadRunWords(RunArguments(launch, some, settings), environment));
  return ready != nullptr;
}

Result<int> LaunchPlan(PlanLaunch launch, const Settings& settings, const Environment& environment) {
  const LaunchPrice price = TRY(LaunchPriceOf(launch));
  KeptForecast forecast = TRY(ForecastOf(launch, price));
  if (const std::string broken = launch.gate ? BrokenBy(forecast, *launch.gate) : ""; !broken.empty()) {
    Say("--fail-on " + broken);
    return kExitGate;
  }
  // The flags are read again, now with the real price, before anything is printed.
  const std::shared_ptr<ReadyRun> ready = TRY(ReadRunWords(RunArguments(launch, price, settings), environment));
  TRY(WritePlan(launch, environment));
  RunLaunch run;
  run.forecast = std::move(forecast);
  run.environment = launch.command.environment;
  // Called when the run is over. With -o the file is written a second time, now with the outcome.
  run.ended = [&](const HistoryRun& ended) {
    PrintAside("\n" + Written(kOutcomeWriters, ReportFormat::kText, ended, PaperAside(environment, "", {true})));
    launch.answer.run = ended;
    launch.answer.ids = IdsOfKept(ended);
    if (launch.output.empty()) return;
    if (const Result<void> written = WritePlan(launch, environment); !written) Say(written.error().message);
  };
  return StartRun(*ready, environment, run);
}

}  // namespace idleburn
