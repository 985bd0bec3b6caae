#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "report/format_writers.h"
#include "report/html_charts.h"
#include "text/table.h"

// The front end of the HTML report, compiled in by idleburn_embed in CMakeLists.txt. The page must work as a single
// file, so nothing is loaded at run time.
namespace idleburn::embedded {

extern const std::string_view kHeadHtml;     // web/head.html: start of the page; it may not load anything
extern const std::string_view kPatternsSvg;  // web/patterns.svg
extern const std::string_view kReportCss;    // web/report.css
extern const std::string_view kReportJs;     // web/report.js
extern const std::string_view kTimelineJs;   // web/timeline.js
extern const std::string_view kUplotCss;     // uPlot, MIT licence
extern const std::string_view kUplotJs;

}  // namespace idleburn::embedded

namespace idleburn {

// How the columns of a table are aligned.
inline constexpr auto kLeft = TableColumn::Align::kLeft;
inline constexpr auto kRight = TableColumn::Align::kRight;

// One table of a report, before any format. Cells are unescaped; each writer escapes them. Each row has at most as many
// cells as there are columns. A format may drop columns that are expendable, but no row.
struct ReportTable {
  std::string title;
  std::vector<TableColumn> columns;
  std::vector<TableRow> rows;
  std::vector<std::string> notes;
  ReportChart chart = {};  // HTML draws it above the rows
};

// Parts that all HTML reports share. Each appends to `out` and escapes what it prints.

// How a section of a page starts. A folded one shows its heading only, until the reader opens it or prints the page.
enum class HtmlSection : std::uint8_t { kOpen, kFolded };
// The start of a section up to its content, and its end. `more` stands in small print beside the heading of a folded
// section, for example "4 rows"; it may be empty.
void OpenHtmlSection(std::string_view title, std::string_view more, HtmlSection section, std::string* out);
void CloseHtmlSection(HtmlSection section, std::string* out);

// A list; nothing without lines. `css_class` is a class of web/report.css.
void AppendHtmlLines(const std::vector<std::string>& lines, std::string_view css_class, std::string* out);
// A list under a heading; nothing without lines.
void AppendHtmlSection(std::string_view title, const std::vector<std::string>& lines, std::string* out,
                       HtmlSection section = HtmlSection::kOpen);
// A table under its title; nothing without rows. A first cell that begins with two blanks marks a part of the row
// above, and "total" ends a column: both have a style of their own.
void AppendHtmlGrid(const ReportTable& table, std::string* out, HtmlSection section = HtmlSection::kOpen);
// The same, but a table without rows prints its notes as a list under its title.
void AppendHtmlTable(const ReportTable& table, std::string* out);

// Parts that all Markdown reports share. Each appends to `out` and escapes what it prints.

// A heading and a list; nothing without lines.
void AppendMarkdownSection(std::string_view title, const std::vector<std::string>& lines, std::string* out);
// A table under its title, then its notes; nothing without rows.
void AppendMarkdownTable(const ReportTable& table, std::string* out);

// Builds a report for a terminal. Every string except that of Raw is escaped on its way in, and colour is added
// outside of what was escaped, so a name in a log cannot act on the terminal. Colour carries no meaning of its own.
class TextPage {
 public:
  static constexpr int kNarrowest = 40;
  static constexpr int kWidest = 140;  // longer lines are hard to read

  // `width` in columns is clamped to [kNarrowest, kWidest].
  TextPage(int width, bool color);

  [[nodiscard]] int width() const { return width_; }
  [[nodiscard]] std::string Bold(std::string_view text) const { return Styled(text, "1"); }
  // `code` is an SGR parameter such as "1" or "38;5;214". Without colour the text is returned as it is.
  [[nodiscard]] std::string Styled(std::string_view text, std::string_view code) const;
  // Appends text that is escaped already.
  void Raw(std::string_view text) { out_ += text; }
  void Blank() { out_ += '\n'; }
  void Heading(std::string_view text);
  // A paragraph, wrapped to the width. `lead` stands before the first line, blanks of the same width before the
  // others.
  void Wrapped(std::string_view lead, std::string_view text, bool bold = false);
  // "  why   ..." with further lines under the first.
  void Labelled(std::string_view label, const std::vector<std::string>& lines);
  void Lines(const std::vector<std::string>& lines);
  // A heading and lines; nothing without lines.
  void Section(std::string_view title, const std::vector<std::string>& lines);
  // A table with its title and notes; nothing without rows.
  void Grid(const ReportTable& table);
  // A table whose cells are too long for a grid, as a numbered list: the first cell is the headline, the others
  // follow under their headers. After `limit` rows the rest is counted.
  void Cards(const ReportTable& table, std::size_t limit);

  // Returns the page. The object is empty afterwards.
  std::string Take() && { return std::move(out_); }

 private:
  int width_;
  bool color_;
  std::string out_;
};

// A group of sentences that is neither a reason nor advice.
struct ReportPoints {
  std::string label;  // at most five columns: "spot"
  std::string title;  // where there is room: "On spot capacity"
  std::vector<std::string> lines;
};

// A report of sentences and tables only, for every format for people. The audit has a view of its own because of its
// pictures. Strings are unescaped; writers escape them.
struct ReportPage {
  std::string heading;               // what kind of report it is: "GPU saving"
  std::string title;                 // of what
  std::string verdict;               // the answer, in a few sentences
  std::vector<std::string> why;      // one line each
  std::vector<std::string> next;     // what to do
  std::vector<ReportPoints> points;  // one screen shows each group as a paragraph of two lines
  std::vector<ReportTable> tables;   // one without rows is a list of its notes; one screen shows the first with rows
};

// The page for a terminal of `width` columns. Colour is used only if asked for, and carries no meaning alone.
std::string PageText(const ReportPage& page, int width, bool color);
// The same on one screen (report/screen.h): verdict, why, next, points, and the first table. All of it with paper.full.
std::string PageOnPaper(const ReportPage& page, const Paper& paper);
// The page for a comment or a wiki.
std::string PageMarkdown(const ReportPage& page);
// One self-contained file: it loads nothing and runs no script.
std::string PageHtml(const ReportPage& page);

// The writers of an answer that is a page, as rows of its table: {ReportFormat::kText, AsText<PlanPage>}.
template <auto kPage, typename Answer>
std::string AsText(const Answer& answer, const Paper& paper) {
  return PageOnPaper(kPage(answer), paper);
}
template <auto kPage, typename Answer>
std::string AsHtml(const Answer& answer, const Paper& /*paper*/) {
  return PageHtml(kPage(answer));
}
template <auto kPage, typename Answer>
std::string AsMarkdown(const Answer& answer, const Paper& /*paper*/) {
  return PageMarkdown(kPage(answer));
}

}  // namespace idleburn
