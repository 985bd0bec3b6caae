#include "report/write_audit.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "report/audit_view.h"
#include "report/display.h"
#include "report/measured.h"
#include "report/report_page.h"
#include "report/ribbon.h"
#include "report/view_context.h"
#include "terminal/output.h"
#include "text/number.h"
#include "text/strings.h"
#include "text/table.h"
#include "text/time_zone.h"

// The end of every audit: the figures for the history, the report, and the gates. Gates are judged even if the report
// could not be written. Below these are the writers for terminals, Markdown and CSV; JSON and HTML have files of their
// own.
//
// A script sees the exit code and nothing else. So an error of writing comes before a broken gate, and a gate that
// cannot be judged is broken: a pipeline must not pass because a counter was off.
//
// Live runs keep standard output for the measured command. Their report goes to standard error or to a file, and
// progress notes are left out where they would damage a document.
namespace idleburn {
namespace {

// The history stores amounts as integers, so that sums in SQL are exact.
std::optional<std::int64_t> NanoOf(const std::optional<Money>& money) {
  return money ? std::optional(money->nano()) : std::nullopt;
}

// GPU-time of one phase.
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

// One unit only: the history has one count per run. Steps come first, as every job has them. Further units are in the
// report.
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

// The highest memory use of any GPU, in bytes. The most of any GPU decides whether the job fits, so it is not averaged.
void TakePeak(const AuditReport& report, RunFigures& figures) {
  for (const DeviceResult& device : report.run.devices) {
    const std::optional<std::int64_t> most = device.totals.Peak(Signal::kMemoryUsed);
    if (most) figures.memory_peak = std::max(*most, figures.memory_peak.value_or(*most));
  }
}

}  // namespace

// A run without a GPU still did work, so work and pace come first.
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

// A live command keeps standard output for the command it runs, so its report goes to standard error.
Paper PaperOf(const AuditPlan& plan, const Environment& environment) {
  const ReportRequest& request = plan.request;
  const TextWish wish{request.full || request.explain, request.no_color};
  Paper paper =
      request.to_stderr ? PaperAside(environment, request.output, wish) : PaperFor(environment, request.output, wish);
  paper.rows -= request.lines_below;
  return paper;
}

// Writes the report in the format of the plan.
Result<void> Write(const AuditReport& report, const AuditPlan& plan, const Environment& environment) {
  const ReportRequest& request = plan.request;
  const bool aside = request.to_stderr && request.output.empty();
  if (aside && request.quiet) return {};
  const std::string text = Written(kAuditWriters, plan.format, report, PaperOf(plan, environment));
  if (!aside) return WriteOutput(request.output, text);
  PrintAside(text);
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

// What the workload and the machine used, one line each.
void SayUse(const RunSummary& summary) {
  for (const HostScope scope : {HostScope::kWorkload, HostScope::kMachine}) {
    if (const std::optional<HostUse> use = summary.Use(scope)) Say(DescribeUse(*use, scope));
  }
}

// What happened during the run, in order, as lines on standard error.
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
    report.inputs = {record.path().empty() ? "this machine" : record.path()};
    end = WriteAudit(*audited, plan, environment);
    // A report elsewhere does not say on the terminal what is missing in it.
    const bool said = plan.format == ReportFormat::kText && plan.request.output.empty() && !plan.request.quiet;
    if (!measured && !said) Say("no GPU was measured: " + report.live.no_gpu);
  } else {
    end.written = tl::unexpected<Error>(audited.error());
    end.gates_hold = plan.gates.empty();
  }
  const bool on_stderr = plan.request.to_stderr && plan.request.output.empty();
  const bool quiet = plan.request.quiet;
  // A document on standard error must stay readable by a program.
  const bool mixes = on_stderr && plan.format != ReportFormat::kText && !quiet;
  const bool screen = plan.format == ReportFormat::kText && plan.request.output.empty() && !plan.request.full;
  if (!mixes && !quiet && !screen) SayUse(record.summary());
  if (!mixes) SayNotes(record.summary());
  if (!record.path().empty() && !quiet) Say("recording: " + record.path());
  return end;
}

std::string AuditOnPaper(const AuditReport& report, const Paper& paper) {
  return paper.full ? AuditText(report, paper.columns, paper.color) : AuditScreen(report, paper);
}

namespace {

// Columns a terminal needs before a ribbon or a bar says more than noise. Narrower terminals get the tables alone.
constexpr int kRibbonFrom = 60;
// GPUs with a ribbon, and findings with a card, in a terminal. --explain shows all findings.
constexpr std::size_t kRibbons = 16;
constexpr std::size_t kCards = 5;
// Below this width the bars would take the room of the figures. 20 columns show steps of 0.6 %.
constexpr int kBarFrom = 76;
constexpr int kBarColumns = 20;

// Adds a column with a bar per slice. A bar has eighths of a column, so 20 columns show steps of 0.6 %. Row i of
// `table` must be slice i of the context.
ReportTable WithBars(ReportTable table, const ViewContext& c) {
  table.columns.push_back({});
  for (std::size_t i = 0; i < c.slices.size(); ++i) {
    const auto eighths =
        static_cast<std::size_t>(std::lround(c.ShareOfBill(c.slices[i].cost, c.slices[i].ns) * kBarColumns * 8));
    constexpr std::array<std::string_view, 8> kEighths = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    std::string bar;
    for (std::size_t whole = 0; whole < eighths / 8; ++whole) bar += "█";
    table.rows[i].push_back(bar + std::string(kEighths[eighths % 8]));
  }
  return table;
}

// Explains the looks that the ribbons used, as many entries on a line as fit.
void AppendTextLegend(const std::array<bool, kLookCount>& used, const CostReport& cost, TextPage* page) {
  std::string line;
  for (std::size_t i = 0; i < kLookCount; ++i) {
    if (!used[i]) continue;
    const std::string entry = fmt::format("{} {}", kLooks[i].block, MeaningOf(static_cast<Look>(i), cost));
    if (!line.empty() && DisplayWidth(line) + 3 + DisplayWidth(entry) > page->width() - 2) {
      page->Raw("  " + line + "\n");
      line.clear();
    }
    line += (line.empty() ? "" : "   ") + entry;
  }
  if (!line.empty()) page->Raw("  " + line + "\n");
}

// One line per GPU over the whole window. The label takes at most a third of the width; a longer one is shortened.
void AppendTextRibbons(const AuditReport& report, TextPage* page) {
  const auto& devices = report.cost.devices;
  // A trace has no timeline.
  const std::size_t shown = report.traced_only ? 0 : std::min(kRibbons, devices.size());  // a trace has no timeline
  if (page->width() < kRibbonFrom || shown == 0 || report.run.end <= report.run.start) return;
  int label_width = 0;
  for (std::size_t i = 0; i < shown; ++i) {
    label_width = std::max(label_width, DisplayWidth(Printable(DeviceLabel(report, devices[i].device))));
  }
  label_width = std::min(label_width, page->width() / 3);
  const int columns = page->width() - label_width - 4;
  std::array<bool, kLookCount> used{};
  page->Heading("Over time");
  for (std::size_t i = 0; i < shown; ++i) {
    const DeviceResult* result = ResultOf(report, devices[i].device);
    if (result == nullptr) continue;
    std::string label = Shortened(Printable(DeviceLabel(report, devices[i].device)), label_width);
    label.append(static_cast<std::size_t>(label_width - DisplayWidth(label)), ' ');
    std::string line = "  " + label + "  ";
    for (const RibbonColumn& c : RibbonOf(*result, report.thresholds, report.run.start, report.run.end, columns)) {
      used[static_cast<std::size_t>(c.look)] = true;
      line += page->Styled(Info(c.look).block, fmt::format("38;5;{}", Info(c.look).color));
    }
    // Raw, because the line already holds colour codes, which Wrapped would escape.
    page->Raw(line + "\n");
  }
  if (shown < devices.size()) page->Raw(fmt::format("  and {} more\n", devices.size() - shown));
  AppendTextLegend(used, report.cost, page);
}

}  // namespace

// The first screen has verdict, why and next. Tables follow from the whole to the details.
std::string AuditText(const AuditReport& report, int width, bool color) {
  const AuditView view = ViewOf(report, {});
  TextPage page(width, color);
  page.Wrapped("", view.verdict, true);
  page.Labelled("why", view.why);
  page.Labelled("next", view.next);
  page.Blank();
  page.Wrapped("", view.title);
  if (!view.runs_line.empty()) page.Wrapped("", view.runs_line);

  AppendTextRibbons(report, &page);
  page.Grid(page.width() >= kBarFrom && !view.phases.rows.empty() ? WithBars(view.phases, ViewContext(report))
                                                                  : view.phases);
  for (const ReportTable* table :
       {&view.runs, &view.gpus, &view.rates, &view.owners, &view.trace, &view.idle, &view.measured}) {
    page.Grid(*table);
  }
  for (const ReportTable& table : view.traced_time) page.Grid(table);
  page.Section("Money", view.money);
  page.Section("Energy, clocks, bursts", view.signals);
  if (!view.findings.rows.empty()) page.Cards(view.findings, report.explain ? view.findings.rows.size() : kCards);
  if (!view.recommendations.rows.empty()) {
    page.Cards(view.recommendations, report.explain ? view.recommendations.rows.size() : kCards);
  }
  if (!view.try_first.rows.empty()) {
    page.Cards(view.try_first, report.explain ? view.try_first.rows.size() : kCards);
  }
  // Rejected measures interest only a reader who asked why.
  if (report.explain) page.Grid(view.declined);
  page.Grid(view.quality);
  page.Section("Machine", view.system);
  page.Section("How these figures were made", view.basis);
  return std::move(page).Take();
}

// The same parts without ribbons: block characters do not align in a proportional font.
std::string AuditMarkdown(const AuditReport& report) {
  const AuditView view = ViewOf(report, {kPageGpuRows});
  std::string out = "# GPU audit\n\n**" + MarkdownEscaped(view.verdict) + "**\n\n" + MarkdownEscaped(view.title) + "\n";
  if (!view.runs_line.empty()) out += "\n" + MarkdownEscaped(view.runs_line) + "\n";
  AppendMarkdownSection("Why", view.why, &out);
  AppendMarkdownSection("Next", view.next, &out);
  AppendMarkdownTable(view.phases, &out);
  AppendMarkdownTable(view.runs, &out);
  AppendMarkdownTable(view.gpus, &out);
  AppendMarkdownTable(view.rates, &out);
  AppendMarkdownTable(view.owners, &out);
  AppendMarkdownTable(view.trace, &out);
  AppendMarkdownTable(view.idle, &out);
  for (const ReportTable& table : view.traced_time) AppendMarkdownTable(table, &out);
  AppendMarkdownTable(view.measured, &out);
  AppendMarkdownSection("Money", view.money, &out);
  AppendMarkdownSection("Energy, clocks, bursts", view.signals, &out);
  AppendMarkdownTable(view.findings, &out);
  AppendMarkdownTable(view.recommendations, &out);
  AppendMarkdownTable(view.try_first, &out);
  if (report.explain) AppendMarkdownTable(view.declined, &out);
  AppendMarkdownTable(view.quality, &out);
  AppendMarkdownSection("Machine", view.system, &out);
  AppendMarkdownSection("How these figures were made", view.basis, &out);
  return out;
}

namespace {

// The CSV. Costs keep all decimals and hours twelve, so that a spreadsheet can sum them without an error of rounding.
constexpr std::string_view kAuditCsvHeader =
    "start,end,host,gpu_index,gpu_uuid,mig_instance,gpu_name,counter,phase,gpu_hours,percent_of_observed,cost,currency,"
    "rate_per_gpu_hour,price_source,signal,unit,mean,p95,peak,coverage\n";

// One phase of one device. `share` is absent where nothing was observed and for time that is in no phase.
struct CsvRow {
  std::string_view phase;
  std::int64_t ns = 0;
  std::optional<std::int64_t> share;  // hundredths of a percent
  std::optional<Money> cost;
};

// `before` holds the cells that say which device and window, `after` those of its rate.
void AppendRow(std::string_view before, const CsvRow& row, std::string_view after, int digits, std::string* out) {
  const std::string share = row.share ? fmt::format("{}.{:02}", *row.share / 100, *row.share % 100) : "";
  *out += fmt::format("{},{},{:.12f},{},{},{},,,,,,\n", before, row.phase, InHours(row.ns), share,
                      row.cost ? FormatExact(*row.cost, digits) : "", after);
}

// What a device held in a log of a single run, in the form that AppendRows takes. Logs of one run and of several then
// share the code.
CostReport::RunUsage WholeOf(const UsageCost& usage) {
  CostReport::RunUsage all;
  for (std::size_t p = 0; p < kPhaseCount; ++p) {
    all.ns[p] = usage.phase_ns[p];
    all.cost[p] = usage.phase_cost[p];
  }
  all.ns[kPhaseCount] = usage.unobserved_ns;
  all.cost[kPhaseCount] = usage.unobserved_cost;
  all.ns[kPhaseCount + 1] = usage.unallocated_ns;
  all.cost[kPhaseCount + 1] = usage.unallocated_cost;
  return all;
}

// The rows of one device in one run. "unobserved" always has a row, because its time is part of the bill;
// "unallocated" only where there are MIG slices that no instance has.
void AppendRows(const std::string& before, const CostReport::RunUsage& u, std::string_view after, int digits,
                std::string* out) {
  // PhaseShares needs the times of the phases and the observed time; the rest stays empty.
  UsageCost phases;  // for its shares
  std::copy_n(u.ns.begin(), kPhaseCount, phases.phase_ns.begin());
  phases.observed_ns = u.ObservedNs();
  const auto shares = PhaseShares(phases);
  for (std::size_t p = 0; p < kPhaseCount; ++p) {
    AppendRow(before, {kPhaseNames[p], u.ns[p], shares ? std::optional((*shares)[p]) : std::nullopt, u.cost[p]}, after,
              digits, out);
  }
  AppendRow(before, {"unobserved", u.ns[kPhaseCount], {}, u.cost[kPhaseCount]}, after, digits, out);
  const std::int64_t unallocated = u.ns[kPhaseCount + 1];
  if (unallocated > 0) AppendRow(before, {"unallocated", unallocated, {}, u.cost[kPhaseCount + 1]}, after, digits, out);
}

// One row per measured signal, over all runs together. These rows leave the phase empty, and rows of phases leave the
// signal empty, so a pivot table over either ignores the other.
void AppendSignals(const std::string& before, const std::vector<MeasuredSignal>& rows, std::string* out) {
  for (const MeasuredSignal& row : rows) {
    if (!row.mean) continue;
    const auto number = [&](const std::optional<double>& value) {
      return value ? fmt::format("{:.12g}", InUnit(*value, row.unit)) : std::string();
    };
    const std::string name = row.scope == "gpu" ? std::string(row.name) : fmt::format("{} {}", row.scope, row.name);
    *out += fmt::format("{},{},,,,,,,,{},{},{},{},{},{:.6f}\n", before,
                        CsvCell(fmt::format("{}", fmt::join(row.counters, "; "))), name, UnitName(row.unit),
                        number(row.mean), number(row.p95), number(row.peak), row.coverage);
  }
}

}  // namespace

// Rows are long and not wide: one per device, run and phase. A new phase or signal then adds rows and no columns.
std::string AuditCsv(const AuditReport& report) {
  const int digits = MinorUnitDigits(report.cost.rate.currency);
  const bool dated = !report.run.devices.empty() && IsDated(report.run.start);
  // Two empty cells for a log without dates.
  const auto window = [&](const RunSpan& span) {
    return dated ? FormatRfc3339(span.start) + "," + FormatRfc3339(span.end) : std::string(",");
  };
  const std::string whole = window({report.run.start, report.run.end});
  std::string out(kAuditCsvHeader);
  for (const CostReport::DeviceCost& d : report.cost.devices) {
    const Device& device = (*report.devices)[d.device];
    std::string who;
    for (const std::string& cell : {device.host, device.index ? std::to_string(*device.index) : "", device.uuid,
                                    device.mig ? device.mig->id : "", device.name}) {
      who += "," + CsvCell(cell);
    }
    const std::string read_by = who + "," + CsvCell(CounterOf(report, d.device));
    const Rate& rate = report.cost.RateOf(d);
    const std::string after = CsvCell(rate.currency) + "," +
                              (rate.per_gpu_hour ? FormatExact(*rate.per_gpu_hour, digits) : "") + "," +
                              CsvCell(rate.source);
    // A log of one run has one set of rows per device.
    if (report.cost.runs.size() < 2) {
      AppendRows(whole + read_by, WholeOf(d.usage), after, digits, &out);
    } else {
      for (const CostReport::DeviceCost::InRun& in : d.runs) {
        AppendRows(window(report.cost.runs[in.run].span) + read_by, in.usage, after, digits, &out);
      }
    }
    AppendSignals(whole + who, MeasuredOf(report, d.device), &out);
  }
  AppendSignals(whole + ",,,,,", MeasuredOfHost(report), &out);
  return out;
}

}  // namespace idleburn
