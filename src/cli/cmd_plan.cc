#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "audit/keep_run.h"
#include "cli/commands.h"
#include "cli/plan_launch.h"
#include "config/common_flags.h"
#include "config/flag_values.h"
#include "history/runs.h"
#include "history/users_history.h"
#include "os/input_file.h"
#include "plan/calibration.h"
#include "plan/evidence.h"
#include "plan/options.h"
#include "plan/plan_files.h"
#include "report/plan_errors.h"
#include "report/plan_output.h"
#include "tco/actuals.h"
#include "terminal/output.h"
#include "terminal/progress.h"
#include "text/number.h"
#include "text/secrets.h"
#include "text/strings.h"
#include "trial/probe.h"

// `idleburn plan`: what a training run will need. One command answers four questions, and each leaves early: --predict
// (a table of configurations), --errors (how right earlier forecasts were), a question about one step, and the plan
// itself. The plan goes through: words, evidence (probes or earlier runs), prices, options, and with --launch the run.
//
// Everything is checked before the first probe, because a probe runs the user's command and costs GPU time.

namespace idleburn {
namespace {

constexpr auto kPlanFormats = FormatsOf(kPlanWriters);
constexpr const char* kFormatHelp = "text, json, html or markdown; with --errors also csv (default: by -o, else text)";
constexpr auto kErrorFormats = FormatsOf(kForecastErrorWriters);
// Formats of --predict.
constexpr std::array<ReportFormat, 1> kTableFormats = {ReportFormat::kCsv};
// How many reasons --predict prints for rows that could not be predicted.
constexpr std::size_t kMostReasons = 5;

// The flags as they were written.
struct PlanRequest {
  // Files: the plan, a model's config.json beside it, a table for --predict, and payments for --errors.
  std::string spec;
  std::string config;
  std::string predict;
  std::string actuals;
  std::string output;
  // Prices and caps of the run.
  std::string spot_price;
  std::string deadline;
  std::string budget;
  std::string gpu_hours;
  std::string fail_on;
  // Flags of the parts of a plan, which each part reads itself.
  SpotFlags spot;
  ProbeFlags probe;
  StepFlags step;
  bool launch = false;
  bool errors = false;
  bool no_history = false;
  bool full = false;
  bool quiet = false;
  std::map<std::string, std::string> words;  // by key of the plan
};

// The flag of a key: "micro_batch" is --micro-batch. So a plan in TOML and a command line have the same words.
std::string FlagOf(std::string_view key) {
  std::string flag = "--" + std::string(key);
  std::replace(flag.begin(), flag.end(), '_', '-');
  return flag;
}

// Adds the flags. Those of the keys come last, because there are many and the help should begin with what a plan does.
void AddPlanFlags(PlanRequest& request, CommandFlags& flags) {
  const auto add = [&](const char* name, const char* value, const char* help, std::string& text) {
    flags.Add(name, value, help).text = &text;
  };
  add("spec", "SPEC", "a plan in TOML, a training YAML, or a model's config.json", request.spec);
  add("--config-json", "FILE", "a model's config.json, if SPEC names none", request.config);
  add("--predict", "FILE.csv", "predict every row of a table of configurations", request.predict);
  add("--actuals", "FILE", "with --errors: the payments for the cost scenario in SPEC, as idleburn tco reads them",
      request.actuals);
  add("--output", "FILE", "write there instead of the terminal", request.output);
  flags.Add("--full", "", kFullHelp).on = &request.full;
  flags.Add("--quiet", "", "no progress on standard error").on = &request.quiet;
  add("--deadline", "TIME", "finish within this time, for example 48h", request.deadline);
  add("--budget", "AMOUNT", "highest cost allowed, in the currency of the prices", request.budget);
  add("--gpu-hours", "H", "most GPU-hours allowed", request.gpu_hours);
  add("--fail-on", "over-budget", "exit with 3 if no option keeps the caps", request.fail_on);
  add("--spot-price", "RATE", "spot price per GPU-hour of the GPU in --gpu", request.spot_price);
  request.spot.AddTo(flags);
  request.probe.AddTo(flags);
  request.step.AddTo(flags);
  const auto turn = [&](const char* name, const char* help, bool& on) { flags.Add(name, "", help).on = &on; };
  turn("--launch", "start the command with idleburn run and compare it with the plan: plan --launch -- CMD",
       request.launch);
  turn("--errors", "errors of earlier forecasts by month", request.errors);
  turn("--no-history", "do not read earlier runs and do not keep this one", request.no_history);
  flags.AddSettings();
  for (const PlanKey& key : PlanKeys()) {
    flags.Add(FlagOf(key.name), std::string(key.value), std::string(key.help)).text =
        &request.words[std::string(key.name)];
  }
}

// Says what --predict left out. It goes to standard error, because the table goes to standard output. Reasons are
// counted, so a table of 10,000 rows prints a few lines.
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
  if (!table.unknown_columns.empty()) Say("columns not used: " + ListText(table.unknown_columns));
}

// Predicts every row of a table. A row that cannot be predicted stays empty instead of failing the table.
Result<int> Predict(const PlanRequest& request) {
  std::unique_ptr<ByteSource> in = TRY(OpenInput(request.predict));
  // Only the shipped calibration is used, so that a table gives everyone the same predictions.
  const Result<PredictedTable> table = PredictTable(*in, ShippedCalibration());
  if (!table) return Fail("plan: " + table.error().message);
  TRY(WriteOutput(request.output, table->csv));
  TellPredicted(*table);
  return 0;
}

// Collects the keys of the plan: model's config.json, then spec, then flags. Later ones win. --gpu-hours is a second
// name of --budget-gpu-hours, and giving both is an error.
Result<PlanWords> WordsOf(const PlanRequest& request) {
  PlanWords words;
  // The spec comes later, so its keys win over those of the model's config.json.
  for (const std::string& path : {request.config, request.spec}) {
    if (path.empty()) continue;
    std::unique_ptr<ByteSource> in = TRY(OpenInput(path));
    PlanFile file = TRY(ReadPlanFile(*in, path));
    for (auto& [key, value] : file.words) words[key] = std::move(value);
    if (!file.unused.empty()) Say(path + ": keys not used: " + ListText(file.unused));
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

// Reads the caps of the run. --fail-on needs one of them, because otherwise it could never fail. A deadline without a
// unit is refused: 48 could be hours or days.
Result<OptionCaps> CapsOf(const PlanRequest& request, const PlannedRun& plan) {
  OptionCaps caps;
  if (!request.deadline.empty()) {
    if (ParseScaled(request.deadline, 0).fault == NumberFault::kNone) {
      return FailUsage(
          fmt::format("plan: --deadline {0} needs a unit: write {0}h or {0}d", request.deadline.substr(0, 20)));
    }
    caps.deadline = TRY(FlagSpan("plan", "--deadline", request.deadline, Nanos()));
  }
  const std::optional<Money> budget = TRY(PlanAmount("--budget", request.budget));
  caps.budget = budget;
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

// Opens the prices. A launched run is on this host, so a price stated for the host applies to it.
Result<PlanPrices> PlanPricesOf(const PlanRequest& request, const PlannedRun& plan, const Settings& settings,
                                Instant now) {
  return PlanPrices::Open(settings, {plan.run.run.gpu, request.spot_price, request.launch ? HostName() : "", now});
}

// All kept runs; none if there is no history yet.
Result<std::vector<HistoryRun>> EarlierRuns(const Settings& settings, Instant now) {
  const std::optional<SqliteDatabase> history = TRY(OpenToRead(HistoryFile(settings), now));
  return history ? ListRuns(*history) : std::vector<HistoryRun>();
}

// What the user's earlier runs say about this one. If they cannot be read, that is said, and the plan goes on without
// them: it is then less exact but not wrong.
std::optional<Evidence> Past(const PlanRequest& request, const Settings& settings, const PlannedRun& plan,
                             Instant now) {
  if (request.no_history || plan.no_model) return std::nullopt;
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
  std::optional<int> interrupted;  // the signal that ended a probe
};

// Runs the command for some steps and takes its speed and memory as evidence. A signal that ends a probe ends the plan.
Result<AskedPlan> Probe(const PlanRequest& request, const std::vector<std::string>& command, AskedPlan asked,
                        Progress& progress) {
  Result<ProbeResult> probes = RunProbes(request.probe, asked.words, command, progress);
  progress.End();
  if (!probes) return tl::unexpected<Error>(Error{"plan: " + probes.error().message, probes.error().kind});
  for (const std::string& warning : probes->warnings) Say(warning);
  asked.interrupted = probes->interrupted;
  if (asked.interrupted) return asked;
  // Without --gpu, the plan is for the GPU that was measured.
  if (asked.plan.run.run.gpu.empty() && !probes->gpu.empty()) {
    asked.words["gpu"] = probes->gpu;
    asked.plan = TRY(ReadPlan(asked.words));
    for (RunReading& reading : probes->readings) reading.row.run.gpu = probes->gpu;
  }
  asked.evidence = EvidenceOfProbes(ShippedCalibration(), asked.plan, std::move(probes->readings));
  return asked;
}

// Reads the question completely, so that errors are found before a command is run. Messages begin with "plan:", because
// those of the keys alone would not say which command speaks.
Result<AskedPlan> Asked(const PlanRequest& request) {
  Result<PlanWords> words = WordsOf(request);
  if (!words) return tl::unexpected<Error>(Error{"plan: " + words.error().message, words.error().kind});
  Result<PlannedRun> plan = ReadPlan(*words);
  if (!plan) return tl::unexpected<Error>(Error{"plan: " + plan.error().message, plan.error().kind});
  // What is wrong is said before a command is run.
  TRY(CapsOf(request, *plan));
  if ((request.probe.on || request.launch) && plan->no_model) {
    return FailUsage("plan: --probe and --launch need the model; give --model or its config.json");
  }
  // A default would be held against what this command really does.
  if ((request.probe.on || request.launch) && !words->contains("seq_len")) {
    return FailUsage(
        "plan: the sequence length of the command is missing; give tokens per sequence, like --seq-len 4096");
  }
  return AskedPlan{std::move(*words), std::move(*plan), {}, {}};
}

// Adds the evidence. Probes take precedence over earlier runs: they are of this very command, on today's driver.
Result<AskedPlan> WithEvidence(const PlanRequest& request, const std::vector<std::string>& command, AskedPlan asked,
                               const Settings& settings, const Environment& environment) {
  Progress progress = Progress::OnStandardError(environment, request.quiet);
  if (request.probe.on) return Probe(request, command, std::move(asked), progress);
  asked.evidence = Past(request, settings, asked.plan, environment.now);
  return asked;
}

// Computes the plan, and the table of GPUs and markets if the amount of work is known.
Result<PlanAnswer> Answer(const PlanRequest& request, const AskedPlan& asked, const PlanPrices& prices, Instant now) {
  const PlanReport report = TRY(MakePlan(ShippedCalibration(), asked.plan, asked.evidence));
  const OptionCaps caps = TRY(CapsOf(request, asked.plan));
  SpotFacts spot = TRY(ReadSpotFacts(request.spot));
  // Every GPU with a price is weighed, not only the planned one.
  const OfferQuestion offers = {&ShippedCalibration(), &prices, GpuCountsFor(asked.plan, asked.words.contains("gpus")),
                                spot.machines};
  std::optional<PlanOptions> options = TRY(MakePlanOptions(report, {offers, caps, std::move(spot), now}));
  return PlanAnswer{report, std::move(options), OwnIds()};
}

// Whether the gate of --fail-on holds. Says on standard error why it does not.
bool KeepsBudget(const PlanRequest& request, const PlanAnswer& answer) {
  if (request.fail_on.empty()) return true;
  const std::string broken = answer.options ? BrokenCaps(*answer.options) : "over-budget: not judged without --samples";
  if (!broken.empty()) Say("--fail-on " + broken);
  return broken.empty();
}

// The formats that this plan can be written in. Standard output of a launched command is its own, so only text
// remains there, and another format that is asked for by --format is refused later with the reason.
std::span<const ReportFormat> FormatsFor(const PlanRequest& request, const Settings& settings) {
  if (request.errors) return kErrorFormats;
  if (!request.predict.empty()) return kTableFormats;
  const bool aside = request.launch && request.output.empty() && settings.Get("output.format").origin != "--format";
  return std::span(kPlanFormats).first(aside ? 1 : kPlanFormats.size());
}

// Fails on combinations of flags that make no sense. Called before anything is done.
Result<void> CheckPlanRequest(const PlanRequest& request, bool command) {
  const bool runs = request.probe.on || request.launch;
  if (request.errors && (runs || !request.predict.empty())) {
    return FailUsage("plan: --errors does not go with --probe, --launch or --predict; it only reads the history");
  }
  // A scenario alone has nothing to be compared with, and payments alone have no plan.
  if (request.errors ? request.spec.empty() != request.actuals.empty() : !request.actuals.empty()) {
    return FailUsage(
        "plan: errors of a scenario need its payments: idleburn plan --errors SCENARIO.toml --actuals FILE");
  }
  if (command && !runs) {
    return FailUsage("plan: a command needs --probe (some steps) or --launch (the whole run)");
  }
  if (!command && runs) {
    return FailUsage(
        fmt::format("plan: {0}: no command; put it after two dashes: idleburn plan {0} ... -- python "
                    "train.py",
                    request.probe.on ? "--probe" : "--launch"));
  }
  // Bounds of probes would silently do nothing without --probe.
  const std::string bound = request.probe.bounds.Given();
  const bool of_probes = !bound.empty() || !request.probe.vary.empty();
  if (of_probes && !request.probe.on) {
    return FailUsage("plan: " + (bound.empty() ? "--probe-vary" : bound) + " needs --probe; give both");
  }
  return {};
}

// The words behind "--": a command, or flags of `run`, a second "--" and the command.
struct BehindDashes {
  std::vector<std::string> run_flags;
  std::vector<std::string> command;
};

// Splits these words. A command never begins with "-", so a first word that does is a flag of `run`.
Result<BehindDashes> SplitBehind(std::vector<std::string> words) {
  if (words.empty() || !words.front().starts_with('-')) return BehindDashes{{}, std::move(words)};
  const auto dashes = std::find(words.begin(), words.end(), "--");
  if (dashes == words.end() || dashes + 1 == words.end()) {
    return FailUsage("plan: " + WithoutSecrets(words.front()).substr(0, 40) +
                     " is not a command; put flags of run between two pairs of dashes: idleburn plan ... --launch -- "
                     "--tag team=vision -- python train.py");
  }
  return BehindDashes{{words.begin(), dashes}, {dashes + 1, words.end()}};
}

// Collects what is known of the launch before there is a plan. The budget is passed on without "$", as --budget of
// `run` takes it.
PlanLaunch LaunchOf(const PlanRequest& request, const CommandFlags& flags, const BehindDashes& behind,
                    const AskedPlan& asked, ReportFormat format) {
  PlanLaunch launch;
  launch.command = CommandFor(behind.command, asked.words, "micro_batch", request.probe.variable);
  launch.config_file = flags.config_file();
  launch.budget = request.budget.substr(request.budget.starts_with('$') ? 1 : 0);
  if (asked.plan.budget_gpu_hours) launch.gpu_hours = fmt::format("{:.6f}", *asked.plan.budget_gpu_hours);
  launch.run_flags = behind.run_flags;
  launch.no_history = request.no_history;
  launch.format = format;
  launch.output = request.output;
  return launch;
}

// A cost scenario and what was paid for it. Both are given, or neither.
struct ScenarioFiles {
  std::string scenario;
  std::string actuals;
};

// idleburn plan --errors [SCENARIO.toml --actuals FILE]
Result<int> RunPlanErrors(const Settings& settings, const ScenarioFiles& files, ReportFormat format,
                          const std::string& output, const Environment& environment) {
  // A scenario adds its own months. It is read first, because a bad file should fail before the history is opened.
  std::vector<JudgedForecast> months;
  if (!files.scenario.empty()) {
    months = TRY(ScenarioForecasts(files.scenario, files.actuals, environment.now));
  }
  const std::string file = HistoryFile(settings);
  const std::optional<SqliteDatabase> history = TRY(OpenToRead(file, environment.now));
  std::vector<HistoryRun> runs;
  if (history) {
    runs = TRY(ListRuns(*history));
  }
  ForecastErrors errors = ErrorsOf(runs, std::move(months));
  errors.file = file;
  const Paper paper = PaperFor(environment, output, {true, false, 120});
  TRY(WriteOutput(output, Written(kForecastErrorWriters, format, errors, paper)));
  return 0;
}

// The whole command, after its words were read.
Result<int> Plan(const PlanRequest& request, const CommandFlags& flags, const BehindDashes& behind,
                 const Environment& environment) {
  const Settings settings = TRY(flags.Load());
  const ReportFormat format = TRY(ChooseFormat(settings, "plan", request.output, FormatsFor(request, settings)));
  if (!request.predict.empty()) return Predict(request);
  if (request.step.asked()) {
    // A question about a step alone needs no plan.
    const StepAnswer step = TRY(ReadStepFlags(request.step, OwnIds()));
    const Paper paper = PaperFor(environment, request.output, {/*full=*/true});
    TRY(WriteOutput(request.output, Written(kStepWriters, format, step, paper)));
    return 0;
  }
  if (request.errors) {
    return RunPlanErrors(settings, {request.spec, request.actuals}, format, request.output, environment);
  }
  AskedPlan asked = TRY(Asked(request));
  PlanLaunch launch = LaunchOf(request, flags, behind, asked, format);
  // A probe takes minutes, so the flags of the launch are checked before it.
  if (request.launch) {
    const bool good = TRY(CheckLaunch(launch, settings, environment));
    if (!good) return 0;
  }
  asked = TRY(WithEvidence(request, behind.command, std::move(asked), settings, environment));
  // The usual exit code of a program that a signal ended.
  if (asked.interrupted) return 128 + *asked.interrupted;
  const PlanPrices prices = TRY(PlanPricesOf(request, asked.plan, settings, environment.now));
  PlanAnswer answer = TRY(Answer(request, asked, prices, environment.now));
  if (request.launch) {
    // With --fail-on, nothing starts unless the forecast keeps the caps.
    if (!request.fail_on.empty()) launch.gate = TRY(CapsOf(request, asked.plan));
    launch.prices = &prices;
    launch.answer = std::move(answer);
    launch.words = asked.words;
    return LaunchPlan(std::move(launch), settings, environment);
  }
  TRY(WriteOutput(request.output,
                  Written(kPlanWriters, format, answer, PaperFor(environment, request.output, {request.full}))));
  return KeepsBudget(request, answer) ? 0 : kExitGate;
}

}  // namespace

Result<int> RunPlan(const std::vector<std::string>& arguments, const Environment& environment) {
  // CLI11 would take the words behind "--" for positionals, so they are cut off before it sees them.
  const auto dashes = std::find(arguments.begin(), arguments.end(), "--");
  PlanRequest request;
  CommandFlags flags(
      {"price.rate", "price.catalogue", "price.contracts", "price.owned", "price.currency", "history.file", "output."});
  flags.Writes(kFormatHelp);
  AddPlanFlags(request, flags);
  const bool read = TRY(flags.ReadWords("plan", "Predicts memory and time of a training run before it starts.",
                                        {arguments.begin(), dashes}));
  if (!read) return 0;
  const BehindDashes behind = TRY(SplitBehind({dashes == arguments.end() ? dashes : dashes + 1, arguments.end()}));
  if (!behind.run_flags.empty() && !request.launch) {
    return FailUsage("plan: flags of run between two pairs of dashes need --launch; give both");
  }
  TRY(CheckPlanRequest(request, !behind.command.empty()));
  TRY(SpareInputs(request.output, {request.config, request.spec, request.predict, request.actuals}));
  return Plan(request, flags, behind, environment);
}

}  // namespace idleburn
