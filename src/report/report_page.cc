#include "report/report_page.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/screen.h"
#include "text/strings.h"
#include "text/table.h"

// Pages of sentences and tables, in three formats. The formats share the page and not a template, because each escapes
// in its own way: HTML has entities, Markdown has characters that start a list or a table, and a terminal acts on
// control codes.
//
// Every string is escaped where it is printed, and only there. Names come from inputs that nobody checked, and a job
// may be called anything.
//
// A template engine was rejected: a page has few kinds of parts, and a function per part keeps the escaping in sight.
namespace idleburn {
// HTML. Classes are those of web/report.css.

void AppendHtmlLines(const std::vector<std::string>& lines, std::string_view css_class, std::string* out) {
  if (lines.empty()) return;
  *out += fmt::format("<ul class=\"{}\">\n", css_class);
  for (const std::string& line : lines) *out += "<li>" + HtmlEscaped(line) + "</li>\n";
  *out += "</ul>\n";
}

// A folded section is a <details> element, so it opens without a script and a search in the page finds its text.
void OpenHtmlSection(std::string_view title, std::string_view more, HtmlSection section, std::string* out) {
  const std::string heading = "<h2>" + HtmlEscaped(title) + "</h2>";
  if (section == HtmlSection::kOpen) {
    *out += "<section>\n" + heading + "\n";
    return;
  }
  *out += "<details class=\"fold\">\n<summary>" + heading;
  if (!more.empty()) *out += "<span class=\"more\">" + HtmlEscaped(more) + "</span>";
  *out += "</summary>\n";
}

void CloseHtmlSection(HtmlSection section, std::string* out) {
  *out += section == HtmlSection::kOpen ? "</section>\n" : "</details>\n";
}

// The box around a table can have the focus: a keyboard has no other way to scroll it sideways.
void AppendHtmlGrid(const ReportTable& table, std::string* out, HtmlSection section) {
  if (table.rows.empty()) return;
  OpenHtmlSection(table.title, fmt::format("{} row{}", table.rows.size(), table.rows.size() == 1 ? "" : "s"), section,
                  out);
  *out += ChartHtml(table.title, table.chart);
  *out += "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"" + HtmlEscaped(table.title) +
          "\"><table>\n<thead><tr>";
  // Numbers are aligned right, so that their digits stand under each other.
  const auto css = [&](std::size_t c) {
    return table.columns[c].align == TableColumn::Align::kRight ? " class=\"num\"" : "";
  };
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    *out += fmt::format("<th scope=\"col\"{}>{}</th>", css(c), HtmlEscaped(table.columns[c].header));
  }
  *out += "</tr></thead>\n<tbody>\n";
  for (const TableRow& row : table.rows) {
    // An indented first cell is a part of the row above; "total" ends a column.
    const bool part = row.front().starts_with("  ");
    *out += part ? "<tr class=\"part\">" : row.front() == "total" ? "<tr class=\"total\">" : "<tr>";
    for (std::size_t c = 0; c < row.size(); ++c) *out += fmt::format("<td{}>{}</td>", css(c), HtmlEscaped(row[c]));
    *out += "</tr>\n";
  }
  *out += "</tbody></table></div>\n";
  AppendHtmlLines(table.notes, "notes", out);
  CloseHtmlSection(section, out);
}

// A table without rows would print a header over nothing.
void AppendHtmlTable(const ReportTable& table, std::string* out) {
  table.rows.empty() ? AppendHtmlSection(table.title, table.notes, out) : AppendHtmlGrid(table, out);
}

void AppendHtmlSection(std::string_view title, const std::vector<std::string>& lines, std::string* out,
                       HtmlSection section) {
  if (lines.empty()) return;
  OpenHtmlSection(title, "", section, out);
  AppendHtmlLines(lines, "facts", out);
  CloseHtmlSection(section, out);
}

namespace {

// One line per item. Markdown needs no blank lines between them.
void AppendList(const std::vector<std::string>& lines, std::string* out) {
  for (const std::string& line : lines) *out += "- " + MarkdownEscaped(line) + "\n";
}

}  // namespace

void AppendMarkdownSection(std::string_view title, const std::vector<std::string>& lines, std::string* out) {
  if (lines.empty()) return;
  *out += "\n## " + MarkdownEscaped(title) + "\n\n";
  AppendList(lines, out);
}

void AppendMarkdownTable(const ReportTable& table, std::string* out) {
  if (table.rows.empty()) return;
  *out += "\n## " + MarkdownEscaped(table.title) + "\n\n";
  AppendMarkdownRows(table.columns, table.rows, out);
  if (!table.notes.empty()) *out += "\n";
  AppendList(table.notes, out);
}

// Clamps the width: a terminal that reports 0 columns, or 1,000, still gets a readable page.
TextPage::TextPage(int width, bool color) : width_(std::clamp(width, kNarrowest, kWidest)), color_(color) {}

// SGR codes around the text, and a reset behind it. Codes are never nested.
std::string TextPage::Styled(std::string_view text, std::string_view code) const {
  return color_ ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text);
}

// A blank line stands before a heading, so sections need no space of their own.
void TextPage::Heading(std::string_view text) { out_ += "\n" + Bold(Printable(text)) + "\n"; }

void TextPage::Wrapped(std::string_view lead, std::string_view text, bool bold) {
  // Columns of the terminal, not bytes: a lead may hold wide characters.
  const int indent = DisplayWidth(lead);
  std::string_view start = lead;
  const std::string blanks(static_cast<std::size_t>(indent), ' ');
  for (const std::string& line : WrapWords(Printable(text), width_ - indent)) {
    out_ += std::string(start) + (bold ? Bold(line) : line) + "\n";
    start = blanks;
  }
}

// The label stands once; further lines align with the first.
void TextPage::Labelled(std::string_view label, const std::vector<std::string>& lines) {
  std::string lead = fmt::format("  {:<6}", label);
  for (const std::string& line : lines) {
    Wrapped(lead, line);
    lead.assign(lead.size(), ' ');
  }
}

void TextPage::Lines(const std::vector<std::string>& lines) {
  for (const std::string& line : lines) Wrapped("  ", line);
}

void TextPage::Section(std::string_view title, const std::vector<std::string>& lines) {
  if (lines.empty()) return;
  Heading(title);
  Lines(lines);
}

void TextPage::Grid(const ReportTable& table) {
  if (table.rows.empty()) return;
  Heading(table.title);
  out_ += LayOutTable(table.columns, table.rows, width_, 2);
  Lines(table.notes);
}

// Long cells in narrow columns wrap to one word a line. As a list each cell has the whole width.
void TextPage::Cards(const ReportTable& table, std::size_t limit) {
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

// Verdict, why and next come before the title. In a terminal the last command is in sight, and the answer is wanted.
std::string PageText(const ReportPage& page, int width, bool color) {
  TextPage text(width, color);
  text.Wrapped("", page.verdict, true);
  text.Labelled("why", page.why);
  text.Labelled("next", page.next);
  for (const ReportPoints& points : page.points) text.Labelled(points.label, points.lines);
  text.Blank();
  text.Wrapped("", page.title);
  for (const ReportTable& table : page.tables) {
    table.rows.empty() ? text.Section(table.title, table.notes) : text.Grid(table);
  }
  return std::move(text).Take();
}

// Here the heading comes first: a comment is read without the command that made it.
std::string PageOnPaper(const ReportPage& page, const Paper& paper) {
  if (paper.full) return PageText(page, paper.columns, paper.color);
  constexpr std::size_t kWhy = 4;
  constexpr std::size_t kNext = 3;
  constexpr std::size_t kRows = 8;
  Screen screen(paper);
  screen.Add(LineRank::kAlways, "", page.verdict, 3, true);
  screen.Blank();
  screen.AddLabelled("why", page.why, kWhy);
  screen.AddLabelled("next", page.next, kNext);
  for (const ReportPoints& points : page.points) screen.AddLabelled(points.label, {ListText(points.lines, " ")}, 1);
  screen.Blank();
  const auto table =
      std::find_if(page.tables.begin(), page.tables.end(), [](const ReportTable& t) { return !t.rows.empty(); });
  if (table != page.tables.end()) screen.AddTable(LineRank::kDetail, table->columns, table->rows, kRows);
  screen.Blank();
  screen.Add(LineRank::kNeeded, "", page.title, 2);
  screen.Add(LineRank::kAlways, "", "All figures: --full.");
  return std::move(screen).Take();
}

std::string PageMarkdown(const ReportPage& page) {
  std::string out = "# " + MarkdownEscaped(page.heading) + "\n\n**" + MarkdownEscaped(page.verdict) + "**\n\n" +
                    MarkdownEscaped(page.title) + "\n";
  AppendMarkdownSection("Why", page.why, &out);
  AppendMarkdownSection("Next", page.next, &out);
  for (const ReportPoints& points : page.points) AppendMarkdownSection(points.title, points.lines, &out);
  for (const ReportTable& table : page.tables) {
    table.rows.empty() ? AppendMarkdownSection(table.title, table.notes, &out) : AppendMarkdownTable(table, &out);
  }
  return out;
}

// The title is the small line above the verdict.
std::string PageHtml(const ReportPage& page) {
  std::string out(embedded::kHeadHtml);
  out += "<title>" + HtmlEscaped(page.heading + ": " + page.title) + "</title>\n<style>";
  out.append(embedded::kReportCss).append("</style>\n</head>\n<body>\n<header>\n<p class=\"eyebrow\">");
  out += HtmlEscaped(page.title) + "</p>\n<h1>" + HtmlEscaped(page.verdict) +
         "</h1>\n</header>\n<main>\n<div class=\"pair\">\n";
  for (const auto& [title, lines] : {std::pair("Why", &page.why), std::pair("Next", &page.next)}) {
    if (lines->empty()) continue;
    out += fmt::format("<section class=\"panel\"><h2>{}</h2>\n", title);
    AppendHtmlLines(*lines, "facts", &out);
    out += "</section>\n";
  }
  out += "</div>\n";
  for (const ReportPoints& points : page.points) AppendHtmlSection(points.title, points.lines, &out);
  const bool charts = std::any_of(page.tables.begin(), page.tables.end(),
                                  [](const ReportTable& table) { return !table.chart.bars.empty(); });
  if (charts) out += embedded::kPatternsSvg;
  for (const ReportTable& table : page.tables) AppendHtmlTable(table, &out);
  return out + "</main>\n</body>\n</html>\n";
}

}  // namespace idleburn
