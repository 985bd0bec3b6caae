#pragma once

#include <string>
#include <vector>

#include "support/source_tree.h"

namespace idleburn::testing {

// A command that a page shows with its output: "$ idleburn ..." in a block, and the lines below it.
struct ShownCommand {
  std::string where;               // "docs/plan.md:84"
  std::string words;               // of the shell; a backslash at the end of a line joins the next
  std::vector<std::string> lines;  // shown output, without the indent of the block and without empty lines
};

// The commands of a page, in order. A block is indented by four blanks, or stands between fences.
std::vector<ShownCommand> ShownCommandsOf(const SourceFile& page);

// The scripts of a page, between "```sh" and "```". They make the files that its commands read.
std::vector<std::string> ScriptsOf(const SourceFile& page);

// The first of `lines` that no line of `output` begins with, in order; empty: each has one. A page may leave lines of
// the output out.
std::string FirstMissing(const std::vector<std::string>& lines, const std::string& output);

}  // namespace idleburn::testing
