#include <cstdio>
#include <exception>

#include "cli/command.h"
#include "cli/welcome.h"
#include "run/served_command.h"
#include "terminal/output.h"
#include "text/command_line.h"
#include "text/secrets.h"

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
      "idleburn: " + std::string(kWhatItIs) + "\n\nusage: idleburn COMMAND [flags]      idleburn help COMMAND\n\n";
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

// The command of this name. An unknown name is an error that suggests the nearest one, since most are typing errors.
Result<const Command*> FindCommand(const std::string& name) {
  std::vector<std::string> names = {"help", "--version", "--help"};
  for (const Command& command : Commands()) {
    if (command.name == name) return &command;
    names.emplace_back(command.name);
  }
  return FailUsage("unknown command '" + name.substr(0, 40) + "'; " + SuggestionFor(name, names));
}

// `idleburn help [COMMAND [ACTION]]`, in the words of `idleburn COMMAND [ACTION] --help`. `words` are those after
// "help".
Result<int> Help(std::vector<std::string> words, const Environment& environment) {
  if (words.empty()) {
    TRY(Print(Overview()));
    return 0;
  }
  const Command* command = TRY(FindCommand(words.front()));
  const std::size_t most = command->has_actions ? 2 : 1;
  if (words.size() > most) {
    return FailUsage("help: '" + WithoutSecrets(words[most]).substr(0, 40) + "' is an extra word; see idleburn help " +
                     words.front());
  }
  words.emplace_back("--help");
  return command->run({words.begin() + 1, words.end()}, environment);
}

// What the words ask for. Returns the exit code.
Result<int> Answer(const std::vector<std::string>& arguments, const Environment& environment) {
  if (arguments.empty()) {
    TRY(Print(WelcomeText(LookAround())));
    // A script that lost its words should fail.
    return kExitUsage;
  }
  const std::string& name = arguments.front();
  const std::vector<std::string> words(arguments.begin() + 1, arguments.end());
  if (name == "--help" || name == "-h") return Help({}, environment);
  if (name == "help") return Help(words, environment);
  if (name == "--version") {
    TRY(Print("idleburn " IDLEBURN_VERSION "\n"));
    return 0;
  }
  const Command* command = TRY(FindCommand(name));
  return command->run(words, environment);
}

}  // namespace

int RunProgram(const std::vector<std::string>& arguments, const Environment& environment) {
  // This process may be the one that serves a command after its idleburn crashed (run/served_command.h).
  if (const std::optional<int> code = ServeAfterCrash(arguments)) return *code;
  try {
    const Result<int> code = Answer(arguments, environment);
    return code ? *code : Complain(code.error());
  } catch (const std::exception& failure) {  // no memory, no thread
    // Code of idleburn returns errors as values. What is thrown comes from the standard library: no memory, or no more
    // threads. Say would need memory too, so this prints directly.
    std::fprintf(stderr, "idleburn: %s: %s; give it more memory\n", arguments.empty() ? "" : arguments.front().c_str(),
                 failure.what());
    return kExitFailed;
  }
}

}  // namespace idleburn
