#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/table.h"

// The front end of the HTML report, compiled in: see idleburn_embed in CMakeLists.txt.
namespace idleburn::embedded {

extern const std::string_view kHeadHtml;     // web/head.html: start of the page; nothing may be loaded from anywhere
extern const std::string_view kPatternsSvg;  // web/patterns.svg
extern const std::string_view kReportCss;    // web/report.css
extern const std::string_view kReportJs;     // web/report.js
extern const std::string_view kUplotCss;     // uPlot, MIT licence
extern const std::string_view kUplotJs;

}  // namespace idleburn::embedded

namespace idleburn {

// One table of a report.
struct ReportTable {
  std::string title;
  std::vector<TableColumn> columns;
  std::vector<TableRow> rows;
  std::vector<std::string> notes;
};

// The parts that reports in HTML share; each escapes what it prints.

// A list; nothing without lines.
void AppendHtmlLines(const std::vector<std::string>& lines, std::string_view css_class, std::string* out);
// The same under a heading.
void AppendHtmlSection(std::string_view title, const std::vector<std::string>& lines, std::string* out);
// A table under its title; nothing without rows.
void AppendHtmlGrid(const ReportTable& table, std::string* out);
// The same; without rows the list of its notes under its title.
void AppendHtmlTable(const ReportTable& table, std::string* out);

// The parts that reports in Markdown share; each escapes what it prints.

// A heading and a list; nothing without lines.
void AppendMarkdownSection(std::string_view title, const std::vector<std::string>& lines, std::string* out);
// Nothing without rows.
void AppendMarkdownTable(const ReportTable& table, std::string* out);

// Builds a report for a terminal, escaping every string on its way in. Colour is added outside of what was escaped and
// carries no meaning of its own.
class TextPage {
 public:
  static constexpr int kNarrowest = 40;
  static constexpr int kWidest = 140;  // longer lines are hard to read

  TextPage(int width, bool color);

  [[nodiscard]] int width() const { return width_; }
  [[nodiscard]] std::string Bold(std::string_view text) const { return Styled(text, "1"); }
  [[nodiscard]] std::string Styled(std::string_view text, std::string_view code) const;
  void Raw(std::string_view text) { out_ += text; }
  void Blank() { out_ += '\n'; }
  void Heading(std::string_view text);
  // A paragraph: `lead` on the first line, then blanks as wide.
  void Wrapped(std::string_view lead, std::string_view text, bool bold = false);
  // "  why   ..." with further lines under the first.
  void Labelled(std::string_view label, const std::vector<std::string>& lines);
  void Lines(const std::vector<std::string>& lines);
  void Section(std::string_view title, const std::vector<std::string>& lines);
  // A table without rows is left out.
  void Grid(const ReportTable& table);
  // A table too wordy for a grid: a numbered list whose headline is the first cell, the others under their headers.
  void Cards(const ReportTable& table, std::size_t limit);

  std::string Take() && { return std::move(out_); }

 private:
  int width_;
  bool color_;
  std::string out_;
};

// A report that is sentences and tables only, for every writer for people. Strings may hold names as the inputs
// spelled them; each writer escapes every string it prints.
struct ReportPage {
  std::string heading;              // what kind of report it is: "GPU saving"
  std::string title;                // of what
  std::string verdict;              // one sentence
  std::vector<std::string> why;     // one line each
  std::vector<std::string> next;    // what to do
  std::vector<ReportTable> tables;  // one without rows is a list of its notes
};

// `width` columns; colour only if asked for.
std::string PageText(const ReportPage& page, int width, bool color);
std::string PageMarkdown(const ReportPage& page);
// One self-contained file: no network, no script.
std::string PageHtml(const ReportPage& page);

}  // namespace idleburn
