#pragma once

#include <span>
#include <string>
#include <string_view>

namespace idleburn {

// Edits (insert, delete, change, swap neighbours) that turn one word into the other.
std::size_t EditDistance(std::string_view a, std::string_view b);

// The candidate nearest to `word`, the first of equals; empty if there is none.
std::string NearestSpelling(std::string_view word, std::span<const std::string> candidates);

// What `word` may mean of `known`: one that it is part of, or that is near to it; empty if there is none.
std::string MeantBy(std::string_view word, std::span<const std::string> known);

// "did you mean horizon_months?" for a word that is part of a known one or is near to it, else "give one of ..."; what
// to do about a word that is none of `known`.
std::string SuggestionFor(std::string_view word, std::span<const std::string> known);

}  // namespace idleburn
