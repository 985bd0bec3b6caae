#pragma once

#include <span>
#include <string>
#include <string_view>

#include "text/table.h"

namespace idleburn {

// Text that Markdown shows as it stands: no markup, no HTML, no link, no end of a table cell.
std::string MarkdownEscaped(std::string_view text);

// The same table that LayOutTable lays out for a terminal.
std::string MarkdownTable(std::span<const TableColumn> columns, std::span<const TableRow> rows);

}  // namespace idleburn
