#include "config/flags.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "text/secrets.h"
#include "text/suggestion.h"

namespace idleburn {
namespace {

// The message for a wrong flag. CLI11 lists the words that were left over; the most similar flag helps more.
std::string Explain(const CLI::Error& error, const std::string& command, const std::vector<Flag>& flags,
                    const std::vector<std::string>& arguments) {
  std::string message = error.what();
  std::replace(message.begin(), message.end(), '\n', ' ');
  std::vector<std::string> names = {"--help"};
  for (const Flag& flag : flags) {
    if (flag.name.starts_with("--")) names.push_back(flag.name);
  }
  for (const std::string& argument : arguments) {
    const std::string name = argument.substr(0, argument.find('='));
    if (!name.starts_with('-') || name.size() < 3 || std::find(names.begin(), names.end(), name) != names.end())
      continue;
    const std::string meant = MeantBy(name, names);
    return "unknown flag " + name + "; " +
           (meant.empty() ? "see idleburn " + command + " --help" : "did you mean " + meant + "?");
  }
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr && message.find(':') != std::string::npos) {
    return message.substr(0, message.find(':')) + " needs a value; see idleburn " + command + " --help";
  }
  // The message may quote words that were meant for a command.
  return WithoutSecrets(message);  // it may quote words that were meant for a command
}

// The first flag with an empty value, as a script's unset variable makes it. Empty if there is none.
std::string GivenNothing(const std::vector<Flag>& flags, const std::vector<std::string>& arguments) {
  for (const Flag& flag : flags) {
    if (flag.on != nullptr || !flag.name.starts_with("--")) continue;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const bool named = arguments[i] == flag.name || (flag.name == "--output" && arguments[i] == "-o");
      const bool empty = named && i + 1 < arguments.size() && arguments[i + 1].empty();
      if (empty || arguments[i] == flag.name + "=") return flag.name;
    }
  }
  return {};
}

}  // namespace

Result<void> ReadFlags(const std::string& command, const std::string& about, const std::vector<Flag>& flags,
                       const std::vector<std::string>& arguments, std::string* help) {
  if (const std::string empty = GivenNothing(flags, arguments); !empty.empty()) {
    return FailUsage(command + ": " + empty + " is given an empty value; give one, or leave the flag out");
  }
  try {
    CLI::App app(about, "idleburn " + command);
    // CLI11's own help flag would end the parsing by an exception; this one is a plain switch.
    app.set_help_flag();
    bool wants_help = false;
    app.add_flag("-h,--help", wants_help, "print this and exit");
    for (const Flag& flag : flags) {
      const std::string name = flag.name == "--output" ? "-o,--output" : flag.name;
      CLI::Option* option = nullptr;
      if (flag.on != nullptr) {
        option = app.add_flag(name, *flag.on, flag.help);
      } else if (flag.list != nullptr) {
        option = app.add_option(name, *flag.list, flag.help);
        if (name.starts_with('-')) option->allow_extra_args(flag.several);
      } else {
        option = app.add_option(name, *flag.text, flag.help);
      }
      if (!flag.value.empty()) option->type_name(flag.value);
    }
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
    app.parse(reversed);
    if (wants_help) {
      *help = app.help();
      return {};
    }
    for (const Flag& flag : flags) {
      const bool missing = (flag.text != nullptr && flag.text->empty()) || (flag.list != nullptr && flag.list->empty());
      if (flag.required && missing)
        return FailUsage(command + ": " + flag.name + " is missing; see idleburn " + command + " --help");
    }
    return {};
  } catch (const CLI::Error& error) {
    return FailUsage(command + ": " + Explain(error, command, flags, arguments));
  }
}

}  // namespace idleburn
