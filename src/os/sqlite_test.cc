#include "os/sqlite.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "support/sqlite_file.h"

namespace idleburn {
namespace {

using test::SqliteFile;

constexpr const char* kRows =
    "CREATE TABLE t (a INTEGER, b); INSERT INTO t VALUES (1, 'one'), (NULL, 2), (3, NULL), ('four', x'34');";

std::string ErrorOf(const std::string& path, const std::string& sql) {
  const Result<SqliteDatabase> database = SqliteDatabase::OpenToRead(path, "the file");
  if (!database) return database.error().message;
  Result<SqliteStatement> query = database->Prepare(sql);
  if (!query) return query.error().message;
  for (int rows = 0; rows < 1000; ++rows) {
    const Result<bool> row = query->Step();
    if (!row) return row.error().message;
    if (!*row) break;
  }
  return "";
}

std::int64_t CountIn(const std::string& path, const std::string& table) {
  const Result<SqliteDatabase> database = SqliteDatabase::OpenToRead(path, "the file");
  EXPECT_TRUE(database) << database.error().message;
  Result<SqliteStatement> query = database->Prepare("SELECT count(*) FROM " + table);
  EXPECT_TRUE(query) << query.error().message;
  if (!query || !query->Step().value_or(false)) return -1;
  return query->Integer(0).value_or(-1);
}

TEST(SqliteTest, ReadsColumnsByTheirTypes) {
  const SqliteFile file(kRows);
  const Result<SqliteDatabase> database = SqliteDatabase::OpenToRead(file.path(), file.path());
  ASSERT_TRUE(database) << database.error().message;
  Result<SqliteStatement> query = database->Prepare("SELECT a, b FROM t");
  ASSERT_TRUE(query);
  ASSERT_TRUE(query->Step().value());
  EXPECT_EQ(query->Integer(0), 1);
  EXPECT_EQ(query->Text(1), "one");
  EXPECT_FALSE(query->Text(0));  // an integer is no text
  ASSERT_TRUE(query->Step().value());
  EXPECT_FALSE(query->Integer(0));
  EXPECT_EQ(query->Integer(1), 2);
  ASSERT_TRUE(query->Step().value());
  EXPECT_FALSE(query->Text(1));
  ASSERT_TRUE(query->Step().value());
  EXPECT_FALSE(query->Integer(0));  // text, which SQLite itself would read as 0
  EXPECT_FALSE(query->Text(1));     // bytes
  EXPECT_FALSE(query->Step().value());

  Result<SqliteStatement> by_id = database->Prepare("SELECT b FROM t WHERE a = ?");
  ASSERT_TRUE(by_id);
  for (int i = 0; i < 2; ++i) {
    by_id->Rewind(0, 1);
    ASSERT_TRUE(by_id->Step().value());
    EXPECT_EQ(by_id->Text(0), "one");
    by_id->Rewind(0, 7);
    EXPECT_FALSE(by_id->Step().value());
  }
}

TEST(SqliteTest, ListsTablesAndColumns) {
  const SqliteFile file(
      "CREATE TABLE b (x, \"end\"); CREATE TABLE a (y INTEGER PRIMARY KEY AUTOINCREMENT); "
      "CREATE TABLE \"it's \"\"odd\"\"\" (z); CREATE VIEW v AS SELECT 1; INSERT INTO a VALUES (1)");
  const Result<SqliteDatabase> database = SqliteDatabase::OpenToRead(file.path(), file.path());
  ASSERT_TRUE(database);
  EXPECT_EQ(database->Tables().value(), (std::vector<std::string>{"a", "b", "it's \"odd\""}));
  EXPECT_EQ(database->Columns("b").value(), (std::vector<std::string>{"x", "end"}));
  EXPECT_EQ(database->Columns("it's \"odd\"").value(), std::vector<std::string>{"z"});
  EXPECT_TRUE(database->Columns("none").value().empty());
}

TEST(SqliteTest, SaysWhatIsWrongInOneLine) {
  const SqliteFile file(kRows);
  EXPECT_EQ(ErrorOf((file.folder() / "none").string(), "SELECT 1"),
            "the file: the database cannot be opened (unable to open database file); if a file of the same name plus "
            "-wal exists, copy both elsewhere");
  EXPECT_EQ(SqliteDatabase::OpenToRead(file.path(), "").value().Size().value(),
            static_cast<std::int64_t>(std::filesystem::file_size(file.path())));
  EXPECT_EQ(ErrorOf(file.path(), "SELECT c FROM t"), "the file: cannot be queried: no such column: c");
  const std::string text = (file.folder() / "text").string();
  std::ofstream(text) << std::string(5000, 'x');
  EXPECT_EQ(ErrorOf(text, "SELECT * FROM t"),
            "the file: not a SQLite database, or an encrypted one (file is not a database); check the file");
}

TEST(SqliteTest, NoticesThatTheFileIsCutOff) {
  const SqliteFile file(
      "CREATE TABLE t (a); WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE "
      "i < 20000) INSERT INTO t SELECT i || ' is a row that fills the pages' FROM n");
  const auto whole = std::filesystem::file_size(file.path());
  for (const auto size : {whole - 1, whole / 2, whole / 4096 / 3 * 4096}) {
    std::filesystem::resize_file(file.path(), size);
    const std::string error = ErrorOf(file.path(), "SELECT * FROM t");
    EXPECT_EQ(error.find("the file: the database is "), 0U) << size;
    EXPECT_NE(error.find("cut off"), std::string::npos) << error;
  }
}

TEST(SqliteTest, WritesNothingBesideTheFile) {
  const SqliteFile file(std::string("PRAGMA journal_mode = WAL; ") + kRows);  // the last close merges and deletes it
  ASSERT_FALSE(std::filesystem::exists(file.path() + "-wal"));
  const Result<SqliteDatabase> database = SqliteDatabase::OpenToRead(file.path(), file.path());
  ASSERT_TRUE(database) << database.error().message;
  EXPECT_EQ(database->Columns("t").value().size(), 2U);
  EXPECT_EQ(CountIn(file.path(), "t"), 4);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(file.folder()), {}), 1);
}

TEST(SqliteTest, SeesWhatAWriterHasNotMergedYet) {
  const SqliteFile file(std::string("PRAGMA journal_mode = WAL; ") + kRows);
  sqlite3* writer = nullptr;
  ASSERT_EQ(sqlite3_open(file.path().c_str(), &writer), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(writer, "INSERT INTO t VALUES (5, 5)", nullptr, nullptr, nullptr), SQLITE_OK);
  ASSERT_TRUE(std::filesystem::exists(file.path() + "-wal"));
  EXPECT_EQ(CountIn(file.path(), "t"), 5);
  sqlite3_close(writer);
}

// --- for writing -----------------------------------------------------------------------------------------------

constexpr Nanos kShort(kNanosPerSecond / 20);

SqliteDatabase Writing(const std::string& path) {
  SqliteFault fault = SqliteFault::kOther;
  Result<SqliteDatabase> database = SqliteDatabase::OpenToWrite(path, "the file", kShort, &fault);
  EXPECT_TRUE(database) << database.error().message;
  EXPECT_EQ(fault, SqliteFault::kNone);
  return std::move(*database);
}

TEST(SqliteTest, WritesValuesOfEveryKind) {
  const SqliteFile file("CREATE TABLE t (a, b, c, d)");
  SqliteDatabase database = Writing(file.path());
  const std::string odd("it's \"odd\"\0, too", 16);
  const std::vector<SqliteValue> values = {std::int64_t{-7}, 0.1, odd, std::monostate()};
  ASSERT_TRUE(database.Execute("INSERT INTO t VALUES (?, ?, ?, ?)", values));
  EXPECT_EQ(database.Changes(), 1);
  EXPECT_EQ(database.LastRowId(), 1);
  Result<SqliteStatement> query = database.Prepare("SELECT a, b, c, d FROM t");
  ASSERT_TRUE(query->Step().value());
  EXPECT_EQ(query->Integer(0), -7);
  EXPECT_EQ(query->Real(0), -7);
  EXPECT_EQ(query->Real(1), 0.1);
  EXPECT_FALSE(query->Integer(1));
  EXPECT_EQ(query->Text(2), odd);
  EXPECT_FALSE(query->Real(2));
  EXPECT_FALSE(query->Real(3));
  EXPECT_FALSE(query->Text(3));
}

TEST(SqliteTest, ATransactionIsMadeWholeOrNotAtAll) {
  const SqliteFile file("CREATE TABLE t (a)");
  SqliteDatabase database = Writing(file.path());
  {
    Result<SqliteTransaction> lost = SqliteTransaction::Begin(database);
    ASSERT_TRUE(lost);
    ASSERT_TRUE(database.Execute("INSERT INTO t VALUES (1)"));
  }
  EXPECT_EQ(CountIn(file.path(), "t"), 0);
  Result<SqliteTransaction> kept = SqliteTransaction::Begin(database);
  ASSERT_TRUE(kept);
  ASSERT_TRUE(database.Execute("INSERT INTO t VALUES (2)"));
  ASSERT_TRUE(kept->Commit());
  EXPECT_EQ(CountIn(file.path(), "t"), 1);
}

TEST(SqliteTest, AnotherWriterIsWaitedForAndThenNamed) {
  const SqliteFile file("CREATE TABLE t (a)");
  SqliteDatabase first = Writing(file.path());
  SqliteDatabase second = Writing(file.path());
  const Result<SqliteTransaction> held = SqliteTransaction::Begin(first);
  const Result<void> refused = second.Execute("INSERT INTO t VALUES (1)");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message,
            "the file: the database is being written by another program (database is locked); try again when that has "
            "finished");
  EXPECT_EQ(CountIn(file.path(), "t"), 0);  // who reads waits for nobody
}

TEST(SqliteTest, ReferencesHold) {
  const SqliteFile file("CREATE TABLE a (id PRIMARY KEY); CREATE TABLE b (a REFERENCES a (id) ON DELETE CASCADE)");
  SqliteDatabase database = Writing(file.path());
  EXPECT_FALSE(database.Execute("INSERT INTO b VALUES (1)"));
  ASSERT_TRUE(database.ExecuteAll("INSERT INTO a VALUES (1); INSERT INTO b VALUES (1); DELETE FROM a"));
  EXPECT_EQ(CountIn(file.path(), "b"), 0);
}

TEST(SqliteTest, TellsDamageFromOtherTrouble) {
  const SqliteFile file(kRows);
  SqliteFault fault = SqliteFault::kNone;
  const std::string text = (file.folder() / "text").string();
  std::ofstream(text) << std::string(5000, 'x');
  EXPECT_FALSE(SqliteDatabase::OpenToWrite(text, text, kShort, &fault));
  EXPECT_EQ(fault, SqliteFault::kDamaged);
  EXPECT_FALSE(SqliteDatabase::OpenToWrite((file.folder() / "no" / "folder").string(), "x", kShort, &fault));
  EXPECT_EQ(fault, SqliteFault::kOther);
  EXPECT_FALSE(SqliteDatabase::MayWrite((file.folder() / "no" / "folder").string()));
  EXPECT_TRUE(SqliteDatabase::MayWrite((file.folder() / "new").string()));
  EXPECT_EQ(Writing(file.path()).Check(), SqliteFault::kNone);
}

TEST(SqliteTest, TakesAnyFileName) {
  for (const char* name : {"a b.sqlite", "100%41?mode=rw#x.db", "\xC3\xBC'\".db"}) {
    const SqliteFile file(kRows, name);
    EXPECT_EQ(CountIn(file.path(), "t"), 4) << name;
  }
}

}  // namespace
}  // namespace idleburn
