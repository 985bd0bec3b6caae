#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/output_format.h"
#include "config/settings.h"

namespace idleburn {
// One flag of a command. Exactly one of `text`, `list` and `on` is set. It receives the value and must outlive the
// reading.
struct Flag {
  std::string name;   // "--price"; a bare word such as "input" is a positional
  std::string value;  // its value in the help: "RATE"
  std::string help;
  std::string* text = nullptr;               // one value
  std::vector<std::string>* list = nullptr;  // repeatable; a positional list takes all words that are left
  bool* on = nullptr;                        // a switch
  bool required = false;
  bool several = false;  // for a list: takes all words up to the next flag
};

// Reads the words after `idleburn COMMAND` into the flags. With --help it fills `*help` instead. A wrong flag is a
// usage error that names the most similar one. An empty value is an error too: it comes from a script's unset
// variable, and must not count as "not given".
Result<void> ReadFlags(const std::string& command, const std::string& about, const std::vector<Flag>& flags,
                       const std::vector<std::string>& arguments, std::string* help);

// Flags that set a setting. Commands share them, so a setting has one name, default and help everywhere. The object
// owns the texts of the flags and must outlive the Flag list that points to them.
class SettingFlags {
 public:
  // Flags of the settings whose key starts with one of `prefixes` ("price.", "import."). Settings without a flag are
  // set by file or environment only.
  explicit SettingFlags(std::vector<std::string> prefixes);
  // Appends them and --config to a command's flags. A flag that the command has itself is not appended.
  void AppendTo(std::vector<Flag>& flags);
  // Loads the settings with the given flags over them. For a flag that was not given, `instead` counts, by flag name.
  [[nodiscard]] Result<Settings> Load(const std::map<std::string, std::string>& instead = {}) const;
  [[nodiscard]] const std::string& config_file() const { return config_; }  // --config, as given

 private:
  std::map<std::string, std::string> texts_;               // by flag
  std::map<std::string, std::vector<std::string>> lists_;  // by flag, for flags that may be repeated
  std::string config_;
};

// Reads the words of a command: its own flags first, then those of the settings that it uses. Every command reads
// through this, so all have --help, and all with settings have --config.
class CommandFlags {
 public:
  CommandFlags() = default;  // without settings and --config
  // `settings` are prefixes of keys, as in SettingFlags.
  explicit CommandFlags(std::vector<std::string> settings) : settings_(std::move(settings)) {}

  // Adds a flag. Say at once where its value goes: Add(...).text = &price. The reference is valid until the next Add.
  Flag& Add(std::string name, std::string value, std::string help);
  // The formats that the command can write, its own first, for the help of --format. Call it before AddSettings.
  void Writes(std::span<const ReportFormat> formats);
  void Writes(std::string format_help) { format_help_ = std::move(format_help); }
  // Adds the flags of the settings here. Only needed where other flags are to follow them in the help.
  void AddSettings();

  // Reads the words after `idleburn COMMAND` into the flags. Returns false if --help was given; the help is then
  // printed.
  Result<bool> ReadWords(const std::string& command, const std::string& about,
                         const std::vector<std::string>& arguments);
  // The same, and loads the settings. Absent if the help was printed. Most commands need only this.
  Result<std::optional<Settings>> Read(const std::string& command, const std::string& about,
                                       const std::vector<std::string>& arguments);
  // The same for `idleburn COMMAND [flags] -- CMD...`. CMD... goes to `*behind` and must not be empty. The two dashes
  // may be left out if no word from the first word of CMD on is also a flag of ours. `example` is a correct use for the
  // error message: "run -- python train.py".
  Result<std::optional<Settings>> ReadBeforeDashes(const std::string& command, const std::string& about,
                                                   const std::vector<std::string>& arguments,
                                                   const std::string& example, std::vector<std::string>* behind);
  // See SettingFlags.
  [[nodiscard]] Result<Settings> Load(const std::map<std::string, std::string>& instead = {}) const;
  [[nodiscard]] std::string config_file() const { return settings_ ? settings_->config_file() : std::string(); }

 private:
  // Adds the flags that every command with settings has. Only the first call adds.
  void AddShared();
  [[nodiscard]] Result<std::optional<Settings>> LoadIf(bool wanted) const;

  std::optional<SettingFlags> settings_;
  std::string format_help_;
  bool settings_added_ = false;
  bool plain_ = false;  // --no-color of a command without colours: scripts give it to every command
  std::vector<Flag> flags_;
};

}  // namespace idleburn
