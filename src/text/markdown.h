#pragma once

#include <string>
#include <string_view>

namespace idleburn {

// Text that Markdown shows as it stands: no markup, no HTML, no link, no end of a table cell.
std::string MarkdownEscaped(std::string_view text);

}  // namespace idleburn
