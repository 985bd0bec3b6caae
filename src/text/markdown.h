#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "text/table.h"

namespace idleburn {

// Text that Markdown shows as it stands: no markup, no HTML, no link, no end of a table cell.
std::string MarkdownEscaped(std::string_view text);

// Nothing without rows.
void AppendMarkdownRows(const std::vector<TableColumn>& columns, const std::vector<TableRow>& rows, std::string* out);

}  // namespace idleburn
