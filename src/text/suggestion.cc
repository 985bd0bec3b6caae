#include "text/suggestion.h"

#include <algorithm>
#include <vector>

#include "text/strings.h"

namespace idleburn {

// The Damerau-Levenshtein distance (optimal string alignment), by dynamic programming.
std::size_t EditDistance(std::string_view a, std::string_view b) {
  const std::size_t width = b.size() + 1;
  std::vector<std::size_t> table((a.size() + 1) * width);
  const auto at = [&](std::size_t i, std::size_t j) -> std::size_t& { return table[i * width + j]; };
  for (std::size_t i = 0; i <= a.size(); ++i) at(i, 0) = i;
  for (std::size_t j = 0; j <= b.size(); ++j) at(0, j) = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = at(i - 1, j - 1) + (a[i - 1] == b[j - 1] ? 0 : 1);
      at(i, j) = std::min({at(i - 1, j) + 1, at(i, j - 1) + 1, change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        at(i, j) = std::min(at(i, j), at(i - 2, j - 2) + 1);
    }
  }
  return table.back();
}

std::string NearestSpelling(std::string_view word, std::span<const std::string> candidates) {
  const auto nearest = std::min_element(
      candidates.begin(), candidates.end(),
      [&](const std::string& x, const std::string& y) { return EditDistance(word, x) < EditDistance(word, y); });
  return nearest == candidates.end() ? std::string() : *nearest;
}

// One edit is taken for a slip first. Then a longer or shorter form counts more than several edits.
std::string MeantBy(std::string_view word, std::span<const std::string> known) {
  std::string nearest = NearestSpelling(word, known);
  const std::size_t edits = EditDistance(word, nearest);
  // More edits than half of the word make another word.
  const bool near = 2 * edits <= word.size();
  if (near && edits == 1) return nearest;
  // price_per_hour means price, and horizon means horizon_months. The longest such word wins.
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
