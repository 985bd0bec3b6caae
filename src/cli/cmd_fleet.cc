#include <algorithm>

#include "audit/audit_plan.h"
#include "audit/keep_run.h"
#include "audit/open_input.h"
#include "cli/commands.h"
#include "config/common_flags.h"
#include "fleet/alert_rules.h"
#include "fleet/dashboards.h"
#include "fleet/exporter_fleet.h"
#include "fleet/fleet_answer.h"
#include "fleet/fleet_pull.h"
#include "fleet/scheduler_facts.h"
#include "os/folder.h"
#include "report/fleet_output.h"
#include "terminal/output.h"
#include "text/number.h"
#include "text/strings.h"
#include "text/time_zone.h"

// `idleburn fleet`: the answer for a cluster. It brings the ledger up to date with the engine and answers from the
// ledger. An engine without our agents has no closed hours; then the gauges of exporters are audited instead.

namespace idleburn {
namespace {

constexpr auto kFleetFormats = FormatsOf(kFleetWriters);
constexpr std::int64_t kUsualWindow = 7 * 24 * kEdgeSeconds;

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
  bool rebuild = false;
  bool full = false;
};

// The window in full hours, Unix seconds.
struct FleetWindow {
  std::int64_t from = 0;
  std::int64_t to = 0;
};

std::string TimeText(std::int64_t second) { return FormatRfc3339(Instant::FromNanos(second * kNanosPerSecond)); }

Result<FleetWindow> WindowFrom(const FleetRequest& request, Instant now) {
  const std::int64_t newest = NewestEdge(FloorSecond(now.nanos()));
  FleetWindow window;
  if (!request.from.empty() && !request.to.empty()) {
    const RunWindow both = TRY(ParseWindow("1971-01-01.." + request.to, std::nullopt));
    const RunWindow first = TRY(ParseWindow(request.from + "..2200-01-01", std::nullopt));
    if (*first.start >= *both.end)
      return FailUsage("fleet: --to " + request.to + " is not after --from " + request.from);
  }
  // An end that was not given: the newest closed hour, or a week from the end that was.
  const RunWindow far = TRY(ParseWindow(
      (request.from.empty() ? "1971-01-01" : request.from) + ".." + (request.to.empty() ? "2200-01-01" : request.to),
      std::nullopt));
  window.to = request.to.empty() ? newest : FloorSecond(far.end->nanos());
  window.from = request.from.empty() ? window.to - kUsualWindow : FloorSecond(far.start->nanos());
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

Result<FleetReport> AgentFleet(Engine& engine, const FleetRequest& request, const FleetWindow& window,
                               const Settings& settings, const Environment& environment) {
  const std::string path = request.ledger.empty() ? FleetLedgerFile(engine.facts().url) : request.ledger;
  FleetLedger ledger = TRY(FleetLedger::Open(path, Nanos{30 * kNanosPerSecond}));
  const std::optional<std::int64_t> begin = TRY(ledger.Begin());
  if (!begin || request.rebuild || window.from < *begin) TRY(ledger.Restart(window.from));
  const std::int64_t now = FloorSecond(environment.now.nanos());
  const PullRequest pull_request = {window.from, std::min(window.to, NewestEdge(now))};
  const PullOutcome pull = TRY(PullHours(engine, ledger, pull_request));
  const Prices prices = TRY(OpenRates(settings, environment.now));
  AnswerInputs inputs{window.from, window.to, prices, PriceGiven(settings),
                      ReadAgentGpus(engine, std::min(now, window.to + kReadEdgeAfter))};
  FleetReport report = TRY(AnswerFrom(ledger, inputs));
  report.engine = engine.facts();
  std::int64_t behind = 0;
  for (const auto& [node, state] : TRY(ledger.States())) {
    report.closed_through = std::max(report.closed_through.value_or(0), state.edge);
    behind += state.edge < pull_request.last && state.edge > window.from ? 1 : 0;
  }
  if (report.closed_through)
    report.open_hours = std::max<std::int64_t>(0, (window.to - *report.closed_through) / kEdgeSeconds);
  if (behind > 0) {
    report.doubts.push_back(
        {"nodes_behind", behind, "warn", std::to_string(behind) + " nodes were not read up to the newest closed hour"});
  }
  AddPullDoubts(pull, &report);
  const std::int64_t at = std::min(now, window.to);
  report.kpi.utilization_1h = MeanUtilization(engine, "1h", at);
  report.kpi.utilization_24h = MeanUtilization(engine, "24h", at);
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
  const std::vector<std::string> agents =
      TRY(engine.MetricNames("idleburn_closed_timestamp_seconds", window.from, window.to + kEdgeSeconds));
  const AuditPlan plan = TRY(PlanAudit({}, settings, environment.now));
  FleetReport report = agents.empty()
                           ? TRY(ExporterFleet(engine, {window.from, window.to, request.jobs, plan, options}))
                           : TRY(AgentFleet(engine, request, window, settings, environment));
  AddSchedulerFacts(jobs, &report);
  if (const std::int64_t bad = of_jobs.CountOf(QualityId::kBadRow); bad > 0) {
    report.doubts.push_back(
        {"bad_job_rows", bad, "warn", std::to_string(bad) + " rows of " + Printable(request.jobs) + " cannot be read"});
  }
  return report;
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

}  // namespace

Result<int> RunFleet(const std::vector<std::string>& arguments, const Environment& environment) {
  FleetRequest request;
  CommandFlags flags({"output.", "price.", "import.", "classify."});
  flags.Writes(kFleetFormats);
  flags
      .Add("action", "",
           "none for the answer; jobs lists them; pull fills the ledger; dashboards and rules write files")
      .list = &request.words;
  flags.Add("--engine", "URL", "Prometheus, VictoriaMetrics or another engine with Prometheus' API").text =
      &request.engine.url;
  flags.Add("--from", "TIME", "first full hour, UTC (default a week before --to)").text = &request.from;
  flags.Add("--to", "TIME", "end of the last hour, UTC (default the newest closed hour)").text = &request.to;
  flags.Add("--jobs", "FILE", "the scheduler's jobs (sacct -P, squeue --json, CSV): waits, ends, owners").text =
      &request.jobs;
  flags.Add("--token-file", "FILE", "its first line is the engine's bearer token").text = &request.engine.token_file;
  flags.Add("--ca-file", "FILE", "certificates that an https engine is checked against").text = &request.engine.ca_file;
  flags.Add("--engine-timeout", "TIME", "for one answer (default 2m)").text = &request.timeout;
  flags.Add("--ledger", "FILE", "the ledger of closed hours (default in the user's data folder)").text =
      &request.ledger;
  flags.Add("--rebuild", "", "forget the ledger and read the window again").on = &request.rebuild;
  flags.Add("--for", "ENGINE", "rules for prometheus or vmalert (default prometheus)").text = &request.rule_engine;
  flags.Add("--budget", "AMOUNT", "for rules: what the fleet may cost in 720 hours, in --currency").text =
      &request.budget;
  flags.Add("--output", "FILE", "write there instead of the terminal; for dashboards a folder").text = &request.output;
  flags.Add("--full", "", kFullHelp).on = &request.full;
  const auto settings = TRY(flags.Read("fleet", "Audits a cluster through its engine of time series.", arguments));
  if (!settings) return 0;
  const std::string action = request.words.empty() ? "" : request.words.front();
  if (action == "dashboards") return WriteDashboards(request);
  if (action == "rules") return WriteRules(request, *settings);
  if (!action.empty() && action != "pull" && action != "jobs") {
    return FailUsage("fleet: no action '" + Printable(action) + "'; there are jobs, pull, dashboards and rules");
  }
  const ReportFormat format = TRY(ChooseFormat(*settings, "fleet", request.output, kFleetFormats));
  FleetReport report = TRY(ReportFor(request, *settings, environment));
  report.ids = OwnIds();
  if (action == "pull") {
    Say("fleet: the ledger is up to date" +
        (report.closed_through ? " through " + TimeText(*report.closed_through) : std::string()));
    for (const FleetDoubt& doubt : report.doubts) Say("fleet: " + doubt.sentence);
    return 0;
  }
  TextWish wish;
  wish.full = request.full || action == "jobs";
  const Paper paper = PaperFor(environment, request.output, wish);
  TRY(WriteOutput(request.output, action == "jobs" ? Written(kFleetJobsWriters, format, report, paper)
                                                   : Written(kFleetWriters, format, report, paper)));
  return 0;
}

}  // namespace idleburn
