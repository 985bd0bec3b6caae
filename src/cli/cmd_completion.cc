#include "cli/commands.h"
#include "config/common_flags.h"
#include "report/command_pages.h"

// `idleburn completion SHELL` prints the completions of a shell.

namespace idleburn {

Result<int> RunCompletion(const std::vector<std::string>& arguments, const Environment& environment) {
  std::string shell;
  CommandFlags flags;
  Flag& word = flags.Add("shell", "bash|zsh|fish", "the shell to print completions for");
  word.text = &shell;
  word.required = true;
  const bool read = TRY(flags.ReadWords("completion", "Prints the completions of a shell.", arguments));
  if (!read) return 0;
  const std::optional<std::string> completions = Completions(shell, AllCommandHelp(environment));
  if (!completions) return FailUsage("completion: '" + shell.substr(0, 20) + "' is not one of bash, zsh, fish");
  TRY(Print(*completions));
  return 0;
}

}  // namespace idleburn
