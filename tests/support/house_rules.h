#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "support/source_tree.h"

namespace idleburn::testing {

inline constexpr std::size_t kMostColumns = 120;
inline constexpr std::size_t kMostLines = 800;
inline constexpr std::size_t kMostFunctionLines = 80;

// A header that is slow to compile: which module may pay for it, in at most how many files.
struct HeavyHeader {
  std::string_view header;
  std::vector<std::string_view> modules;
  std::size_t most_files;
};

// Each .h starts with #pragma once, after comments at most.
Faults PragmaFaults(const SourceTree& tree);
// x.cc and x_test.cc include x.h first, where there is one.
Faults OwnHeaderFaults(const SourceTree& tree);
// `using namespace` of anything but literals, which cannot be had otherwise.
Faults UsingFaults(const SourceTree& tree);
// A Result that is declared, and on the next line its error returned: TRY says both. A static one is declared once and
// checked each time.
Faults CheckedPairFaults(const SourceTree& tree);
// Lines of code and scripts over kMostColumns characters, C++ files over kMostLines, functions over
// kMostFunctionLines.
Faults SizeFaults(const SourceTree& tree);
// Macros in src/ other than `allowed`, or one of them defined twice.
Faults MacroFaults(const SourceTree& tree, std::span<const std::string_view> allowed);
// Types of one name in two headers of src/: a program that sees both mixes them up without a word.
Faults TypeNameFaults(const SourceTree& tree);
// Folders named after nothing: util, common, core, helpers and the like.
Faults FolderNameFaults(const SourceTree& tree);
// Variables in src/ that outlive a call and can change, and singletons.
Faults StateFaults(const SourceTree& tree);
// Heavy headers in a header, in another module, or in too many files; and headers clang 14 cannot read.
Faults HeavyHeaderFaults(const SourceTree& tree, std::span<const HeavyHeader> heavy);
// .cc files that the build `compile_commands` (JSON text) does not compile.
Faults DeadFileFaults(const SourceTree& tree, std::string_view compile_commands);
// Headers of src/ that none of its files but their own .cc and tests include: a test's helper belongs in tests/support.
Faults TestOnlyHeaderFaults(const SourceTree& tree);
// Formats in the tables of src/import and src/profile whose reader (ImportX, ReadX) no fuzz target calls; corpus
// folders without a target.
Faults FuzzFaults(const SourceTree& tree, const std::vector<std::string>& corpus_folders);
// Comments that send a reader to a document, to a heading or numbered section of one, or to a file of src/ that is not
// there; and to a section of no document.
Faults CommentTargetFaults(const SourceTree& tree);
// Words that say something is unfinished, and paths and hosts of one machine.
Faults WordFaults(const SourceTree& tree);
// Links of Markdown files to files of the project that are not there.
Faults LinkTargetFaults(const SourceTree& tree);
// Files of src/ that Markdown files name (`import/parquet.cc`) and that are not there; and rows of a table that walk
// through the code (| `file` | `Function` |), whose file holds no such function.
Faults WalkFaults(const SourceTree& tree);
// Variables of the environment that the program, the Python package or the header reads or sets (IDLEBURN_...), and
// neither the README nor docs/ names.
Faults VariableFaults(const SourceTree& tree);
// Scripts in tools/ that go on after an error.
Faults ScriptFaults(const SourceTree& tree);

}  // namespace idleburn::testing
