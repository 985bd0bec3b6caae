#include "support/documented_sessions.h"

#include <sstream>
#include <string_view>

namespace idleburn::testing {
namespace {

constexpr std::string_view kIndent = "    ";
constexpr std::string_view kPrompt = "$ ";

std::string Stripped(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(' ');
  return begin == std::string::npos ? "" : text.substr(begin);
}

}  // namespace

std::vector<ShownCommand> ShownCommandsOf(const SourceFile& page) {
  std::vector<ShownCommand> commands;
  bool fenced = false;
  bool open = false;  // a command whose output may follow
  for (std::size_t i = 0; i < page.lines.size(); ++i) {
    if (StartsWith(page.lines[i], "```")) {
      fenced = !fenced;
      open = false;
      continue;
    }
    const bool indented = StartsWith(page.lines[i], kIndent);
    if (!fenced && !indented) {
      open = open && page.lines[i].empty();
      continue;
    }
    std::string line = fenced ? page.lines[i] : page.lines[i].substr(kIndent.size());
    if (StartsWith(line, kPrompt)) {
      commands.push_back({page.path + ":" + std::to_string(i + 1), line.substr(kPrompt.size()), {}});
      std::string& words = commands.back().words;
      while (EndsWith(words, "\\") && i + 1 < page.lines.size()) {
        words.pop_back();
        words += Stripped(page.lines[++i]);
      }
      open = true;
    } else if (open && !line.empty()) {
      commands.back().lines.push_back(line);
    }
  }
  return commands;
}

std::vector<std::string> ScriptsOf(const SourceFile& page) {
  std::vector<std::string> scripts;
  bool inside = false;
  for (const std::string& line : page.lines) {
    if (!inside && line == "```sh") {
      scripts.emplace_back();
      inside = true;
    } else if (inside && line == "```") {
      inside = false;
    } else if (inside) {
      scripts.back() += line + "\n";
    }
  }
  return scripts;
}

std::string FirstMissing(const std::vector<std::string>& lines, const std::string& output) {
  std::istringstream printed(output);
  for (const std::string& line : lines) {
    std::string next;
    do {
      if (!std::getline(printed, next)) return line;
    } while (!StartsWith(next, line));
  }
  return "";
}

}  // namespace idleburn::testing
