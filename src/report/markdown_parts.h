#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/report_table.h"

namespace idleburn {

// The parts that reports in Markdown share; each escapes what it prints.

// A heading and a list; nothing without lines.
void AppendMarkdownSection(std::string_view title, const std::vector<std::string>& lines, std::string* out);
// Nothing without rows.
void AppendMarkdownTable(const ReportTable& table, std::string* out);

}  // namespace idleburn
