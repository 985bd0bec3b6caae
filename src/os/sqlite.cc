#include "os/sqlite.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/result.h"
#include "os/folder.h"

namespace idleburn {

// SQLite behind values that free themselves. Two ways to open a database, because they trust it differently: a
// profile may come from anyone and must not be changed, the history is the user's own and must survive a kill.
// SQLite's messages are kept, with advice added for the codes that users meet.

namespace {

// What an error says for one of SQLite's codes.
struct FaultAdvice {
  int code;
  std::string_view what;  // before SQLite's own words
  std::string_view todo;  // after them
};
constexpr auto kAdvice = std::to_array<FaultAdvice>({
    {SQLITE_CORRUPT, "the database is damaged or cut off", "copy it again or create it again"},
    {SQLITE_NOTADB, "not a SQLite database, or an encrypted one", "check the file"},
    {SQLITE_BUSY, "the database is being written", "try again when its writer has finished"},
    {SQLITE_CANTOPEN, "the database cannot be opened",
     "if a file of the same name plus -wal exists, copy both elsewhere"},
    {SQLITE_READONLY, "its writer did not finish", "let it finish, or create the file again"},
    {SQLITE_IOERR, "the database cannot be read", "check the disk"},
});
// Advice for a database that was opened for writing. It comes before the general advice.
constexpr auto kWriterAdvice = std::to_array<FaultAdvice>({
    {SQLITE_BUSY, "the database is being written by another program", "try again when that has finished"},
    {SQLITE_CANTOPEN, "the database cannot be opened or made", "check that its folder is writable"},
    {SQLITE_READONLY, "no permission to write the database", "check who owns it and its folder"},
    {SQLITE_FULL, "the database cannot be written", "make room on its disk"},
    {SQLITE_IOERR, "the database cannot be read or written", "make room on its disk, and check it"},
});

// The error for SQLite's last return code: what happened, in SQLite's words, and what to do.
tl::unexpected<Error> Failure(sqlite3* database, const std::string& name) {
  const int code = sqlite3_errcode(database) & 0xFF;
  std::string words = sqlite3_errmsg(database);
  std::replace_if(
      words.begin(), words.end(), [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
  const auto is_it = [code](const FaultAdvice& advice) { return advice.code == code; };
  const FaultAdvice* row = nullptr;
  // A writer's advice comes first where there is any: the same code means something else to it.
  if (sqlite3_db_readonly(database, "main") == 0) {
    const auto* const found = std::find_if(kWriterAdvice.begin(), kWriterAdvice.end(), is_it);
    if (found != kWriterAdvice.end()) row = found;
  }
  if (row == nullptr) {
    const auto* const found = std::find_if(kAdvice.begin(), kAdvice.end(), is_it);
    if (found != kAdvice.end()) row = found;
  }
  if (row == nullptr) return Fail(name + ": cannot be queried: " + words);
  return Fail(name + ": " + std::string(row->what) + " (" + words + "); " + std::string(row->todo));
}

// What the last return code means for a caller that may set a damaged database aside.
SqliteFault FaultOf(sqlite3* database) {
  const int code = sqlite3_errcode(database) & 0xFF;
  if (code == SQLITE_OK || code == SQLITE_ROW || code == SQLITE_DONE) return SqliteFault::kNone;
  return code == SQLITE_CORRUPT || code == SQLITE_NOTADB ? SqliteFault::kDamaged : SqliteFault::kOther;
}

// The size of a file; 0 if there is none.
std::int64_t SizeOf(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0 ? static_cast<std::int64_t>(info.st_size) : 0;
}

// Whether a writer's changes lie beside the file. SQLite must then read them, which takes locks. Otherwise the file is
// complete and can be read without locks, even in a read-only folder.
bool HasChanges(const std::string& path) { return SizeOf(path + "-wal") > 0 || SizeOf(path + "-journal") > 0; }

// The path as a URI, which lets SQLite be told how to open it. `immutable` takes no locks and looks for no other
// files, which is only right for a file that nobody changes.
std::string UriOf(const std::string& path, bool changing) {
  std::string uri = path.front() == '/' ? "file://" : "file:";
  for (const char c : path) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view("/-._~").find(c) != std::string_view::npos;
    std::array<char, 4> escaped{};
    std::snprintf(escaped.data(), escaped.size(), "%%%02X", static_cast<unsigned>(static_cast<unsigned char>(c)));
    uri += plain ? std::string(1, c) : std::string(escaped.data());
  }
  return uri + (changing ? "?mode=ro" : "?immutable=1");
}

}  // namespace

void SqliteStatement::Finalize::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

Result<bool> SqliteStatement::Step() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return Failure(sqlite3_db_handle(statement_.get()), name_);
}

std::optional<std::int64_t> SqliteStatement::Integer(int column) const {
  if (sqlite3_column_type(statement_.get(), column) != SQLITE_INTEGER) return std::nullopt;
  return sqlite3_column_int64(statement_.get(), column);
}

std::optional<double> SqliteStatement::Real(int column) const {
  const int type = sqlite3_column_type(statement_.get(), column);
  if (type != SQLITE_FLOAT && type != SQLITE_INTEGER) return std::nullopt;
  return sqlite3_column_double(statement_.get(), column);
}

std::optional<std::string_view> SqliteStatement::Text(int column) const {
  if (sqlite3_column_type(statement_.get(), column) != SQLITE_TEXT) return std::nullopt;
  const unsigned char* const text = sqlite3_column_text(statement_.get(), column);
  if (text == nullptr) return std::nullopt;
  const int size = sqlite3_column_bytes(statement_.get(), column);
  return std::string_view(reinterpret_cast<const char*>(text), static_cast<std::size_t>(size));
}

void SqliteStatement::Rewind(int parameter, std::int64_t value) {
  sqlite3_reset(statement_.get());  // repeats the error of the last Step, which has been reported
  CHECK(sqlite3_bind_int64(statement_.get(), parameter + 1, value) == SQLITE_OK);
}

namespace {

// Binds a value of any type to a parameter.
struct Binding {
  sqlite3_stmt* statement;
  int parameter;  // from 1

  int operator()(std::monostate) const { return sqlite3_bind_null(statement, parameter); }
  int operator()(std::int64_t value) const { return sqlite3_bind_int64(statement, parameter, value); }
  int operator()(double value) const { return sqlite3_bind_double(statement, parameter, value); }
  int operator()(const std::string& value) const {
    return sqlite3_bind_text64(statement, parameter, value.data(), value.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
  }
};

}  // namespace

void SqliteStatement::Rewind(std::span<const SqliteValue> values) {
  sqlite3_reset(statement_.get());
  int parameter = 0;
  for (const SqliteValue& value : values) {
    CHECK(std::visit(Binding{statement_.get(), ++parameter}, value) == SQLITE_OK);
  }
}

void SqliteDatabase::Close::operator()(sqlite3* database) const { sqlite3_close(database); }

// The file may come from anyone. So its schema may call no functions with side effects, cells are checked while they
// are read, and a file shorter than its pages is refused.
Result<SqliteDatabase> SqliteDatabase::OpenToRead(const std::string& path, std::string name) {
  sqlite3* opened = nullptr;
  constexpr int kFlags = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX;
  const bool changing = HasChanges(path);
  const int code = sqlite3_open_v2(UriOf(path, changing).c_str(), &opened, kFlags, nullptr);
  SqliteDatabase database(opened, std::move(name));
  if (code != SQLITE_OK) return Failure(opened, database.name_);
  sqlite3_db_config(opened, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(opened, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  SqliteStatement careful = TRY(database.Prepare("PRAGMA cell_size_check = ON"));
  TRY(careful.Step());
  const std::int64_t size = TRY(database.Size());
  // SQLite would read the missing part of the last page as zeros.
  if (!changing && size > SizeOf(path)) {
    return Fail(database.name_ + ": the database is cut off; copy it again or create it again");
  }
  return database;
}

namespace {

// Why the file or its folder cannot be written; empty if both can. SQLite opens a read-only file without complaint
// and fails at the first change. This check fails early. The folder counts too, since WAL files lie beside the
// database.
std::string WhyNoWriting(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  for (const std::string& needed : {folder.empty() ? std::string(".") : folder, path}) {
    if (access(needed.c_str(), W_OK) == 0 || (needed == path && errno == ENOENT)) continue;
    return needed + ": " + std::strerror(errno);
  }
  return {};
}

}  // namespace

bool SqliteDatabase::MayWrite(const std::string& path) { return WhyNoWriting(path).empty(); }

// Sets *fault before every return, so that a caller may rely on it.
Result<SqliteDatabase> SqliteDatabase::OpenToWrite(const std::string& path, std::string name, Nanos patience,
                                                   SqliteFault* fault) {
  *fault = SqliteFault::kOther;
  const std::string refused = WhyNoWriting(path);
  if (!refused.empty()) return Fail(name + ": cannot be written: " + refused);
  // SQLite would create the file with the umask's permissions. Its -wal and -shm copy those of the file.
  if (const int made = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, kPrivateFile); made >= 0) close(made);
  sqlite3* opened = nullptr;
  constexpr int kFlags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
  const int code = sqlite3_open_v2(path.c_str(), &opened, kFlags, nullptr);
  SqliteDatabase database(opened, std::move(name));
  if (code != SQLITE_OK) return Failure(opened, database.name_);
  using Milliseconds = std::chrono::milliseconds;
  sqlite3_busy_timeout(opened, static_cast<int>(std::chrono::duration_cast<Milliseconds>(patience).count()));
  sqlite3_db_config(opened, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(opened, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  // The settings that the header promises. The first also shows whether the file is a database at all.
  for (const char* pragma : {"PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL", "PRAGMA foreign_keys = ON",
                             "PRAGMA cell_size_check = ON"}) {
    Result<void> set = database.Execute(pragma);
    if (set) continue;
    *fault = FaultOf(opened);
    return tl::unexpected<Error>(set.error());
  }
  *fault = SqliteFault::kNone;
  return database;
}

// quick_check reads every page, and leaves out only the comparison of indexes with their tables.
SqliteFault SqliteDatabase::Check() const {
  Result<SqliteStatement> check = Prepare("PRAGMA quick_check(1)");
  if (!check) return FaultOf(database_.get());
  const Result<bool> row = check->Step();
  if (!row) return FaultOf(database_.get());
  return *row && check->Text(0) == "ok" ? SqliteFault::kNone : SqliteFault::kDamaged;
}

// Steps to the end, because some statements only finish then.
Result<void> SqliteDatabase::Execute(std::string_view sql, std::span<const SqliteValue> values) {
  SqliteStatement statement = TRY(Prepare(sql));
  statement.Rewind(values);
  while (true) {
    const bool row = TRY(statement.Step());
    if (!row) return {};
  }
}

Result<void> SqliteDatabase::ExecuteAll(const std::string& sql) {
  if (sqlite3_exec(database_.get(), sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK) return {};
  return Failure(database_.get(), name_);
}

std::int64_t SqliteDatabase::Changes() const { return sqlite3_changes64(database_.get()); }
std::int64_t SqliteDatabase::LastRowId() const { return sqlite3_last_insert_rowid(database_.get()); }

// IMMEDIATE takes the writer's lock now. A transaction that takes it at its first change can fail there without
// waiting, if another writer was faster.
Result<SqliteTransaction> SqliteTransaction::Begin(SqliteDatabase& database) {
  TRY(database.Execute("BEGIN IMMEDIATE"));
  return SqliteTransaction(database);
}

SqliteTransaction::SqliteTransaction(SqliteTransaction&& other) noexcept
    : database_(std::exchange(other.database_, nullptr)) {}

SqliteTransaction::~SqliteTransaction() {
  if (database_ != nullptr) database_->Execute("ROLLBACK").has_value();
}

Result<void> SqliteTransaction::Commit() {
  TRY(database_->Execute("COMMIT"));
  database_ = nullptr;
  return {};
}

Result<SqliteStatement> SqliteDatabase::Prepare(std::string_view sql) const {
  sqlite3_stmt* statement = nullptr;
  const int code = sqlite3_prepare_v2(database_.get(), sql.data(), static_cast<int>(sql.size()), &statement, nullptr);
  if (code != SQLITE_OK) return Failure(database_.get(), name_);
  return SqliteStatement(statement, name_);
}

namespace {

// The texts of one column of all rows.
Result<std::vector<std::string>> FirstTexts(Result<SqliteStatement> query, int column) {
  if (!query) return tl::unexpected<Error>(query.error());
  std::vector<std::string> texts;
  while (true) {
    const bool row = TRY(query->Step());
    if (!row) return texts;
    if (const std::optional<std::string_view> text = query->Text(column)) texts.emplace_back(*text);
  }
}

}  // namespace

Result<std::int64_t> SqliteDatabase::Size() const {
  std::int64_t size = 1;
  for (const char* factor : {"PRAGMA page_count", "PRAGMA page_size"}) {
    SqliteStatement query = TRY(Prepare(factor));
    TRY(query.Step());
    size *= query.Integer(0).value_or(0);
  }
  return size;
}

Result<std::vector<std::string>> SqliteDatabase::Tables() const {
  return FirstTexts(Prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' "
                            "ESCAPE '\\' AND sql NOT LIKE 'CREATE VIRTUAL%' ORDER BY name"),
                    0);
}

Result<std::vector<std::string>> SqliteDatabase::Columns(std::string_view table) const {
  return FirstTexts(Prepare("PRAGMA table_info(" + SqliteName(table) + ")"), 1);
}

std::string SqliteName(std::string_view name) {
  std::string quoted = "\"";
  for (const char c : name) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + '"';
}

bool SniffSqlite(std::string_view head) {
  constexpr std::string_view kMagic("SQLite format 3\0", 16);
  return head.substr(0, kMagic.size()) == kMagic;
}

}  // namespace idleburn
