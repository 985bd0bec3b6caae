#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "report/audit_view.h"
#include "report/audit_writers.h"
#include "report/display.h"
#include "report/ribbon.h"
#include "report/text_page.h"
#include "report/view_context.h"
#include "text/escape.h"
#include "text/table.h"

namespace idleburn {
namespace {

constexpr int kRibbonFrom = 60;
constexpr std::size_t kRibbons = 16;
constexpr std::size_t kCards = 5;
constexpr int kBarFrom = 76;
constexpr int kBarColumns = 20;

// The table of slices with a bar beside each, where there is room.
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

void AppendLegend(const std::array<bool, kLookCount>& used, const CostReport& cost, TextPage* page) {
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

// One line per GPU from the start to the end of the window.
void AppendRibbons(const AuditReport& report, TextPage* page) {
  const auto& devices = report.cost.devices;
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
    page->Raw(line + "\n");
  }
  if (shown < devices.size()) page->Raw(fmt::format("  and {} more\n", devices.size() - shown));
  AppendLegend(used, report.cost, page);
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

  AppendRibbons(report, &page);
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
  if (report.explain) page.Grid(view.declined);
  page.Grid(view.quality);
  page.Section("Machine", view.system);
  page.Section("How these figures were made", view.basis);
  return std::move(page).Take();
}

}  // namespace idleburn
