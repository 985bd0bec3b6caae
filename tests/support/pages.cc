#include "support/pages.h"

#include <algorithm>
#include <cctype>
#include <regex>
#include <sstream>
#include <string>
#include <string_view>

namespace idleburn::testing {
namespace {

bool HasLetterOrDigit(const std::string& word) {
  return std::any_of(word.begin(), word.end(), [](unsigned char c) { return std::isalnum(c) != 0; });
}

bool EndsSentence(const std::string& word) {
  const std::size_t last = word.find_last_not_of(")\"*");
  return last != std::string::npos && std::string_view(".!?").find(word[last]) != std::string_view::npos;
}

// One paragraph or item of a list, without code and the targets of links.
void TakeSentences(const SourceFile& page, std::size_t line, const std::string& text, Faults& faults) {
  static const std::regex kCode("`[^`]*`");
  static const std::regex kTarget(R"(\]\([^)]*\))");
  std::istringstream words(std::regex_replace(std::regex_replace(text, kTarget, "]"), kCode, "code"));
  std::string begin;
  std::size_t count = 0;
  const auto end_sentence = [&] {
    if (count > kSentenceWords) {
      faults.push_back(At(page, line) + "a sentence of " + std::to_string(count) + " words: " + begin + "...");
    }
    begin.clear();
    count = 0;
  };
  for (std::string word; words >> word;) {
    if (HasLetterOrDigit(word) && ++count <= 6) begin += word + " ";
    if (EndsSentence(word)) end_sentence();
  }
  end_sentence();
}

void TakePage(const SourceFile& page, Faults& faults) {
  static const std::regex kItem(R"(^\s*([*-]|\d+[a-z]?\.)\s+)");
  std::string paragraph;
  std::size_t begin = 0;
  bool fenced = false;
  const auto end_paragraph = [&] {
    if (!paragraph.empty()) TakeSentences(page, begin, paragraph, faults);
    paragraph.clear();
  };
  for (std::size_t i = 0; i < page.lines.size(); ++i) {
    const std::string& line = page.lines[i];
    const bool fence = StartsWith(line, "```");
    if (fence) fenced = !fenced;
    const bool no_prose = fence || fenced || line.empty() || StartsWith(line, "    ") || StartsWith(line, "|") ||
                          StartsWith(line, "#") || StartsWith(line, "<");
    const bool item = std::regex_search(line, kItem);
    if (no_prose || item) end_paragraph();
    if (no_prose) continue;
    if (paragraph.empty()) begin = i + 1;
    paragraph += (item ? std::regex_replace(line, kItem, "") : line) + " ";
  }
  end_paragraph();
}

}  // namespace

bool IsPage(const SourceFile& file) {
  return file.path == "README.md" || (StartsWith(file.path, "docs/") && EndsWith(file.path, ".md"));
}

Faults PageFaults(const SourceTree& tree) {
  Faults faults;
  for (const SourceFile& file : tree) {
    if (!IsPage(file)) continue;
    if (file.lines.size() >= kPageLines) {
      faults.push_back(file.path + ": has " + std::to_string(file.lines.size()) + " lines");
    }
    TakePage(file, faults);
  }
  return faults;
}

}  // namespace idleburn::testing
