#include "tco/suggestion.h"

#include "text/spelling.h"

namespace idleburn {

std::string SuggestionFor(std::string_view word, std::span<const std::string> known) {
  // price_per_hour means price, horizon means horizon_months: of those, the longest that both have.
  const std::string* within = nullptr;
  for (const std::string& one : known) {
    const bool part = one.size() > 2 && word.size() > 2 && (one.starts_with(word) || word.starts_with(one));
    if (part && (within == nullptr || one.size() > within->size())) within = &one;
  }
  if (within != nullptr) return "did you mean " + *within + "?";
  const std::string nearest = NearestSpelling(word, known);
  if (nearest.empty()) return "there is none";
  if (2 * EditDistance(word, nearest) <= word.size()) return "did you mean " + nearest + "?";
  std::string list;
  for (const std::string& one : known) list += (list.empty() ? "" : ", ") + one;
  return "give one of " + list;
}

}  // namespace idleburn
