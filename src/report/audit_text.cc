#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "report/audit_report.h"
#include "report/audit_view.h"
#include "report/display.h"
#include "report/ribbon.h"
#include "text/escape.h"
#include "text/table.h"

namespace idleburn {
namespace {

constexpr int kNarrowest = 40;
constexpr int kWidest = 140;  // longer lines are hard to read
constexpr int kRibbonFrom = 60;
constexpr std::size_t kRibbons = 16;
constexpr std::size_t kCards = 5;
constexpr int kBarFrom = 76;
constexpr int kBarColumns = 20;

// Builds the text, escaping every string on its way in. Colour is added outside of what was escaped and carries
// no meaning of its own.
class TextPage {
 public:
  TextPage(int width, bool color) : width_(std::clamp(width, kNarrowest, kWidest)), color_(color) {}

  [[nodiscard]] int width() const { return width_; }
  [[nodiscard]] std::string Bold(std::string_view text) const { return Styled(text, "1"); }
  [[nodiscard]] std::string Styled(std::string_view text, std::string_view code) const {
    return color_ ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text);
  }
  void Raw(std::string_view text) { out_ += text; }
  void Blank() { out_ += '\n'; }
  void Heading(std::string_view text) { out_ += "\n" + Bold(Printable(text)) + "\n"; }

  // A paragraph: `lead` on the first line, then blanks as wide.
  void Wrapped(std::string_view lead, std::string_view text, bool bold = false) {
    const int indent = DisplayWidth(lead);
    std::string_view start = lead;
    const std::string blanks(static_cast<std::size_t>(indent), ' ');
    for (const std::string& line : WrapWords(Printable(text), width_ - indent)) {
      out_ += std::string(start) + (bold ? Bold(line) : line) + "\n";
      start = blanks;
    }
  }
  // "  why   ..." with further lines under the first. What is `brief` stands in full further down.
  void Labelled(std::string_view label, const std::vector<std::string>& lines, bool brief) {
    std::string lead = fmt::format("  {:<6}", label);
    for (const std::string& line : lines) {
      const int room = width_ - static_cast<int>(lead.size());
      Wrapped(lead, brief ? Shortened(Printable(line), room) : line);
      lead.assign(lead.size(), ' ');
    }
  }
  void Lines(const std::vector<std::string>& lines) {
    for (const std::string& line : lines) Wrapped("  ", line);
  }
  void Grid(const ReportTable& table) {
    Heading(table.title);
    out_ += LayOutTable(table.columns, table.rows, width_, 2);
    Lines(table.notes);
  }
  void Cards(const ReportTable& table, std::size_t limit) {
    Heading(table.title);
    for (std::size_t i = 0; i < std::min(limit, table.rows.size()); ++i) {
      const TableRow& row = table.rows[i];
      Wrapped(fmt::format("  {}. ", i + 1), row.front());
      for (std::size_t c = 1; c < row.size(); ++c) {
        if (!row[c].empty()) Wrapped(fmt::format("     {}: ", table.columns[c].header), row[c]);
      }
    }
    if (table.rows.size() > limit) out_ += fmt::format("  and {} more: --explain\n", table.rows.size() - limit);
    Lines(table.notes);
  }

  std::string Take() && { return std::move(out_); }

 private:
  int width_;
  bool color_;
  std::string out_;
};

// The phase table with a bar beside each share, where there is room.
ReportTable WithBars(ReportTable table, const UsageCost& usage) {
  const auto shares = PhaseShares(usage);
  if (!shares) return table;
  table.columns.push_back({});
  for (TableRow& row : table.rows) {
    const auto name = std::find(kPhaseNames.begin(), kPhaseNames.end(), row.front());
    if (name == kPhaseNames.end()) continue;
    const std::int64_t share = (*shares)[static_cast<std::size_t>(name - kPhaseNames.begin())];
    const std::int64_t eighths = share * kBarColumns * 8 / 10'000;
    constexpr std::array<std::string_view, 8> kParts = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    std::string bar;
    for (std::int64_t i = 0; i < eighths / 8; ++i) bar += "█";
    row.push_back(bar + std::string(kParts[static_cast<std::size_t>(eighths % 8)]));
  }
  return table;
}

void AppendLegend(const std::array<bool, kLookCount>& used, TextPage* page) {
  std::string line;
  for (std::size_t i = 0; i < kLookCount; ++i) {
    if (!used[i]) continue;
    const std::string entry = fmt::format("{} {}", kLooks[i].block, kLooks[i].meaning);
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
  const std::size_t shown = std::min(kRibbons, devices.size());
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
  AppendLegend(used, page);
}

}  // namespace

std::string AuditText(const AuditReport& report, int width, bool color) {
  const AuditView view = ViewOf(report, {});
  TextPage page(width, color);
  page.Wrapped("", view.verdict, true);
  page.Labelled("why", view.why, true);
  page.Labelled("next", view.next, false);
  page.Blank();
  page.Wrapped("", view.title);

  AppendRibbons(report, &page);
  page.Grid(page.width() >= kBarFrom ? WithBars(view.phases, report.cost.whole) : view.phases);
  page.Grid(view.gpus);
  if (!view.owners.rows.empty()) page.Grid(view.owners);
  page.Heading("Money");
  page.Lines(view.money);
  if (!view.signals.empty()) {
    page.Heading("Energy, clocks, bursts");
    page.Lines(view.signals);
  }
  if (!view.findings.rows.empty()) page.Cards(view.findings, report.explain ? view.findings.rows.size() : kCards);
  if (!view.recommendations.rows.empty()) {
    page.Cards(view.recommendations, report.explain ? view.recommendations.rows.size() : kCards);
  }
  if (report.explain && !view.declined.rows.empty()) page.Grid(view.declined);
  if (!view.quality.rows.empty()) page.Grid(view.quality);
  page.Heading("Machine");
  page.Lines(view.system);
  page.Heading("How these figures were made");
  page.Lines(view.basis);
  return std::move(page).Take();
}

}  // namespace idleburn
