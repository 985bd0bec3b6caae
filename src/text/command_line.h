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

}  // namespace idleburn
