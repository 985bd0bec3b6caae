#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace idleburn::testing {

// A text file of the project: its path from the root, with '/' between folders.
struct SourceFile {
  std::string path;
  std::vector<std::string> lines;
};
using SourceTree = std::vector<SourceFile>;

// Every text file below `root`, in order of path, without what git ignores here (.git, .deps, build) and without
// the fuzzers' corpus, which is data.
SourceTree ReadTree(const std::filesystem::path& root);

// The file of that path, or nullptr.
const SourceFile* FindFile(const SourceTree& tree, std::string_view path);

bool StartsWith(std::string_view text, std::string_view prefix);
bool EndsWith(std::string_view text, std::string_view suffix);
// src/, tests/, fuzz/ and bench/ are C++ where they end in .h or .cc.
bool IsCpp(const SourceFile& file);
// x_test.cc and all of tests/.
bool IsTest(const SourceFile& file);
// "telemetry" of "src/telemetry/device.h"; the file's own name for what lies directly in src/ ("main.cc"); empty
// elsewhere.
std::string ModuleOf(std::string_view path);

struct Include {
  int line;
  std::string target;  // as written between the quotes or angle brackets
  bool quoted;
};
std::vector<Include> IncludesOf(const SourceFile& file);

// What a checker reports: "path:line: sentence".
using Faults = std::vector<std::string>;
std::string At(const SourceFile& file, std::size_t line);
// One fault a line, for a test's message.
std::string Listed(const Faults& faults);

// A tree of the given files in a temporary folder, removed at the end: what a checker must object to.
class PlantedTree {
 public:
  PlantedTree();
  ~PlantedTree();
  PlantedTree(const PlantedTree&) = delete;
  PlantedTree& operator=(const PlantedTree&) = delete;

  PlantedTree& Plant(const std::string& path, std::string_view text);
  [[nodiscard]] SourceTree Read() const { return ReadTree(root_); }

 private:
  std::filesystem::path root_;
};

}  // namespace idleburn::testing
