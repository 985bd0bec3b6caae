#include "support/layers.h"

#include <algorithm>
#include <map>
#include <set>
#include <sstream>

namespace idleburn::testing {
namespace {

const LayerRow* FindRow(std::span<const LayerRow> table, std::string_view module) {
  const auto found = std::find_if(table.begin(), table.end(), [&](const LayerRow& r) { return r.module == module; });
  return found == table.end() ? nullptr : &*found;
}

bool Contains(const std::vector<std::string_view>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Depth first: kOpen while a file's includes are being followed; meeting an open file closes a circle.
class CycleSearch {
 public:
  explicit CycleSearch(std::map<std::string, std::vector<std::string>> edges) : edges_(std::move(edges)) {}

  Faults Run() {
    for (const auto& [file, targets] : edges_) Visit(file);
    return faults_;
  }

 private:
  enum class State { kNew, kOpen, kDone };

  void Visit(const std::string& file) {
    if (state_[file] == State::kDone) return;
    if (state_[file] == State::kOpen) {
      std::string circle;
      for (auto at = std::find(path_.begin(), path_.end(), file); at != path_.end(); ++at) circle += *at + " -> ";
      faults_.push_back("include cycle: " + circle + file);
      return;
    }
    state_[file] = State::kOpen;
    path_.push_back(file);
    for (const std::string& target : edges_[file]) Visit(target);
    path_.pop_back();
    state_[file] = State::kDone;
  }

  std::map<std::string, std::vector<std::string>> edges_;
  std::map<std::string, State> state_;
  std::vector<std::string> path_;
  Faults faults_;
};

using Links = std::map<std::string, std::vector<std::string>>;

// The idleburn_module() calls, each of one line or several; libraries that are no module are left out.
Links LinksOf(const SourceFile& cmake) {
  constexpr std::string_view kCall = "idleburn_module(";
  Links links;
  for (std::size_t i = 0; i < cmake.lines.size(); ++i) {
    if (!StartsWith(cmake.lines[i], kCall)) continue;
    std::string call = cmake.lines[i].substr(kCall.size());
    while (call.find(')') == std::string::npos && i + 1 < cmake.lines.size()) call += " " + cmake.lines[++i];
    std::istringstream words(call.substr(0, call.find(')')));
    std::string module;
    words >> module;
    std::vector<std::string>& deps = links[module];
    for (std::string word; words >> word;) deps.push_back(word);
  }
  for (auto& [module, deps] : links) {
    deps.erase(std::remove_if(deps.begin(), deps.end(), [&](const std::string& d) { return links.count(d) == 0; }),
               deps.end());
  }
  return links;
}

void Reach(const Links& links, const std::string& module, std::set<std::string>& reached) {
  for (const std::string& dep : links.at(module)) {
    if (reached.insert(dep).second) Reach(links, dep, reached);
  }
}

// "`base` `text`" to names; a cell without any is the empty list.
std::vector<std::string> QuotedNames(const std::string& cell) {
  std::vector<std::string> names;
  for (std::size_t begin = cell.find('`'); begin != std::string::npos;) {
    const std::size_t end = cell.find('`', begin + 1);
    if (end == std::string::npos) break;
    names.push_back(cell.substr(begin + 1, end - begin - 1));
    begin = cell.find('`', end + 1);
  }
  return names;
}

}  // namespace

Faults TableFaults(std::span<const LayerRow> table) {
  Faults faults;
  for (std::size_t i = 0; i < table.size(); ++i) {
    const std::span<const LayerRow> above = table.first(i);
    const std::string module(table[i].module);
    if (FindRow(above, module) != nullptr) faults.push_back(module + ": has two rows");
    for (const std::string_view dep : table[i].may_use) {
      const LayerRow* row = FindRow(above, dep);
      if (row == nullptr || row->layer >= table[i].layer) {
        faults.push_back(module + " -> " + std::string(dep) + ": not a lower layer above it in the table");
      }
    }
  }
  return faults;
}

Faults FolderFaults(const SourceTree& tree, std::span<const LayerRow> table) {
  std::set<std::string> modules;
  for (const SourceFile& file : tree) {
    if (StartsWith(file.path, "src/")) modules.insert(ModuleOf(file.path));
  }
  Faults faults;
  for (const std::string& module : modules) {
    if (FindRow(table, module) == nullptr) faults.push_back("src/" + module + ": has no row in the table of layers");
  }
  for (const LayerRow& row : table) {
    if (modules.count(std::string(row.module)) == 0) faults.push_back(std::string(row.module) + ": has no files");
  }
  return faults;
}

Faults IncludeFaults(const SourceTree& tree, std::span<const LayerRow> table) {
  Faults faults;
  for (const SourceFile& file : tree) {
    const LayerRow* row = FindRow(table, ModuleOf(file.path));
    if (row == nullptr || !IsCpp(file) || IsTest(file)) continue;
    for (const Include& include : IncludesOf(file)) {
      if (!include.quoted) continue;
      const std::string where = At(file, static_cast<std::size_t>(include.line));
      const std::string target = ModuleOf("src/" + include.target);
      if (FindFile(tree, "src/" + include.target) == nullptr) {
        faults.push_back(where + "\"" + include.target + "\" is no path from src/");
      } else if (target != row->module && !Contains(row->may_use, target)) {
        faults.push_back(where + std::string(row->module) + " may not use " + target);
      }
    }
  }
  return faults;
}

Faults UnusedFaults(const SourceTree& tree, std::span<const LayerRow> table) {
  std::map<std::string, std::set<std::string>> used;
  for (const SourceFile& file : tree) {
    if (!StartsWith(file.path, "src/") || !IsCpp(file) || IsTest(file)) continue;
    for (const Include& include : IncludesOf(file)) {
      if (include.quoted) used[ModuleOf(file.path)].insert(ModuleOf("src/" + include.target));
    }
  }
  Faults faults;
  for (const LayerRow& row : table) {
    const std::string module(row.module);
    for (const std::string_view dep : row.may_use) {
      if (used[module].count(std::string(dep)) == 0) {
        faults.push_back(module + " may use " + std::string(dep) + ", which none of its files includes");
      }
    }
  }
  return faults;
}

Faults CycleFaults(const SourceTree& tree) {
  std::map<std::string, std::vector<std::string>> edges;
  for (const SourceFile& file : tree) {
    if (!StartsWith(file.path, "src/") || !IsCpp(file)) continue;
    std::vector<std::string>& targets = edges[file.path];
    for (const Include& include : IncludesOf(file)) {
      if (include.quoted) targets.push_back("src/" + include.target);
    }
  }
  return CycleSearch(std::move(edges)).Run();
}

Faults LinkFaults(const SourceTree& tree, std::span<const LayerRow> table) {
  const SourceFile* cmake = FindFile(tree, "CMakeLists.txt");
  if (cmake == nullptr) return {"CMakeLists.txt is missing"};
  const Links links = LinksOf(*cmake);
  Faults faults;
  for (const auto& [module, deps] : links) {
    const LayerRow* row = FindRow(table, module);
    if (row == nullptr) faults.push_back("CMakeLists.txt: module " + module + " has no row in the table of layers");
    for (const std::string& dep : deps) {
      if (row != nullptr && !Contains(row->may_use, dep)) {
        faults.push_back("CMakeLists.txt: " + module + " links " + dep + ", which its row does not allow");
      }
    }
  }
  for (const LayerRow& row : table) {
    if (EndsWith(row.module, ".cc")) continue;  // the program itself, no module
    if (links.count(std::string(row.module)) == 0) {
      faults.push_back("CMakeLists.txt: " + std::string(row.module) + " is no idleburn_module");
      continue;
    }
    std::set<std::string> reached;
    Reach(links, std::string(row.module), reached);
    for (const std::string_view dep : row.may_use) {
      if (reached.count(std::string(dep)) == 0) {
        faults.push_back("CMakeLists.txt: " + std::string(row.module) + " does not link " + std::string(dep));
      }
    }
  }
  return faults;
}

Faults DocumentFaults(const SourceTree& tree, std::span<const LayerRow> table) {
  const SourceFile* document = FindFile(tree, "docs/ARCHITECTURE.md");
  if (document == nullptr) return {"docs/ARCHITECTURE.md is missing"};
  Faults faults;
  std::set<std::string> told;
  for (std::size_t i = 0; i < document->lines.size(); ++i) {
    const std::string& line = document->lines[i];
    if (!StartsWith(line, "| L")) continue;
    std::istringstream cells(line.substr(1));
    std::string layer;
    std::string module;
    std::string uses;
    std::getline(cells, layer, '|');
    std::getline(cells, module, '|');
    std::getline(cells, uses, '|');
    const std::vector<std::string> name = QuotedNames(module);
    const LayerRow* row = name.size() == 1 ? FindRow(table, name.front()) : nullptr;
    if (row == nullptr) {
      faults.push_back(At(*document, i + 1) + "names no module of the table");
      continue;
    }
    told.insert(name.front());
    const std::vector<std::string> told_uses = QuotedNames(uses);
    const bool same = std::equal(told_uses.begin(), told_uses.end(), row->may_use.begin(), row->may_use.end());
    if (!same || layer != " L" + std::to_string(row->layer) + " ") {
      faults.push_back(At(*document, i + 1) + name.front() + " differs from the table of layers");
    }
  }
  for (const LayerRow& row : table) {
    if (told.count(std::string(row.module)) == 0) {
      faults.push_back("docs/ARCHITECTURE.md: no row for " + std::string(row.module));
    }
  }
  return faults;
}

}  // namespace idleburn::testing
