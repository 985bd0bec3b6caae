#include "report/live_report.h"

#include "terminal/output.h"

namespace idleburn {
namespace {

// What a report says is not said again; the rest is in the recording.
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
  const bool mixes = on_stderr && plan.format != ReportFormat::kText && !quiet;
  if (!mixes && !quiet) SayUse(record.summary());
  if (!mixes) SayNotes(record.summary());
  if (!record.path().empty() && !quiet) Say("recording: " + record.path());
  return end;
}

}  // namespace idleburn
