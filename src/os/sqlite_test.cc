#include "os/sqlite.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

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
            "the file: the database cannot be opened (unable to open database file); if there is a file of its name "
            "with -wal, copy both elsewhere");
  EXPECT_EQ(SqliteDatabase::OpenToRead(file.path(), "").value().Size().value(),
            static_cast<std::int64_t>(std::filesystem::file_size(file.path())));
  EXPECT_EQ(ErrorOf(file.path(), "SELECT c FROM t"), "the file: cannot be queried: no such column: c");
  const std::string text = (file.folder() / "text").string();
  std::ofstream(text) << std::string(5000, 'x');
  EXPECT_EQ(ErrorOf(text, "SELECT * FROM t"),
            "the file: is no SQLite database, or an encrypted one (file is not a database); check the file");
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

TEST(SqliteTest, TakesAnyFileName) {
  for (const char* name : {"a b.sqlite", "100%41?mode=rw#x.db", "\xC3\xBC'\".db"}) {
    const SqliteFile file(kRows, name);
    EXPECT_EQ(CountIn(file.path(), "t"), 4) << name;
  }
}

}  // namespace
}  // namespace idleburn
