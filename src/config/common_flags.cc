#include "config/common_flags.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "config/flag_table.h"
#include "terminal/output.h"
#include "text/command_line.h"
#include "text/secrets.h"
#include "text/strings.h"

// Reading of flags on top of CLI11. CLI11 splits and converts words. This file adds what its users need beyond that: an
// error that names the flag that was meant, no silent empty values, and settings as flags. CLI11 stays inside this
// file, because its header is slow to compile.
//
// Each call makes an App of its own, with only the flags of one command. So the words of a command cannot be taken for
// flags of another, and the help shows one command.

namespace idleburn {
namespace {

// The message for a wrong flag. CLI11 lists the words that were left over. The name of the most similar flag helps
// more.
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
  // CLI11 lists all words that are left over after a colon. The first one is where the user went wrong.
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr && message.find(": ") != std::string::npos) {
    const std::string left = message.substr(message.find(": ") + 2);
    const std::string word = WithoutSecrets(left).substr(0, 40);
    return "'" + word.substr(0, word.find(' ')) + "' is one word too many; see idleburn " + command + " --help";
  }
  // It may quote words of a user's command, which may hold a secret.
  return WithoutSecrets(message);  // it may quote words that were meant for a command
}

// Returns the first flag with an empty value, or "". A script with an unset variable writes --price "", and must not
// get the default price.
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
    return FailUsage(command + ": " + empty + " has an empty value; give one, or leave the flag out");
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
    // CLI11 takes words from the back of the list.
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

// Texts are entered first and given to flags later: a map keeps its elements in place, so the flags may point to them.
SettingFlags::SettingFlags(std::vector<std::string> prefixes) {
  for (const SettingInfo& info : SettingTable()) {
    const bool wanted = std::any_of(prefixes.begin(), prefixes.end(), [&](const std::string& prefix) {
      return info.key.substr(0, prefix.size()) == prefix;
    });
    if (!wanted || info.flag.empty()) continue;
    if (info.kind == SettingKind::kList) {
      lists_[std::string(info.flag)] = {};
    } else {
      texts_[std::string(info.flag)] = "";
    }
  }
}

void SettingFlags::AppendTo(std::vector<Flag>& flags) {
  for (const SettingInfo& info : SettingTable()) {
    const auto text = texts_.find(std::string(info.flag));
    const auto list = lists_.find(std::string(info.flag));
    if (text == texts_.end() && list == lists_.end()) continue;
    // A command's own flag keeps its name: --unit of compare is a unit of work. Files and the environment still set
    // the setting.
    const bool taken = std::any_of(flags.begin(), flags.end(), [&](const Flag& own) { return own.name == info.flag; });
    if (taken) continue;
    Flag flag{std::string(info.flag), std::string(info.value), std::string(info.help)};
    if (!info.standard.empty()) flag.help += " (default " + std::string(info.standard) + ")";
    if (text != texts_.end()) flag.text = &text->second;
    if (list != lists_.end()) flag.list = &list->second;
    flags.push_back(flag);
  }
  Flag config{"--config", "FILE", "read settings from FILE instead of ./idleburn.toml and the user's"};
  config.text = &config_;
  flags.push_back(config);
}

Result<Settings> SettingFlags::Load(const std::map<std::string, std::string>& instead) const {
  std::map<std::string, std::string> given = instead;
  for (const auto& [flag, text] : texts_) {
    // An empty text means that the flag was not given; GivenNothing has refused empty values.
    if (!text.empty()) given[flag] = text;
  }
  for (const auto& [flag, parts] : lists_) {
    if (const std::string text = ListText(parts, ","); !text.empty()) given[flag] = text;
  }
  return Settings::Load(config_, given);
}

Flag& CommandFlags::Add(std::string name, std::string value, std::string help) {
  return flags_.emplace_back(Flag{std::move(name), std::move(value), std::move(help)});
}

void CommandFlags::Writes(std::span<const ReportFormat> formats) {
  format_help_ = NamesOf(formats) + " (default: by -o, else " + NamesOf(formats.first(1)) + ")";
}

void CommandFlags::AddSettings() {
  if (settings_ && !settings_added_) settings_->AppendTo(flags_);
  settings_added_ = true;
  for (Flag& flag : flags_) {
    if (flag.name == "--format" && !format_help_.empty()) flag.help = format_help_;
  }
}

void CommandFlags::AddShared() {
  AddSettings();
  // Scripts pass --no-color to every command, so a command without colours accepts it too.
  const bool colors = std::any_of(flags_.begin(), flags_.end(), [](const Flag& f) { return f.name == "--no-color"; });
  if (settings_ && !colors) Add("--no-color", "", "plain text (no effect: the output is plain text)").on = &plain_;
}

Result<bool> CommandFlags::ReadWords(const std::string& command, const std::string& about,
                                     const std::vector<std::string>& arguments) {
  AddShared();
  if (arguments.size() == 1 && arguments.front() == kListFlags) return FailUsage(FlagTableText(about, flags_));
  std::string help;
  TRY(ReadFlags(command, about, flags_, arguments, &help));
  if (!help.empty()) TRY(Print(help));
  return help.empty();
}

Result<std::optional<Settings>> CommandFlags::Read(const std::string& command, const std::string& about,
                                                   const std::vector<std::string>& arguments) {
  const bool read = TRY(ReadWords(command, about, arguments));
  return LoadIf(read);
}

namespace {

// Whether the word is this flag, with or without a value: "--price", "--price=2".
bool IsWordOf(const Flag& flag, const std::string& word) {
  return word.substr(0, word.find('=')) == flag.name || (flag.name == "--output" && word == "-o");
}

bool IsHelp(const std::string& word) { return word == "--help" || word == "-h"; }

// Where the command of `idleburn run [flags] CMD...` begins without two dashes: at the first word that is neither a
// flag nor the value of one. The number of words if there is none, or if a word before it is no flag of ours. ReadWords
// then explains what is wrong.
std::size_t CommandStart(const std::vector<Flag>& flags, const std::vector<std::string>& arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    if (!word.starts_with('-')) return i;
    if (IsHelp(word)) continue;
    const auto flag = std::find_if(flags.begin(), flags.end(), [&](const Flag& f) { return IsWordOf(f, word); });
    if (flag == flags.end() || flag->several) break;
    if (flag->on == nullptr && word.find('=') == std::string::npos) ++i;
  }
  return arguments.size();
}

}  // namespace

Result<std::optional<Settings>> CommandFlags::ReadBeforeDashes(const std::string& command, const std::string& about,
                                                               const std::vector<std::string>& arguments,
                                                               const std::string& example,
                                                               std::vector<std::string>* behind) {
  AddShared();
  // Only the first "--" counts: a command may have one of its own.
  auto flags_end = std::find(arguments.begin(), arguments.end(), "--");
  if (flags_end != arguments.end()) {
    behind->assign(flags_end + 1, arguments.end());
  } else {
    flags_end = arguments.begin() + static_cast<std::ptrdiff_t>(CommandStart(flags_, arguments));
    behind->assign(flags_end, arguments.end());
    // `run train.py --output DIR`: a flag that idleburn has too may be meant for either. Nobody should have to guess.
    for (const std::string& word : *behind) {
      const bool ours = IsHelp(word) || std::any_of(flags_.begin(), flags_.end(),
                                                    [&](const Flag& flag) { return IsWordOf(flag, word); });
      if (!ours) continue;
      return FailUsage(command + ": " + word.substr(0, word.find('=')) +
                       " may belong to idleburn or to the command; put two dashes before the command: idleburn " +
                       example);
    }
  }
  const bool read = TRY(ReadWords(command, about, {arguments.begin(), flags_end}));
  if (read && behind->empty()) {
    return FailUsage(command + ": no command; put it after two dashes: idleburn " + example);
  }
  return LoadIf(read);
}

Result<std::optional<Settings>> CommandFlags::LoadIf(bool wanted) const {
  if (!wanted) return std::optional<Settings>();
  Settings settings = TRY(Load());
  return std::optional(std::move(settings));
}

Result<Settings> CommandFlags::Load(const std::map<std::string, std::string>& instead) const {
  return settings_ ? settings_->Load(instead) : Settings::Load("", instead);
}

}  // namespace idleburn
