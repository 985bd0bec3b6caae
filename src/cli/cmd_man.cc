#include "cli/commands.h"
#include "config/common_flags.h"
#include "os/output_file.h"
#include "report/command_pages.h"
#include "text/command_line.h"

// `idleburn man` prints manual pages, or writes all of them to a folder.

namespace idleburn {

Result<int> RunMan(const std::vector<std::string>& arguments, const Environment& environment) {
  std::string name;
  std::string folder;
  CommandFlags flags;
  flags.Add("command", "COMMAND", "the command; without it: the page of idleburn").text = &name;
  flags.Add("--output", "FOLDER", "write all pages to FOLDER").text = &folder;
  const bool read = TRY(flags.ReadWords("man", "Prints a manual page: idleburn man audit | man -l -", arguments));
  if (!read) return 0;
  const std::vector<CommandHelp> all = AllCommandHelp(environment);
  if (!folder.empty()) {
    TRY(WriteFileWhole(folder + "/idleburn.1", MainManualPage(all)));
    for (const CommandHelp& command : all) {
      TRY(WriteFileWhole(folder + "/idleburn-" + std::string(command.name) + ".1", ManualPage(command)));
    }
    return 0;
  }
  if (name.empty()) {
    TRY(Print(MainManualPage(all)));
    return 0;
  }
  std::vector<std::string> names;
  for (const CommandHelp& command : all) {
    names.emplace_back(command.name);
    if (command.name != name) continue;
    TRY(Print(ManualPage(command)));
    return 0;
  }
  return FailUsage("man: unknown command '" + name.substr(0, 40) + "'; " + SuggestionFor(name, names));
}

}  // namespace idleburn
