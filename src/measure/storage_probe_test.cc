#include "measure/storage_probe.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "support/fake_proc.h"

namespace idleburn {
namespace {

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
