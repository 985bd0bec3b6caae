#include <algorithm>
#include <cstdio>
#include <exception>

#include "cli/command.h"
#include "run/served_command.h"
#include "terminal/output.h"
#include "text/command_line.h"

// Finds and runs the command. CLI11 has subcommands, but they are not used: each command builds only its own flags, and
// the words of a user's command never reach the flags of another one.

namespace idleburn {
namespace {

// Scripts tell a bad file (1) from a bad flag (2) by these codes.
constexpr int kExitFailed = 1;
constexpr int kExitUsage = 2;

// The help of the program: all commands, and where to start.
std::string Overview() {
  std::string text =
      "idleburn: where GPU dollars went, why, what would fix it, and how much that would save\n\n"
      "usage: idleburn COMMAND [flags]      idleburn COMMAND --help\n\n";
  for (const Command& command : Commands()) {
    std::string name(command.name);
    name.resize(12, ' ');
    text += "  " + name + std::string(command.summary) + "\n";
  }
  return text + "\nfirst steps: idleburn demo      idleburn audit gpu.csv --price 2.50\n";
}

// Prints the error and returns its exit code. Every error is one line on standard error, so that standard output stays
// a document.
int Complain(const Error& error) {
  Say(error.message);
  return error.kind == Error::Kind::kUsage ? kExitUsage : kExitFailed;
}

}  // namespace

int RunProgram(const std::vector<std::string>& arguments, const Environment& environment) {
  // This process may be the one that serves a command after its idleburn crashed (run/served_command.h).
  if (const std::optional<int> code = ServeAfterCrash(arguments)) return *code;
  // Without any word the help is printed, but the exit code is that of wrong use: a script that lost its words should
  // fail.
  const std::string name = arguments.empty() ? "--help" : arguments.front();
  if (name == "--help" || name == "-h" || name == "help" || name == "--version") {
    const Result<void> printed = Print(name == "--version" ? "idleburn " IDLEBURN_VERSION "\n" : Overview());
    if (!printed) return Complain(printed.error());
    return arguments.empty() ? kExitUsage : 0;
  }
  const auto commands = Commands();
  const auto command = std::find_if(commands.begin(), commands.end(), [&](const Command& c) { return c.name == name; });
  if (command == commands.end()) {
    // The nearest command is suggested, since most unknown commands are typing errors.
    std::vector<std::string> names = {"--version", "--help"};
    for (const Command& c : commands) names.emplace_back(c.name);
    return Complain(
        {"unknown command '" + name.substr(0, 40) + "'; " + SuggestionFor(name, names), Error::Kind::kUsage});
  }
  try {
    const Result<int> code = command->run({arguments.begin() + 1, arguments.end()}, environment);
    return code ? *code : Complain(code.error());
  } catch (const std::exception& failure) {  // no memory, no thread
    // Code of idleburn returns errors as values. What is thrown comes from the standard library: no memory, or no more
    // threads. Say would need memory too, so this prints directly.
    std::fprintf(stderr, "idleburn: %.*s: %s; give it more memory\n", static_cast<int>(name.size()), name.data(),
                 failure.what());
    return kExitFailed;
  }
}

}  // namespace idleburn
