#include "history/users_history.h"

#include <cstdlib>
#include <filesystem>

#include "history/open_history.h"
#include "history/waiting_runs.h"
#include "terminal/output.h"

namespace idleburn {

std::string UserDataFolder() {
  const char* data = std::getenv("XDG_DATA_HOME");
  if (data != nullptr && *data == '/') return std::string(data) + "/idleburn";
  const char* home = std::getenv("HOME");
  return home != nullptr && *home == '/' ? std::string(home) + "/.local/share/idleburn" : std::string();
}

namespace {

std::string UsualHistoryFile() {
  const std::string folder = UserDataFolder();
  return folder.empty() ? folder : folder + "/history.sqlite";
}

}  // namespace

std::string HistoryFile(const Settings& settings) {
  return settings.Has("history.file") ? FullPath(settings.Text("history.file")) : UsualHistoryFile();
}

std::string RecordingFolder(const std::string& history) {
  const std::string folder = history.empty() ? UserDataFolder() : std::filesystem::path(history).parent_path().string();
  return folder.empty() ? folder : folder + "/recordings";
}

std::string FullPath(const std::string& path) {
  std::error_code failed;
  const std::filesystem::path full = std::filesystem::absolute(path, failed);
  return path.empty() || failed ? path : full.lexically_normal().string();
}

namespace {

HistoryOptions OptionsOf(const std::string& file, Instant now, Nanos patience) {
  HistoryOptions options;
  options.patience = patience;
  options.named = file != UsualHistoryFile();
  options.now = now;
  options.tell = Say;
  return options;
}

}  // namespace

Result<SqliteDatabase> OpenToKeep(const std::string& file, Instant now, Nanos patience) {
  if (file.empty()) return Fail("there is no home folder for the history; name a file with --history");
  Result<SqliteDatabase> opened = OpenHistory(file, OptionsOf(file, now, patience));
  if (opened) TakeInWaitingRuns(*opened, file, OptionsOf(file, now, patience));
  return opened;
}

Result<std::optional<SqliteDatabase>> OpenToRead(const std::string& file, Instant now, Nanos patience) {
  std::error_code ignored;
  const bool any = !file.empty() && (std::filesystem::exists(file, ignored) || AnyRunWaits(file));
  if (!any) return std::optional<SqliteDatabase>();
  SqliteDatabase opened = TRY(OpenHistoryToRead(file, OptionsOf(file, now, patience)));
  TakeInWaitingRuns(opened, file, OptionsOf(file, now, patience));
  return std::optional(std::move(opened));
}

Result<void> KeepForLater(const std::string& file, const HistoryRun& run) {
  return LetRunWait(run, file, OptionsOf(file, run.started, kPatienceAtTheEnd));
}

RecoveredShares SharesOf(const LedgerView& ledger) {
  std::map<std::string, OwnChanges, std::less<>> own;
  for (const LeverOutcome& lever : ledger.levers) own[lever.measure] = {lever.shares, lever.verified};
  return RecoveredShares(std::move(own));
}

RecoveredShares OwnShares(const Settings& settings, Instant now, Nanos patience) {
  const Result<std::optional<SqliteDatabase>> history = OpenToRead(HistoryFile(settings), now, patience);
  if (history && !*history) return {};
  const Result<std::vector<LedgerRow>> rows = history ? ReadLedger(**history) : tl::unexpected<Error>(history.error());
  if (!rows) {
    Say(rows.error().message + "; savings are expected as without a history");
    return {};
  }
  return SharesOf(ViewLedger(*rows));
}

}  // namespace idleburn
