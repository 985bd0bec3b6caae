#include "text/suggestion.h"

#include "text/spelling.h"
#include "text/split.h"

namespace idleburn {

std::string MeantBy(std::string_view word, std::span<const std::string> known) {
  std::string nearest = NearestSpelling(word, known);
  const std::size_t edits = EditDistance(word, nearest);
  const bool near = 2 * edits <= word.size();
  if (near && edits == 1) return nearest;
  // price_per_hour means price, horizon means horizon_months: of those, the longest that both have.
  const std::string* within = nullptr;
  for (const std::string& one : known) {
    const bool part = one.size() > 2 && word.size() > 2 && (one.starts_with(word) || word.starts_with(one));
    if (part && (within == nullptr || one.size() > within->size())) within = &one;
  }
  if (within != nullptr) return *within;
  return near ? nearest : std::string();
}

std::string SuggestionFor(std::string_view word, std::span<const std::string> known) {
  if (known.empty()) return "there is none";
  if (const std::string meant = MeantBy(word, known); !meant.empty()) return "did you mean " + meant + "?";
  return "give one of " + ListText(known);
}

}  // namespace idleburn
