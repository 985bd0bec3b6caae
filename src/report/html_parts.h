#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/report_table.h"

namespace idleburn {

// The parts that reports in HTML share; each escapes what it prints.

// A list; nothing without lines.
void AppendHtmlLines(const std::vector<std::string>& lines, std::string_view css_class, std::string* out);
// The same under a heading.
void AppendHtmlSection(std::string_view title, const std::vector<std::string>& lines, std::string* out);
// A table under its title; nothing without rows.
void AppendHtmlGrid(const ReportTable& table, std::string* out);
// The same; without rows the list of its notes under its title.
void AppendHtmlTable(const ReportTable& table, std::string* out);

}  // namespace idleburn
