#include "history/users_history.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

#include "history/open_history.h"
#include "history/runs.h"
#include "os/folder.h"
#include "os/input_file.h"
#include "os/output_file.h"
#include "terminal/output.h"

// The history of the user and what surrounds it: its place, its recordings, and runs that wait. A waiting run is a
// history with one run, in a folder beside the history. A text file would need a second format, and a queue in memory
// would die with the process that ends.

namespace idleburn {

namespace {

// Other files of the folder, such as a -wal, are no runs.
constexpr std::string_view kEnding = ".sqlite";

// The folder of runs that wait for the history at `path`.
std::string FolderOf(const std::string& path) { return path + ".waiting"; }

// The files of the runs that wait for the history at `path`.
std::vector<std::string> FilesFor(const std::string& path) {
  std::vector<std::string> files;
  for (const std::string& name : NamesIn(FolderOf(path))) {
    if (name.ends_with(kEnding)) files.push_back(FolderOf(path) + "/" + name);
  }
  return files;
}

// Whether a file can be a history. An empty file can: the first pages may still be in its -wal.
bool MayBeHistory(const std::string& path) {
  const std::optional<SeekableFile> file = SeekableFile::Open(path);
  const std::string head(file ? file->Head(kHistoryHead) : "");
  return head.empty() || BeginsAsHistory(head);
}

// Moves one waiting run into the history. Its file is removed only after that. A crash in between leaves the run in
// both, and writing it again replaces it.
Result<void> TakeIn(SqliteDatabase& history, const std::string& file, const HistoryOptions& options) {
  {
    SqliteDatabase one = TRY(OpenHistory(file, options));
    const std::vector<HistoryRun> runs = TRY(ListRuns(one));
    for (const HistoryRun& run : runs) TRY(PutRun(history, run));
  }
  for (const char* part : {"-wal", "-shm", ""}) TRY(RemoveFile(file + part));
  return {};
}

}  // namespace

Result<void> LetRunWait(const HistoryRun& run, const std::string& path, const HistoryOptions& options) {
  if (!MayBeHistory(path)) return Fail(path + ": not a history of idleburn");
  // The file has the id of the run as its name, so a run that is written twice replaces itself.
  SqliteDatabase one = TRY(OpenHistory(FolderOf(path) + "/" + run.id + std::string(kEnding), options));
  return PutRun(one, run);
}

bool AnyRunWaits(const std::string& path) { return !FilesFor(path).empty(); }

void TakeInWaitingRuns(SqliteDatabase& history, const std::string& path, const HistoryOptions& options) {
  const std::vector<std::string> files = FilesFor(path);
  for (const std::string& file : files) {
    const Result<void> taken = TakeIn(history, file, options);
    if (taken) continue;
    options.tell(taken.error().message + "; a run waits in " + file + " until idleburn can write the history");
    // The next one would wait as long, so one attempt suffices.
    return;
  }
  // Fails if another run was left there meanwhile, which is right.
  if (!files.empty()) rmdir(FolderOf(path).c_str());
}

std::string UserDataFolder() {
  const char* data = std::getenv("XDG_DATA_HOME");
  if (data != nullptr && *data == '/') return std::string(data) + "/idleburn";
  const char* home = std::getenv("HOME");
  return home != nullptr && *home == '/' ? std::string(home) + "/.local/share/idleburn" : std::string();
}

std::string AgentStateFolder() {
  if (const char* const made = std::getenv("STATE_DIRECTORY")) return made;
  const std::string data = UserDataFolder();
  return data.empty() ? data : data + "/agent";
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

// Any file but the usual one was named by the user.
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
  // A run may wait although the history itself does not exist yet.
  const bool any = !file.empty() && (std::filesystem::exists(file, ignored) || AnyRunWaits(file));
  if (!any) return std::optional<SqliteDatabase>();
  SqliteDatabase opened = TRY(OpenHistoryToRead(file, OptionsOf(file, now, patience)));
  TakeInWaitingRuns(opened, file, OptionsOf(file, now, patience));
  return std::optional(std::move(opened));
}

Result<void> KeepForLater(const std::string& file, const HistoryRun& run) {
  return LetRunWait(run, file, OptionsOf(file, run.started, kPatienceAtTheEnd));
}

// Advice scales the expected saving of a lever by these shares.
RecoveredShares SharesOf(const LedgerView& ledger) {
  std::map<std::string, OwnChanges, std::less<>> own;
  for (const LeverOutcome& lever : ledger.levers) own[lever.measure] = {lever.shares, lever.verified};
  return RecoveredShares(std::move(own));
}

RecoveredShares OwnShares(const Settings& settings, Instant now, Nanos patience) {
  const Result<std::optional<SqliteDatabase>> history = OpenToRead(HistoryFile(settings), now, patience);
  // No history is no error: a new user has none, and advice uses the prior.
  if (history && !*history) return {};
  const Result<std::vector<LedgerRow>> rows = history ? ReadLedger(**history) : tl::unexpected<Error>(history.error());
  if (!rows) {
    Say(rows.error().message + "; the estimates do not use your own results");
    return {};
  }
  return SharesOf(ViewLedger(*rows));
}

}  // namespace idleburn
