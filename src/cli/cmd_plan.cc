#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/commands.h"
#include "cli/common_flags.h"
#include "cli/flag_values.h"
#include "cli/load_prices.h"
#include "cli/plan_errors.h"
#include "cli/plan_launch.h"
#include "cli/plan_output.h"
#include "cli/plan_past.h"
#include "cli/plan_probe.h"
#include "cli/plan_utilization.h"
#include "cli/say.h"
#include "cli/spare_inputs.h"
#include "cli/users_history.h"
#include "history/runs.h"
#include "os/input_file.h"
#include "plan/plan_files.h"
#include "plan/predict_table.h"
#include "text/number.h"

namespace idleburn {
namespace {

constexpr std::size_t kMostReasons = 5;  // printed of a table's rows that could not be predicted

// The flags as they were written.
struct PlanRequest {
  std::string spec;
  std::string config;
  std::string predict;
  std::string actuals;
  std::string format = "text";
  std::string output;
  std::string price;
  std::string spot_price;
  std::string deadline;
  std::string budget;
  std::string gpu_hours;
  std::string fail_on;
  SpotFlags spot;
  ProbeFlags probe;
  StepFlags step;
  bool launch = false;
  bool errors = false;
  bool no_history = false;
  std::map<std::string, std::string> words;  // by key of the plan
};

std::string FlagOf(std::string_view key) {
  std::string flag = "--" + std::string(key);
  std::replace(flag.begin(), flag.end(), '_', '-');
  return flag;
}

void AddFlags(PlanRequest& request, CommandFlags& flags) {
  const auto add = [&](const char* name, const char* value, const char* help, std::string& text) {
    flags.Add(name, value, help).text = &text;
  };
  add("spec", "SPEC", "a plan in TOML, a training YAML, or a model's config.json", request.spec);
  add("--config-json", "FILE", "a model's config.json, beside a SPEC that names none", request.config);
  add("--predict", "FILE.csv", "predict every row of a table of configurations", request.predict);
  add("--actuals", "FILE", "of --errors: what was paid of the scenario of costs that SPEC is, as idleburn tco reads it",
      request.actuals);
  add("--format", "text|json", "how to print it; --errors also as markdown or csv", request.format);
  add("--output", "FILE", "write there instead of the terminal", request.output);
  add("--deadline", "TIME", "of the whole run, on the wall: 48h", request.deadline);
  add("--budget", "AMOUNT", "that it may cost, in USD", request.budget);
  add("--gpu-hours", "H", "that it may take", request.gpu_hours);
  add("--fail-on", "over-budget", "exit with 3 where no option keeps the caps", request.fail_on);
  add("--price", "RATE", "USD per hour of a GPU asked for with --gpu, instead of the catalogue", request.price);
  add("--spot-price", "RATE", "the same on the spot market", request.spot_price);
  request.spot.AddTo(flags);
  request.probe.AddTo(flags);
  request.step.AddTo(flags);
  const auto turn = [&](const char* name, const char* help, bool& on) { flags.Add(name, "", help).on = &on; };
  turn("--launch", "carry the plan out with idleburn run, and hold it against what comes: plan --launch -- CMD",
       request.launch);
  turn("--errors", "how far earlier forecasts were off, month by month", request.errors);
  turn("--no-history", "neither learn from earlier runs nor keep this one", request.no_history);
  flags.AddSettings();
  for (const PlanKey& key : PlanKeys()) {
    flags.Add(FlagOf(key.name), std::string(key.value), std::string(key.help)).text =
        &request.words[std::string(key.name)];
  }
}

// What --predict says of itself, on standard error: the table goes to standard output.
void TellPredicted(const PredictedTable& table) {
  std::string nearness;
  for (const auto& [name, count] : table.nearness) {
    nearness += fmt::format("{}{} by {}", nearness.empty() ? "" : ", ", count, name);
  }
  Say(fmt::format("predicted {} of {} rows{}", table.predicted, table.rows,
                  nearness.empty() ? "" : " (" + nearness + ")"));
  if (table.repeated_keys > 0) Say(fmt::format("{} rows have the key of an earlier row", table.repeated_keys));
  std::size_t shown = 0;
  for (const auto& [reason, count] : table.reasons) {
    if (++shown > kMostReasons) {
      Say(fmt::format("and {} other reasons", table.reasons.size() - kMostReasons));
      break;
    }
    Say(fmt::format("{} rows left empty: {}", count, reason));
  }
  std::string unknown;
  for (const std::string& column : table.unknown_columns) unknown += (unknown.empty() ? "" : ", ") + column;
  if (!unknown.empty()) Say("columns not used: " + unknown);
}

Result<int> Predict(const PlanRequest& request) {
  Result<std::unique_ptr<ByteSource>> in = OpenInput(request.predict);
  if (!in) return tl::unexpected<Error>(in.error());
  const Result<PredictedTable> table = PredictTable(**in, ShippedCalibration());
  if (!table) return Fail("plan: " + table.error().message);
  TRY(WriteOutput(request.output, table->csv));
  TellPredicted(*table);
  return 0;
}

// The words of the files, with the flags laid over them.
Result<PlanWords> WordsOf(const PlanRequest& request) {
  PlanWords words;
  for (const std::string& path : {request.config, request.spec}) {
    if (path.empty()) continue;
    Result<std::unique_ptr<ByteSource>> in = OpenInput(path);
    if (!in) return tl::unexpected<Error>(in.error());
    Result<PlanFile> file = ReadPlanFile(**in, path);
    if (!file) return tl::unexpected<Error>(file.error());
    for (auto& [key, value] : file->words) words[key] = std::move(value);
    std::string unknown;
    for (const std::string& key : file->unused) unknown += (unknown.empty() ? "" : ", ") + key;
    if (!unknown.empty()) Say(path + ": keys not used: " + unknown);
  }
  for (const auto& [key, value] : request.words) {
    if (!value.empty()) words[key] = value;
  }
  if (request.gpu_hours.empty()) return words;
  if (!request.words.at("budget_gpu_hours").empty()) {
    return FailUsage("--gpu-hours and --budget-gpu-hours are the same cap; give one");
  }
  words["budget_gpu_hours"] = request.gpu_hours;
  return words;
}

Result<std::optional<Money>> Amount(const char* flag, const std::string& text) {
  if (text.empty()) return std::optional<Money>();
  const Result<Money> amount = Money::Parse(text.front() == '$' ? text.substr(1) : text);
  if (amount && *amount > Money()) return std::optional<Money>(*amount);
  return FailUsage(
      fmt::format("plan: {} '{}' is no amount of USD above 0; write 500 or 2.49", flag, text.substr(0, 20)));
}

Result<OptionCaps> CapsOf(const PlanRequest& request, const PlannedRun& plan) {
  OptionCaps caps;
  if (!request.deadline.empty()) {
    if (ParseScaled(request.deadline, 0).fault == NumberFault::kNone) {
      return FailUsage(
          fmt::format("plan: --deadline {0}: of which unit? Write {0}h or {0}d", request.deadline.substr(0, 20)));
    }
    const Result<Nanos> span = FlagSpan("plan", "--deadline", request.deadline, Nanos());
    if (!span) return tl::unexpected<Error>(span.error());
    caps.deadline = *span;
  }
  const Result<std::optional<Money>> budget = Amount("--budget", request.budget);
  if (!budget) return tl::unexpected<Error>(budget.error());
  caps.budget = *budget;
  if (plan.budget_gpu_hours) caps.gpu_hours = Hours(*plan.budget_gpu_hours);
  if (request.fail_on.empty()) return caps;
  if (request.fail_on != "over-budget") {
    return FailUsage("plan: --fail-on '" + request.fail_on.substr(0, 20) + "' is not over-budget");
  }
  if (!caps.budget && !caps.gpu_hours) {
    return FailUsage("plan: --fail-on over-budget needs the budget: --budget 500 or --gpu-hours 12");
  }
  return caps;
}

Result<OwnPrices> OwnPricesOf(const PlanRequest& request, const PlannedRun& plan) {
  OwnPrices own;
  const Result<std::optional<Money>> on_demand = Amount("--price", request.price);
  if (!on_demand) return tl::unexpected<Error>(on_demand.error());
  const Result<std::optional<Money>> spot = Amount("--spot-price", request.spot_price);
  if (!spot) return tl::unexpected<Error>(spot.error());
  own.on_demand = *on_demand;
  own.spot = *spot;
  own.text = "own price";
  if ((own.on_demand || own.spot) && plan.run.run.gpu.empty()) {
    return FailUsage("plan: --price and --spot-price are of one GPU; say which with --gpu");
  }
  return own;
}

// Numbers of GPUs to be tried: what was asked for, else powers of two that the model's parallelism divides.
std::vector<double> CountsOf(const PlanWords& words, const PlannedRun& plan) {
  const RunConfig& run = plan.run.run;
  const bool stated = plan.samples_per_min || plan.tokens_per_s_per_gpu;
  if (words.contains("gpus") || stated || run.sharding == Sharding::kNone) return {run.gpus};
  std::vector<double> counts;
  for (const double count : {1.0, 2.0, 4.0, 8.0}) {
    if (std::fmod(count, run.tensor_parallel * run.pipeline_parallel) == 0) counts.push_back(count);
  }
  return counts;
}

Result<std::vector<HistoryRun>> EarlierRuns(const Settings& settings, Instant now) {
  const Result<std::optional<SqliteDatabase>> history = OpenToRead(HistoryFile(settings), now);
  if (!history) return tl::unexpected<Error>(history.error());
  return *history ? ListRuns(**history) : std::vector<HistoryRun>();
}

// What the user's earlier runs say of this one; that they cannot be read is said, and the plan goes on without.
std::optional<Evidence> Past(const PlanRequest& request, const Settings& settings, const PlannedRun& plan,
                             Instant now) {
  if (request.no_history) return std::nullopt;
  const Result<std::vector<HistoryRun>> runs = EarlierRuns(settings, now);
  if (!runs) {
    Say(runs.error().message + "; planned without earlier runs");
    return std::nullopt;
  }
  return EvidenceOfHistory(ShippedCalibration(), plan, ReadingsOf(*runs), now);
}

// A plan as it was asked for, with what was measured for it.
struct AskedPlan {
  PlanWords words;
  PlannedRun plan;
  std::optional<Evidence> evidence;
  std::optional<int> interrupted;  // while it was probed, by that signal
};

Result<AskedPlan> Probe(const PlanRequest& request, const std::vector<std::string>& command, AskedPlan asked) {
  Result<ProbeResult> probes = RunProbes(request.probe, asked.words, command);
  if (!probes) return tl::unexpected<Error>(Error{"plan: " + probes.error().message, probes.error().kind});
  for (const std::string& warning : probes->warnings) Say(warning);
  asked.interrupted = probes->interrupted;
  if (asked.interrupted) return asked;
  // Without --gpu it is the one that was measured.
  if (asked.plan.run.run.gpu.empty() && !probes->gpu.empty()) {
    asked.words["gpu"] = probes->gpu;
    Result<PlannedRun> plan = ReadPlan(asked.words);
    if (!plan) return tl::unexpected<Error>(plan.error());
    asked.plan = std::move(*plan);
    for (RunReading& reading : probes->readings) reading.row.run.gpu = probes->gpu;
  }
  asked.evidence = EvidenceOfProbes(ShippedCalibration(), asked.plan, std::move(probes->readings));
  return asked;
}

Result<AskedPlan> Asked(const PlanRequest& request, const std::vector<std::string>& command, const Settings& settings,
                        Instant now) {
  Result<PlanWords> words = WordsOf(request);
  if (!words) return tl::unexpected<Error>(Error{"plan: " + words.error().message, words.error().kind});
  Result<PlannedRun> plan = ReadPlan(*words);
  if (!plan) return tl::unexpected<Error>(Error{"plan: " + plan.error().message, plan.error().kind});
  // What is wrong is said before a command is run.
  if (const Result<OptionCaps> caps = CapsOf(request, *plan); !caps) return tl::unexpected<Error>(caps.error());
  AskedPlan asked{std::move(*words), std::move(*plan), {}, {}};
  if (request.probe.on) return Probe(request, command, std::move(asked));
  asked.evidence = Past(request, settings, asked.plan, now);
  return asked;
}

Result<PlanAnswer> Answer(const PlanRequest& request, const AskedPlan& asked, const Settings& settings,
                          const Environment& environment) {
  const Result<PlanReport> report = MakePlan(ShippedCalibration(), asked.plan, asked.evidence);
  if (!report) return tl::unexpected<Error>(report.error());
  const Result<OptionCaps> caps = CapsOf(request, asked.plan);
  if (!caps) return tl::unexpected<Error>(caps.error());
  const Result<OwnPrices> own = OwnPricesOf(request, asked.plan);
  if (!own) return tl::unexpected<Error>(own.error());
  Result<SpotFacts> spot = ReadSpotFacts(request.spot);
  if (!spot) return tl::unexpected<Error>(spot.error());
  DataQuality quality;
  const Result<Catalogue> catalogue = LoadPrices(settings.Text("price.catalogue"), quality);
  if (!catalogue) return tl::unexpected<Error>(catalogue.error());
  const OfferQuestion offers = {&ShippedCalibration(), &*catalogue, *own, CountsOf(asked.words, asked.plan),
                                spot->machines};
  Result<std::optional<PlanOptions>> options =
      MakePlanOptions(*report, {offers, *caps, std::move(*spot), environment.now});
  if (!options) return tl::unexpected<Error>(options.error());
  return PlanAnswer{*report, std::move(*options)};
}

// Whether the gate asked for holds; says why not.
bool KeepsBudget(const PlanRequest& request, const PlanAnswer& answer) {
  if (request.fail_on.empty()) return true;
  const std::string broken = answer.options ? BrokenCaps(*answer.options) : "over-budget: not judged without --samples";
  if (!broken.empty()) Say("--fail-on " + broken);
  return broken.empty();
}

// What does not go together, before anything is done.
Result<void> CheckRequest(const PlanRequest& request, bool command) {
  const bool runs = request.probe.on || request.launch;
  if (request.errors && (runs || !request.predict.empty())) {
    return FailUsage("plan: --errors goes alone: it only reads the history");
  }
  if (request.errors ? request.spec.empty() != request.actuals.empty() : !request.actuals.empty()) {
    return FailUsage("plan: a scenario's errors need both: idleburn plan --errors SCENARIO.toml --actuals FILE");
  }
  const bool known = request.format == "text" || request.format == "json" ||
                     (request.errors && (request.format == "markdown" || request.format == "csv"));
  if (!known) {
    return FailUsage("plan: --format '" + request.format.substr(0, 20) + "' is none of text, json" +
                     (request.errors ? ", markdown, csv" : ""));
  }
  if (command && !runs) {
    return FailUsage("plan: a command is only run with --probe (for some steps) or --launch (to its end)");
  }
  if (!command && runs) {
    return FailUsage(
        fmt::format("plan: {0}: no command; put it behind two dashes: idleburn plan {0} ... -- python "
                    "train.py",
                    request.probe.on ? "--probe" : "--launch"));
  }
  const std::string bound = request.probe.bounds.Given();
  const bool of_probes = !bound.empty() || !request.probe.vary.empty();
  if (of_probes && !request.probe.on) {
    return FailUsage("plan: " + (bound.empty() ? "--probe-vary" : bound) + " is of --probe; give that too");
  }
  return {};
}

// What stands behind two dashes: a command or, before further two dashes, flags that `run` takes for it.
struct BehindDashes {
  std::vector<std::string> run_flags;
  std::vector<std::string> command;
};

Result<BehindDashes> SplitBehind(std::vector<std::string> words) {
  if (words.empty() || !words.front().starts_with('-')) return BehindDashes{{}, std::move(words)};
  const auto dashes = std::find(words.begin(), words.end(), "--");
  if (dashes == words.end() || dashes + 1 == words.end()) {
    return FailUsage("plan: " + words.front().substr(0, 40) +
                     " is no command; flags of run go between two pairs of dashes: idleburn plan ... --launch -- "
                     "--tag team=vision -- python train.py");
  }
  return BehindDashes{{words.begin(), dashes}, {dashes + 1, words.end()}};
}

Result<int> Plan(const PlanRequest& request, const CommandFlags& flags, const BehindDashes& behind,
                 const Environment& environment) {
  const std::vector<std::string>& command = behind.command;
  const Result<Settings> settings = flags.Load();
  if (!settings) return tl::unexpected<Error>(settings.error());
  if (request.errors) {
    return RunPlanErrors(*settings, {request.spec, request.actuals}, request.format, request.output, environment);
  }
  const Result<AskedPlan> asked = Asked(request, command, *settings, environment.now);
  if (!asked) return tl::unexpected<Error>(asked.error());
  if (asked->interrupted) return 128 + *asked->interrupted;
  Result<PlanAnswer> answer = Answer(request, *asked, *settings, environment);
  if (!answer) return tl::unexpected<Error>(answer.error());
  const bool json = request.format == "json";
  if (request.launch) {
    if (!KeepsBudget(request, *answer)) return kExitGate;
    PlanLaunch launch;
    launch.answer = std::move(*answer);
    launch.words = asked->words;
    launch.command = CommandFor(command, asked->words, "micro_batch", request.probe.variable);
    launch.price = request.price;
    launch.config_file = flags.config_file();
    launch.budget = request.budget.substr(request.budget.starts_with('$') ? 1 : 0);
    if (asked->plan.budget_gpu_hours) launch.gpu_hours = fmt::format("{:.6f}", *asked->plan.budget_gpu_hours);
    launch.run_flags = behind.run_flags;
    launch.no_history = request.no_history;
    launch.json = json;
    launch.output = request.output;
    return LaunchPlan(std::move(launch), *settings, environment);
  }
  TRY(WriteOutput(request.output, json ? PlanJson(*answer) : PlanText(*answer, environment.Width(100, 60))));
  return KeepsBudget(request, *answer) ? 0 : kExitGate;
}

}  // namespace

Result<int> RunPlan(const std::vector<std::string>& arguments, const Environment& environment) {
  const auto dashes = std::find(arguments.begin(), arguments.end(), "--");
  PlanRequest request;
  CommandFlags flags({"price.catalogue", "history.file"});
  AddFlags(request, flags);
  const Result<bool> read = flags.ReadWords(
      "plan", "What a training run needs in memory and time, before it is started.", {arguments.begin(), dashes});
  if (!read) return tl::unexpected<Error>(read.error());
  if (!*read) return 0;
  const Result<BehindDashes> behind = SplitBehind({dashes == arguments.end() ? dashes : dashes + 1, arguments.end()});
  if (!behind) return tl::unexpected<Error>(behind.error());
  if (!behind->run_flags.empty() && !request.launch) {
    return FailUsage("plan: flags of run between two pairs of dashes are for --launch; give that too");
  }
  TRY(CheckRequest(request, !behind->command.empty()));
  TRY(SpareInputs(request.output, {request.config, request.spec, request.predict, request.actuals}));
  if (!request.predict.empty()) return Predict(request);
  if (request.step.asked()) {
    const Result<std::string> answer = UtilizationAnswer(request.step, request.format == "json");
    if (!answer) return tl::unexpected<Error>(answer.error());
    TRY(WriteOutput(request.output, *answer));
    return 0;
  }
  return Plan(request, flags, *behind, environment);
}

}  // namespace idleburn
