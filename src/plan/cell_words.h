#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace idleburn {

// Whether the text stands for an empty cell of the column: "NaN", "unknown", "-"; "none" too, unless it says that
// something is off.
bool IsBlankCell(std::string_view column, std::string_view text);

// Whether the text says that something is off.
bool IsOffWord(std::string_view text);

// "1", "1.0", "Yes" and "enabled" against "0", "off" and "None"; absent if it is neither.
std::optional<bool> SwitchWord(std::string_view text);

}  // namespace idleburn
