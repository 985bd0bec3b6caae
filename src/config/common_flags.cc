#include "config/common_flags.h"

#include <algorithm>

#include "terminal/output.h"
#include "text/command_line.h"
#include "text/strings.h"

namespace idleburn {

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

Result<bool> CommandFlags::ReadWords(const std::string& command, const std::string& about,
                                     const std::vector<std::string>& arguments) {
  AddSettings();
  const bool colors = std::any_of(flags_.begin(), flags_.end(), [](const Flag& f) { return f.name == "--no-color"; });
  if (settings_ && !colors) Add("--no-color", "", "plain text, which this always is").on = &plain_;
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

Result<std::optional<Settings>> CommandFlags::ReadBeforeDashes(const std::string& command, const std::string& about,
                                                               const std::vector<std::string>& arguments,
                                                               const std::string& example,
                                                               std::vector<std::string>* behind) {
  // Only the first "--" counts: a command may have one of its own.
  const auto dashes = std::find(arguments.begin(), arguments.end(), "--");
  if (dashes == arguments.end() && !arguments.empty() && !arguments.front().starts_with('-')) {
    return FailUsage(command + ": put the command behind two dashes: idleburn " + command + " -- " +
                     ShownCommand(arguments).substr(0, 200));
  }
  if (dashes != arguments.end()) behind->assign(dashes + 1, arguments.end());
  const bool read = TRY(ReadWords(command, about, {arguments.begin(), dashes}));
  if (read && behind->empty()) {
    return FailUsage(command + ": no command; put it behind two dashes: idleburn " + example);
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
