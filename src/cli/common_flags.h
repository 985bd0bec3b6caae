#pragma once

#include <map>
#include <string>
#include <vector>

#include "cli/flags.h"
#include "cli/settings.h"

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

}  // namespace idleburn
