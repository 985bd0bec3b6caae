#include <algorithm>
#include <filesystem>

#include "audit/audit_plan.h"
#include "audit/keep_run.h"
#include "audit/open_input.h"
#include "cli/commands.h"
#include "cli/fleet_charge_flags.h"
#include "cli/fleet_watch.h"
#include "config/common_flags.h"
#include "fleet/alert_rules.h"
#include "fleet/dashboards.h"
#include "fleet/exporter_fleet.h"
#include "fleet/fleet_answer.h"
#include "fleet/fleet_pull.h"
#include "fleet/fleet_trends.h"
#include "fleet/gpu_answer.h"
#include "fleet/gpu_use.h"
#include "fleet/job_signals.h"
#include "fleet/ledger_rebuild.h"
#include "fleet/scheduler_facts.h"
#include "fleet/team_days.h"
#include "fleet/waster_causes.h"
#include "os/folder.h"
#include "report/fleet_days.h"
#include "report/fleet_output.h"
#include "terminal/output.h"
#include "text/figures.h"
#include "text/number.h"
#include "text/strings.h"
#include "text/time_zone.h"

// `idleburn fleet`: the answer for a cluster. It brings the ledger up to date with the engine and answers from the
// ledger. An engine without our agents has no closed hours; then the gauges of exporters are audited instead.

namespace idleburn {
namespace {

constexpr auto kFleetFormats = FormatsOf(kFleetWriters);
constexpr auto kFleetDaysFormats = FormatsOf(kFleetDaysWriters);
constexpr std::int64_t kUsualWindow = 7 * 24 * kEdgeSeconds;
constexpr Nanos kLedgerPatience{30 * kNanosPerSecond};

// The flags as they were written. `words` holds the action.
struct FleetRequest {
  std::vector<std::string> words;
  EngineAddress engine;
  std::string timeout;
  std::string from;
  std::string to;
  std::string ledger;
  std::string jobs;
  std::string output;
  std::string rule_engine = "prometheus";  // --for
  std::string budget;                      // of rules
  std::string by;                          // "team,job"; empty: all kinds of owners
  std::string pue = "1";
  std::int64_t pue_millionths = 0;
  bool rebuild = false;
  bool pull_only = false;  // the action is pull
  bool full = false;
  bool weeks = false;    // the format shows the trend of weeks
  bool gpus = false;     // the answer shows what live counters tell of GPUs
  bool wasters = false;  // the format shows why jobs waste
};

// The window in full hours, Unix seconds.
struct FleetWindow {
  std::int64_t from = 0;
  std::int64_t to = 0;
};

std::string TimeText(std::int64_t second) { return FormatRfc3339(Instant::FromNanos(second * kNanosPerSecond)); }

// A time or a day of --from or --to, Unix seconds.
Result<std::int64_t> SecondOf(const std::string& flag, const std::string& text) {
  const Result<RunWindow> window = ParseWindow(text + "..2200-01-01", std::nullopt);
  if (window) return FloorSecond(window->start->nanos());
  return FailUsage("fleet: " + flag + " " + Printable(text) +
                   " is not a time; write a day such as 2026-03-01, or an hour such as 2026-03-01T06:00:00Z");
}

// An end that was not given: the newest closed hour, or a week from the end that was.
Result<FleetWindow> WindowFrom(const FleetRequest& request, Instant now) {
  const std::int64_t newest = NewestEdge(FloorSecond(now.nanos()));
  FleetWindow window;
  window.to = request.to.empty() ? newest : TRY(SecondOf("--to", request.to));
  window.from = request.from.empty() ? window.to - kUsualWindow : TRY(SecondOf("--from", request.from));
  if (!request.from.empty() && !request.to.empty() && window.from >= window.to) {
    return FailUsage("fleet: --to " + Printable(request.to) + " is not after --from " + Printable(request.from));
  }
  for (const std::int64_t end : {window.from, window.to}) {
    if (end % kEdgeSeconds != 0) {
      return FailUsage("fleet: " + TimeText(end) + " is not a full UTC hour; bills are closed at full hours");
    }
  }
  if (window.from >= std::min(window.to, newest)) {
    return FailUsage("fleet: no hour from " + TimeText(window.from) + " to " + TimeText(window.to) +
                     " is closed yet; an hour can be read an hour after its end");
  }
  return window;
}

// What the pull could not do, as doubts of the report.
void AddPullDoubts(const PullOutcome& pull, FleetReport* report) {
  const auto add = [&](const char* id, std::int64_t count, const char* severity, const std::string& sentence) {
    if (count > 0) report->doubts.push_back({id, count, severity, sentence});
  };
  add("engine_refused", static_cast<std::int64_t>(pull.missing.size()), "error",
      pull.missing.empty() ? ""
                           : "the engine did not answer for " + pull.missing.front() + "; the next pull asks again");
  add("counters_wrong", static_cast<std::int64_t>(pull.wrong.size()), "error",
      pull.wrong.empty() ? "" : pull.wrong.front());
  add("replicas", pull.replicated_nodes, "info",
      std::to_string(pull.replicated_nodes) + " nodes are told by several replicas; the larger value counts");
}

std::optional<double> MeanUtilization(Engine& engine, const std::string& range, std::int64_t at) {
  // In millionths, because answers are read in thousandths.
  const auto series = engine.At("1000 * avg(avg_over_time(idleburn_gpu_utilization_ratio[" + range + "]))", at);
  if (!series || series->empty() || series->front().points.empty()) return std::nullopt;
  return static_cast<double>(series->front().points.back().second) / 1e6;
}

// What a rebuilt ledger has from the one before it.
void AddKeptDoubt(const RebuildOutcome& rebuilt, FleetReport* report) {
  if (rebuilt.kept_ms == 0) return;
  report->doubts.push_back({"hours_kept", 1, "info",
                            "the engine no longer has " + GpuHoursForPeople(GpuHoursOf(rebuilt.kept_ms)) + " between " +
                                TimeText(rebuilt.kept_from) + " and " + TimeText(rebuilt.kept_to) +
                                "; the ledger kept them"});
}

std::string LedgerPath(const FleetRequest& request, const Engine& engine) {
  return request.ledger.empty() ? FleetLedgerFolder(engine.facts().url) : request.ledger;
}

// Whether a ledger has hours, whatever its engine still knows.
bool HasHours(const std::string& path) {
  if (!std::filesystem::exists(path + "/index.sqlite")) return false;
  const Result<FleetLedger> ledger = FleetLedger::Open(path, kLedgerPatience);
  return ledger && !ledger->Months().empty();
}

// Why the worst jobs waste. Their signals are read for the jobs that are shown only.
Result<void> AddWasters(Engine& engine, const PullRequest& window, FleetReport* report) {
  JobSignals signals = ReadRankingSignals(engine, window.first, window.last);
  std::vector<std::string> worst;
  for (const FleetOwner* job : WorstJobs(signals, *report)) worst.push_back(job->name);
  ReadSignalsOf(engine, window.first, window.last, worst, &signals);
  return FillWasters(signals, report);
}

Result<FleetReport> AgentFleet(Engine& engine, const FleetRequest& request, const FleetWindow& window,
                               const Settings& settings, const Environment& environment, const EnergyPrice& energy) {
  const std::int64_t now = FloorSecond(environment.now.nanos());
  const PullRequest pull_request = {window.from, std::min(window.to, NewestEdge(now))};
  const std::string path = LedgerPath(request, engine);
  RebuildOutcome rebuilt;
  if (request.rebuild) rebuilt = TRY(RebuildLedger(engine, path, kLedgerPatience, pull_request));
  FleetLedger ledger = TRY(FleetLedger::OpenToPull(path, kLedgerPatience));
  const PullOutcome pull = request.rebuild ? std::move(rebuilt.pull) : TRY(PullHours(engine, ledger, pull_request));
  const Prices prices = TRY(OpenRates(settings, environment.now));
  FleetReport report;
  if (!request.pull_only) {
    AgentGpus told = ReadAgentGpus(engine, window.from, std::min(now, window.to + kReadEdgeAfter));
    const AnswerInputs inputs{window.from, window.to, prices, PriceGiven(settings), std::move(told.gpus)};
    report = TRY(AnswerFrom(ledger, inputs));
    report.doubts.insert(report.doubts.end(), told.doubts.begin(), told.doubts.end());
    if (request.wasters) TRY(AddWasters(engine, pull_request, &report));
    if (request.weeks) TRY(AddFleetWeeks(ledger, &report));
    const std::int64_t at = std::min(now, window.to);
    report.kpi.utilization_1h = MeanUtilization(engine, "1h", at);
    report.kpi.utilization_24h = MeanUtilization(engine, "24h", at);
  }
  report.engine = engine.facts();
  std::int64_t behind = 0;
  for (const auto& [node, edge] : pull.edges) {
    report.closed_through = std::max(report.closed_through.value_or(0), edge);
    behind += edge < pull_request.last && edge > window.from ? 1 : 0;
  }
  if (report.closed_through)
    report.open_hours = std::max<std::int64_t>(0, (window.to - *report.closed_through) / kEdgeSeconds);
  if (behind > 0) {
    report.doubts.push_back(
        {"nodes_behind", behind, "warn", std::to_string(behind) + " nodes were not read up to the newest closed hour"});
  }
  AddPullDoubts(pull, &report);
  AddKeptDoubt(rebuilt, &report);
  if (request.gpus) {
    TRY(AddGpuFindings(engine, ledger, {prices.book.catalogue, energy, request.pue_millionths}, &report));
  }
  return report;
}

Result<FleetReport> ReportFor(const FleetRequest& request, const Settings& settings, const Environment& environment) {
  if (request.engine.url.empty()) return FailUsage("fleet: give --engine URL, such as http://prometheus:9090");
  const FleetWindow window = TRY(WindowFrom(request, environment.now));
  EngineAddress address = request.engine;
  if (!request.timeout.empty()) address.patience = TRY(ParseDuration(request.timeout));
  Engine engine = TRY(Engine::Open(address));
  const ImportOptions options = TRY(ImportOptionsFrom(settings));
  DataQuality of_jobs;
  JobTimes jobs;
  if (!request.jobs.empty()) jobs = TRY(ReadJobList(request.jobs, options, &of_jobs));
  // A ledger with hours answers, whatever its engine still knows.
  bool agents = HasHours(LedgerPath(request, engine));
  if (!agents) {
    const std::vector<std::string> names =
        TRY(engine.MetricNames("idleburn_closed_timestamp_seconds", window.from, window.to + kEdgeSeconds));
    agents = !names.empty();
  }
  const AuditPlan plan = TRY(PlanAudit({}, settings, environment.now));
  FleetReport report = agents ? TRY(AgentFleet(engine, request, window, settings, environment, plan.energy))
                              : TRY(ExporterFleet(engine, {window.from, window.to, request.jobs, plan, options}));
  AddSchedulerFacts(jobs, &report);
  if (const std::int64_t bad = of_jobs.CountOf(QualityId::kBadRow); bad > 0) {
    report.doubts.push_back(
        {"bad_job_rows", bad, "warn", std::to_string(bad) + " rows of " + Printable(request.jobs) + " cannot be read"});
  }
  return report;
}

// The days of a window, from the ledger alone. An engine is asked first, if one is named.
Result<int> ShowDays(const FleetRequest& request, const Settings& settings, const Environment& environment) {
  const FleetWindow window = TRY(WindowFrom(request, environment.now));
  const ReportFormat format = TRY(ChooseFormat(settings, "fleet", request.output, kFleetDaysFormats));
  std::string path = request.ledger;
  if (!request.engine.url.empty()) {
    EngineAddress address = request.engine;
    if (!request.timeout.empty()) address.patience = TRY(ParseDuration(request.timeout));
    Engine engine = TRY(Engine::Open(address));
    path = LedgerPath(request, engine);
    FleetLedger ledger = TRY(FleetLedger::OpenToPull(path, kLedgerPatience));
    const std::int64_t newest = NewestEdge(FloorSecond(environment.now.nanos()));
    const PullOutcome pull = TRY(PullHours(engine, ledger, {window.from, std::min(window.to, newest)}));
    FleetReport doubts;
    AddPullDoubts(pull, &doubts);
    for (const FleetDoubt& doubt : doubts.doubts) Say("fleet: " + doubt.sentence);
  }
  if (path.empty()) return FailUsage("fleet days: give --ledger FOLDER, or --engine URL");
  if (!std::filesystem::exists(path + "/index.sqlite")) return Fail(Printable(path) + ": there is no ledger here");
  FleetLedger ledger = TRY(FleetLedger::Open(path, kLedgerPatience));
  TeamDays days = TRY(TeamDaysFrom(ledger, window.from, window.to));
  days.ids = OwnIds();
  TextWish wish;
  wish.full = true;
  TRY(WriteOutput(request.output,
                  Written(kFleetDaysWriters, format, days, PaperFor(environment, request.output, wish))));
  return 0;
}

Result<int> WriteDashboards(const FleetRequest& request) {
  if (request.output.empty()) return FailUsage("fleet dashboards: say where with -o FOLDER");
  TRY(MakeNamedFolder(request.output));
  for (const FleetDashboard& dashboard : FleetDashboards()) {
    TRY(WriteOutput(request.output + "/" + dashboard.file, dashboard.json));
  }
  return 0;
}

Result<int> WriteRules(const FleetRequest& request, const Settings& settings) {
  if (request.rule_engine != "prometheus" && request.rule_engine != "vmalert") {
    return FailUsage("fleet rules: --for " + Printable(request.rule_engine) +
                     " is unknown; there are prometheus and vmalert");
  }
  const RuleEngine engine = request.rule_engine == "vmalert" ? RuleEngine::kVmalert : RuleEngine::kPrometheus;
  std::optional<MonthlyBudget> budget;
  if (!request.budget.empty()) {
    const Result<Money> amount = Money::Parse(request.budget);
    if (!amount || amount->nano() <= 0) {
      return FailUsage("fleet rules: --budget " + Printable(request.budget) +
                       " is not an amount; give one such as 50000");
    }
    budget = MonthlyBudget{*amount, settings.Text("price.currency")};
  }
  TRY(WriteOutput(request.output, AlertRulesYaml(engine, budget)));
  return 0;
}

// Everything that an action needs.
struct FleetCall {
  FleetRequest& request;
  const FleetWatchRequest& watch;
  const FleetChargeFlags& charge;
  const Settings& settings;
  const Environment& environment;
};

Result<int> RunDashboards(const FleetCall& call) { return WriteDashboards(call.request); }
Result<int> RunRules(const FleetCall& call) { return WriteRules(call.request, call.settings); }
Result<int> RunDays(const FleetCall& call) { return ShowDays(call.request, call.settings, call.environment); }

Result<int> RunWatch(const FleetCall& call) {
  FleetWatchRequest watch = call.watch;
  watch.engine = call.request.engine;
  if (!call.request.timeout.empty()) watch.engine.patience = TRY(ParseDuration(call.request.timeout));
  return WatchFleet(watch, call.settings, call.environment);
}

Result<int> RunPull(const FleetCall& call) {
  call.request.pull_only = true;
  const FleetReport report = TRY(ReportFor(call.request, call.settings, call.environment));
  Say("fleet: the ledger is up to date" +
      (report.closed_through ? " through " + TimeText(*report.closed_through) : std::string()));
  for (const FleetDoubt& doubt : report.doubts) Say("fleet: " + doubt.sentence);
  return 0;
}

Result<int> RunStatements(const FleetCall& call) {
  const ChargeRequest charge = TRY(call.charge.Read());
  const ReportFormat format = TRY(ChooseFormat(call.settings, "fleet", "", kFleetFormats));
  FleetReport report = TRY(ReportFor(call.request, call.settings, call.environment));
  report.ids = OwnIds();
  TextWish wish;
  wish.full = call.request.full;
  const Paper paper = PaperFor(call.environment, call.request.output, wish);
  return WriteStatements(TRY(StatementsOf(report, charge)), format, call.request.output, paper);
}

// Leaves the owners of these kinds only. Others would hide what was asked for.
Result<void> KeepOwners(const std::string& kinds, FleetReport* report) {
  const std::vector<std::string_view> wanted = Split(kinds, ',');
  const auto owners =
      std::to_array<std::pair<std::string_view, std::vector<FleetOwner>*>>({{"team", &report->teams},
                                                                            {"user", &report->users},
                                                                            {"job", &report->jobs},
                                                                            {"experiment", &report->experiments}});
  for (const std::string_view kind : wanted) {
    if (std::none_of(owners.begin(), owners.end(), [&](const auto& each) { return each.first == kind; })) {
      return FailUsage("fleet: --by " + Printable(kind) + " is unknown; there are team, user, job and experiment");
    }
  }
  for (const auto& [kind, rows] : owners) {
    if (std::find(wanted.begin(), wanted.end(), kind) == wanted.end()) rows->clear();
  }
  return {};
}

// Prints the report by these writers. `full`: all of it, as if --full was given.
template <const auto& kWriters>
Result<int> PrintFleet(const FleetCall& call, bool full) {
  FleetRequest& request = call.request;
  const ReportFormat format = TRY(ChooseFormat(call.settings, "fleet", request.output, kFleetFormats));
  if (format == ReportFormat::kJson) request.wasters = true;  // one document, whatever the action
  FleetReport report = TRY(ReportFor(request, call.settings, call.environment));
  report.ids = OwnIds();
  if (!request.by.empty()) TRY(KeepOwners(request.by, &report));
  TextWish wish;
  wish.full = full;
  const Paper paper = PaperFor(call.environment, request.output, wish);
  TRY(WriteOutput(request.output, Written(kWriters, format, report, paper)));
  return 0;
}

// One screen and its CSV come from the ledger alone. What they do not show is not asked of the engine.
Result<int> RunAnswer(const FleetCall& call) {
  FleetReport none;
  if (!call.request.by.empty()) TRY(KeepOwners(call.request.by, &none));  // a wrong word, before the engine is asked
  const ReportFormat format = TRY(ChooseFormat(call.settings, "fleet", call.request.output, kFleetFormats));
  const bool whole = format == ReportFormat::kText ? call.request.full : format != ReportFormat::kCsv;
  call.request.weeks = whole;
  call.request.gpus = whole;
  call.request.wasters = format != ReportFormat::kCsv;
  return PrintFleet<kFleetWriters>(call, call.request.full);
}
Result<int> RunJobs(const FleetCall& call) { return PrintFleet<kFleetJobsWriters>(call, true); }
Result<int> RunGpus(const FleetCall& call) {
  call.request.gpus = true;
  return PrintFleet<kFleetGpusWriters>(call, call.request.full);
}

struct FleetAction {
  std::string_view name;  // empty: the answer
  Result<int> (*run)(const FleetCall& call);
};
constexpr auto kFleetActions = std::to_array<FleetAction>({
    {"", RunAnswer},
    {"jobs", RunJobs},
    {"gpus", RunGpus},
    {"days", RunDays},
    {"watch", RunWatch},
    {"statements", RunStatements},
    {"pull", RunPull},
    {"dashboards", RunDashboards},
    {"rules", RunRules},
});

}  // namespace

Result<int> RunFleet(const std::vector<std::string>& arguments, const Environment& environment) {
  FleetRequest request;
  CommandFlags flags({"output.", "price.", "energy.", "import.", "classify."});
  flags.Writes(kFleetFormats);
  flags
      .Add("action", "",
           "none for the answer; jobs, gpus and days list them; watch shows now; statements charges teams; pull fills "
           "the ledger; dashboards and rules write files")
      .list = &request.words;
  flags.Add("--engine", "URL", "Prometheus, VictoriaMetrics or another engine with Prometheus' API").text =
      &request.engine.url;
  flags.Add("--from", "TIME", "first full hour, UTC (default a week before --to)").text = &request.from;
  flags.Add("--to", "TIME", "end of the last hour, UTC (default the newest closed hour)").text = &request.to;
  flags.Add("--by", "KINDS", "owners to show, of team,user,job,experiment (default all)").text = &request.by;
  flags.Add("--jobs", "FILE", "the scheduler's jobs (sacct -P, squeue --json, CSV): waits, ends, owners").text =
      &request.jobs;
  flags.Add("--token-file", "FILE", "its first line is the engine's bearer token").text = &request.engine.token_file;
  flags.Add("--ca-file", "FILE", "certificates that an https engine is checked against").text = &request.engine.ca_file;
  flags.Add("--engine-timeout", "TIME", "for one answer (default 2m)").text = &request.timeout;
  flags.Add("--ledger", "FOLDER", "the ledger of closed hours (default in the user's data folder)").text =
      &request.ledger;
  flags.Add("--rebuild", "", "read the window again, and keep what the engine forgot").on = &request.rebuild;
  FleetWatchRequest watch;
  flags.Add("--interval", "TIME", "of watch: time between two boards (default 30s)").text = &watch.interval;
  flags.Add("--once", "", "of watch: print one board").on = &watch.once;
  flags.Add("--for", "ENGINE", "rules for prometheus or vmalert (default prometheus)").text = &request.rule_engine;
  flags.Add("--budget", "AMOUNT", "for rules: what the fleet may cost in 720 hours, in --currency").text =
      &request.budget;
  flags.Add("--output", "FILE", "write there instead of the terminal; for dashboards and statements a folder").text =
      &request.output;
  flags.Add("--pue", "RATIO", "power of the site / power of the machines (default 1)").text = &request.pue;
  flags.Add("--full", "", kFullHelp).on = &request.full;
  FleetChargeFlags charge;
  charge.AddTo(flags);
  const auto settings = TRY(flags.Read("fleet", "Audits a cluster through its engine of time series.", arguments));
  if (!settings) return 0;
  const std::string name = request.words.empty() ? "" : request.words.front();
  const auto* const action =
      std::find_if(kFleetActions.begin(), kFleetActions.end(), [&](const FleetAction& a) { return a.name == name; });
  if (action == kFleetActions.end()) {
    std::vector<std::string> names;
    for (const FleetAction& each : kFleetActions) {
      if (!each.name.empty()) names.emplace_back(each.name);
    }
    return FailUsage("fleet: no action '" + Printable(name) + "'; there are " + ListText(names));
  }
  if (!request.by.empty() && action->run != RunAnswer) {
    return FailUsage("fleet: --by belongs to the answer itself; leave out '" + Printable(name) + "'");
  }
  if (charge.given() && action->run != RunStatements) {
    return FailUsage("fleet: flags of a chargeback, such as --share, belong to idleburn fleet statements");
  }
  request.pue_millionths = TRY(ParsePue(request.pue));
  return action->run({request, watch, charge, *settings, environment});
}

}  // namespace idleburn
