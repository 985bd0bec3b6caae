#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "config/flags.h"
#include "config/output_format.h"
#include "config/settings.h"

namespace idleburn {

// Flags that set a setting, shared by the commands. Own the texts; outlive the Flag list that points to them.
class SettingFlags {
 public:
  // Flags of the settings whose key starts with one of `prefixes` ("price.", "import.").
  explicit SettingFlags(std::vector<std::string> prefixes);
  // Appends them to a command's flags, and --config.
  void AppendTo(std::vector<Flag>& flags);
  // The settings with the flags that were given laid over them; of those that were not, `instead` counts, by flag.
  [[nodiscard]] Result<Settings> Load(const std::map<std::string, std::string>& instead = {}) const;
  [[nodiscard]] const std::string& config_file() const { return config_; }  // --config, as given

 private:
  std::map<std::string, std::string> texts_;               // by flag
  std::map<std::string, std::vector<std::string>> lists_;  // of those that may be given several times
  std::string config_;
};

// How a command reads its words: flags of its own first, then those of the settings that it comes with.
class CommandFlags {
 public:
  CommandFlags() = default;  // no settings, and no --config
  // `settings`: of which there are flags, as in SettingFlags.
  explicit CommandFlags(std::vector<std::string> settings) : settings_(std::move(settings)) {}

  // Say at once where its value goes: Add(...).text = &price. The next one moves this one.
  Flag& Add(std::string name, std::string value, std::string help);
  // What the command can write, its own form first; said in the help of --format. Comes before AddSettings.
  void Writes(std::span<const ReportFormat> formats);
  void Writes(std::string format_help) { format_help_ = std::move(format_help); }
  // The flags of the settings here, where others are to follow them.
  void AddSettings();

  // Reads `idleburn COMMAND`. False if the help was asked for, and printed.
  Result<bool> ReadWords(const std::string& command, const std::string& about,
                         const std::vector<std::string>& arguments);
  // And loads the settings; absent if the help was printed.
  Result<std::optional<Settings>> Read(const std::string& command, const std::string& about,
                                       const std::vector<std::string>& arguments);
  // The same of `idleburn COMMAND [flags] -- CMD...`: CMD... goes to `*behind`, and must be there. `example`: a right
  // use, for whoever has left it out, "run -- python train.py".
  Result<std::optional<Settings>> ReadBeforeDashes(const std::string& command, const std::string& about,
                                                   const std::vector<std::string>& arguments,
                                                   const std::string& example, std::vector<std::string>* behind);
  // See SettingFlags.
  [[nodiscard]] Result<Settings> Load(const std::map<std::string, std::string>& instead = {}) const;
  [[nodiscard]] std::string config_file() const { return settings_ ? settings_->config_file() : std::string(); }

 private:
  [[nodiscard]] Result<std::optional<Settings>> LoadIf(bool wanted) const;

  std::optional<SettingFlags> settings_;
  std::string format_help_;
  bool settings_added_ = false;
  bool plain_ = false;  // --no-color, of a command that has no colors: scripts give it to all
  std::vector<Flag> flags_;
};

}  // namespace idleburn
