#pragma once

#include <span>
#include <string>
#include <string_view>

namespace idleburn {

// A column's name without its unit and its way of writing: "Seq-Len (tokens)" is "seq_len".
std::string PlainColumn(std::string_view name);

// Other names for what a column says, as training programs and tables call it; empty if none is known.
std::span<const std::string_view> SynonymsOf(std::string_view column);

// Whether the column says something of a configuration by one of these names.
bool IsSynonym(std::string_view column);

}  // namespace idleburn
