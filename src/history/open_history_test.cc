#include "history/open_history.h"

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "history/ledger.h"
#include "history/runs.h"
#include "history/users_history.h"
#include "support/history_folder.h"
#include "support/sqlite_file.h"

namespace idleburn {
namespace {

using test::HistoryFolder;
using test::QueryIntegers;

void Write(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
}

std::string Read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// By SQLite itself, without our wrapper.
void Execute(const std::string& path, const std::string& sql) {
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &database), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(database);
  sqlite3_close(database);
}

HistoryRun SmallRun(const std::string& id) {
  HistoryRun run;
  run.id = id;
  run.kind = "run";
  run.started = Instant::FromNanos(5);
  return run;
}

TEST(OpenHistoryTest, MakesItsFolderAndWritesAhead) {
  const HistoryFolder folder;
  const std::string path = folder.path() + "/new/er/history.sqlite";
  {
    Result<SqliteDatabase> history = OpenHistory(path, folder.options());
    ASSERT_TRUE(history) << history.error().message;
    ASSERT_TRUE(PutRun(*history, SmallRun("a")));
    EXPECT_TRUE(std::filesystem::exists(path + "-wal"));
  }
  EXPECT_EQ(QueryIntegers(path, "SELECT count(*) FROM runs").at(0), 1);
  EXPECT_TRUE(folder.told().empty());
}

// Files of every version that there ever was, empty ones included, are brought up to date with all they hold.
TEST(OpenHistoryTest, OpensEveryOlderVersion) {
  for (std::size_t version = 0; version <= HistorySteps().size(); ++version) {
    const HistoryFolder folder;
    std::string sql = "PRAGMA application_id = 1768189026; PRAGMA user_version = " + std::to_string(version) + ";";
    for (std::size_t step = 0; step < version; ++step) sql += std::string(HistorySteps()[step]);
    if (version >= 1) {
      sql +=
          "INSERT INTO runs (id, kind, state, started_ns, cost_nano) VALUES ('old', 'run', 'ended', 9, 12);"
          "INSERT INTO labels VALUES ('old', 'tag', 'team', 'a');";
    }
    if (version >= 2) {
      sql += "INSERT INTO ledger (written_ns, tool, kind, claim) VALUES (3, 'idleburn 0.1.0', 'claimed', 'c0ffee');";
    }
    Execute(folder.file(), "BEGIN; " + sql + "COMMIT");
    SqliteDatabase history = folder.Open();
    EXPECT_EQ(ListRuns(history)->size(), version >= 1 ? 1U : 0U) << version;
    if (version >= 1) {
      EXPECT_EQ(FindRun(history, "old", "h")->figures.cost_nano, 12);
      EXPECT_EQ(FindRun(history, "old", "h")->tags.at("team"), "a");
    }
    EXPECT_EQ(ReadLedger(history)->size(), version >= 2 ? 1U : 0U) << version;
    ASSERT_TRUE(PutRun(history, SmallRun("new"))) << version;
    LedgerRow claim;
    claim.tool = "t";
    claim.kind = "claimed";
    claim.claim = "beef";
    ASSERT_TRUE(AppendToLedger(history, claim)) << version;
    EXPECT_TRUE(folder.told().empty());
  }
}

TEST(OpenHistoryTest, RefusesWhatANewerProgramWrote) {
  const HistoryFolder folder;
  folder.Make();
  Execute(folder.file(), "PRAGMA user_version = 99");
  const std::string before = Read(folder.file());
  const Result<SqliteDatabase> opened = OpenHistory(folder.file(), folder.options());
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().message,
            folder.file() +
                ": was written by a newer idleburn (history version 99, but this one knows only up to 5); use "
                "that idleburn, or name another file with --history");
  EXPECT_EQ(Read(folder.file()), before);
}

TEST(OpenHistoryTest, RefusesADatabaseThatIsNoHistory) {
  const HistoryFolder folder;
  Execute(folder.file(), "CREATE TABLE runs (mine)");
  const Result<SqliteDatabase> opened = OpenHistory(folder.file(), folder.options());
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().message,
            folder.file() + ": is a database, but not a history of idleburn; name another file with --history");
  EXPECT_EQ(QueryIntegers(folder.file(), "SELECT count(*) FROM sqlite_master").at(0), 1);
}

void FillRuns(const HistoryFolder& folder) {
  SqliteDatabase history = folder.Open();
  for (int i = 0; i < 10; ++i) {
    HistoryRun run = SmallRun("run" + std::to_string(i));
    run.command = std::string(3000, 'x');
    ASSERT_TRUE(PutRun(history, run));
  }
}

// Damage anywhere: the head, a page in the middle, the end cut off, no database at all.
TEST(OpenHistoryTest, SetsADamagedFileAsideAndSaysSo) {
  const auto damage = [](std::string bytes, int kind) {
    if (kind == 0) return "garbage" + bytes.substr(7);
    if (kind == 1) return bytes.substr(0, 4096) + std::string(4096, '\xA5') + bytes.substr(8192);
    if (kind == 2) return bytes.substr(0, bytes.size() / 2 / 4096 * 4096);
    return std::string("not a database at all, but a text that is long enough to have a head\n");
  };
  for (int kind = 0; kind < 4; ++kind) {
    const HistoryFolder folder;
    FillRuns(folder);
    const std::string damaged = damage(Read(folder.file()), kind);
    Write(folder.file(), damaged);
    {
      SqliteDatabase history = folder.Open();
      EXPECT_TRUE(ListRuns(history)->empty()) << kind;
      ASSERT_TRUE(PutRun(history, SmallRun("fresh")));
    }
    const std::string aside = folder.file() + ".corrupt-20251121-200000";
    EXPECT_EQ(Read(aside), damaged) << kind;
    ASSERT_EQ(folder.told().size(), 1U) << kind;
    EXPECT_EQ(folder.told()[0],
              folder.file() + ": is damaged; idleburn keeps it as " + aside + " and starts a new history");
    EXPECT_EQ(ListRuns(folder.Open())->size(), 1U);
    EXPECT_EQ(folder.told().size(), 1U);
  }
}

// A file that a user names by mistake is not moved, whatever it is; a history of his that is damaged is.
TEST(OpenHistoryTest, ANamedFileIsSetAsideOnlyIfItIsOurs) {
  const HistoryFolder folder;
  HistoryOptions named = folder.options();
  named.named = true;
  const std::string notes = folder.path() + "/notes.txt";
  const std::string text = "buy milk\n" + std::string(5000, 'x');
  Write(notes, text);
  const Result<SqliteDatabase> refused = OpenHistory(notes, named);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message.find(notes + ": not a history of idleburn"), 0U) << refused.error().message;
  EXPECT_EQ(Read(notes), text);
  EXPECT_TRUE(folder.told().empty());

  FillRuns(folder);
  const std::string bytes = Read(folder.file());
  const std::string damaged = bytes.substr(0, 4096) + std::string(4096, '\xA5') + bytes.substr(8192);
  Write(folder.file(), damaged);
  EXPECT_TRUE(OpenHistory(folder.file(), named));
  EXPECT_EQ(folder.told().size(), 1U);
  EXPECT_EQ(Read(folder.file() + ".corrupt-20251121-200000"), damaged);
}

TEST(OpenHistoryTest, ALockIsNoDamage) {
  const HistoryFolder folder;
  folder.Make();
  sqlite3* other = nullptr;
  ASSERT_EQ(sqlite3_open(folder.file().c_str(), &other), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(other, "PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; CREATE TABLE x (y)", nullptr,
                         nullptr, nullptr),
            SQLITE_OK);
  Result<SqliteDatabase> opened = OpenHistory(folder.file(), folder.options());
  const Result<void> put = opened ? PutRun(*opened, SmallRun("a")) : tl::unexpected<Error>(opened.error());
  ASSERT_FALSE(put);
  EXPECT_NE(put.error().message.find("is being written by another program"), std::string::npos) << put.error().message;
  sqlite3_close(other);
  EXPECT_TRUE(folder.told().empty());
  SqliteDatabase history = folder.Open();
  EXPECT_TRUE(PutRun(history, SmallRun("a")));
}

TEST(OpenHistoryTest, WhatMayNotBeWrittenIsOneLine) {
  const HistoryFolder folder;
  const Result<SqliteDatabase> nowhere = OpenHistory("/proc/idleburn/history.sqlite", folder.options());
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error().message.find("/proc/idleburn: cannot be created: "), 0U);
  std::filesystem::create_directory(folder.path() + "/folder");
  const Result<SqliteDatabase> is_folder = OpenHistory(folder.path() + "/folder", folder.options());
  ASSERT_FALSE(is_folder);
  EXPECT_EQ(is_folder.error().message.find('\n'), std::string::npos);
  EXPECT_TRUE(std::filesystem::is_directory(folder.path() + "/folder"));
  if (geteuid() == 0) return;  // root may write anywhere
  folder.Make();
  std::filesystem::permissions(folder.file(), std::filesystem::perms::owner_read);
  const Result<SqliteDatabase> opened = OpenHistory(folder.file(), folder.options());
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().message.find("Permission denied"), std::string::npos);
  EXPECT_TRUE(folder.told().empty());
}

unsigned ModeOf(const std::string& path) {
  struct stat info {};
  EXPECT_EQ(stat(path.c_str(), &info), 0) << path;
  return info.st_mode & 0777;
}

TEST(PrivateHistoryTest, WhatIsMadeIsTheUsersAlone) {
  const HistoryFolder folder;
  const std::string path = folder.path() + "/new/er/history.sqlite";
  const mode_t before = umask(0);
  {
    Result<SqliteDatabase> history = OpenHistory(path, folder.options());
    ASSERT_TRUE(history);
    ASSERT_TRUE(PutRun(*history, SmallRun("a")));
    EXPECT_EQ(ModeOf(folder.path() + "/new"), 0700U);
    EXPECT_EQ(ModeOf(folder.path() + "/new/er"), 0700U);
    for (const char* part : {"", "-wal", "-shm"}) EXPECT_EQ(ModeOf(path + part), 0600U) << part;
  }
  umask(before);
}

// As an older version made the usual one. A history that the user named somewhere stays as the user has it.
TEST(PrivateHistoryTest, TheUsualHistoryThatIsThereIsClosedToOthers) {
  for (const bool named : {false, true}) {
    const HistoryFolder folder;
    const std::string data = folder.path() + "/data";
    const std::string path = data + "/history.sqlite";
    HistoryOptions options = folder.options();
    options.named = named;
    ASSERT_TRUE(OpenHistory(path, options));
    std::filesystem::create_directories(data + "/recordings");
    Write(data + "/recordings/a.idleburn", "x");
    Write(folder.path() + "/outside", "x");
    std::filesystem::create_symlink(folder.path() + "/outside", data + "/link");
    ASSERT_EQ(chmod((folder.path() + "/outside").c_str(), 0644), 0);
    const std::string open[] = {data, path, data + "/recordings", data + "/recordings/a.idleburn"};
    const unsigned modes[] = {0755, 0644, 0755, 0644};
    for (std::size_t i = 0; i < 4; ++i) ASSERT_EQ(chmod(open[i].c_str(), modes[i]), 0);
    ASSERT_TRUE(OpenHistory(path, options));
    for (std::size_t i = 0; i < 4; ++i) {
      EXPECT_EQ(ModeOf(open[i]), named ? modes[i] : modes[i] & 0700) << open[i];
    }
    EXPECT_EQ(ModeOf(folder.path() + "/outside"), 0644U);
  }
}

// Another program writes and does not let go; a run that ends meanwhile is found again.
TEST(WaitingRunsTest, ARunThatCannotBeWrittenIsTakenInByTheNext) {
  const HistoryFolder folder;
  const std::string path = folder.file();
  HistoryOptions options = folder.options();
  options.patience = Nanos(10'000'000);
  ASSERT_TRUE(OpenHistory(path, options));
  sqlite3* other = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &other), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(other, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
  {
    Result<SqliteDatabase> locked = OpenHistory(path, options);
    ASSERT_TRUE(locked);
    ASSERT_FALSE(PutRun(*locked, SmallRun("late")));
    EXPECT_FALSE(AnyRunWaits(path));
    ASSERT_TRUE(LetRunWait(SmallRun("late"), path, options));
    ASSERT_TRUE(LetRunWait(SmallRun("later"), path, options));
    EXPECT_TRUE(AnyRunWaits(path));
    TakeInWaitingRuns(*locked, path, options);
    EXPECT_TRUE(AnyRunWaits(path));  // locked still, and nothing is lost
    EXPECT_EQ(folder.told().size(), 1U);
  }
  ASSERT_EQ(sqlite3_exec(other, "ROLLBACK", nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(other);
  Result<SqliteDatabase> history = OpenHistory(path, options);
  ASSERT_TRUE(history);
  TakeInWaitingRuns(*history, path, options);
  EXPECT_FALSE(AnyRunWaits(path));
  EXPECT_FALSE(std::filesystem::exists(path + ".waiting"));
  const Result<std::vector<HistoryRun>> runs = ListRuns(*history);
  ASSERT_EQ(runs->size(), 2U);
  EXPECT_EQ(runs->at(0).id + runs->at(1).id, "latelater");
}

TEST(WaitingRunsTest, NothingWaitsBesideAFileThatIsNoHistory) {
  const HistoryFolder folder;
  const std::string path = folder.path() + "/notes.txt";
  Write(path, std::string(200, 'n'));
  EXPECT_FALSE(LetRunWait(SmallRun("a"), path, folder.options()));
  EXPECT_FALSE(std::filesystem::exists(path + ".waiting"));
}

}  // namespace
}  // namespace idleburn
