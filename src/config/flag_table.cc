#include "config/flag_table.h"

#include <algorithm>
#include <array>

namespace idleburn {
namespace {

constexpr std::size_t kFields = 4;

char LetterOf(const Flag& flag) { return flag.on != nullptr ? 's' : flag.list != nullptr ? 'l' : 'v'; }

ListedFlag::Kind KindOf(std::string_view letter) {
  return letter == "s" ? ListedFlag::Kind::kSwitch : letter == "l" ? ListedFlag::Kind::kList : ListedFlag::Kind::kValue;
}

std::vector<std::string> Parts(std::string_view text, std::string_view separators) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find_first_of(separators, begin), text.size());
    parts.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

}  // namespace

std::string FlagTableText(const std::string& about, const std::vector<Flag>& flags) {
  std::string text = about + "\n-h,--help\t\ts\tprint this and exit\n";
  for (const Flag& flag : flags) {
    const std::string name = flag.name == "--output" ? "-o,--output" : flag.name;
    text += name + "\t" + flag.value + "\t" + LetterOf(flag) + "\t" + flag.help + "\n";
  }
  return text;
}

FlagTable ParseFlagTable(std::string_view text) {
  FlagTable table;
  const std::vector<std::string> lines = Parts(text, "\n");
  table.about = lines.front();
  for (const std::string& line : lines) {
    std::vector<std::string> fields = Parts(line, "\t");
    if (fields.size() != kFields) continue;
    table.flags.push_back({std::move(fields[0]), std::move(fields[1]), std::move(fields[3]), KindOf(fields[2])});
  }
  return table;
}

std::vector<std::string> ChoicesOf(const ListedFlag& flag) {
  // "text, json or csv (default: by -o, else text)"
  const std::string_view help = std::string_view(flag.help).substr(0, flag.help.find(" ("));
  const bool format = flag.name == "--format";
  if (!format && flag.value.find('|') == std::string::npos) return {};
  std::vector<std::string> choices = format ? Parts(help, ", ") : Parts(flag.value, "|");
  // A word in capitals stands for one of the user's: FILE|init.
  choices.erase(std::remove_if(choices.begin(), choices.end(),
                               [](const std::string& choice) {
                                 return choice.empty() || choice == "or" ||
                                        choice.find_first_not_of("abcdefghijklmnopqrstuvwxyz-") != std::string::npos;
                               }),
                choices.end());
  return choices;
}

}  // namespace idleburn
