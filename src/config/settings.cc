#include "config/settings.h"

#include <toml++/toml.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>

#include "base/money.h"
#include "base/result.h"
#include "text/command_line.h"
#include "text/number.h"

// The table of settings and the three places where a user sets them. All three go through Set, so a bad value gets the
// same message wherever it stands. A misspelled key is an error in each of them: a setting without effect would show
// only in a wrong figure.

namespace idleburn {
namespace {

// Every setting. Help, template, `config print` and the names of environment variables are made from this table. "720"
// hours are a month of 30 days (docs/money.md, "Months and years").
constexpr auto kTable = std::to_array<SettingInfo>({
    {"price.rate", "--price", "[GPUS=]RATE", SettingKind::kList, "",
     "USD per GPU-hour (8), a catalogue key (aws:p5.48xlarge@us-east-1) or a GPU (H100); for some GPUs only: A100=1.29 "
     "(repeatable)"},
    {"price.catalogue", "--prices", "FILE", SettingKind::kText, "",
     "CSV of your own prices; they override the shipped catalogue"},
    {"price.contracts", "--contracts", "FILE", SettingKind::kText, "",
     "CSV of contracts: name,applies_to,per_gpu_hour,..."},
    {"price.owned", "--owned", "FIGURES", SettingKind::kText, "",
     "owned hardware: capex=250000,life=4,gpus=8,kw=10.2,tariff=0.11"},
    {"price.currency", "--currency", "CODE", SettingKind::kCurrency, "USD",
     "currency of --price and --owned (ISO 4217 code)"},
    {"price.month_hours", "--month-hours", "H", SettingKind::kMonthHours, "720", "hours of a projected month"},
    {"advice.spot_discount", "--spot-discount", "SHARE", SettingKind::kNumber, "",
     "your own figure for the spot discount on the price you pay: 0.65"},
    {"energy.tariff", "--tariff", "PRICE", SettingKind::kText, "", "price of one kWh, for the energy cost"},
    {"energy.grid", "--grid", "GRAMS", SettingKind::kNumber, "", "grid emissions in g CO2e per kWh"},
    {"import.timezone", "--timezone", "ZONE", SettingKind::kText, "",
     "time zone of time stamps without one: Europe/Berlin, +02:00 (default UTC)"},
    {"import.period", "--period", "TIME", SettingKind::kDuration, "",
     "time between two readings of a GPU (overrides the measured time)"},
    {"import.start", "--start", "TIME", SettingKind::kText, "",
     "time of the first reading of a log without times (with --period): 2026-07-03T22:22:01Z"},
    {"import.gpus", "--gpus", "N", SettingKind::kCount, "", "number of GPUs in a log without index, uuid or bus id"},
    {"import.gpu_model", "--gpu-model", "NAME", SettingKind::kText, "", "GPU model, where no input names it: H100-SXM"},
    {"import.power_limit", "--power-limit", "WATTS", SettingKind::kNumber, "",
     "power limit of a GPU in watts, where no input gives it", 3},
    {"import.max_gap", "--max-gap", "TIME", SettingKind::kDuration, "",
     "how long a reading stays valid (default 2.5 periods)"},
    {"import.columns", "--columns", "MAP", SettingKind::kText, "",
     "columns of another CSV: time=timestamp,gpu=container,util=value"},
    {"import.metric", "--metric", "NAME", SettingKind::kText, "",
     "metric name of Prometheus series without one, as after rate(): DCGM_FI_DEV_GPU_UTIL"},
    {"import.unit", "--unit", "[NAME=]UNIT", SettingKind::kList, "",
     "unit of percent fields, where their values do not show it: ratio or percent (repeatable)"},
    {"import.threads", "--threads", "N", SettingKind::kCount, "1", "number of parser threads"},
    {"classify.idle_power", "--idle-power", "WATTS", SettingKind::kNumber, "",
     "power in watts of an idle board that holds a context", 3},
    {"classify.idle_after", "--idle-after", "TIME", SettingKind::kDuration, "15m",
     "advise to stop a job after this long at 0 % on all its GPUs"},
    {"classify.idle_grace", "--idle-grace", "TIME", SettingKind::kGrace, "5m",
     "time until somebody stops such a job; idleburn counts no saving for it"},
    {"classify.idle_below", "", "%", SettingKind::kShare, "10", "idle: mean utilization of a second is below this"},
    {"classify.productive_from", "", "%", SettingKind::kShare, "70",
     "productive: utilization from here on; underutilized: between the two limits"},
    {"classify.bound_from", "", "%", SettingKind::kShare, "90", "compute-bound: utilization from here on"},
    {"classify.held_memory_mib", "", "MIB", SettingKind::kCount, "100",
     "held: an idle GPU with at least this much memory in use"},
    {"classify.spin_sm_below", "", "%", SettingKind::kShare, "25", "spin-wait: SM activity is below this while busy"},
    {"classify.spin_power_below", "", "%", SettingKind::kShare, "15",
     "spin-wait: share of dynamic power is below this while busy", 1},
    {"classify.spin_seconds", "", "S", SettingKind::kCount, "5", "spin-wait: lasts at least this many seconds"},
    {"classify.clock_loss", "", "%", SettingKind::kShare, "5", "throttled: SM clock loss from here on", 1},
    {"classify.burst", "", "%", SettingKind::kShare, "30", "starved in bursts: burst index is above this", 0},
    {"history.file", "--history", "FILE", SettingKind::kText, "",
     "file of run history and savings ledger (default: in the user's data folder)"},
    {"history.project", "--project", "NAME", SettingKind::kText, "",
     "project of a run (default: its W&B project, MLflow experiment, or folder)"},
    {"output.format", "--format", "KIND", SettingKind::kText, "",
     "text, json, html, csv or markdown, as the command supports (default: by -o, else text)"},
});

const SettingInfo* FindSetting(std::string_view key) {
  const auto* found = std::find_if(kTable.begin(), kTable.end(), [&](const SettingInfo& s) { return s.key == key; });
  return found == kTable.end() ? nullptr : found;
}

// Limits that no run reaches. They keep sums of nanoseconds and bytes within 64 bits.
constexpr int kMostDays = 366;
constexpr std::int64_t kMostCount = 1'000'000'000'000;
constexpr std::string_view kEnvironmentPrefix = "IDLEBURN_CFG_";

// "price.rate" is IDLEBURN_CFG_PRICE_RATE.
std::string EnvironmentName(std::string_view key) {
  std::string name(kEnvironmentPrefix);
  for (const char c : key) name += c == '.' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return name;
}

// Fails on a variable with idleburn's prefix that is no setting. Otherwise a misspelled one would silently have no
// effect.
Result<void> CheckEnvironment() {
  std::vector<std::string> names;
  for (const SettingInfo& info : kTable) names.push_back(EnvironmentName(info.key));
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::string name(text.substr(0, text.find('=')));
    if (!name.starts_with(kEnvironmentPrefix) || std::find(names.begin(), names.end(), name) != names.end()) continue;
    return FailUsage(name.substr(0, 80) + ": unknown setting in the environment; " + SuggestionFor(name, names));
  }
  return {};
}

// Whether a text has more decimals than its setting keeps. Such a text is refused: rounding would use another limit
// than the one that was written.
bool HasMoreDecimals(const std::string& text, int decimals) {
  constexpr int kFine = 12;
  std::int64_t coarse = 1;
  for (int i = decimals; i < kFine; ++i) coarse *= 10;
  return ParseScaled(text, kFine).value % coarse != 0;
}

// Whether `n`, in millionths, is a whole number from 1 to `most`.
bool IsWhole(const ScaledNumber& n, std::int64_t most) {
  return n.fault == NumberFault::kNone && n.value % 1'000'000 == 0 && n.value > 0 && n.value / 1'000'000 <= most;
}

// ParseDuration refuses 0, but a grace period may be 0.
bool IsNoTime(std::string_view text) { return text == "0" || text == "0s" || text == "0m"; }

// What `text` should be and is not, for an error message. Empty if it is good.
std::string WhyBad(const SettingInfo& info, const std::string& text) {
  const ScaledNumber n = ParseScaled(text, 6);
  const bool number = n.fault == NumberFault::kNone && n.value >= 0;
  if ((info.kind == SettingKind::kShare || info.kind == SettingKind::kNumber) && HasMoreDecimals(text, info.decimals)) {
    return info.decimals == 0   ? "a whole number"
           : info.decimals == 1 ? "a number with at most one decimal"
                                : "a number with at most " + std::to_string(info.decimals) + " decimals";
  }
  switch (info.kind) {
    case SettingKind::kText:
    case SettingKind::kList:
      return "";
    case SettingKind::kGrace:
      if (IsNoTime(text)) return "";
      [[fallthrough]];
    case SettingKind::kDuration:
      if (const Result<Nanos> span = ParseDuration(text)) {
        return span->count() <= kMostDays * 24 * kNanosPerHour
                   ? ""
                   : "a span of at most " + std::to_string(kMostDays) + " days";
      }
      return "a span of time such as 5s";
    case SettingKind::kShare:
      return number && n.value <= 100'000'000 ? "" : "a number from 0 to 100";
    case SettingKind::kCount:
      return IsWhole(n, kMostCount) ? "" : "a whole number from 1 to " + std::to_string(kMostCount);
    case SettingKind::kMonthHours:
      return IsWhole(n, kMostMonthHours)
                 ? ""
                 : "a whole number of hours from 1 to " + std::to_string(kMostMonthHours) + ", a month of 31 days";
    case SettingKind::kNumber: {
      const std::string bare = text.substr(0, text.find_first_not_of("0123456789."));
      const bool with_unit = !number && !bare.empty() && ParseScaled(bare, 6).fault == NumberFault::kNone;
      return number ? "" : "a number of at least 0" + (with_unit ? ", without a unit: " + bare : std::string());
    }
    case SettingKind::kCurrency:
      return IsCurrencyCode(text) ? "" : "an ISO 4217 code of three capital letters, such as EUR";
  }
  return "";
}

}  // namespace

std::span<const SettingInfo> SettingTable() { return kTable; }

Result<void> Settings::Set(std::string_view key, std::string text, std::string origin) {
  const SettingInfo* info = FindSetting(key);
  if (info == nullptr) {
    std::vector<std::string> keys;
    for (const SettingInfo& s : kTable) keys.emplace_back(s.key);
    return FailUsage(origin + ": unknown setting '" + std::string(key.substr(0, 60)) + "'; " +
                     SuggestionFor(key, keys));
  }
  const std::string why = WhyBad(*info, text);
  if (!why.empty()) return FailUsage(origin + ": '" + text.substr(0, 40) + "' is not " + why);
  values_[std::string(key)] = {std::move(text), std::move(origin)};
  return {};
}

// Reads one file. Numbers with a decimal point must be in quotes. TOML would make doubles of them, and a double cannot
// hold 2.49 exactly.
Result<void> Settings::ReadFile(const std::string& path) {
  std::error_code unknown;
  if (std::filesystem::is_directory(path, unknown)) return FailUsage(path + ": is a folder; give a settings file");
  try {
    const toml::table file = toml::parse_file(path);
    for (const auto& [section, content] : file) {
      const toml::table* keys = content.as_table();
      if (keys == nullptr) {
        return FailUsage(path + ":" + std::to_string(section.source().begin.line) + ": '" + std::string(section.str()) +
                         "' is outside a section; write it under [price], [classify], ...");
      }
      for (const auto& [key, node] : *keys) {
        const std::string where = path + ":" + std::to_string(key.source().begin.line);
        std::string text;
        if (const auto* t = node.as_string()) {
          text = t->get();
        } else if (const auto* i = node.as_integer()) {
          text = std::to_string(i->get());
        } else if (node.is_floating_point()) {
          return FailUsage(where + ": write the number in quotes, so idleburn reads it exactly: \"2.49\"");
        } else {
          return FailUsage(where + ": '" + std::string(key.str()) + "' is not a text or a number");
        }
        TRY(Set(std::string(section.str()) + "." + std::string(key.str()), text, where));
      }
    }
    files_.push_back(path);
    return {};
  } catch (const toml::parse_error& error) {
    // toml++ reports a file that it cannot open as an error without a line.
    if (error.source().begin.line == 0) return FailUsage(path + ": idleburn cannot open it; check the path");
    return FailUsage(path + ":" + std::to_string(error.source().begin.line) + ": " + std::string(error.description()));
  }
}

// Sources are applied from the weakest to the strongest: defaults, files, environment, flags. Each overwrites the ones
// before, and its origin with it.
Result<Settings> Settings::Load(const std::string& config_file, const std::map<std::string, std::string>& flags) {
  Settings settings;
  for (const SettingInfo& info : kTable)
    settings.values_[std::string(info.key)] = {std::string(info.standard), "default"};
  // Later files override earlier ones, so the user's file comes first.
  std::vector<std::string> files = SettingFiles();
  std::reverse(files.begin(), files.end());
  // --config replaces both usual files.
  if (!config_file.empty()) files = {config_file};
  for (const std::string& file : files) {
    std::error_code ignored;
    // The usual files are optional; a named one must exist.
    if (config_file.empty() && !std::filesystem::exists(file, ignored)) continue;
    TRY(settings.ReadFile(file));
  }
  TRY(CheckEnvironment());
  for (const SettingInfo& info : kTable) {
    const std::string name = EnvironmentName(info.key);
    // An empty variable counts as not set, as is usual for environments.
    if (const char* text = std::getenv(name.c_str()); text != nullptr && *text != '\0')
      TRY(settings.Set(info.key, text, name));
  }
  for (const SettingInfo& info : kTable) {
    const auto given = flags.find(std::string(info.flag));
    if (!info.flag.empty() && given != flags.end()) TRY(settings.Set(info.key, given->second, given->first));
  }
  return settings;
}

const Settings::Value& Settings::Get(std::string_view key) const {
  const auto found = values_.find(key);
  CHECK(found != values_.end());
  return found->second;
}

const std::string& Settings::Text(std::string_view key) const { return Get(key).text; }

// Follows the XDG Base Directory Specification: $XDG_CONFIG_HOME, or ~/.config if that is not set.
std::vector<std::string> SettingFiles() {
  std::vector<std::string> files = {"idleburn.toml"};
  const char* xdg = std::getenv("XDG_CONFIG_HOME");
  const char* home = std::getenv("HOME");
  if (xdg != nullptr && *xdg != '\0') {
    files.push_back(std::string(xdg) + "/idleburn/idleburn.toml");
  } else if (home != nullptr) {
    files.push_back(std::string(home) + "/.config/idleburn/idleburn.toml");
  }
  return files;
}

// Every line of a setting is commented out, so a template that was never edited changes nothing.
std::string SettingTemplate() {
  std::string text =
      "# idleburn.toml: settings of idleburn. Remove the # of a line to change it; flags win over this file.\n";
  std::string section;
  for (const SettingInfo& info : kTable) {
    const std::size_t dot = info.key.find('.');
    if (section != info.key.substr(0, dot)) {
      section = info.key.substr(0, dot);
      text += "\n[" + section + "]\n";
    }
    text += "# " + std::string(info.help) + "\n";
    text += "#" + std::string(info.key.substr(dot + 1)) + " = \"" + std::string(info.standard) + "\"\n";
  }
  return text;
}

}  // namespace idleburn
