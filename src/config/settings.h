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

// What the text of a setting must be. kList: parts separated by commas; its flag may be repeated. kShare: a percentage
// from 0 to 100. kCount: a whole number from 1. kDuration: a span of time of at most 366 days. kGrace: the same, or 0.
// kNumber: at least 0. kMonthHours: whole hours of a month. kCurrency: an ISO 4217 code.
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

// One thing that a user may set by flag, environment or idleburn.toml. A row of the table is all that a new setting
// needs to be read, checked and documented.
struct SettingInfo {
  std::string_view key;    // "classify.idle_below"
  std::string_view flag;   // "--idle-power"; empty if it has none
  std::string_view value;  // its value in the help
  SettingKind kind;
  std::string_view standard;  // the default; empty: not set
  std::string_view help;
  int decimals = 6;  // that a share or number may have; more are refused, not rounded
};
// All settings, in the order of the template. Prefixes of keys ("price.") form the sections of idleburn.toml.
std::span<const SettingInfo> SettingTable();

// The values in force and where each came from. Precedence, highest first: flag, environment
// (IDLEBURN_CFG_<SECTION>_<KEY>), settings file, default. The file is that of --config, or ./idleburn.toml over the
// file in the user's config folder.
//
// The origin is kept so that an error can name the place to change: "idleburn.toml:3", not only "price.rate".
//
// Values stay texts. The code that uses one parses it, since only that code knows its type; Load has checked the form.
class Settings {
 public:
  struct Value {
    std::string text;
    std::string origin;  // "default", "idleburn.toml:3", "IDLEBURN_CFG_PRICE_RATE", "--price"
  };
  // `flags` maps flag names to texts as given. Fails on an unknown key (and names the most similar one), on a bad
  // value and on a file that cannot be read. Unknown variables with the prefix IDLEBURN_CFG_ are errors too.
  static Result<Settings> Load(const std::string& config_file, const std::map<std::string, std::string>& flags);

  // The text of a setting, empty if it is not set. Aborts if the key is not in the table.
  [[nodiscard]] const std::string& Text(std::string_view key) const;
  [[nodiscard]] const Value& Get(std::string_view key) const;
  [[nodiscard]] bool Has(std::string_view key) const { return !Text(key).empty(); }
  // The files that were read, lowest precedence first.
  [[nodiscard]] const std::vector<std::string>& files() const { return files_; }

 private:
  Result<void> ReadFile(const std::string& path);
  Result<void> Set(std::string_view key, std::string text, std::string origin);

  std::map<std::string, Value, std::less<>> values_;
  std::vector<std::string> files_;
};

// Where settings files are looked for: ./idleburn.toml, then the user's. They need not exist.
std::vector<std::string> SettingFiles();
// A commented idleburn.toml with every setting at its default.
std::string SettingTemplate();

}  // namespace idleburn
