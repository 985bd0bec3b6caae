#pragma once

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace idleburn::test {

// Runs statements on a file, which is made if it is not there.
inline void RunSql(const std::string& path, const std::string& sql) {
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &database), SQLITE_OK);
  char* error = nullptr;
  EXPECT_EQ(sqlite3_exec(database, sql.c_str(), nullptr, nullptr, &error), SQLITE_OK) << error << " in " << sql;
  sqlite3_free(error);
  sqlite3_close(database);
}

// A SQLite database of a test's own making, in a folder of its own that goes with it.
class SqliteFile {
 public:
  explicit SqliteFile(const std::string& sql, const std::string& name = "export.sqlite") {
    std::string folder = ::testing::TempDir() + "sqlite.XXXXXX";
    EXPECT_NE(mkdtemp(folder.data()), nullptr);
    path_ = std::filesystem::path(folder) / name;
    Run(sql);
  }
  ~SqliteFile() {
    std::error_code ignored;
    std::filesystem::remove_all(path_.parent_path(), ignored);
  }
  SqliteFile(const SqliteFile&) = delete;
  SqliteFile& operator=(const SqliteFile&) = delete;

  void Run(const std::string& sql) const { RunSql(path_.string(), sql); }
  [[nodiscard]] std::string path() const { return path_.string(); }
  [[nodiscard]] std::filesystem::path folder() const { return path_.parent_path(); }

 private:
  std::filesystem::path path_;
};

// The first row of a query of a file, as integers; NULL is -1. Independent of what the program reads with.
inline std::vector<std::int64_t> QueryIntegers(const std::string& path, const std::string& sql) {
  sqlite3* database = nullptr;
  sqlite3_stmt* query = nullptr;
  std::vector<std::int64_t> row;
  EXPECT_EQ(sqlite3_open_v2(("file:" + path + "?immutable=1").c_str(), &database,
                            SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, nullptr),
            SQLITE_OK);
  EXPECT_EQ(sqlite3_prepare_v2(database, sql.c_str(), -1, &query, nullptr), SQLITE_OK) << sql;
  if (sqlite3_step(query) == SQLITE_ROW) {
    for (int i = 0; i < sqlite3_column_count(query); ++i) {
      row.push_back(sqlite3_column_type(query, i) == SQLITE_NULL ? -1 : sqlite3_column_int64(query, i));
    }
  }
  sqlite3_finalize(query);
  sqlite3_close(database);
  return row;
}

}  // namespace idleburn::test
