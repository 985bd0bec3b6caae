#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "report/audit_view.h"
#include "report/display.h"
#include "report/report_page.h"
#include "report/ribbon.h"
#include "report/trace_timeline.h"
#include "report/view_context.h"
#include "report/write_audit.h"
#include "text/figures.h"
#include "text/number.h"
#include "text/strings.h"
#include "text/time_zone.h"

// The audit as one self-contained HTML file. Styles, scripts and figures are inside the page, so it opens offline, can
// be mailed, and reports nothing to a server. A page that loads a chart library from a network was rejected for the
// same reason: many clusters have no way out.
//
// The page prints the same AuditView as the terminal and Markdown writers. Only the tiles, the bar and the ribbons are
// drawn here. They take their figures from ViewContext, so they agree with the tables below them. Ribbons are SVG and
// need no script; only the charts of utilization and power do.
//
// Every text that may come from an input passes through HtmlEscaped. A job's name must not be able to run code in a
// reader's browser.
namespace idleburn {
namespace {

// Ribbons that are seen at once. Of more GPUs, those with the most waste are shown, and the others are folded.
constexpr std::size_t kFullRibbons = 16;
// GPUs that get a ribbon, and GPUs that get a chart. The limits keep the page of a large cluster small enough to open.
// The totals still count every GPU, and a line below the ribbons says how many are not drawn.
constexpr std::size_t kPictured = 256;
constexpr std::size_t kCharted = 32;
// Columns of a folded ribbon: about the pixels of a phone.
constexpr int kCompactColumns = 250;
constexpr int kRibbonWidth = 1000;  // units of the picture, about its pixels
constexpr int kRibbonHeight = 28;
// Distances between the times below the ribbons. Four fit a phone.
constexpr std::int64_t kAxisMarks = 4;

// Prints each row as a card: the first cell is the headline, the others are term and description. Findings and advice
// have cells of several sentences, which would make a grid unreadable. Empty cells are skipped.
//
// `causes`: the cause of each row, whose first card gets an id that the timeline links to; empty for none.
void AppendCards(const ReportTable& table, std::string* out, const std::vector<std::string_view>& causes = {}) {
  if (table.rows.empty()) return;
  OpenHtmlSection(table.title, std::to_string(table.rows.size()), HtmlSection::kFolded, out);
  *out += "<div class=\"cards\">\n";
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    const TableRow& row = table.rows[i];
    const auto end = causes.begin() + static_cast<std::ptrdiff_t>(std::min(i, causes.size()));
    const bool linked = i < causes.size() && std::find(causes.begin(), end, causes[i]) == end;
    *out += linked ? fmt::format("<article id=\"cause-{}\">", causes[i]) : "<article>";
    *out += "<h3>" + HtmlEscaped(row.front()) + "</h3>\n<dl>";
    for (std::size_t c = 1; c < row.size(); ++c) {
      if (!row[c].empty())
        *out += "<dt>" + HtmlEscaped(table.columns[c].header) + "</dt><dd>" + HtmlEscaped(row[c]) + "</dd>\n";
    }
    *out += "</dl></article>\n";
  }
  *out += "</div>\n";
  AppendHtmlLines(table.notes, "notes", out);
  CloseHtmlSection(HtmlSection::kFolded, out);
}

// One headline figure: what it is, its value, and a line that says what the value is relative to.
void AppendTile(std::string_view label, std::string_view value, std::string_view more, std::string* out) {
  *out += fmt::format("<div class=\"tile\"><dt>{}</dt><dd>{}</dd><dd class=\"more\">{}</dd></div>\n",
                      HtmlEscaped(label), HtmlEscaped(value), HtmlEscaped(more));
}

// The figures a reader looks for first. Without a price, the tiles show GPU-hours instead of money. The tiles of waste,
// utilization and energy are left out where nothing was read, because "0" would look like a measurement.
void AppendTiles(const ViewContext& c, std::string* out) {
  const UsageCost& u = c.report.cost.whole;
  *out += "<dl class=\"tiles\">\n";
  if (c.in_money) {
    AppendTile("Paid", c.Cost(c.costs->total), PaidHours(c), out);
    if (u.observed_ns > 0) AppendTile("Waste", c.Waste(), "of " + std::string(c.Bill()), out);
  } else {
    AppendTile("GPU-hours", ThreeDigits(InHours(u.window_ns)),
               c.report.traced_only ? "traced"
               : c.priced           ? "nothing measured"
                                    : "no price given",
               out);
    if (u.observed_ns > 0) AppendTile("Waste", c.Waste(), "of " + std::string(c.Bill()), out);
  }
  if (u.mean_utilization) {
    AppendTile("Mean utilization", PercentText(*u.mean_utilization / 100),
               c.report.traced_only ? "over the traced window" : "over observed time", out);
  }
  const auto worth = [&](Money CostColumn::*cost, std::int64_t HourColumn::*ns) {
    return c.Worth(c.costs ? std::optional((*c.costs).*cost) : std::nullopt, c.hours.*ns);
  };
  AppendTile("Idle, held", worth(&CostColumn::idle_held, &HourColumn::idle_held), "a process kept the GPU", out);
  if (u.unobserved_ns > 0) {
    AppendTile("Unobserved", worth(&CostColumn::unobserved, &HourColumn::unobserved), "never counted as idle", out);
  }
  if (u.energy_kwh) AppendTile("Energy", ThreeDigits(*u.energy_kwh) + " kWh", EnergyBasis(c), out);
  *out += "</dl>\n";
}

// One entry of a legend. The swatch repeats fill and pattern of the picture, so the legend also works without colour.
// About one in twelve men cannot tell all colours apart.
std::string KeyEntry(std::string_view fill, std::string_view text) {
  return fmt::format(
      R"(<li><svg class="swatch" aria-hidden="true"><rect class="fill-{}" width="100%" height="100%"/></svg>{}</li>)"
      "\n",
      fill, HtmlEscaped(text));
}

// Draws the bill as one bar, one piece per slice, with the legend below it. Slices of unpriced GPUs are left out
// where the bar is scaled by money, because they have no width there.
void AppendBar(const ViewContext& c, std::string* out) {
  const auto fill = [](std::string_view id) {
    // The bar uses the colours of the ribbons, so that a reader learns them once. Idle time of unknown holder looks
    // like empty idle time; "unallocated" has a fill of its own.
    constexpr std::array<std::pair<std::string_view, Look>, 8> kLookOf = {{{"idle_held", Look::kIdleHeld},
                                                                           {"idle_empty", Look::kIdleEmpty},
                                                                           {"idle_unknown", Look::kIdleEmpty},
                                                                           {"underutilized", Look::kUnderutilized},
                                                                           {"productive", Look::kProductive},
                                                                           {"compute_bound", Look::kComputeBound},
                                                                           {"spin_wait", Look::kSpinWait},
                                                                           {"unobserved", Look::kUnobserved}}};
    const auto* at = std::find_if(kLookOf.begin(), kLookOf.end(), [&](const auto& look) { return look.first == id; });
    return at == kLookOf.end() ? id : Info(at->second).id;
  };
  std::string shapes;
  std::string key;
  double x = 0;
  for (const BillSlice& slice : c.slices) {
    if (slice.ns <= 0 || (c.by_rate && c.Unpriced(slice.cost, slice.ns))) continue;
    const double width = c.ShareOfBill(slice.cost, slice.ns) * kRibbonWidth;
    shapes += fmt::format(R"(<rect class="fill-{}" x="{:.1f}" width="{:.1f}" height="{}"/>)", fill(slice.id), x, width,
                          kRibbonHeight);
    key += KeyEntry(fill(slice.id), fmt::format("{} {}", slice.name, c.Part(slice)));
    x += width;
  }
  if (shapes.empty()) return;
  key += fmt::format("<li>of {}</li>\n", c.Bill());
  *out += fmt::format(
      R"(<svg class="bar" viewBox="0 0 {} {}" preserveAspectRatio="none" role="img" aria-label="Slices of {}">)"
      "<title>Slices of {}</title>{}</svg>\n<ul class=\"key\">\n{}</ul>\n",
      kRibbonWidth, kRibbonHeight, c.Bill(), c.Bill(), shapes, key);
}

// Which looks a picture used, by Look. The last entry says whether any column was throttled. The legend explains only
// what is drawn.
using UsedLooks = std::array<bool, kLookCount + 1>;

// One SVG path for all columns of a look. Neighbouring columns become one line, and lines are joined by relative
// moves: this is the shortest form, and a page can have 32 ribbons of 1,000 columns.
std::string StrokeOf(const std::vector<RibbonColumn>& columns, int y, bool (*wanted)(const RibbonColumn&, Look),
                     Look look) {
  const auto x_of = [&](std::size_t i) {
    return static_cast<int>(i * static_cast<std::size_t>(kRibbonWidth) / columns.size());
  };
  std::string path;
  // The end of the last line. The next move starts there.
  int pen = 0;
  for (std::size_t i = 0; i < columns.size();) {
    std::size_t end = i;
    while (end < columns.size() && wanted(columns[end], look)) ++end;
    if (end == i) {
      ++i;
      continue;
    }
    path += path.empty() ? fmt::format("M{} {}h{}", x_of(i), y, x_of(end) - x_of(i))
                         : fmt::format("m{} 0h{}", x_of(i) - pen, x_of(end) - x_of(i));
    pen = x_of(end);
    i = end;
  }
  return path;
}

// The ribbon of one device as SVG strokes, one per look, with a thin line at the bottom where clocks were held back.
// Marks in `used` what it drew.
std::string Ribbon(const AuditReport& report, const DeviceResult& device, int columns, UsedLooks* used) {
  const std::vector<RibbonColumn> ribbon =
      RibbonOf(device, report.thresholds, report.run.start, report.run.end, columns);
  std::string svg;
  for (std::size_t i = 0; i < kLookCount; ++i) {
    const std::string d = StrokeOf(
        ribbon, kRibbonHeight / 2, [](const RibbonColumn& c, Look l) { return c.look == l; }, static_cast<Look>(i));
    if (d.empty()) continue;
    (*used)[i] = true;
    svg += fmt::format(R"(<path class="look-{}" d="{}"/>)", kLooks[i].id, d);
  }
  // Throttling is drawn beside the look, not instead of it: a throttled GPU is still productive or idle.
  const std::string held_back = StrokeOf(
      ribbon, kRibbonHeight - 2, [](const RibbonColumn& c, Look) { return c.throttled; }, Look::kIdleEmpty);
  if (!held_back.empty()) {
    used->back() = true;
    svg += fmt::format(R"(<path class="throttled" d="{}"/>)", held_back);
  }
  return svg;
}

// The ribbon as text, for screen readers: the GPU-hours of each phase.
std::string RibbonInWords(const CostReport::DeviceCost& d) {
  if (d.usage.observed_ns == 0) return "nothing observed";
  std::string words;
  for (std::size_t p = 0; p < kPhaseCount; ++p) {
    words +=
        fmt::format("{}{} {}", words.empty() ? "" : ", ", kPhaseNames[p], ThreeDigits(InHours(d.usage.phase_ns[p])));
  }
  return words + " GPU-hours";
}

// The time axis below the ribbons: five equidistant times of day. A log without dates counts from zero, so its axis
// does not say UTC.
void AppendAxis(Instant from, Instant to, std::string* out) {
  *out += "<div class=\"axis\" aria-hidden=\"true\">";
  for (std::int64_t i = 0; i <= kAxisMarks; ++i) {
    const Instant at = from + Nanos((to - from).count() / kAxisMarks * i);
    const CivilTime t = ToCivil(at);
    *out += fmt::format("<span>{:02}:{:02}:{:02}{}</span>", t.hour, t.minute, t.second,
                        i == kAxisMarks && IsDated(from) ? " UTC" : "");
  }
  *out += "</div>\n";
}

// Explains the looks that the ribbons used. MeaningOf words a look by what this audit knows, so a legend never claims
// more than was read.
void AppendHtmlLegend(const UsedLooks& used, const CostReport& cost, std::string* out) {
  *out += "<ul class=\"key\">\n";
  for (std::size_t i = 0; i < kLookCount; ++i) {
    if (used[i]) *out += KeyEntry(kLooks[i].id, MeaningOf(static_cast<Look>(i), cost));
  }
  if (used.back()) *out += KeyEntry("throttled", "underlined: clocks held back");
  *out += "</ul>\n";
}

// Columns of a ribbon: one per bucket of the coarsest timeline, at most one per unit of width. Finer columns would only
// repeat a bucket. Ten minutes in buckets of one second give 600 columns.
int RibbonColumns(const AuditReport& report) {
  std::int64_t bucket = 1;
  for (const DeviceResult& d : report.run.devices) bucket = std::max(bucket, d.totals.timeline.bucket_seconds);
  const std::int64_t buckets = (report.run.end - report.run.start).count() / (bucket * kNanosPerSecond);
  return static_cast<int>(std::clamp<std::int64_t>(buckets, 1, kRibbonWidth));
}

// Positions in cost.devices of the GPUs to draw: in the order of the report, or, of more than fit at once, those with
// the most waste first.
std::vector<std::size_t> PicturedGpus(const AuditReport& report) {
  std::vector<std::size_t> gpus;
  for (std::size_t i = 0; i < report.cost.devices.size(); ++i) {
    if (ResultOf(report, report.cost.devices[i].device) != nullptr) gpus.push_back(i);
  }
  if (gpus.size() <= kFullRibbons) return gpus;
  SortByWaste(report.cost, &gpus);
  if (gpus.size() > kPictured) gpus.resize(kPictured);
  return gpus;
}

// One row per GPU and the time axis below them.
void AppendRibbons(const ViewContext& c, std::span<const std::size_t> gpus, int columns, UsedLooks* used,
                   std::string* out) {
  for (const std::size_t i : gpus) {
    const CostReport::DeviceCost& d = c.report.cost.devices[i];
    const std::string label = HtmlEscaped(DeviceLabel(c.report, d.device));
    *out += fmt::format(
        R"(<div class="row"><span class="label">{0}</span><svg class="ribbon" viewBox="0 0 {2} {3}" )"
        R"(preserveAspectRatio="none" role="img" aria-label="{0}: {1}"><title>{0}: {1}</title>{4}</svg></div>)"
        "\n",
        label, RibbonInWords(d), kRibbonWidth, kRibbonHeight,
        Ribbon(c.report, *ResultOf(c.report, d.device), columns, used));
  }
  AppendAxis(c.report.run.start, c.report.run.end, out);
}

// The section "Over time": a ribbon per GPU, and the placeholder that the page's script fills with charts. The
// placeholder stays hidden where scripts do not run.
void AppendHtmlRibbons(const ViewContext& c, std::string* out) {
  const AuditReport& report = c.report;
  if (report.traced_only || report.run.end <= report.run.start) return;  // a trace has no timeline
  const std::vector<std::size_t> pictured = PicturedGpus(report);
  const std::span<const std::size_t> gpus(pictured);
  const std::span<const std::size_t> rest = gpus.subspan(std::min(gpus.size(), kFullRibbons));
  const int columns = RibbonColumns(report);
  UsedLooks used{};
  OpenHtmlSection("Over time", "", HtmlSection::kOpen, out);
  if (!rest.empty()) {
    *out += fmt::format("<p class=\"notes lead\">The {} GPUs with the most waste.</p>\n", kFullRibbons);
  }
  *out += "<div class=\"ribbons\" id=\"ribbons\">\n";
  AppendRibbons(c, gpus.first(gpus.size() - rest.size()), columns, &used, out);
  *out += "</div>\n";
  std::string folded;
  if (!rest.empty()) {
    OpenHtmlSection(fmt::format("{} more GPUs over time", rest.size()), "most waste first", HtmlSection::kFolded,
                    &folded);
    folded += "<div class=\"ribbons compact\">\n";
    AppendRibbons(c, rest, std::min(columns, kCompactColumns), &used, &folded);
    folded += "</div>\n";
    CloseHtmlSection(HtmlSection::kFolded, &folded);
  }
  AppendHtmlLegend(used, report.cost, out);
  *out += folded;
  if (gpus.size() < report.cost.devices.size()) {
    *out += fmt::format("<p class=\"notes\">{} of {} GPUs are drawn; the totals count all.</p>\n", gpus.size(),
                        report.cost.devices.size());
  }
  *out += R"(</section>
<section id="charts" hidden>
<h2>Charts</h2>
<div id="controls" class="controls"></div>
<div id="plots"></div>
</section>
<noscript><p class="notes">The charts need JavaScript; all else is on this page.</p></noscript>
)";
}

// The part above the fold: verdict as the heading, tiles, the bar, then "why" and "next" side by side. Without a GPU
// there are no figures, so tiles and bar are left out.
void AppendHeader(const AuditView& view, const ViewContext& c, std::string* out) {
  *out += "<header>\n<p class=\"eyebrow\">" + HtmlEscaped(view.title) + "</p>\n<h1>" + HtmlEscaped(view.verdict) +
          "</h1>\n";
  if (!view.runs_line.empty()) *out += "<p class=\"notes\">" + HtmlEscaped(view.runs_line) + "</p>\n";
  if (c.report.live.no_gpu.empty()) {
    AppendTiles(c, out);
    AppendBar(c, out);
  }
  *out += "</header>\n<main>\n<div class=\"pair\">\n";
  for (const auto& [title, lines] : {std::pair("Why", &view.why), std::pair("Next", &view.next)}) {
    if (lines->empty()) continue;
    *out += fmt::format("<section class=\"panel\"><h2>{}</h2>\n", title);
    AppendHtmlLines(*lines, "facts", out);
    *out += "</section>\n";
  }
  *out += "</div>\n";
}

// The GPUs that get a chart, as PicturedGpus.
std::vector<std::size_t> ChartedGpus(const AuditReport& report) {
  std::vector<std::size_t> gpus = PicturedGpus(report);
  if (gpus.size() > kCharted) gpus.resize(kCharted);
  return gpus;
}

// Everything below the first screen and the pictures, folded: a reader opens what the answer left open.
void AppendFolded(const AuditView& view, const AuditReport& report, std::string* out) {
  constexpr HtmlSection kFolded = HtmlSection::kFolded;
  for (const ReportTable* table :
       {&view.phases, &view.runs, &view.gpus, &view.rates, &view.owners, &view.trace, &view.idle, &view.measured}) {
    AppendHtmlGrid(*table, out, kFolded);
  }
  for (const ReportTable& table : view.traced_time) AppendHtmlGrid(table, out, kFolded);
  AppendCards(view.recommendations, out);
  AppendCards(view.try_first, out);
  std::vector<std::string_view> causes;
  for (const Finding& f : report.advice.findings) causes.push_back(f.cause);
  AppendCards(view.findings, out, causes);
  AppendHtmlSection("Money", view.money, out, kFolded);
  AppendHtmlSection("Energy, clocks, bursts", view.signals, out, kFolded);
  AppendHtmlGrid(view.declined, out, kFolded);
  AppendHtmlGrid(view.quality, out, kFolded);
  AppendHtmlSection("Machine", view.system, out, kFolded);
  AppendHtmlSection("How these figures were made", view.basis, out, kFolded);
}

}  // namespace

// The order of the sections is that of a reader's questions: what it cost, when, on which GPU, why, what to do. The
// basis of the figures comes last.
std::string AuditHtml(const AuditReport& report) {
  const AuditView view = ViewOf(report, {kPageGpuRows});
  const ViewContext context(report);
  std::string out(embedded::kHeadHtml);
  out += "<title>GPU audit: " + HtmlEscaped(view.title) + "</title>\n<style>";
  out.append(embedded::kUplotCss).append("\n").append(embedded::kReportCss).append("</style>\n</head>\n<body>\n");
  out += embedded::kPatternsSvg;
  AppendHeader(view, context, &out);
  AppendHtmlRibbons(context, &out);
  AppendTimeline(report, &out);
  AppendFolded(view, report, &out);
  out += "</main>\n<script type=\"application/json\" id=\"chart-data\">" + ChartJson(report, ChartedGpus(report)) +
         "</script>\n";
  const std::string timeline = TimelineJson(report);
  if (!timeline.empty()) {
    out += "<script type=\"application/json\" id=\"timeline-data\">" + timeline + "</script>\n<script>";
    out.append(embedded::kTimelineJs).append("</script>\n");
  }
  out += "<script>";
  out.append(embedded::kUplotJs).append("</script>\n<script>").append(embedded::kReportJs);
  out += "</script>\n</body>\n</html>\n";
  return out;
}

}  // namespace idleburn
