#include "history/open_history.h"

#include <algorithm>
#include <filesystem>
#include <optional>

#include "history/schema.h"
#include "os/folder.h"
#include "os/input_file.h"
#include "os/output_file.h"
#include "text/time_zone.h"

namespace idleburn {
namespace {

// "20261121-201500.123": sorts by time, and is a name on every file system.
std::string StampOf(Instant now) {
  std::string stamp = FormatRfc3339(now);
  stamp.erase(std::remove_if(stamp.begin(), stamp.end(), [](char c) { return c == '-' || c == ':' || c == 'Z'; }),
              stamp.end());
  std::replace(stamp.begin(), stamp.end(), 'T', '-');
  return stamp;
}

// With its changes, which SQLite finds by the file's name.
Result<void> SetAside(const std::string& path, const HistoryOptions& options) {
  const std::string aside = path + ".corrupt-" + StampOf(options.now);
  for (const char* part : {"", "-wal", "-shm"}) TRY(MoveFile(path + part, aside + part));
  options.tell(path + ": is damaged; it is kept as " + aside + ", and a new history is begun");
  return {};
}

Result<void> CheckOurs(const std::string& path, const HistoryOptions& options) {
  if (!options.named) return {};
  const std::optional<SeekableFile> file = SeekableFile::Open(path);
  if (file && BeginsAsHistory(file->Head(kHistoryHead))) return {};
  return Fail(path + ": is no history of idleburn, or its first bytes are damaged; it is left as it is; name another " +
              "file with --history");
}

// Damage is SQLite's own word, on opening or in any page. Nothing else is a reason to set a file aside.
Result<std::optional<SqliteDatabase>> OpenUndamaged(const std::string& path, const HistoryOptions& options) {
  SqliteFault fault = SqliteFault::kNone;
  Result<SqliteDatabase> database = SqliteDatabase::OpenToWrite(path, path, options.patience, &fault);
  if (!database && fault != SqliteFault::kDamaged) return tl::unexpected<Error>(database.error());
  if (!database || database->Check() == SqliteFault::kDamaged) return std::optional<SqliteDatabase>();
  return std::optional(std::move(*database));
}

}  // namespace

Result<SqliteDatabase> OpenHistory(const std::string& path, const HistoryOptions& options) {
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  const std::string folder = parent.empty() ? "." : parent.string();
  if (const Result<void> made = MakePrivateFolder(folder); !made) {
    return Fail(made.error().message + "; name another place for the history with --history");
  }
  if (!options.named) {
    CloseToOthers(folder);
    for (const char* part : {"", "-wal", "-shm"}) CloseFileToOthers(path + part);
  }
  // One at a time: who finds a file damaged must not move the new one that another has just begun.
  const FolderLock lock = TRY(FolderLock::Take(folder, options.patience));
  for (int attempt = 0; attempt < 2; ++attempt) {
    std::optional<SqliteDatabase> opened = TRY(OpenUndamaged(path, options));
    if (opened) {
      SqliteDatabase database = std::move(*opened);
      TRY(BringUpToDate(database, path));
      return database;
    }
    TRY(CheckOurs(path, options));
    TRY(SetAside(path, options));
  }
  return Fail(path + ": a new history cannot be begun; check the disk");
}

Result<SqliteDatabase> OpenHistoryToRead(const std::string& path, const HistoryOptions& options) {
  if (SqliteDatabase::MayWrite(path)) return OpenHistory(path, options);
  Result<SqliteDatabase> database = SqliteDatabase::OpenToRead(path, path);
  if (!database) return database;
  const bool newest = TRY(IsUpToDate(*database, path));
  if (newest) return database;
  return Fail(path + ": is of an older version, and cannot be brought up to date where it may not be written");
}

}  // namespace idleburn
