#include "report/report_page.h"

#include <fmt/format.h>

#include "report/embedded.h"
#include "report/html_parts.h"
#include "report/markdown_parts.h"
#include "report/text_page.h"
#include "text/escape.h"
#include "text/table.h"

namespace idleburn {

std::string PageText(const ReportPage& page, int width, bool color) {
  TextPage text(width, color);
  text.Wrapped("", page.verdict, true);
  text.Labelled("why", page.why);
  text.Labelled("next", page.next);
  text.Blank();
  text.Wrapped("", page.title);
  for (const ReportTable& table : page.tables) {
    table.rows.empty() ? text.Section(table.title, table.notes) : text.Grid(table);
  }
  return std::move(text).Take();
}

std::string PageMarkdown(const ReportPage& page) {
  std::string out = "# " + MarkdownEscaped(page.heading) + "\n\n**" + MarkdownEscaped(page.verdict) + "**\n\n" +
                    MarkdownEscaped(page.title) + "\n";
  AppendMarkdownSection("Why", page.why, &out);
  AppendMarkdownSection("Next", page.next, &out);
  for (const ReportTable& table : page.tables) {
    table.rows.empty() ? AppendMarkdownSection(table.title, table.notes, &out) : AppendMarkdownTable(table, &out);
  }
  return out;
}

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
  for (const ReportTable& table : page.tables) AppendHtmlTable(table, &out);
  return out + "</main>\n</body>\n</html>\n";
}

}  // namespace idleburn
