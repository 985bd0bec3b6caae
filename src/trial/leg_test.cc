#include "trial/leg.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

namespace idleburn {

namespace {

constexpr std::int64_t kBegin = 2'000'000'000;  // seconds, after any file of this test was made

class CheckpointWatchTest : public ::testing::Test {
 protected:
  CheckpointWatchTest() {
    std::string path = ::testing::TempDir() + "checkpoints.XXXXXX";
    EXPECT_NE(mkdtemp(path.data()), nullptr);
    folder_ = path;
  }
  ~CheckpointWatchTest() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  CheckpointWatchTest(const CheckpointWatchTest&) = delete;
  CheckpointWatchTest& operator=(const CheckpointWatchTest&) = delete;
  // Written to its end at that time.
  void Write(const std::string& name, std::size_t bytes, std::int64_t seconds) const {
    const std::string path = folder_ + "/" + name;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path) << std::string(bytes, 'x');
    const std::array<timespec, 2> times = {{{kBegin + seconds, 0}, {kBegin + seconds, 0}}};
    EXPECT_EQ(utimensat(AT_FDCWD, path.c_str(), times.data(), 0), 0);
  }
  static Nanos At(std::int64_t seconds) { return Nanos((kBegin + seconds) * kNanosPerSecond); }
  std::string folder_;
};

TEST_F(CheckpointWatchTest, WhatWasThereIsNoNews) {
  Write("old.pt", 5, 0);
  CheckpointWatch watch(folder_);
  watch.Look(At(1));
  EXPECT_FALSE(watch.any());
  EXPECT_TRUE(watch.Take(At(2)).empty());
}

TEST_F(CheckpointWatchTest, AFileWrittenInPlaceLastsFromItsFirstChangeToItsLast) {
  Write("model.pt", 5, 0);
  CheckpointWatch watch(folder_ + "/*.pt");
  Write("model.pt", 10, 10);
  watch.Look(At(10));
  Write("model.pt", 30, 13);
  Write("log.txt", 99, 13);  // is not meant
  watch.Look(At(13));
  EXPECT_TRUE(watch.any());
  EXPECT_TRUE(watch.Take(At(13)).empty()) << "it may go on";
  const std::vector<CheckpointWrite> writes = watch.Take(At(14));
  ASSERT_EQ(writes.size(), 1U);
  EXPECT_EQ(writes[0].end - writes[0].begin, Nanos(3 * kNanosPerSecond));
  EXPECT_EQ(writes[0].bytes, 30);
  EXPECT_TRUE(watch.Take(At(20)).empty());
}

TEST_F(CheckpointWatchTest, ShardsOfOneTimeAreOneCheckpoint) {
  Write("a/0.pt", 1, 0);
  Write("a/1.pt", 1, 0);
  CheckpointWatch watch(folder_);
  Write("a/0.pt", 10, 10);
  Write("a/1.pt", 20, 10);
  watch.Look(At(10));
  Write("a/0.pt", 10, 50);
  watch.Look(At(50));
  Write("a/1.pt", 20, 50);
  watch.Look(At(50));
  // The first two ended at 10 and changed again: what was open then goes on with them.
  const std::vector<CheckpointWrite> writes = watch.Take(At(60));
  ASSERT_EQ(writes.size(), 1U);
  EXPECT_EQ(writes[0].files, 2);
  EXPECT_EQ(writes[0].bytes, 30);
}

// Written aside and renamed: the whole time shows, from the file's birth where the file system tells it.
TEST_F(CheckpointWatchTest, ARenamedFileShowsItsWholeTime) {
  CheckpointWatch watch(folder_ + "/model.pt");
  const std::string aside = folder_ + "/model.pt.new";
  {
    std::ofstream file(aside);
    file << std::string(100, 'x');
  }
  struct statx info {};
  ASSERT_EQ(statx(AT_FDCWD, aside.c_str(), 0, STATX_BTIME, &info), 0);
  if ((info.stx_mask & STATX_BTIME) == 0) GTEST_SKIP() << "this file system keeps no births";
  std::filesystem::rename(aside, folder_ + "/model.pt");
  const std::array<timespec, 2> times = {
      {{info.stx_btime.tv_sec + 7, info.stx_btime.tv_nsec}, {info.stx_btime.tv_sec + 7, info.stx_btime.tv_nsec}}};
  ASSERT_EQ(utimensat(AT_FDCWD, (folder_ + "/model.pt").c_str(), times.data(), 0), 0);
  watch.Look(At(0));
  const std::vector<CheckpointWrite> writes = watch.Take(At(0));
  ASSERT_EQ(writes.size(), 1U);
  EXPECT_EQ(writes[0].end - writes[0].begin, Nanos(7 * kNanosPerSecond));
  EXPECT_EQ(writes[0].bytes, 100);
}

}  // namespace

}  // namespace idleburn
