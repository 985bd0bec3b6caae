#include "history/open_history.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>

#include "os/folder.h"
#include "os/input_file.h"
#include "os/output_file.h"
#include "text/time_zone.h"

// Opens the history, creates its tables, and sets damaged files aside. A run that was measured cannot be measured
// again, so it must find a history to go to, whatever is wrong with the old one. But a file is never deleted, and a
// file that the user named by mistake is never moved: it may be anything.
//
// SQLite was chosen over a folder of JSON files because several programs write at once and a kill must leave no half of
// a run.

namespace idleburn {

namespace {

constexpr std::int64_t kApplicationId = 0x69646C62;  // "idlb": tells a history from other databases

// The kept runs with what belongs to them. Times are nanoseconds, money is in nano-units, and unknown values are
// NULL.
constexpr std::string_view kRunTables = R"sql(
CREATE TABLE runs (
  id TEXT PRIMARY KEY NOT NULL,
  kind TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('running', 'ended', 'interrupted')),
  started_ns INTEGER NOT NULL,
  ended_ns INTEGER,
  process TEXT, host TEXT, command TEXT, folder TEXT, project TEXT, exit TEXT, recording TEXT, version TEXT,
  gpus INTEGER, gpu_models TEXT,
  window_ns INTEGER, observed_ns INTEGER, unobserved_ns INTEGER,
  idle_ns INTEGER, underutilized_ns INTEGER, productive_ns INTEGER, compute_bound_ns INTEGER,
  effective_ns REAL,
  currency TEXT, rate_nano INTEGER, rate_source TEXT, rate_as_of_ns INTEGER,
  cost_nano INTEGER, waste_nano INTEGER, waste_share REAL,
  work_unit TEXT, work REAL
) STRICT;
CREATE INDEX runs_by_start ON runs (started_ns);
CREATE TABLE labels (
  run TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
  kind TEXT NOT NULL CHECK (kind IN ('tag', 'experiment')),
  key TEXT NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY (run, kind, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX labels_by_value ON labels (value);
CREATE TABLE inputs (
  run TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
  place INTEGER NOT NULL,
  path TEXT NOT NULL, sha256 TEXT,
  PRIMARY KEY (run, place)
) STRICT, WITHOUT ROWID;
CREATE TABLE findings (
  run TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
  place INTEGER NOT NULL,
  cause TEXT NOT NULL, status TEXT NOT NULL, share REAL NOT NULL, gpu_ns INTEGER NOT NULL, cost_nano INTEGER,
  PRIMARY KEY (run, place)
) STRICT, WITHOUT ROWID;
CREATE TABLE advice (
  run TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
  place INTEGER NOT NULL,
  lever TEXT NOT NULL, axis TEXT NOT NULL, cause TEXT, low REAL, expected REAL, high REAL, cost_nano INTEGER,
  PRIMARY KEY (run, place)
) STRICT, WITHOUT ROWID;
)sql";

// The ledger. An entry says what was claimed or found on a day. It refers to runs by the hash of their files, so it
// stands even if a run is removed. Triggers reject every change, because a ledger that can be edited proves nothing.
constexpr std::string_view kLedgerTables = R"sql(
CREATE TABLE ledger (
  row INTEGER PRIMARY KEY AUTOINCREMENT,
  written_ns INTEGER NOT NULL,
  tool TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('claimed', 'compared', 'correction')),
  claim TEXT NOT NULL,
  boundary TEXT, unit TEXT, measure TEXT, verdict TEXT,
  retrospective INTEGER,
  predicted REAL, bound REAL, fraction REAL, low REAL, high REAL, avoided_gpu_seconds REAL,
  currency TEXT, cashable_nano INTEGER, freed_gpu_hours REAL,
  corrects INTEGER REFERENCES ledger (row),
  note TEXT
) STRICT;
CREATE UNIQUE INDEX claimed_once ON ledger (claim) WHERE kind = 'claimed';
CREATE TABLE ledger_inputs (
  row INTEGER NOT NULL REFERENCES ledger (row),
  place INTEGER NOT NULL,
  side TEXT NOT NULL, name TEXT NOT NULL, sha256 TEXT,
  PRIMARY KEY (row, place)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER ledger_is_not_replaced BEFORE INSERT ON ledger
  WHEN EXISTS (SELECT 1 FROM ledger WHERE row = NEW.row)
  BEGIN SELECT RAISE (ABORT, 'a row of the ledger is written once'); END;
CREATE TRIGGER ledger_claims_are_not_replaced BEFORE INSERT ON ledger
  WHEN NEW.kind = 'claimed' AND EXISTS (SELECT 1 FROM ledger WHERE claim = NEW.claim AND kind = 'claimed')
  BEGIN SELECT RAISE (IGNORE); END;
CREATE TRIGGER ledger_inputs_are_not_replaced BEFORE INSERT ON ledger_inputs
  WHEN EXISTS (SELECT 1 FROM ledger_inputs WHERE row = NEW.row AND place = NEW.place)
  BEGIN SELECT RAISE (ABORT, 'a row of the ledger is written once'); END;
CREATE TRIGGER ledger_is_written_once BEFORE UPDATE ON ledger
  BEGIN SELECT RAISE (ABORT, 'a row of the ledger is written once'); END;
CREATE TRIGGER ledger_is_kept BEFORE DELETE ON ledger
  BEGIN SELECT RAISE (ABORT, 'a row of the ledger is written once'); END;
CREATE TRIGGER ledger_inputs_are_written_once BEFORE UPDATE ON ledger_inputs
  BEGIN SELECT RAISE (ABORT, 'a row of the ledger is written once'); END;
CREATE TRIGGER ledger_inputs_are_kept BEFORE DELETE ON ledger_inputs
  BEGIN SELECT RAISE (ABORT, 'a row of the ledger is written once'); END;
)sql";

// What a plan predicted for a run, and the figures of the run that it is compared with.
constexpr std::string_view kForecastTables = R"sql(
ALTER TABLE runs ADD COLUMN memory_peak INTEGER;
ALTER TABLE runs ADD COLUMN pace_ns INTEGER;
ALTER TABLE runs ADD COLUMN pace_steps INTEGER;
ALTER TABLE runs ADD COLUMN pace_samples INTEGER;
ALTER TABLE runs ADD COLUMN pace_tokens INTEGER;
CREATE TABLE forecasts (
  run TEXT PRIMARY KEY NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
  plan TEXT NOT NULL, basis TEXT,
  gpus REAL, tokens REAL, tokens_per_step REAL, sequence REAL,
  hours REAL, hours_low REAL, hours_high REAL,
  gpu_hours REAL, gpu_hours_low REAL, gpu_hours_high REAL,
  tokens_s REAL, tokens_s_low REAL, tokens_s_high REAL,
  memory REAL, memory_low REAL, memory_high REAL,
  currency TEXT, cost_nano INTEGER, cost_low_nano INTEGER, cost_high_nano INTEGER
) STRICT;
)sql";

// The prices of a run with several, as --price takes them.
constexpr std::string_view kRatesColumn = "ALTER TABLE runs ADD COLUMN rates TEXT;\n";

// The run around a run. The inner one's GPU time is part of the outer one's.
constexpr std::string_view kParentColumn = "ALTER TABLE runs ADD COLUMN parent TEXT;\n";

// Append only: the version of a file is the number of steps it has seen.
// A change of a released step would leave files that have seen it without that change.
constexpr std::array<std::string_view, 5> kSteps = {kRunTables, kLedgerTables, kForecastTables, kRatesColumn,
                                                    kParentColumn};
constexpr auto kNewest = static_cast<std::int64_t>(kSteps.size());

// The integer that a question answers; 0 for NULL.
Result<std::int64_t> Ask(const SqliteDatabase& database, std::string_view question) {
  SqliteStatement query = TRY(database.Prepare(question));
  TRY(query.Step());
  return query.Integer(0).value_or(0);
}

// The version of a history that this program can use; 0 for an empty database.
Result<std::int64_t> VersionOf(const SqliteDatabase& database, const std::string& name) {
  const Result<std::int64_t> version = Ask(database, "PRAGMA user_version");
  const Result<std::int64_t> owner = Ask(database, "PRAGMA application_id");
  const Result<std::int64_t> tables = Ask(database, "SELECT count(*) FROM sqlite_master");
  for (const auto* answer : {&version, &owner, &tables}) {
    if (!*answer) return tl::unexpected<Error>(answer->error());
  }
  // A database of another program must not get idleburn's tables.
  if (*tables > 0 && *owner != kApplicationId) {
    return Fail(name + ": is a database, but not a history of idleburn; name another file with --history");
  }
  if (*version <= kNewest) return version;
  return Fail(name + ": was written by a newer idleburn (history version " + std::to_string(*version) +
              ", but this one knows only up to " + std::to_string(kNewest) +
              "); use that idleburn, or name another file with --history");
}

}  // namespace

std::span<const std::string_view> HistorySteps() { return kSteps; }

bool BeginsAsHistory(std::string_view head) {
  // The file format of SQLite, section 1.3: a text of 16 bytes first, the application's id in bytes 68 to 71.
  constexpr std::size_t kId = 68;
  if (head.size() < kHistoryHead || head.substr(0, 15) != "SQLite format 3") return false;
  std::int64_t id = 0;
  for (std::size_t i = kId; i < kHistoryHead; ++i) id = id << 8 | static_cast<unsigned char>(head[i]);
  return id == kApplicationId;
}

Result<bool> IsUpToDate(const SqliteDatabase& database, const std::string& name) {
  const std::int64_t version = TRY(VersionOf(database, name));
  return version == kNewest;
}

Result<void> BringUpToDate(SqliteDatabase& database, const std::string& name) {
  // Most openings find the newest version and start no transaction.
  std::int64_t version = TRY(VersionOf(database, name));
  if (version == kNewest) return {};
  SqliteTransaction change = TRY(SqliteTransaction::Begin(database));
  // Another program may have created the tables while this one waited for the lock.
  version = TRY(VersionOf(database, name));
  for (auto step = static_cast<std::size_t>(version); step < kSteps.size(); ++step) {
    TRY(database.ExecuteAll(std::string(kSteps[step])));
  }
  TRY(database.ExecuteAll("PRAGMA application_id = " + std::to_string(kApplicationId) +
                          "; PRAGMA user_version = " + std::to_string(kNewest)));
  return change.Commit();
}

namespace {

// "20261121-201500.123": sorts by time and is a valid file name everywhere.
std::string StampOf(Instant now) {
  std::string stamp = FormatRfc3339(now);
  stamp.erase(std::remove_if(stamp.begin(), stamp.end(), [](char c) { return c == '-' || c == ':' || c == 'Z'; }),
              stamp.end());
  std::replace(stamp.begin(), stamp.end(), 'T', '-');
  return stamp;
}

// Moves the file with its -wal and -shm files: SQLite finds changes by the file's name.
Result<void> SetAside(const std::string& path, const HistoryOptions& options) {
  const std::string aside = path + ".corrupt-" + StampOf(options.now);
  for (const char* part : {"", "-wal", "-shm"}) TRY(MoveFile(path + part, aside + part));
  // This is reported every time, since the user may want to repair the old file.
  options.tell(path + ": is damaged; idleburn keeps it as " + aside + " and starts a new history");
  return {};
}

// Fails if the user named this file and it does not begin as a history. It may be anything, so it is not moved.
Result<void> CheckOurs(const std::string& path, const HistoryOptions& options) {
  if (!options.named) return {};
  const std::optional<SeekableFile> file = SeekableFile::Open(path);
  if (file && BeginsAsHistory(file->Head(kHistoryHead))) return {};
  return Fail(
      path + ": not a history of idleburn, or its first bytes are damaged; idleburn does not change it; name another " +
      "file with --history");
}

// Opens the database. Absent if it is damaged by SQLite's own judgement, on opening or in any page. A lock, missing
// rights or a full disk are errors: they pass, and are no reason to set a file aside.
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
  // Older versions created the usual history readable by others. The user's own files keep their modes.
  if (!options.named) {
    CloseToOthers(folder);
    for (const char* part : {"", "-wal", "-shm"}) CloseFileToOthers(path + part);
  }
  // One program at a time: otherwise a program that found a file damaged could move the new one that another just
  // started.
  const FolderLock lock = TRY(FolderLock::Take(folder, options.patience));
  // The second attempt finds no file and creates one.
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
  return Fail(path + ": idleburn cannot start a new history; check the disk");
}

Result<SqliteDatabase> OpenHistoryToRead(const std::string& path, const HistoryOptions& options) {
  if (SqliteDatabase::MayWrite(path)) return OpenHistory(path, options);
  Result<SqliteDatabase> database = SqliteDatabase::OpenToRead(path, path);
  if (!database) return database;
  const bool newest = TRY(IsUpToDate(*database, path));
  if (newest) return database;
  return Fail(path + ": has an older version, and idleburn cannot upgrade it without write permission");
}

}  // namespace idleburn
