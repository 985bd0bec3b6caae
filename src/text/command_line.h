#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace idleburn {
// Writes a command as a user would type it in a shell. Reports and the history keep it, so secrets become kRedacted
// (text/secrets.h): `mysql -psecret` becomes `mysql -p[redacted]`. The result is for people: a word with blanks,
// quotes or dollar signs is put between single quotes, but a quote inside it is not escaped.
std::string ShownCommand(std::span<const std::string> words);

// Splits a command line into words as a shell does: at blanks outside quotes that no backslash precedes. It expands
// nothing. Fails if a quote does not end, or if there is no word.
//
//     python 'my script.py' --lr=3e-4   ->   "python", "my script.py", "--lr=3e-4"
Result<std::vector<std::string>> SplitCommand(std::string_view text);

// Finds the word that a user meant, for error messages: a mistyped flag, setting, column or GPU model. A wrong guess
// costs only a line, so the rules are generous.

// The number of edits that turn one word into the other. An edit inserts, deletes or changes a character, or swaps two
// neighbours: "pirce" to "price" is 1.
std::size_t EditDistance(std::string_view a, std::string_view b);

// The candidate with the fewest edits from `word`. The first wins a tie. Empty without candidates.
std::string NearestSpelling(std::string_view word, std::span<const std::string> candidates);

// The known word that `word` probably means: a longer or shorter form of it, or one few edits away. Empty if none is
// close.
std::string MeantBy(std::string_view word, std::span<const std::string> known);

// What an error message proposes for an unknown word: "did you mean horizon_months?" if MeantBy finds one, otherwise
// "give one of ...".
std::string SuggestionFor(std::string_view word, std::span<const std::string> known);

}  // namespace idleburn
