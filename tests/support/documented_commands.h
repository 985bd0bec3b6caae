#pragma once

#include <string>
#include <vector>

#include "support/source_tree.h"

namespace idleburn::testing {

// A command line of idleburn in a document, as a user would copy it, without the comment and the redirection behind it.
struct DocumentedCommand {
  std::string where;   // "docs/plan.md:84"
  std::string words;   // of the shell, from "idleburn" on
  bool block = false;  // in a block of its own, to be copied whole; else in a sentence
};

// All of them in the Markdown files of the tree, in order. What stands for words of the user's own ("...", "[-o OUT]")
// is left out of a line or kept as a word; `idleburn COMMAND` is none.
std::vector<DocumentedCommand> CommandsOf(const SourceTree& tree);

// The words that only ask what `words` means: with --help, flags are read and nothing is done. Several where flags of
// another command stand between two pairs of dashes.
std::vector<std::string> OnlyRead(const std::string& words);

}  // namespace idleburn::testing
