#pragma once

#include <array>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace idleburn {

// What a setting's text must be. kList: parts with commas between; its flag may be given several times.
enum class SettingKind : std::uint8_t {
  kText,
  kList,
  kShare,
  kCount,
  kDuration,
  kGrace,
  kNumber,
  kMonthHours,
  kCurrency
};

// One thing a user may set, by flag, environment, or idleburn.toml.
struct SettingInfo {
  std::string_view key;    // "classify.idle_below"
  std::string_view flag;   // "--idle-power", empty if it has none
  std::string_view value;  // stands for the value in the help
  SettingKind kind;
  std::string_view standard;  // the default, empty: not set
  std::string_view help;
  int decimals = 6;  // a share or a number may have; more are refused, not rounded
};
std::span<const SettingInfo> SettingTable();

// The values in force and where each came from. Precedence: flag > environment IDLEBURN_CFG_<SECTION>_<KEY> >
// --config FILE, or ./idleburn.toml over the user's config folder > default.
class Settings {
 public:
  struct Value {
    std::string text;
    std::string origin;  // "default", "idleburn.toml:3", "IDLEBURN_CFG_PRICE_RATE", "--price"
  };
  // `flags`: flag name -> text as given. Fails on an unknown key (with the nearest), a bad value, a bad file.
  static Result<Settings> Load(const std::string& config_file, const std::map<std::string, std::string>& flags);

  // Text of a setting, empty if not set. The key must be in the table.
  [[nodiscard]] const std::string& Text(std::string_view key) const;
  [[nodiscard]] const Value& Get(std::string_view key) const;
  [[nodiscard]] bool Has(std::string_view key) const { return !Text(key).empty(); }
  // Files that were read, in order of precedence.
  [[nodiscard]] const std::vector<std::string>& files() const { return files_; }

 private:
  Result<void> ReadFile(const std::string& path);
  Result<void> Set(std::string_view key, std::string text, std::string origin);

  std::map<std::string, Value, std::less<>> values_;
  std::vector<std::string> files_;
};

// Where settings files are looked for: ./idleburn.toml, then the user's.
std::vector<std::string> SettingFiles();
// A commented idleburn.toml with every setting at its default.
std::string SettingTemplate();

}  // namespace idleburn
