#include "support/source_tree.h"

#include <stdlib.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace idleburn::testing {
namespace fs = std::filesystem;
namespace {

bool IsIgnored(const fs::path& relative) {
  constexpr std::array<std::string_view, 5> kIgnored = {".git", ".deps", ".cache", "build", "report.html"};
  const std::string first = relative.begin()->string();
  return std::find(kIgnored.begin(), kIgnored.end(), first) != kIgnored.end() || relative == fs::path("fuzz/corpus");
}

std::vector<std::string> LinesOf(const std::string& text) {
  std::vector<std::string> lines;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

}  // namespace

SourceTree ReadTree(const fs::path& root) {
  SourceTree tree;
  for (auto at = fs::recursive_directory_iterator(root); at != fs::recursive_directory_iterator(); ++at) {
    const fs::path relative = at->path().lexically_relative(root);
    if (IsIgnored(relative)) {
      at.disable_recursion_pending();
      continue;
    }
    if (!at->is_regular_file() || at->is_symlink()) continue;
    std::ifstream in(at->path(), std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    if (text.find('\0') != std::string::npos) continue;
    tree.push_back({relative.generic_string(), LinesOf(text)});
  }
  std::sort(tree.begin(), tree.end(), [](const SourceFile& a, const SourceFile& b) { return a.path < b.path; });
  return tree;
}

const SourceFile* FindFile(const SourceTree& tree, std::string_view path) {
  const auto found = std::find_if(tree.begin(), tree.end(), [&](const SourceFile& f) { return f.path == path; });
  return found == tree.end() ? nullptr : &*found;
}

bool StartsWith(std::string_view text, std::string_view prefix) { return text.substr(0, prefix.size()) == prefix; }

bool EndsWith(std::string_view text, std::string_view suffix) {
  return text.size() >= suffix.size() && text.substr(text.size() - suffix.size()) == suffix;
}

bool IsCpp(const SourceFile& file) { return EndsWith(file.path, ".h") || EndsWith(file.path, ".cc"); }

bool IsTest(const SourceFile& file) { return EndsWith(file.path, "_test.cc") || StartsWith(file.path, "tests/"); }

std::string ModuleOf(std::string_view path) {
  constexpr std::string_view kSource = "src/";
  if (!StartsWith(path, kSource)) return {};
  path.remove_prefix(kSource.size());
  return std::string(path.substr(0, path.find('/')));
}

std::vector<Include> IncludesOf(const SourceFile& file) {
  constexpr std::string_view kInclude = "#include ";
  std::vector<Include> includes;
  for (std::size_t i = 0; i < file.lines.size(); ++i) {
    const std::string_view line = file.lines[i];
    if (!StartsWith(line, kInclude) || line.size() < kInclude.size() + 2) continue;
    const bool quoted = line[kInclude.size()] == '"';
    const std::string_view rest = line.substr(kInclude.size() + 1);
    includes.push_back({static_cast<int>(i + 1), std::string(rest.substr(0, rest.find(quoted ? '"' : '>'))), quoted});
  }
  return includes;
}

std::string At(const SourceFile& file, std::size_t line) { return file.path + ":" + std::to_string(line) + ": "; }

std::string Listed(const Faults& faults) {
  std::string text;
  for (const std::string& fault : faults) text += "\n  " + fault;
  return text;
}

PlantedTree::PlantedTree() {
  std::string folder = (fs::temp_directory_path() / "planted.XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) throw std::runtime_error("cannot make a temporary folder");
  root_ = folder;
}

PlantedTree::~PlantedTree() {
  std::error_code ignored;
  fs::remove_all(root_, ignored);
}

PlantedTree& PlantedTree::Plant(const std::string& path, std::string_view text) {
  const fs::path file = root_ / path;
  fs::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary) << text;
  return *this;
}

}  // namespace idleburn::testing
