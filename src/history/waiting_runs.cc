#include "history/waiting_runs.h"

#include <unistd.h>

#include <optional>
#include <string_view>
#include <vector>

#include "history/runs.h"
#include "history/schema.h"
#include "os/folder.h"
#include "os/input_file.h"
#include "os/output_file.h"

namespace idleburn {
namespace {

constexpr std::string_view kEnding = ".sqlite";

std::string FolderOf(const std::string& path) { return path + ".waiting"; }

std::vector<std::string> FilesFor(const std::string& path) {
  std::vector<std::string> files;
  for (const std::string& name : NamesIn(FolderOf(path))) {
    if (name.ends_with(kEnding)) files.push_back(FolderOf(path) + "/" + name);
  }
  return files;
}

// A file that somebody named by mistake never takes the run. That of a history may still be empty: its first pages
// stand in its -wal for a while.
bool MayBeHistory(const std::string& path) {
  const std::optional<SeekableFile> file = SeekableFile::Open(path);
  const std::string head(file ? file->Head(kHistoryHead) : "");
  return head.empty() || BeginsAsHistory(head);
}

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
  if (!MayBeHistory(path)) return Fail(path + ": is no history of idleburn");
  SqliteDatabase one = TRY(OpenHistory(FolderOf(path) + "/" + run.id + std::string(kEnding), options));
  return PutRun(one, run);
}

bool AnyRunWaits(const std::string& path) { return !FilesFor(path).empty(); }

void TakeInWaitingRuns(SqliteDatabase& history, const std::string& path, const HistoryOptions& options) {
  const std::vector<std::string> files = FilesFor(path);
  for (const std::string& file : files) {
    const Result<void> taken = TakeIn(history, file, options);
    if (taken) continue;
    options.tell(taken.error().message + "; a run waits in " + file + " until the history can be written");
    return;  // the next would wait as long
  }
  if (!files.empty()) rmdir(FolderOf(path).c_str());
}

}  // namespace idleburn
