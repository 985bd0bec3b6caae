#include "report/audit_view.h"
#include "report/audit_writers.h"
#include "report/markdown_parts.h"
#include "text/table.h"

namespace idleburn {
namespace {

constexpr std::size_t kGpuRows = 64;

}  // namespace

std::string AuditMarkdown(const AuditReport& report) {
  const AuditView view = ViewOf(report, {kGpuRows});
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

}  // namespace idleburn
