#include "measure/data_files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "os/page_cache.h"
#include "support/fake_proc.h"

namespace idleburn {
namespace {

namespace fs = std::filesystem;

TEST(DataFilesTest, ListsWhatIsBelowInOrderAndFollowsNoLink) {
  const test::FakeRoot root;
  root.Write("/data/b/2", "22");
  root.Write("/data/a/1", "1");
  root.Write("/data/c", "4444");
  root.Write("/elsewhere/secret", "999999");
  fs::create_symlink(root.path() + "/elsewhere", root.path() + "/data/out");
  fs::create_symlink(root.path() + "/elsewhere/secret", root.path() + "/data/a/file");
  fs::create_symlink(root.path() + "/data", root.path() + "/data/a/round");
  ASSERT_EQ(mkfifo((root.path() + "/data/pipe").c_str(), 0600), 0);
  const Result<DataFiles> data = ListDataFiles(root.path() + "/data", 100);
  ASSERT_TRUE(data);
  ASSERT_EQ(data->files.size(), 3U);
  const std::string base = fs::canonical(root.path()).string() + "/data/";
  EXPECT_EQ(data->files[0].path, base + "a/1");
  EXPECT_EQ(data->files[1].path, base + "b/2");
  EXPECT_EQ(data->files[2].path, base + "c");
  EXPECT_EQ(data->bytes, 7);
  EXPECT_EQ(data->links, 3);
  EXPECT_EQ(data->MedianBytes(), 2);
  EXPECT_TRUE(data->all);
  // A link that the user names is what the user means.
  const Result<DataFiles> named = ListDataFiles(root.path() + "/data/a/file", 100);
  ASSERT_TRUE(named);
  EXPECT_EQ(named->bytes, 6);
}

TEST(DataFilesTest, IsBounded) {
  const test::FakeRoot root;
  for (int i = 0; i < 20; ++i) root.Write("/data/" + std::to_string(i), "x");
  const Result<DataFiles> data = ListDataFiles(root.path() + "/data", 7);
  ASSERT_TRUE(data);
  EXPECT_EQ(data->files.size(), 7U);
  EXPECT_FALSE(data->all);
}

TEST(DataFilesTest, WhatIsNotThereOrNoDataIsSaid) {
  const test::FakeRoot root;
  EXPECT_FALSE(ListDataFiles(root.path() + "/nothing", 7));
  EXPECT_FALSE(ListDataFiles("/dev/null", 7));
  const Result<DataFiles> empty = ListDataFiles(root.path(), 7);
  ASSERT_TRUE(empty);
  EXPECT_TRUE(empty->files.empty());
  EXPECT_EQ(empty->MedianBytes(), 0);
}

void Sync(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  fsync(fd);
  close(fd);
}

std::int64_t Cached(const std::string& path, std::int64_t bytes) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const std::int64_t cached = CachedBytes(fd, 0, bytes).value_or(-1);
  close(fd);
  return cached;
}

TEST(DataFilesTest, DataBecomeColdAndWarm) {
  const test::FakeRoot root;
  constexpr std::int64_t kBytes = 4 << 20;
  root.Write("/data/file", std::string(kBytes, 'x'));
  const std::string path = root.path() + "/data/file";
  Sync(path);
  const Result<DataFiles> data = ListDataFiles(root.path() + "/data", 100);
  ASSERT_TRUE(data);
  if (const Result<void> dropped = DropData(*data); !dropped) GTEST_SKIP() << dropped.error().message;
  EXPECT_LE(Cached(path, kBytes), kBytes / 20);
  ASSERT_TRUE(WarmData(*data, [] { return false; }));
  EXPECT_EQ(Cached(path, kBytes), kBytes);
  ASSERT_TRUE(DropData(*data));
  ASSERT_TRUE(WarmData(*data, [] { return true; }));  // told to stop at once
  EXPECT_LT(Cached(path, kBytes), kBytes);
}

TEST(DataFilesTest, MemoryIsNeverCold) {
  const fs::path folder = "/dev/shm/idleburn-test-" + std::to_string(getpid());
  std::error_code failed;
  if (!fs::create_directory(folder, failed)) GTEST_SKIP() << "/dev/shm cannot be written";
  std::ofstream(folder / "file") << std::string(100'000, 'x');
  const Result<DataFiles> data = ListDataFiles(folder.string(), 100);
  const Result<void> dropped = data ? DropData(*data) : Result<void>();
  fs::remove_all(folder);
  ASSERT_FALSE(dropped);
  EXPECT_NE(dropped.error().message.find("is memory"), std::string::npos) << dropped.error().message;
}

}  // namespace
}  // namespace idleburn
