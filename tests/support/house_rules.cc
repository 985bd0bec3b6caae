#include "support/house_rules.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <string>

#include "support/cpp_outline.h"

namespace idleburn::testing {
namespace {

bool IsSource(const SourceFile& file) { return StartsWith(file.path, "src/") && IsCpp(file) && !IsTest(file); }

bool IsScript(const SourceFile& file) {
  return EndsWith(file.path, ".sh") || EndsWith(file.path, ".cmake") || EndsWith(file.path, "CMakeLists.txt");
}

// Characters, not bytes.
std::size_t Columns(const std::string& line) {
  return static_cast<std::size_t>(
      std::count_if(line.begin(), line.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80; }));
}

template <typename Container>
bool Holds(const Container& container, std::string_view name) {
  return std::find(container.begin(), container.end(), name) != container.end();
}

// A heading of Markdown: `words`, or where `after` stands behind them what begins so.
bool HasHeading(const SourceFile& document, const std::string& words, std::string_view after) {
  return std::any_of(document.lines.begin(), document.lines.end(), [&](const std::string& line) {
    if (!StartsWith(line, "#")) return false;
    const std::string heading = line.substr(std::min(line.size(), line.find_first_not_of("# ")));
    return after.empty() ? heading == words
                         : StartsWith(heading, words + std::string(after)) || StartsWith(heading, words + ".");
  });
}

// One regular expression over the lines of code of each chosen file.
template <typename Chosen>
Faults Matches(const SourceTree& tree, Chosen chosen, const std::regex& pattern, const std::string& sentence) {
  Faults faults;
  for (const SourceFile& file : tree) {
    if (!chosen(file)) continue;
    const std::vector<std::string> code = CodeOf(file);
    for (std::size_t i = 0; i < code.size(); ++i) {
      if (std::regex_search(code[i], pattern)) faults.push_back(At(file, i + 1) + sentence);
    }
  }
  return faults;
}

// Whether `name` (import/parquet.cc) names a file in a module of ours, and no such file is there.
bool IsLost(const SourceTree& tree, const std::string& name) {
  const std::string module = "src/" + name.substr(0, name.find('/') + 1);
  const bool ours =
      std::any_of(tree.begin(), tree.end(), [&](const SourceFile& file) { return StartsWith(file.path, module); });
  return ours && FindFile(tree, "src/" + name) == nullptr;
}

}  // namespace

Faults PragmaFaults(const SourceTree& tree) {
  Faults faults;
  for (const SourceFile& file : tree) {
    if (!EndsWith(file.path, ".h")) continue;
    const std::vector<std::string> code = CodeOf(file);
    const auto first = std::find_if(code.begin(), code.end(), [](const std::string& line) {
      return line.find_first_not_of(' ') != std::string::npos;
    });
    if (first == code.end() || *first != "#pragma once")
      faults.push_back(file.path + ": does not start with #pragma once");
  }
  return faults;
}

Faults OwnHeaderFaults(const SourceTree& tree) {
  Faults faults;
  for (const SourceFile& file : tree) {
    if (!EndsWith(file.path, ".cc")) continue;
    std::string header = file.path.substr(0, file.path.size() - 3);
    if (EndsWith(header, "_test")) header.resize(header.size() - 5);
    header += ".h";
    if (FindFile(tree, header) == nullptr) continue;
    const std::string spelling = header.substr(header.find('/') + 1);
    const std::vector<Include> includes = IncludesOf(file);
    if (includes.empty() || includes.front().target != spelling) {
      faults.push_back(file.path + ": does not include \"" + spelling + "\" first");
    }
  }
  return faults;
}

Faults UsingFaults(const SourceTree& tree) {
  static const std::regex kUsing(R"(\busing\s+namespace\s+(?!std::(\w+::)*\w*literals\b))");
  return Matches(tree, IsCpp, kUsing, "using namespace");
}

Faults CheckedPairFaults(const SourceTree& tree) {
  static const std::regex kCheck(
      R"(^\s*if \(!(\w+)\) return tl::unexpected<Error>\((?:std::move\()?\1\)?\.error\(\)\);)");
  Faults faults;
  for (const SourceFile& file : tree) {
    if (!IsCpp(file)) continue;
    const std::vector<std::string> code = CodeOf(file);
    for (std::size_t i = 1; i < code.size(); ++i) {
      std::smatch check;
      if (!std::regex_search(code[i], check, kCheck)) continue;
      std::size_t from = i - 1;  // of the statement before
      const auto ends = [](const std::string& line) { return line.find_last_of(";{}") != std::string::npos; };
      while (from > 0 && !ends(code[from - 1])) --from;
      const std::regex declares(R"(^\s*(const )?(auto|Result<.*>) )" + check[1].str() + R"((;| =))");
      if (std::regex_search(code[from], declares)) faults.push_back(At(file, i + 1) + check[1].str() + ": use TRY");
    }
  }
  return faults;
}

Faults SizeFaults(const SourceTree& tree) {
  Faults faults;
  for (const SourceFile& file : tree) {
    if (!IsCpp(file) && !IsScript(file)) continue;
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      const std::size_t columns = Columns(file.lines[i]);
      if (columns > kMostColumns) faults.push_back(At(file, i + 1) + std::to_string(columns) + " columns");
    }
    if (!IsCpp(file)) continue;
    if (file.lines.size() > kMostLines)
      faults.push_back(file.path + ": " + std::to_string(file.lines.size()) + " lines");
    for (const Outline::Function& function : OutlineOf(file).functions) {
      const std::size_t lines = function.last_line - function.first_line + 1;
      if (lines > kMostFunctionLines) {
        faults.push_back(At(file, function.first_line) + "a function of " + std::to_string(lines) + " lines");
      }
    }
  }
  return faults;
}

Faults MacroFaults(const SourceTree& tree, std::span<const std::string_view> allowed) {
  static const std::regex kDefine(R"(^\s*#\s*define\s+(\w+))");
  Faults faults;
  std::set<std::string> defined;
  for (const SourceFile& file : tree) {
    if (!IsSource(file)) continue;
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      std::smatch match;
      if (!std::regex_search(file.lines[i], match, kDefine)) continue;
      const std::string name = match[1];
      if (!Holds(allowed, name) || !defined.insert(name).second)
        faults.push_back(At(file, i + 1) + "defines macro " + name);
    }
  }
  return faults;
}

Faults TypeNameFaults(const SourceTree& tree) {
  // At the start of a line: namespaces are not indented, so what is indented belongs to a class.
  static const std::regex kType(R"(^(struct|class|enum class|enum)\s+(\w+)\b[^;]*(\{|$))");
  Faults faults;
  std::map<std::string, std::string> defined;
  for (const SourceFile& file : tree) {
    if (!StartsWith(file.path, "src/") || !EndsWith(file.path, ".h")) continue;
    const std::vector<std::string> code = CodeOf(file);
    for (std::size_t i = 0; i < code.size(); ++i) {
      std::smatch match;
      if (!std::regex_search(code[i], match, kType)) continue;
      const auto [first, is_new] = defined.emplace(match[2].str(), file.path);
      if (!is_new) faults.push_back(At(file, i + 1) + match[2].str() + " is also a type of " + first->second);
    }
  }
  return faults;
}

Faults FolderNameFaults(const SourceTree& tree) {
  constexpr std::array<std::string_view, 9> kEmptyNames = {"util",    "utils", "common", "core", "helper",
                                                           "helpers", "misc",  "shared", "stuff"};
  std::set<std::string> folders;
  for (const SourceFile& file : tree) {
    for (std::filesystem::path p = std::filesystem::path(file.path).parent_path(); !p.empty(); p = p.parent_path()) {
      if (Holds(kEmptyNames, p.filename().string())) folders.insert(p.generic_string());
    }
  }
  Faults faults;
  for (const std::string& folder : folders) faults.push_back(folder + ": says nothing of what it holds");
  return faults;
}

Faults StateFaults(const SourceTree& tree) {
  static const std::regex kSingleton(R"(\b(Get|Shared)?Instance\s*\(\s*\)|[Ss]ingleton)");
  static const std::regex kStatic(R"(^(inline |const )*(static|thread_local)\b)");
  static const std::regex kNoVariable(
      R"(^(using|typedef|__extension__ typedef|class|struct|enum|union|extern|template|friend)\b)"
      R"(|^(namespace|static_assert|public|private|return)\b|\b(const|constexpr|operator)\b)");
  static const std::regex kDeclaration(R"(^(static |inline |thread_local )*[\w:<>,*& ]+[\w>*&] \w+( ?=.*|\[.*)?$)");
  Faults faults = Matches(tree, IsSource, kSingleton, "looks like a singleton");
  for (const SourceFile& file : tree) {
    if (!IsSource(file)) continue;
    const Outline outline = OutlineOf(file);
    const auto examine = [&](const Outline::Statement& statement, bool everything) {
      const std::string head = statement.text.substr(0, statement.text.find('='));
      if (head.find('(') != std::string::npos || std::regex_search(head, kNoVariable)) return;
      const bool variable =
          std::regex_search(head, kStatic) || (everything && std::regex_match(statement.text, kDeclaration));
      if (variable) faults.push_back(At(file, statement.line) + "a variable that outlives its call: " + head);
    };
    for (const Outline::Statement& statement : outline.at_namespace) examine(statement, true);
    for (const Outline::Statement& statement : outline.inside_braces) examine(statement, false);
  }
  return faults;
}

Faults HeavyHeaderFaults(const SourceTree& tree, std::span<const HeavyHeader> heavy) {
  constexpr std::array<std::string_view, 4> kUnreadable = {"ranges", "format", "source_location", "expected"};
  Faults faults;
  std::map<std::string_view, std::set<std::string>> users;
  for (const SourceFile& file : tree) {
    if (!StartsWith(file.path, "src/") || !IsCpp(file)) continue;
    for (const Include& include : IncludesOf(file)) {
      const std::string where = At(file, static_cast<std::size_t>(include.line));
      if (!include.quoted && Holds(kUnreadable, include.target)) {
        faults.push_back(where + "clang 14 cannot read <" + include.target + "> of g++ 12");
      }
      const auto row = std::find_if(heavy.begin(), heavy.end(), [&](const HeavyHeader& h) {
        return include.target == h.header || (EndsWith(h.header, "/") && StartsWith(include.target, h.header));
      });
      if (row == heavy.end() || IsTest(file)) continue;
      if (EndsWith(file.path, ".h")) faults.push_back(where + include.target + " is heavy: not in a header");
      if (!Holds(row->modules, ModuleOf(file.path))) {
        faults.push_back(where + include.target + " is heavy: not in " + ModuleOf(file.path));
      }
      std::set<std::string>& paths = users[row->header];
      if (paths.insert(file.path).second && paths.size() > row->most_files) {
        faults.push_back(where + include.target + " is heavy: in more than " + std::to_string(row->most_files) +
                         " files");
      }
    }
  }
  return faults;
}

Faults TestOnlyHeaderFaults(const SourceTree& tree) {
  std::set<std::string> included;
  for (const SourceFile& file : tree) {
    if (!IsSource(file)) continue;
    const std::string own = file.path.substr(0, file.path.rfind('.')) + ".h";
    for (const Include& include : IncludesOf(file)) {
      if (include.quoted && "src/" + include.target != own) included.insert("src/" + include.target);
    }
  }
  Faults faults;
  for (const SourceFile& file : tree) {
    if (IsSource(file) && EndsWith(file.path, ".h") && included.count(file.path) == 0) {
      faults.push_back(file.path + ": no other file of src includes it");
    }
  }
  return faults;
}

Faults DeadFileFaults(const SourceTree& tree, std::string_view compile_commands) {
  Faults faults;
  for (const SourceFile& file : tree) {
    const bool built_here = StartsWith(file.path, "src/") || StartsWith(file.path, "tests/") ||
                            StartsWith(file.path, "bench/") || StartsWith(file.path, "tools/");
    if (EndsWith(file.path, ".cc") && built_here &&
        compile_commands.find("/" + file.path + "\"") == std::string_view::npos) {
      faults.push_back(file.path + ": is not compiled");
    }
    if (EndsWith(file.path, ".cc") && StartsWith(file.path, "fuzz/") && !EndsWith(file.path, "_fuzz.cc")) {
      faults.push_back(file.path + ": is no fuzz target");
    }
  }
  return faults;
}

Faults FuzzFaults(const SourceTree& tree, const std::vector<std::string>& corpus_folders) {
  Faults faults;
  static const std::regex kReader(R"(\b(Import|Read)[A-Z]\w*)");
  const auto readers_in = [](const SourceFile& file) {
    std::set<std::string> names;
    for (const std::string& line : CodeOf(file)) {
      for (std::sregex_iterator at(line.begin(), line.end(), kReader), end; at != end; ++at) names.insert(at->str());
    }
    return names;
  };
  std::set<std::string> fuzzed;
  for (const SourceFile& file : tree) {
    if (StartsWith(file.path, "fuzz/")) fuzzed.merge(readers_in(file));
  }
  for (const std::string_view path : {"src/import/importers.cc", "src/profile/profile_importers.cc"}) {
    const SourceFile* table = FindFile(tree, path);
    if (table == nullptr) continue;
    for (const std::string& reader : readers_in(*table)) {
      if (fuzzed.count(reader) == 0) faults.push_back(reader + ": has no fuzz target");
    }
  }
  for (const std::string& name : corpus_folders) {
    if (FindFile(tree, "fuzz/" + name + "_fuzz.cc") == nullptr) {
      faults.push_back("fuzz/corpus/" + name + ": seeds of no target");
    }
  }
  return faults;
}

Faults CommentTargetFaults(const SourceTree& tree) {
  static const std::regex kDocument(R"re(([\w./:-]*\w\.md)\b(?:,? (?:sections? (\d+(?:\.\d+)*)|"([^"]+)"))?)re");
  static const std::regex kNoDocument(R"((?:[/*(]|\bof|\bby|\bin) *[Ss]ections? \d)");
  static const std::regex kFile(R"(\b(?:[\w-]+/)+[\w-]+\.(?:h|cc)\b)");
  Faults faults;
  for (const SourceFile& file : tree) {
    if (!IsCpp(file) || StartsWith(file.path, "tools/")) continue;  // tools name what they write
    const auto find = [&](const std::string& path) {
      const SourceFile* beside =
          FindFile(tree, (std::filesystem::path(file.path).parent_path() / path).lexically_normal().generic_string());
      return beside != nullptr ? beside : FindFile(tree, path);
    };
    const std::vector<std::string> comments = CommentsOf(file);
    for (std::size_t i = 0; i < comments.size(); ++i) {
      const std::string& line = comments[i];
      for (auto at = std::sregex_iterator(line.begin(), line.end(), kDocument); at != std::sregex_iterator(); ++at) {
        const std::string name = (*at)[1];
        if (name.find("://") != std::string::npos) continue;
        const SourceFile* document = find(name);
        if (document == nullptr) {
          faults.push_back(At(file, i + 1) + "names " + name + ", which is not there");
        } else if ((*at)[2].matched && !HasHeading(*document, (*at)[2], " ")) {
          faults.push_back(At(file, i + 1) + name + " has no section " + (*at)[2].str());
        } else if ((*at)[3].matched && !HasHeading(*document, (*at)[3], "")) {
          faults.push_back(At(file, i + 1) + name + " has no heading \"" + (*at)[3].str() + "\"");
        }
      }
      if (std::regex_search(line, kNoDocument)) faults.push_back(At(file, i + 1) + "names a section of no document");
      for (auto at = std::sregex_iterator(line.begin(), line.end(), kFile); at != std::sregex_iterator(); ++at) {
        if (IsLost(tree, at->str())) faults.push_back(At(file, i + 1) + "names " + at->str() + ", which is not there");
      }
    }
  }
  return faults;
}

Faults WordFaults(const SourceTree& tree) {
  // Spelt in pieces, so that this file keeps the rule too.
  static const std::regex kUnfinished(
      "\\b(TO"
      "DO|FIX"
      "ME|XX"
      "X|TB"
      "D)\\b|[Nn]ot (yet )?imple"
      "mented");
  static const std::regex kMachine(
      "(^|[\\s\"'=(:`])/(wo"
      "rk|ro"
      "ot|ho"
      "me|Us"
      "ers)/");
  static const std::regex kHost(
      "https?://[^/\\s]*(regi"
      "stry|mir"
      "ror|arti"
      "fact|pro"
      "xy)[^/\\s]*|\\bdeb\\.debian\\b");
  Faults faults;
  for (const SourceFile& file : tree) {
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      const std::string& line = file.lines[i];
      if (line.size() > 10'000) continue;  // data
      if (std::regex_search(line, kUnfinished)) faults.push_back(At(file, i + 1) + "says that something is unfinished");
      if (std::regex_search(line, kMachine)) faults.push_back(At(file, i + 1) + "names a path of one machine");
      if (std::regex_search(line, kHost)) faults.push_back(At(file, i + 1) + "names a host that serves packages");
    }
  }
  return faults;
}

Faults LinkTargetFaults(const SourceTree& tree) {
  static const std::regex kLink(R"(\]\(([^)\s#]+)(#[^)\s]*)?\))");
  Faults faults;
  for (const SourceFile& file : tree) {
    if (!EndsWith(file.path, ".md")) continue;
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      const std::string& line = file.lines[i];
      for (auto at = std::sregex_iterator(line.begin(), line.end(), kLink); at != std::sregex_iterator(); ++at) {
        const std::string target = (*at)[1];
        if (target.find("://") != std::string::npos || StartsWith(target, "mailto:")) continue;
        const auto path = (std::filesystem::path(file.path).parent_path() / target).lexically_normal().generic_string();
        const bool exists = std::any_of(tree.begin(), tree.end(), [&](const SourceFile& f) {
          return f.path == path || StartsWith(f.path, EndsWith(path, "/") ? path : path + "/");
        });
        if (!exists) faults.push_back(At(file, i + 1) + "links to " + target + ", which is not there");
      }
    }
  }
  return faults;
}

Faults WalkFaults(const SourceTree& tree) {
  static const std::regex kFile(R"(`(?:src/)?((?:[\w-]+/)+[\w-]+\.(?:h|cc))`)");
  static const std::regex kStep(R"(\| `([\w/-]+\.(?:h|cc))` \| (`[A-Z][\w:]+`(?:, `[\w:]+`)*) \|)");
  static const std::regex kFunction(R"((\w+)`)");
  Faults faults;
  for (const SourceFile& file : tree) {
    if (!EndsWith(file.path, ".md")) continue;
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      const std::string& line = file.lines[i];
      for (auto at = std::sregex_iterator(line.begin(), line.end(), kFile); at != std::sregex_iterator(); ++at) {
        const std::string name = (*at)[1];
        if (IsLost(tree, name)) faults.push_back(At(file, i + 1) + "names " + name + ", which is not there");
      }
      std::smatch step;
      if (!std::regex_search(line, step, kStep)) continue;
      const SourceFile* source = FindFile(tree, "src/" + step[1].str());
      if (source == nullptr) continue;  // said above
      const std::string functions = step[2];
      for (auto at = std::sregex_iterator(functions.begin(), functions.end(), kFunction); at != std::sregex_iterator();
           ++at) {
        const std::regex named("\\b" + (*at)[1].str() + "\\(");
        const bool there = std::any_of(source->lines.begin(), source->lines.end(),
                                       [&](const std::string& l) { return std::regex_search(l, named); });
        if (!there) faults.push_back(At(file, i + 1) + step[1].str() + " has no " + (*at)[1].str());
      }
    }
  }
  return faults;
}

Faults VariableFaults(const SourceTree& tree) {
  static const std::regex kNamed("\\bIDLEBURN_[A-Z_]+");
  static const std::regex kUsed("[\"']IDLEBURN_[A-Z_]+");
  const auto each_in = [](const SourceFile& file, const std::regex& pattern, const auto& found) {
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      const std::string& line = file.lines[i];
      for (auto at = std::sregex_iterator(line.begin(), line.end(), pattern); at != std::sregex_iterator(); ++at) {
        found((*at)[0].str(), i + 1);
      }
    }
  };
  std::set<std::string> named;
  for (const SourceFile& file : tree) {
    const bool document = file.path == "README.md" || (StartsWith(file.path, "docs/") && EndsWith(file.path, ".md"));
    if (document) each_in(file, kNamed, [&](const std::string& name, std::size_t) { named.insert(name); });
  }
  const auto known = [&](const std::string& name) {
    if (!EndsWith(name, "_")) return named.contains(name);
    const auto first = named.lower_bound(name);  // what all names of a kind begin with
    return first != named.end() && StartsWith(*first, name);
  };
  Faults faults;
  for (const SourceFile& file : tree) {
    const bool ours =
        StartsWith(file.path, "src/") || StartsWith(file.path, "include/") || StartsWith(file.path, "python/idleburn/");
    if (!ours || IsTest(file)) continue;
    each_in(file, kUsed, [&](const std::string& used, std::size_t line) {
      const std::string name = used.substr(1);
      if (!known(name)) faults.push_back(At(file, line) + name + " is in no document");
    });
  }
  return faults;
}

Faults ScriptFaults(const SourceTree& tree) {
  Faults faults;
  for (const SourceFile& file : tree) {
    if (!EndsWith(file.path, ".sh") && file.path != ".ci/run") continue;
    const bool shebang = !file.lines.empty() && file.lines.front() == "#!/usr/bin/env bash";
    if (!shebang || !Holds(file.lines, "set -euo pipefail")) faults.push_back(file.path + ": goes on after an error");
  }
  return faults;
}

}  // namespace idleburn::testing
