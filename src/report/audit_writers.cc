#include "report/audit_writers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "report/audit_view.h"
#include "report/display.h"
#include "report/measured.h"
#include "report/report_page.h"
#include "report/ribbon.h"
#include "report/view_context.h"
#include "text/escape.h"
#include "text/number.h"
#include "text/table.h"
#include "text/time_zone.h"

namespace idleburn {
namespace {

// Columns a terminal needs before a ribbon or a bar says more than noise. Narrower terminals get the tables alone.
constexpr int kRibbonFrom = 60;
constexpr std::size_t kRibbons = 16;
constexpr std::size_t kCards = 5;
constexpr int kBarFrom = 76;
constexpr int kBarColumns = 20;

// Adds a column with a bar per slice. A bar has eighths of a column, so 20 columns show steps of 0.6 %. Row i of
// `table` must be slice i of the context.
ReportTable WithBars(ReportTable table, const ViewContext& c) {
  table.columns.push_back({});
  for (std::size_t i = 0; i < c.slices.size(); ++i) {
    const auto eighths =
        static_cast<std::size_t>(std::lround(c.ShareOfBill(c.slices[i].cost, c.slices[i].ns) * kBarColumns * 8));
    constexpr std::array<std::string_view, 8> kParts = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    std::string bar;
    for (std::size_t whole = 0; whole < eighths / 8; ++whole) bar += "█";
    table.rows[i].push_back(bar + std::string(kParts[eighths % 8]));
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

// What a device held in a log of a single run, in the form that AppendRows takes for several.
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
