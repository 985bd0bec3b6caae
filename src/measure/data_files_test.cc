#include "measure/data_files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <set>

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
  EXPECT_NE(dropped.error().message.find("an in-memory file system"), std::string::npos) << dropped.error().message;
}

DataFiles Files(const std::vector<std::int64_t>& sizes) {
  DataFiles data;
  for (const std::int64_t size : sizes) {
    data.files.push_back({"/data/" + std::to_string(data.files.size()), size});
    data.bytes += size;
  }
  return data;
}

std::int64_t Sum(const std::vector<DataPiece>& pieces) {
  std::int64_t sum = 0;
  for (const DataPiece& piece : pieces) sum += piece.bytes;
  return sum;
}

constexpr std::int64_t kMebi = 1 << 20;

TEST(SampleDataTest, APieceLiesInItsFileAndNoneIsTakenTwice) {
  const DataFiles data = Files({100 * kMebi, 5, 0, 33 * kMebi + 7, 300'000});
  for (const std::int64_t bytes : {kMebi, 20 * kMebi, 1000 * kMebi}) {
    const std::vector<DataPiece> pieces = SampleData(data, bytes);
    std::set<std::pair<std::size_t, std::int64_t>> starts;
    for (const DataPiece& piece : pieces) {
      EXPECT_GT(piece.bytes, 0);
      EXPECT_EQ(piece.from % 4096, 0);
      EXPECT_LE(piece.from + piece.bytes, data.files[piece.file].bytes);
      EXPECT_TRUE(starts.insert({piece.file, piece.from}).second);
    }
    EXPECT_LE(Sum(pieces), bytes);
    EXPECT_GE(Sum(pieces), std::min(bytes, data.bytes) / 2);
  }
  EXPECT_EQ(Sum(SampleData(data, 1000 * kMebi)), data.bytes);  // all of it where there is no more
}

TEST(SampleDataTest, LiesEvenlyOverManyFilesAndIsTheSameAgain) {
  const DataFiles data = Files(std::vector<std::int64_t>(50'000, 20'000));
  const std::vector<DataPiece> pieces = SampleData(data, 256 * kMebi);
  EXPECT_GE(pieces.size(), 900U);
  EXPECT_LE(pieces.size(), 1100U);
  std::array<int, 10> tenths{};
  for (const DataPiece& piece : pieces) ++tenths[piece.file / 5000];
  for (const int n : tenths) EXPECT_NEAR(n, static_cast<double>(pieces.size()) / 10, 2);
  const std::vector<DataPiece> again = SampleData(data, 256 * kMebi);
  ASSERT_EQ(again.size(), pieces.size());
  for (std::size_t i = 0; i < again.size(); ++i) EXPECT_EQ(again[i].file, pieces[i].file);
}

TEST(SampleDataTest, NothingOfNothing) { EXPECT_TRUE(SampleData(Files({0, 0}), kMebi).empty()); }

// What was read adds up by itself: whole blocks, each once, never more than asked for.
TEST(ProbeStorageTest, ReadsNoMoreThanAskedAndCountsWhatItRead) {
  const test::FakeRoot root;
  for (int i = 0; i < 8; ++i) root.Write("/data/" + std::to_string(i), std::string(512 * 1024, 'x'));
  StorageProbeSpec spec;
  spec.path = root.path() + "/data";
  spec.bytes = 2 * kMebi;
  spec.threads = 3;
  const Result<StorageProbe> probe = ProbeStorage(spec);
  ASSERT_TRUE(probe);
  EXPECT_EQ(probe->data.files.size(), 8U);
  EXPECT_EQ(probe->unreadable, 0);
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < kReadWays.size(); ++i) {
    const ReadSpeed& warm = probe->speeds[i].warm;
    EXPECT_EQ(warm.unknown, "");
    EXPECT_GE(warm.reads * kReadWays[i].block, warm.bytes);
    EXPECT_GT(warm.bytes, 0);
    EXPECT_LE(warm.p50, warm.p99);
    EXPECT_LE(warm.p99, warm.time);
    EXPECT_NEAR(warm.BytesPerSecond() * static_cast<double>(warm.time.count()) / 1e9, static_cast<double>(warm.bytes),
                1);
    bytes += warm.bytes;
  }
  EXPECT_LE(bytes, spec.bytes);
  for (int i = 0; i < 8; ++i) {  // nothing was written
    EXPECT_EQ(std::filesystem::file_size(root.path() + "/data/" + std::to_string(i)), 512U * 1024);
  }
}

TEST(ProbeStorageTest, SmallDataSaySo) {
  const test::FakeRoot root;
  root.Write("/data/one", "x");
  const Result<StorageProbe> probe = ProbeStorage({root.path() + "/data", kMebi, 2});
  ASSERT_TRUE(probe);
  for (const ReadSpeeds& speeds : probe->speeds) {
    EXPECT_EQ(speeds.cold.unknown, "there is too little data");
    EXPECT_EQ(speeds.warm.reads, 0);
  }
  EXPECT_FALSE(ProbeStorage({root.path() + "/none", kMebi, 2}));
}

}  // namespace

}  // namespace idleburn
