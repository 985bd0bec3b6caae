#include <fmt/format.h>

#include "report/command_pages.h"

namespace idleburn {
namespace {

std::string Joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

// "-o,--output" as {"-o", "--output"}. Empty for a positional.
std::vector<std::string> NamesOf(const ListedFlag& flag) {
  if (!flag.name.starts_with('-')) return {};
  const std::size_t comma = flag.name.find(',');
  if (comma == std::string::npos) return {flag.name};
  return {flag.name.substr(0, comma), flag.name.substr(comma + 1)};
}

std::string FlagNames(const FlagTable& table) {
  std::vector<std::string> names;
  for (const ListedFlag& flag : table.flags) {
    for (std::string& name : NamesOf(flag)) names.push_back(std::move(name));
  }
  return Joined(names);
}

std::string CommandNames(const std::vector<CommandHelp>& all) {
  std::vector<std::string> names;
  for (const CommandHelp& command : all) names.emplace_back(command.name);
  return Joined(names);
}

// Whether the value of a flag may be a path. Shells complete a path only there.
bool TakesPath(const ListedFlag& flag) {
  const auto has = [&](std::string_view part) { return flag.value.find(part) != std::string::npos; };
  return has("FILE") || has("PATH") || has("FOLDER") || has("RUN") || has("INPUT") || has("RECORDING") || has("CMD");
}

// `text` between single quotes of a shell.
std::string Quoted(std::string_view text, std::string_view quote_inside) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string(quote_inside) : std::string(1, c);
  return quoted + "'";
}

std::string Bash(const std::vector<CommandHelp>& all) {
  std::string values;
  std::string flags;
  for (const CommandHelp& command : all) {
    const std::string_view name = command.name;
    std::vector<std::string> choices;
    std::string free;  // flags with a value that no list and no file name completes
    for (const ListedFlag& flag : command.table.flags) {
      const std::vector<std::string> names = NamesOf(flag);
      if (names.empty()) {
        for (std::string& choice : ChoicesOf(flag)) choices.push_back(std::move(choice));
      } else if (const std::vector<std::string> listed = ChoicesOf(flag); !listed.empty()) {
        values += fmt::format("    '{} {}') words='{}' ;;\n", name, names.back(), Joined(listed));
      } else if (flag.kind != ListedFlag::Kind::kSwitch && !TakesPath(flag)) {
        free += fmt::format("{}'{} {}'", free.empty() ? "" : "|", name, names.back());
      }
    }
    if (!free.empty()) values += fmt::format("    {}) compopt +o default; return ;;\n", free);
    flags += fmt::format("    {}) flags='{}' words='{}' ;;\n", name, FlagNames(command.table), Joined(choices));
  }
  return fmt::format(
      "# Completions of idleburn for bash, written by: idleburn completion bash\n"
      "_idleburn() {{\n"
      "  local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD-1]}} flags= words= word\n"
      "  COMPREPLY=()\n"
      "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
      "    COMPREPLY=($(compgen -W '{} --help --version' -- \"$cur\"))\n"
      "    return\n"
      "  fi\n"
      "  for word in \"${{COMP_WORDS[@]:2:COMP_CWORD-2}}\"; do [ \"$word\" = -- ] && return; done\n"
      "  case ${{COMP_WORDS[1]}} in\n{}  esac\n"
      "  case \"${{COMP_WORDS[1]}} $prev\" in\n{}  esac\n"
      "  [[ $cur == -* ]] && words=$flags\n"
      "  COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
      "}}\n"
      "complete -o default -F _idleburn idleburn\n",
      CommandNames(all), flags, values);
}

// A text of an _arguments specification, where brackets, colons and backslashes have a meaning.
std::string ZshText(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

// One flag as specifications of _arguments.
std::string ZshFlag(const ListedFlag& flag) {
  const std::vector<std::string> choices = ChoicesOf(flag);
  const bool path = TakesPath(flag);
  const std::string action = !choices.empty() ? "(" + Joined(choices) + ")" : path ? "_files" : " ";
  const std::vector<std::string> names = NamesOf(flag);
  std::string text;
  if (names.empty()) {
    const std::string each = flag.kind == ListedFlag::Kind::kList ? "*" : "1";
    return "      " + Quoted(each + ":" + ZshText(flag.name) + ":" + action, "'\\''") + " \\\n";
  }
  const bool repeatable = flag.kind == ListedFlag::Kind::kList;
  for (const std::string& name : names) {
    std::string spec = (repeatable ? "*" : "(" + Joined(names) + ")") + name + "[" + ZshText(flag.help) + "]";
    if (flag.kind != ListedFlag::Kind::kSwitch) spec += ":" + ZshText(flag.value) + ":" + action;
    text += "      " + Quoted(spec, "'\\''") + " \\\n";
  }
  return text;
}

std::string Zsh(const std::vector<CommandHelp>& all) {
  std::string commands;
  std::string cases;
  for (const CommandHelp& command : all) {
    const std::string summary = ZshText(command.summary);
    commands += fmt::format("    {}\n", Quoted(std::string(command.name) + ":" + summary, "'\\''"));
    std::string flags;
    for (const ListedFlag& flag : command.table.flags) flags += ZshFlag(flag);
    flags.erase(flags.rfind(" \\\n"));
    cases += fmt::format("    {})\n      _arguments \\\n{} ;;\n", command.name, flags);
  }
  return fmt::format(
      "#compdef idleburn\n"
      "# Completions of idleburn for zsh, written by: idleburn completion zsh\n"
      "local -a commands\n"
      "commands=(\n{})\n"
      "if (( CURRENT == 2 )); then\n"
      "  _describe command commands\n"
      "elif (( ${{words[(i)--]}} < CURRENT )); then\n"
      "  (( CURRENT -= ${{words[(i)--]}} ))\n"
      "  shift ${{words[(i)--]}} words\n"
      "  _normal\n"
      "else\n"
      "  shift words\n"
      "  (( CURRENT-- ))\n"
      "  case $words[1] in\n{}  esac\n"
      "fi\n",
      commands, cases);
}

std::string Fish(const std::vector<CommandHelp>& all) {
  const auto quoted = [](std::string_view text) { return Quoted(text, "\\'"); };
  std::string text =
      "# Completions of idleburn for fish, written by: idleburn completion fish\n"
      "complete -c idleburn -n __fish_use_subcommand -f -l help -d 'print the commands'\n"
      "complete -c idleburn -n __fish_use_subcommand -f -l version -d 'print the version'\n";
  for (const CommandHelp& command : all) {
    const std::string_view name = command.name;
    text +=
        fmt::format("complete -c idleburn -n __fish_use_subcommand -f -a {} -d {}\n", name, quoted(command.summary));
    const std::string seen = fmt::format("complete -c idleburn -n '__fish_seen_subcommand_from {}'", name);
    for (const ListedFlag& flag : command.table.flags) {
      std::string line = seen;
      for (const std::string& flag_name : NamesOf(flag)) {
        line += flag_name.starts_with("--") ? " -l " + flag_name.substr(2) : " -s " + flag_name.substr(1);
      }
      const std::vector<std::string> choices = ChoicesOf(flag);
      if (NamesOf(flag).empty() && choices.empty()) continue;  // files, which fish completes by itself
      if (!choices.empty()) {
        line += (TakesPath(flag) ? " -a '" : " -x -a '") + Joined(choices) + "'";
      } else if (flag.kind != ListedFlag::Kind::kSwitch) {
        line += TakesPath(flag) ? " -r" : " -x";
      }
      text += line + " -d " + quoted(flag.help) + "\n";
    }
  }
  return text;
}

// The shells, and who writes for each.
struct ShellWriter {
  std::string_view shell;
  std::string (*write)(const std::vector<CommandHelp>& all);
};
constexpr auto kShellWriters = std::to_array<ShellWriter>({{"bash", Bash}, {"zsh", Zsh}, {"fish", Fish}});

}  // namespace

std::optional<std::string> Completions(std::string_view shell, const std::vector<CommandHelp>& commands) {
  for (const ShellWriter& writer : kShellWriters) {
    if (writer.shell == shell) return writer.write(commands);
  }
  return std::nullopt;
}

}  // namespace idleburn
