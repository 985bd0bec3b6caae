#pragma once

#include <span>
#include <string>
#include <string_view>

namespace idleburn {

// Edits (insert, delete, change, swap neighbours) that turn one word into the other.
std::size_t EditDistance(std::string_view a, std::string_view b);

// The candidate nearest to `word`, the first of equals; empty if there is none.
std::string NearestSpelling(std::string_view word, std::span<const std::string> candidates);

}  // namespace idleburn
