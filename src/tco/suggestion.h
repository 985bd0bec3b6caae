#pragma once

#include <span>
#include <string>
#include <string_view>

namespace idleburn {

// "did you mean horizon_months?" for a word that is part of a known one or is near to it, else "give one of ..."; what
// to do about a word that is none of `known`.
std::string SuggestionFor(std::string_view word, std::span<const std::string> known);

}  // namespace idleburn
