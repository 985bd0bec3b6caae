#pragma once

#include <string>
#include <vector>

#include "support/source_tree.h"

namespace idleburn::testing {

// The file with comments, string and character literals blanked out; lines and columns stay where they are.
std::vector<std::string> CodeOf(const SourceFile& file);
// Its comments alone, where they stand.
std::vector<std::string> CommentsOf(const SourceFile& file);

// What a file defines, as far as braces and semicolons tell.
struct Outline {
  struct Function {
    std::size_t first_line;  // of its head, from 1
    std::size_t last_line;
  };
  struct Statement {
    std::size_t line;  // it starts on
    std::string text;  // white space as single blanks; ends before ';' or '{'
  };
  std::vector<Function> functions;       // outermost blocks that are neither scope nor initializer
  std::vector<Statement> at_namespace;   // statements and initialized variables outside of functions and classes
  std::vector<Statement> inside_braces;  // those in functions and classes
};
Outline OutlineOf(const SourceFile& file);

}  // namespace idleburn::testing
