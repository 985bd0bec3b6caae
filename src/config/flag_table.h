#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/common_flags.h"

namespace idleburn {

// A flag as text, for what is generated from it: completions and manual pages.
struct ListedFlag {
  enum class Kind : std::uint8_t { kSwitch, kValue, kList };  // kList may be repeated

  std::string name;   // "--price", "-o,--output"; a bare word is a positional
  std::string value;  // "RATE"; empty for a switch
  std::string help;
  Kind kind = Kind::kValue;
};

// What `idleburn COMMAND --help` prints, before it is laid out: one sentence and all flags in order.
struct FlagTable {
  std::string about;
  std::vector<ListedFlag> flags;
};

// A command as its help tells it. Names live as long as the table of commands.
struct CommandHelp {
  std::string_view name;
  std::string_view summary;
  FlagTable table;
};

// The word that asks a command for its flags. Only the function of a command knows them, because it owns the variables
// that they fill. Given alone, this word makes CommandFlags fail, and the error's message is the table. An error
// leaves any command at once, so no command does anything first.
inline constexpr std::string_view kListFlags = "--list-flags";

// The table as text: a line for the sentence, then a line for each flag, fields separated by tabs.
std::string FlagTableText(const std::string& about, const std::vector<Flag>& flags);
// Reads the text back. A line without the fields of a flag is left out.
FlagTable ParseFlagTable(std::string_view text);

// The values that a flag takes, where its help lists them: "init|print|path", or the formats of --format.
std::vector<std::string> ChoicesOf(const ListedFlag& flag);

}  // namespace idleburn
