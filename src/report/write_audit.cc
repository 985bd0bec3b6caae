#include "report/write_audit.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "report/audit_writers.h"
#include "report/display.h"
#include "terminal/output.h"
#include "text/number.h"
#include "text/strings.h"
#include "text/table.h"

// The end of every audit: the figures for the history, the report, and the gates. Gates are judged even if the report
// could not be written.
namespace idleburn {
namespace {

std::optional<std::int64_t> NanoOf(const std::optional<Money>& money) {
  return money ? std::optional(money->nano()) : std::nullopt;
}

std::int64_t PhaseNs(const UsageCost& usage, Phase phase) { return usage.phase_ns[static_cast<std::size_t>(phase)]; }

// Effective time and waste are left unknown without observed time: 0 would be a claim.
void TakeTimes(const AuditReport& report, RunFigures& figures) {
  const UsageCost& whole = report.cost.whole;
  figures.gpus = report.cost.gpus;
  figures.gpu_models = ListText(GpuNames(report));
  figures.window_ns = whole.window_ns;
  figures.observed_ns = whole.observed_ns;
  figures.unobserved_ns = whole.unobserved_ns;
  figures.idle_ns = PhaseNs(whole, Phase::kIdle);
  figures.underutilized_ns = PhaseNs(whole, Phase::kUnderutilized);
  figures.productive_ns = PhaseNs(whole, Phase::kProductive);
  figures.compute_bound_ns = PhaseNs(whole, Phase::kComputeBound);
  if (whole.observed_ns == 0) return;
  figures.effective_ns = whole.effective_ns;
  figures.waste_share = report.cost.waste_share;
}

// The price of each GPU in the form that --price takes, so that `history show` can price a kept run of several rates.
// By UUID if there is one, else by model. Empty if names do not tell the prices apart: no price is better than a
// wrong one.
std::string StatedRates(const CostReport& cost, const DeviceTable& devices) {
  std::map<std::string, Money> prices;
  for (const CostReport::DeviceCost& d : cost.devices) {
    const std::optional<Money>& price = cost.RateOf(d).per_gpu_hour;
    const Device& board = devices[devices[d.device].board.value_or(d.device)];
    const std::string& name = board.uuid.empty() ? board.name : board.uuid;
    if (!price) continue;
    if (name.empty() || name.find_first_of(",=") != std::string::npos) return {};
    if (prices.emplace(name, *price).first->second != *price) return {};
  }
  return ListText(prices, ",", [](const auto& named) { return named.first + "=" + FormatExact(named.second); });
}

// Nothing is kept without a total. The source also says which hours the total leaves out.
void TakeMoney(const CostReport& cost, const DeviceTable& devices, RunFigures& figures) {
  if (!cost.whole.total) return;
  if (!cost.rate.per_gpu_hour) figures.rates = StatedRates(cost, devices);
  figures.currency = cost.rate.currency;
  figures.rate_nano = NanoOf(cost.rate.per_gpu_hour);
  figures.rate_source = cost.rate.source;
  if (cost.whole.unpriced.window_ns > 0) {
    figures.rate_source += fmt::format("; excluding {:.6g} unpriced GPU-hours", InHours(cost.whole.unpriced.window_ns));
  }
  if (cost.rate.as_of) figures.rate_as_of_ns = cost.rate.as_of->nanos();
  figures.cost_nano = NanoOf(cost.whole.total);
  figures.waste_nano = NanoOf(cost.whole.waste);
}

// One unit only: the history has one count per run. Steps come first, as every job has them.
void TakeWork(const WorkDone& work, RunFigures& figures) {
  for (const char* unit : {"steps", "samples", "tokens", "epochs"}) {
    const auto found = work.units.find(unit);
    if (found == work.units.end()) continue;
    figures.work_unit = Singular(unit);
    figures.work = static_cast<double>(found->second) / static_cast<double>(WorkDone::kOne);
    return;
  }
}

// Work and the time it took, for forecasts from the user's own runs.
void TakePace(const std::optional<WorkPace>& pace, RunFigures& figures) {
  if (!pace) return;
  figures.pace_ns = pace->time.count();
  figures.pace_steps = pace->done[WorkUnit::kStep];
  figures.pace_samples = pace->done[WorkUnit::kSample];
  figures.pace_tokens = pace->done[WorkUnit::kToken];
}

// The highest memory use of any GPU, in bytes.
void TakePeak(const AuditReport& report, RunFigures& figures) {
  for (const DeviceResult& device : report.run.devices) {
    const std::optional<std::int64_t> most = device.totals.Peak(Signal::kMemoryUsed);
    if (most) figures.memory_peak = std::max(*most, figures.memory_peak.value_or(*most));
  }
}

}  // namespace

RunFigures FiguresOf(const Audited& audited, const AuditPlan& plan) {
  const AuditReport& report = audited.report;
  RunFigures figures;
  TakeWork(WorkOf(plan, *audited.run), figures);
  TakePace(audited.run->summary.Pace(), figures);
  if (report.run.devices.empty()) return figures;
  TakeTimes(report, figures);
  TakeMoney(report.cost, *report.devices, figures);
  TakePeak(report, figures);
  for (const Finding& f : report.advice.findings) {
    figures.findings.push_back(
        {std::string(f.cause), std::string(Name(f.status)), f.ShareOfRun(), f.gpu_ns, NanoOf(f.cost)});
  }
  for (const Recommendation& r : report.advice.recommendations) {
    KeptAdvice advice{std::string(r.id), std::string(Name(r.axis)), std::string(r.cause), {}, {}, {}, {}};
    if (r.saving) {
      advice.low = r.saving->low;
      advice.expected = r.saving->expected;
      advice.high = r.saving->high;
    }
    advice.cost_nano = NanoOf(r.saving_cost);
    figures.advice.push_back(std::move(advice));
  }
  return figures;
}

namespace {

// Writes the report in the format of the plan. Only text depends on the terminal: its width, its colours and its
// encoding.
Result<void> Write(const AuditReport& report, const AuditPlan& plan, const Environment& environment) {
  const ReportRequest& request = plan.request;
  // A live command keeps standard output for the command it runs, so its report goes to standard error.
  const bool aside = request.to_stderr && request.output.empty();
  const bool terminal = request.output.empty() && (aside ? environment.terminal_err : environment.terminal_out);
  const bool color = terminal && !environment.no_color && !request.no_color;
  const auto text = [&]() -> std::string {
    switch (plan.format) {
      case ReportFormat::kText:
        // One column less: "±" takes two columns as ASCII.
        if (terminal && !environment.utf8) return AsciiOnly(AuditText(report, environment.columns - 1, color));
        return AuditText(report, terminal ? environment.columns : 100, color);
      case ReportFormat::kJson:
        return AuditJson(report);
      case ReportFormat::kHtml:
        return AuditHtml(report);
      case ReportFormat::kCsv:
        return AuditCsv(report);
      case ReportFormat::kMarkdown:
        return AuditMarkdown(report);
      case ReportFormat::kParquet:
        break;
    }
    return {};
  };
  if (!aside) return WriteOutput(request.output, text());
  if (!request.quiet) PrintAside(text());
  return {};
}

}  // namespace

Result<int> ReportEnd::Code() const {
  TRY(written);
  return gates_hold ? 0 : kExitGate;
}

ReportEnd WriteAudit(const Audited& audited, const AuditPlan& plan, const Environment& environment) {
  const AuditReport& report = audited.report;
  ReportEnd end;
  end.written = Write(report, plan, environment);
  // Without a GPU no gate can be judged, and an unjudged gate counts as broken.
  const std::vector<std::string> broken = report.run.devices.empty() ? UnjudgedGates(plan.gates, "no GPU was measured")
                                                                     : BrokenGates(plan.gates, report.cost);
  for (const std::string& gate : broken) Say("--fail-on " + gate);
  end.gates_hold = broken.empty();
  end.figures = FiguresOf(audited, plan);
  return end;
}

namespace {

// Notes that the report already covers are not printed again. The recording has all of them.
bool IsWorthALine(NoteKind kind) {
  return kind != NoteKind::kWorkloadStarted && kind != NoteKind::kWorkloadEnded && kind != NoteKind::kSettled &&
         kind != NoteKind::kDeviceFound && kind != NoteKind::kAlert && kind != NoteKind::kEnforced;
}

void SayUse(const RunSummary& summary) {
  for (const HostScope scope : {HostScope::kWorkload, HostScope::kMachine}) {
    if (const std::optional<HostUse> use = summary.Use(scope)) Say(DescribeUse(*use, scope));
  }
}

void SayNotes(const RunSummary& summary) {
  for (const Note& note : summary.notes()) {
    if (!IsWorthALine(note.kind)) continue;
    std::string kind(kNoteKindNames[static_cast<std::size_t>(note.kind)]);
    for (char& c : kind) c = c == '_' ? ' ' : c;
    Say(kind + ": " + note.text);
  }
}

}  // namespace

ReportEnd ReportLive(const AuditPlan& plan, const LiveRecord& record, const std::string& why_no_gpu,
                     const Environment& environment) {
  // The audit says why no GPU was measured, so the reason travels with the inputs.
  const auto recorded = [&]() -> Result<std::shared_ptr<RunInputs>> {
    std::shared_ptr<RunInputs> run = record.Recorded();
    run->why_no_gpu = why_no_gpu.empty() ? "it ended too soon for a reading" : why_no_gpu;
    return run;
  };
  Result<Audited> audited = Audit(recorded, plan);
  ReportEnd end;
  bool measured = false;
  if (audited) {
    AuditReport& report = audited->report;
    measured = !report.run.devices.empty();
    if (!measured) Say("no GPU was measured: " + report.live.no_gpu);
    report.inputs = {record.path().empty() ? "this machine" : record.path()};
    const bool of_text = plan.format == ReportFormat::kText && plan.request.output.empty();
    // A text without figures would be empty, and the reason has been said. A file or JSON is written all the same:
    // scripts wait for it.
    if (measured || !of_text) {
      end = WriteAudit(*audited, plan, environment);
    } else {
      for (const std::string& gate : UnjudgedGates(plan.gates, "no GPU was measured")) Say("--fail-on " + gate);
      end.gates_hold = plan.gates.empty();
      end.figures = FiguresOf(*audited, plan);  // the work done
    }
  } else {
    end.written = tl::unexpected<Error>(audited.error());
    end.gates_hold = plan.gates.empty();
  }
  const bool on_stderr = plan.request.to_stderr && plan.request.output.empty();
  const bool quiet = plan.request.quiet;
  // A document on standard error must stay readable by a program.
  const bool mixes = on_stderr && plan.format != ReportFormat::kText && !quiet;
  if (!mixes && !quiet) SayUse(record.summary());
  if (!mixes) SayNotes(record.summary());
  if (!record.path().empty() && !quiet) Say("recording: " + record.path());
  return end;
}

}  // namespace idleburn
