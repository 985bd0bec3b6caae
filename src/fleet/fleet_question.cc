#include "fleet/fleet_question.h"

#include <algorithm>
#include <filesystem>

#include "audit/audit_plan.h"
#include "audit/open_input.h"
#include "fleet/exporter_fleet.h"
#include "fleet/fleet_answer.h"
#include "fleet/fleet_pull.h"
#include "fleet/fleet_trends.h"
#include "fleet/gpu_answer.h"
#include "fleet/job_signals.h"
#include "fleet/ledger_rebuild.h"
#include "fleet/scheduler_facts.h"
#include "fleet/waster_causes.h"
#include "text/figures.h"
#include "text/number.h"
#include "text/time_zone.h"

namespace idleburn {
namespace {

constexpr std::int64_t kUsualWindow = 7 * 24 * kEdgeSeconds;
constexpr Nanos kLedgerPatience{30 * kNanosPerSecond};

// A time or a day of --from or --to, Unix seconds.
Result<std::int64_t> SecondOf(const std::string& flag, const std::string& text) {
  const Result<RunWindow> window = ParseWindow(text + "..2200-01-01", std::nullopt);
  if (window) return FloorSecond(window->start->nanos());
  return FailUsage("fleet: " + flag + " " + Printable(text) +
                   " is not a time; write a day such as 2026-03-01, or an hour such as 2026-03-01T06:00:00Z");
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
      pull.wrong.empty() ? "" : pull.wrong.begin()->second);
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
                                FormatUnixTime(rebuilt.kept_from) + " and " + FormatUnixTime(rebuilt.kept_to) +
                                "; the ledger kept them"});
}

// The panels of hardware, hosts and agents, and a doubt where the engine did not answer.
void AddPanels(Engine& engine, std::int64_t from, std::int64_t to, FleetReport* report) {
  PanelAnswers answers = AskPanels(engine, from, to);
  report->panels = std::move(answers.panels);
  if (answers.unanswered == 0) return;
  report->doubts.push_back({"panels_unanswered", static_cast<std::int64_t>(answers.unanswered), "info",
                            "the engine did not answer for " + std::to_string(answers.unanswered) +
                                " panels of hardware, hosts and agents"});
}

std::string LedgerPath(const FleetQuestion& question, const Engine& engine) {
  return question.ledger.empty() ? FleetLedgerFolder(engine.facts().url) : question.ledger;
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

Result<FleetReport> AgentFleet(Engine& engine, const FleetQuestion& question, const Settings& settings, Instant when,
                               const EnergyPrice& energy) {
  const FleetWindow& window = question.window;
  const std::int64_t now = FloorSecond(when.nanos());
  const PullRequest pull_request = {window.from, std::min(window.to, NewestEdge(now))};
  const std::string path = LedgerPath(question, engine);
  RebuildOutcome rebuilt;
  if (question.rebuild) rebuilt = TRY(RebuildLedger(engine, path, kLedgerPatience, pull_request));
  FleetLedger ledger = TRY(FleetLedger::OpenToPull(path, kLedgerPatience));
  const PullOutcome pull = question.rebuild ? std::move(rebuilt.pull) : TRY(PullHours(engine, ledger, pull_request));
  const Prices prices = TRY(OpenRates(settings, when));
  FleetReport report;
  if (!question.pull_only) {
    AgentGpus told = ReadAgentGpus(engine, window.from, std::min(now, window.to + kReadEdgeAfter));
    const AnswerInputs inputs{window.from, window.to, prices, PriceGiven(settings), std::move(told.gpus)};
    report = TRY(AnswerFrom(ledger, inputs));
    report.doubts.insert(report.doubts.end(), told.doubts.begin(), told.doubts.end());
    if (question.wasters) TRY(AddWasters(engine, pull_request, &report));
    if (question.weeks) TRY(AddFleetWeeks(ledger, &report));
    const std::int64_t at = std::min(now, window.to);
    if (question.panels) AddPanels(engine, window.from, at, &report);
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
  if (question.gpus) {
    TRY(AddGpuFindings(engine, ledger, {prices.book.catalogue, energy, question.pue_millionths}, &report));
  }
  return report;
}

}  // namespace

Result<FleetWindow> ReadFleetWindow(const std::string& from, const std::string& to, Instant now) {
  const std::int64_t newest = NewestEdge(FloorSecond(now.nanos()));
  FleetWindow window;
  window.to = to.empty() ? newest : TRY(SecondOf("--to", to));
  window.from = from.empty() ? window.to - kUsualWindow : TRY(SecondOf("--from", from));
  if (!from.empty() && !to.empty() && window.from >= window.to) {
    return FailUsage("fleet: --to " + Printable(to) + " is not after --from " + Printable(from));
  }
  for (const std::int64_t end : {window.from, window.to}) {
    if (end % kEdgeSeconds != 0) {
      return FailUsage("fleet: " + FormatUnixTime(end) + " is not a full UTC hour; bills are closed at full hours");
    }
  }
  if (window.from >= std::min(window.to, newest)) {
    return FailUsage("fleet: no hour from " + FormatUnixTime(window.from) + " to " + FormatUnixTime(window.to) +
                     " is closed yet; an hour can be read an hour after its end");
  }
  return window;
}

Result<FleetReport> ReadFleet(const FleetQuestion& question, const Settings& settings, Instant now) {
  const FleetWindow& window = question.window;
  Engine engine = TRY(Engine::Open(question.engine));
  const ImportOptions options = TRY(ImportOptionsFrom(settings));
  DataQuality of_jobs;
  JobTimes jobs;
  if (!question.jobs.empty()) jobs = TRY(ReadJobList(question.jobs, options, &of_jobs));
  // A ledger with hours answers, whatever its engine still knows.
  bool agents = HasHours(LedgerPath(question, engine));
  if (!agents) {
    const std::vector<std::string> names =
        TRY(engine.MetricNames("idleburn_closed_timestamp_seconds", window.from, window.to + kEdgeSeconds));
    agents = !names.empty();
  }
  const AuditPlan plan = TRY(PlanAudit({}, settings, now));
  FleetReport report = agents ? TRY(AgentFleet(engine, question, settings, now, plan.energy))
                              : TRY(ExporterFleet(engine, {window.from, window.to, question.jobs, plan, options}));
  AddSchedulerFacts(jobs, &report);
  if (const std::int64_t bad = of_jobs.CountOf(QualityId::kBadRow); bad > 0) {
    report.doubts.push_back({"bad_job_rows", bad, "warn",
                             std::to_string(bad) + " rows of " + Printable(question.jobs) + " cannot be read"});
  }
  return report;
}

Result<TeamDays> ReadTeamDays(const FleetQuestion& question, Instant now, std::vector<FleetDoubt>* doubts) {
  const FleetWindow& window = question.window;
  std::string path = question.ledger;
  if (!question.engine.url.empty()) {
    Engine engine = TRY(Engine::Open(question.engine));
    path = LedgerPath(question, engine);
    FleetLedger ledger = TRY(FleetLedger::OpenToPull(path, kLedgerPatience));
    const std::int64_t newest = NewestEdge(FloorSecond(now.nanos()));
    const PullOutcome pull = TRY(PullHours(engine, ledger, {window.from, std::min(window.to, newest)}));
    FleetReport report;
    AddPullDoubts(pull, &report);
    *doubts = std::move(report.doubts);
  }
  if (path.empty()) return FailUsage("fleet days: give --ledger FOLDER, or --engine URL");
  if (!std::filesystem::exists(path + "/index.sqlite")) return Fail(Printable(path) + ": there is no ledger here");
  FleetLedger ledger = TRY(FleetLedger::Open(path, kLedgerPatience));
  return TeamDaysFrom(ledger, window.from, window.to);
}

}  // namespace idleburn
