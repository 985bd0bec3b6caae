#include <filesystem>

#include "audit/audit_plan.h"
#include "audit/open_input.h"
#include "cli/commands.h"
#include "config/common_flags.h"
#include "os/output_file.h"

// `idleburn config`: shows where each setting comes from. Settings have three sources and two files, so "why is this
// price used?" needs an answer without reading code. `print` shows the value in force with its origin, and `validate`
// also checks what values mean together.

namespace idleburn {
namespace {

// Writes the template. Never overwrites a file, because it may hold the user's prices.
Result<int> WriteSettingTemplate(const std::string& asked) {
  const std::string path = asked.empty() ? SettingFiles().front() : asked;
  if (std::filesystem::exists(path)) return Fail(path + ": exists already; remove it first if you want the template");
  TRY(WriteFileWhole(path, SettingTemplate()));
  TRY(Print("wrote " + path + "\n"));
  return 0;
}

// Prints every setting with its value and origin, in columns, and the kind of value that is expected.
Result<int> PrintAll(const Settings& settings) {
  std::string text;
  for (const SettingInfo& info : SettingTable()) {
    const Settings::Value& value = settings.Get(info.key);
    std::string line(info.key);
    line.resize(28, ' ');
    line += value.text.empty() ? "-" : value.text;
    if (line.size() < 52) line.resize(52, ' ');
    const bool plain = info.kind == SettingKind::kText || info.kind == SettingKind::kList;
    text += line + "  " + value.origin + (plain ? "" : "  # " + std::string(info.value)) + "\n";
  }
  TRY(Print(text));
  return 0;
}

// Checks what settings mean, which is known only where they are used. Example: idle_below above bound_from has a valid
// form but no meaning. An error there names the flag. Here the flag is replaced by the place of the setting, because
// that is what must be changed.
Result<void> CheckMeaning(const Settings& settings, Instant now) {
  const Result<AuditPlan> plan = PlanAudit({}, settings, now);
  const Result<ImportOptions> options = ImportOptionsFrom(settings);
  if (plan && options) return {};
  Error error = plan ? options.error() : plan.error();
  for (const SettingInfo& info : SettingTable()) {
    const std::string begin = std::string(info.flag) + ":";
    if (info.flag.empty() || !error.message.starts_with(begin)) continue;
    error.message = settings.Get(info.key).origin + error.message.substr(begin.size() - 1);
  }
  return tl::unexpected<Error>(error);
}

// Prints where settings files are looked for, strongest first, and which of them exist.
Result<int> Paths() {
  std::string text;
  for (const std::string& file : SettingFiles()) {
    text += file + (std::filesystem::exists(file) ? "\n" : "  (does not exist)\n");
  }
  TRY(Print(text));
  return 0;
}

}  // namespace

Result<int> RunConfigCommand(const std::vector<std::string>& arguments, const Environment& environment) {
  std::string action;
  CommandFlags flags(std::vector<std::string>{});  // --config alone
  Flag& word = flags.Add("action", "init|print|path|validate",
                         "write a template, print every value with its origin, list the settings files, check them");
  word.text = &action;
  word.required = true;
  // ReadWords loads no settings: `init` and `path` must work while a settings file is broken.
  const bool read = TRY(flags.ReadWords("config", "Settings: idleburn.toml, environment, flags.", arguments));
  if (!read) return 0;
  if (action == "init") return WriteSettingTemplate(flags.config_file());
  if (action == "path") return Paths();
  if (action != "print" && action != "validate") {
    return FailUsage("config: '" + action.substr(0, 20) + "' is not one of init, print, path, validate");
  }
  const Settings settings = TRY(flags.Load());
  // `print` fails on limits that contradict each other too: values that no audit accepts are not in force.
  TRY(ThresholdsFrom(settings));
  if (action == "print") return PrintAll(settings);
  TRY(CheckMeaning(settings, environment.now));
  std::string text;
  for (const std::string& file : settings.files()) text += file + ": good\n";
  TRY(Print(text.empty() ? "no settings file; the defaults apply\n" : text));
  return 0;
}

}  // namespace idleburn
