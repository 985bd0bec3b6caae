#include <algorithm>

#include "audit/keep_run.h"
#include "cli/commands.h"
#include "cli/fleet_charge_flags.h"
#include "cli/fleet_watch.h"
#include "config/common_flags.h"
#include "fleet/alert_rules.h"
#include "fleet/dashboards.h"
#include "fleet/fleet_question.h"
#include "fleet/gpu_use.h"
#include "os/folder.h"
#include "report/fleet_days.h"
#include "report/fleet_output.h"
#include "terminal/output.h"
#include "text/strings.h"
#include "text/time_zone.h"

// `idleburn fleet`: the answer for a cluster. It brings the ledger up to date with the engine and answers from the
// ledger. An engine without our agents has no closed hours; then the gauges of exporters are audited instead.

namespace idleburn {
namespace {

constexpr auto kFleetFormats = FormatsOf(kFleetWriters);
constexpr auto kFleetDaysFormats = FormatsOf(kFleetDaysWriters);

// The flags as they were written. `words` holds the action.
struct FleetRequest {
  std::vector<std::string> words;
  FleetQuestion question;  // its window and patience are the texts below
  std::string timeout;
  std::string from;
  std::string to;
  std::string output;
  std::string rule_engine = "prometheus";  // --for
  std::string budget;                      // of rules
  std::string by;                          // "team,job"; empty: all kinds of owners
  std::string pue = "1";
  bool full = false;
};

// The engine that --engine names, with the patience of --engine-timeout.
Result<EngineAddress> AddressFrom(const FleetRequest& request) {
  EngineAddress address = request.question.engine;
  if (!request.timeout.empty()) address.patience = TRY(ParseDuration(request.timeout));
  return address;
}

// The days of a window, from the ledger alone. An engine is asked first, if one is named.
Result<int> ShowDays(const FleetRequest& request, const Settings& settings, const Environment& environment) {
  FleetQuestion question = request.question;
  question.window = TRY(ReadFleetWindow(request.from, request.to, environment.now));
  const ReportFormat format = TRY(ChooseFormat(settings, "fleet", request.output, kFleetDaysFormats));
  std::vector<FleetDoubt> doubts;
  if (!request.question.engine.url.empty()) question.engine = TRY(AddressFrom(request));
  TeamDays days = TRY(ReadTeamDays(question, environment.now, &doubts));
  for (const FleetDoubt& doubt : doubts) Say("fleet: " + doubt.sentence);
  days.ids = OwnIds();
  TextWish wish;
  wish.full = true;
  TRY(WriteOutput(request.output,
                  Written(kFleetDaysWriters, format, days, PaperFor(environment, request.output, wish))));
  return 0;
}

// Asks the engine, or the ledger after a pull.
Result<FleetReport> ReportFor(const FleetRequest& request, const Settings& settings, Instant now) {
  if (request.question.engine.url.empty()) {
    return FailUsage("fleet: give --engine URL, such as http://prometheus:9090");
  }
  FleetQuestion question = request.question;
  question.window = TRY(ReadFleetWindow(request.from, request.to, now));
  question.engine = TRY(AddressFrom(request));
  return ReadFleet(question, settings, now);
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
  watch.engine = TRY(AddressFrom(call.request));
  return WatchFleet(watch, call.settings, call.environment);
}

Result<int> RunPull(const FleetCall& call) {
  call.request.question.pull_only = true;
  const FleetReport report = TRY(ReportFor(call.request, call.settings, call.environment.now));
  Say("fleet: the ledger is up to date" +
      (report.closed_through ? " through " + FormatUnixTime(*report.closed_through) : std::string()));
  for (const FleetDoubt& doubt : report.doubts) Say("fleet: " + doubt.sentence);
  return 0;
}

Result<int> RunStatements(const FleetCall& call) {
  const ChargeRequest charge = TRY(call.charge.Read());
  const ReportFormat format = TRY(ChooseFormat(call.settings, "fleet", "", kFleetFormats));
  FleetReport report = TRY(ReportFor(call.request, call.settings, call.environment.now));
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
  if (format == ReportFormat::kJson) request.question.wasters = true;  // one document, whatever the action
  FleetReport report = TRY(ReportFor(request, call.settings, call.environment.now));
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
  call.request.question.weeks = whole;
  call.request.question.panels = format == ReportFormat::kHtml;
  call.request.question.gpus = whole;
  call.request.question.wasters = format != ReportFormat::kCsv;
  return PrintFleet<kFleetWriters>(call, call.request.full);
}
Result<int> RunJobs(const FleetCall& call) { return PrintFleet<kFleetJobsWriters>(call, true); }
Result<int> RunGpus(const FleetCall& call) {
  call.request.question.gpus = true;
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
      &request.question.engine.url;
  flags.Add("--from", "TIME", "first full hour, UTC (default a week before --to)").text = &request.from;
  flags.Add("--to", "TIME", "end of the last hour, UTC (default the newest closed hour)").text = &request.to;
  flags.Add("--by", "KINDS", "owners to show, of team,user,job,experiment (default all)").text = &request.by;
  flags.Add("--jobs", "FILE", "the scheduler's jobs (sacct -P, squeue --json, CSV): waits, ends, owners").text =
      &request.question.jobs;
  flags.Add("--token-file", "FILE", "its first line is the engine's bearer token").text =
      &request.question.engine.token_file;
  flags.Add("--ca-file", "FILE", "certificates that an https engine is checked against").text =
      &request.question.engine.ca_file;
  flags.Add("--engine-timeout", "TIME", "for one answer (default 2m)").text = &request.timeout;
  flags.Add("--ledger", "FOLDER", "the ledger of closed hours (default in the user's data folder)").text =
      &request.question.ledger;
  flags.Add("--rebuild", "", "read the window again, and keep what the engine forgot").on = &request.question.rebuild;
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
  request.question.pue_millionths = TRY(ParsePue(request.pue));
  return action->run({request, watch, charge, *settings, environment});
}

}  // namespace idleburn
