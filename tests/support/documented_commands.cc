#include "support/documented_commands.h"

#include <algorithm>
#include <regex>
#include <string_view>

namespace idleburn::testing {
namespace {

constexpr std::string_view kProgram = "idleburn ";
constexpr std::string_view kDashes = " -- ";

std::string Trimmed(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(' ');
  return begin == std::string::npos ? "" : text.substr(begin, text.find_last_not_of(' ') + 1 - begin);
}

// Where `text` first has one of `marks` outside of quotes.
std::size_t FindBare(const std::string& text, std::string_view marks) {
  char quote = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote == 0 && marks.find(c) != std::string_view::npos) return i;
    if (c != '\'' && c != '"') continue;
    quote = quote == 0 ? c : quote == c ? '\0' : quote;
  }
  return text.size();
}

// The command alone: no comment, no redirection or pipe, nothing that stands for words to be thought of.
std::string Plain(std::string text) {
  text.resize(FindBare(text, "#|<>;&"));
  static const std::regex kRest(R"( +\.\.\.(?= |$))");
  text = std::regex_replace(text, kRest, "");
  text.erase(std::remove_if(text.begin(), text.end(), [](char c) { return c == '[' || c == ']'; }), text.end());
  return Trimmed(text);
}

bool IsCommand(const std::string& text) {
  return StartsWith(text, kProgram) && !StartsWith(text, "idleburn COMMAND") && text.size() > kProgram.size();
}

// Which lines are of a block: indented, or between fences; those with the fences too.
std::vector<bool> BlockLines(const SourceFile& file) {
  std::vector<bool> block;
  bool fenced = false;
  for (const std::string& line : file.lines) {
    const bool fence = StartsWith(line, "```");
    block.push_back(fence || fenced || StartsWith(line, "    "));
    fenced = fenced != fence;
  }
  return block;
}

// Lines of a block, "    idleburn ...", with those that a backslash joins to it.
void TakeBlocks(const SourceFile& file, std::vector<DocumentedCommand>& commands) {
  const std::vector<bool> block = BlockLines(file);
  for (std::size_t i = 0; i < file.lines.size(); ++i) {
    if (!block[i]) continue;
    const std::size_t first = i;
    std::string text = Trimmed(file.lines[i]);
    while (EndsWith(text, "\\") && i + 1 < file.lines.size()) {
      text.pop_back();
      text = Trimmed(text) + " " + Trimmed(file.lines[++i]);
    }
    if (StartsWith(text, "$ ")) text.erase(0, 2);
    text = Plain(text);
    if (IsCommand(text)) commands.push_back({file.path + ":" + std::to_string(first + 1), text, true});
  }
}

// `idleburn ...` in sentences and tables; a sentence goes on in the next line.
void TakeSpans(const SourceFile& file, std::vector<DocumentedCommand>& commands) {
  const std::vector<bool> block = BlockLines(file);
  std::string text;
  std::vector<std::size_t> begins;  // of the lines in it
  for (std::size_t i = 0; i < file.lines.size(); ++i) {
    begins.push_back(text.size());
    text += block[i] ? " " : file.lines[i] + " ";
  }
  static const std::regex kSpan("`([^`]+)`");
  for (auto at = std::sregex_iterator(text.begin(), text.end(), kSpan); at != std::sregex_iterator(); ++at) {
    const std::string words = Plain((*at)[1]);
    if (!IsCommand(words)) continue;
    const auto line = std::upper_bound(begins.begin(), begins.end(), static_cast<std::size_t>(at->position()));
    commands.push_back({file.path + ":" + std::to_string(line - begins.begin()), words, false});
  }
}

}  // namespace

std::vector<DocumentedCommand> CommandsOf(const SourceTree& tree) {
  std::vector<DocumentedCommand> commands;
  for (const SourceFile& file : tree) {
    if (!EndsWith(file.path, ".md")) continue;
    TakeBlocks(file, commands);
    TakeSpans(file, commands);
  }
  return commands;
}

std::vector<std::string> OnlyRead(const std::string& words) {
  const std::size_t dashes = std::min((words + " ").find(kDashes), words.size());
  std::vector<std::string> read = {words.substr(0, dashes) + " --help"};
  if (dashes == words.size()) return read;
  const std::string behind = words.substr(dashes + kDashes.size());
  const std::size_t again = behind.find(kDashes);
  if (again != std::string::npos) read.push_back("idleburn run " + behind.substr(0, again) + " --help");
  return read;
}

}  // namespace idleburn::testing
