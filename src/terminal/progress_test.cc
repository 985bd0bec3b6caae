#include "terminal/progress.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "text/line_reader.h"

namespace idleburn {
namespace {

constexpr Nanos kTenth{kNanosPerSecond / 10};

// A clock that a test turns, and the screen as it looks after all that was written.
class FakeScreen {
 public:
  explicit FakeScreen(int columns = 80) : columns_(columns) {}

  Progress::Screen Port() {
    return {[this] { return now_; }, [this](std::string_view text) { Write(text); }, columns_};
  }
  void Pass(Nanos time) { now_ += time; }
  [[nodiscard]] std::string line() const {
    const std::size_t end = line_.find_last_not_of(' ');
    return end == std::string::npos ? "" : line_.substr(0, end + 1);
  }
  [[nodiscard]] int draws() const { return draws_; }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  void Write(std::string_view text) {
    ++draws_;
    bytes_ += text;
    for (const char c : text) {
      if (c == '\r') {
        column_ = 0;
        continue;
      }
      if (column_ >= line_.size()) line_.resize(column_ + 1, ' ');
      line_[column_++] = c;
    }
  }

  Nanos now_{12'345};
  int columns_;
  std::string line_;
  std::string bytes_;
  std::size_t column_ = 0;
  int draws_ = 0;
};

TEST(ProgressTest, ShowsNothingInTheFirstSecond) {
  FakeScreen screen;
  Progress progress(screen.Port());
  progress.Begin("reading", ProgressUnit::kBytes, 1'000'000);
  for (int i = 0; i < 9; ++i) {
    screen.Pass(kTenth);
    progress.Add(1000, "gpu.csv");
  }
  EXPECT_EQ(screen.draws(), 0);
  screen.Pass(kTenth);
  progress.Add(1000);
  EXPECT_EQ(screen.draws(), 1);
}

TEST(ProgressTest, SaysShareRateAndTimeLeft) {
  FakeScreen screen;
  Progress progress(screen.Port());
  progress.Begin("reading", ProgressUnit::kBytes, 1'600'000'000);
  screen.Pass(2 * Nanos(kNanosPerSecond));
  progress.Add(720'000'000, "gpu.csv");
  EXPECT_EQ(screen.line(), "idleburn: reading gpu.csv: 45 % of 1.60 GB, 360 MB/s, 3 s left");
}

TEST(ProgressTest, AnUnknownTotalHasNeitherShareNorTimeLeft) {
  FakeScreen screen;
  Progress progress(screen.Port());
  progress.Begin("reading", ProgressUnit::kBytes);
  screen.Pass(2 * Nanos(kNanosPerSecond));
  progress.Add(720'000'000, "standard input");
  EXPECT_EQ(screen.line(), "idleburn: reading standard input: 720 MB, 360 MB/s");
}

TEST(ProgressTest, CountsDrawsRunsAndTime) {
  FakeScreen screen;
  Progress progress(screen.Port());
  progress.Begin("drawing totals", ProgressUnit::kDraws);
  screen.Pass(4 * Nanos(kNanosPerSecond));
  progress.Watch()(2'500'000, 10'000'000);
  EXPECT_EQ(screen.line(), "idleburn: drawing totals: 25 % of 10.0M draws, 625k draws/s, 12 s left");
  progress.Begin("running the command", ProgressUnit::kRuns, 19);
  EXPECT_EQ(screen.line(), "idleburn: running the command: 0 % of 19 runs");
  screen.Pass(Nanos(180 * kNanosPerSecond));
  progress.Add(3);
  EXPECT_EQ(screen.line(), "idleburn: running the command: 15 % of 19 runs, 1.0 runs/min, 16 min left");
  progress.Begin("recording", ProgressUnit::kNanos, 10'800 * std::uint64_t{kNanosPerSecond});
  screen.Pass(Nanos(2700 * kNanosPerSecond));
  progress.Reach(2700 * std::uint64_t{kNanosPerSecond});
  EXPECT_EQ(screen.line(), "idleburn: recording: 25 % of 3 h 0 min, 2 h 15 min left");
}

TEST(ProgressTest, DrawsAtMostFiveTimesASecond) {
  FakeScreen screen;
  Progress progress(screen.Port());
  progress.Begin("reading", ProgressUnit::kBytes, 1'000'000);
  screen.Pass(Nanos(kNanosPerSecond));
  for (int i = 0; i < 10'000; ++i) {
    progress.Add(1);
    screen.Pass(kTenth / 1000);
  }
  EXPECT_EQ(screen.draws(), 5);  // in a second
}

TEST(ProgressTest, LeavesNothingBehind) {
  FakeScreen screen;
  {
    Progress progress(screen.Port());
    progress.Begin("reading", ProgressUnit::kBytes, 10);
    screen.Pass(2 * Nanos(kNanosPerSecond));
    progress.Add(5, "a file with a long name");
    progress.Hide();
    EXPECT_EQ(screen.line(), "");
    progress.Add(1);  // after other output the line comes back at once
    EXPECT_NE(screen.line(), "");
    screen.Pass(Nanos(kNanosPerSecond));
    progress.Add(1, "a");  // shorter than the line before
    EXPECT_EQ(screen.line(), "idleburn: reading a: 70 % of 10 B, 2 B/s, 2 s left");
  }
  EXPECT_EQ(screen.line(), "");
  EXPECT_EQ(screen.bytes().find('\x1b'), std::string::npos);
}

TEST(ProgressTest, KeepsToOneLineOfTheTerminal) {
  FakeScreen screen(50);
  Progress progress(screen.Port());
  progress.Begin("reading", ProgressUnit::kBytes, 1'000'000);
  screen.Pass(2 * Nanos(kNanosPerSecond));
  progress.Add(500'000, "/data/of/a/project/with/a/long/name/gpu\x1b[2J.csv");
  EXPECT_LT(screen.bytes().size(), 50U + 4);  // an ellipsis has three bytes and one column
  EXPECT_NE(screen.line().find("50 % of 1.00 MB, 250 kB/s, 2 s left"), std::string::npos) << screen.line();
}

TEST(ProgressTest, IsSilentWithoutATerminalAndWhenAskedToBe) {
  Environment environment;
  EXPECT_FALSE(Progress::OnStandardError(environment, false).on());
  environment.terminal_err = true;
  EXPECT_TRUE(Progress::OnStandardError(environment, false).on());
  EXPECT_FALSE(Progress::OnStandardError(environment, true).on());
  Progress silent;
  silent.Begin("reading", ProgressUnit::kBytes, 10);
  EXPECT_FALSE(silent.busy());
  EXPECT_FALSE(silent.Watch());
  EXPECT_FALSE(CountedBy(&silent));
  EXPECT_FALSE(CountedBy(nullptr));
}

// Bytes that are read, and a reader that opens the file by its name.
TEST(ProgressTest, CountsAFileOnceHoweverItIsRead) {
  FakeScreen screen;
  Progress progress(screen.Port());
  progress.Begin("reading", ProgressUnit::kBytes, 1000);
  screen.Pass(2 * Nanos(kNanosPerSecond));
  const auto file = CountedBy(&progress)(std::make_unique<StringSource>(std::string(100, 'x'), "t.parquet"));
  std::vector<char> out(100);
  ASSERT_EQ(*file->Read(out), 100U);
  EXPECT_NE(screen.line().find("10 % of 1.00 kB"), std::string::npos) << screen.line();
  file->Passed(60);
  screen.Pass(Nanos(kNanosPerSecond));
  file->Passed(700);
  EXPECT_NE(screen.line().find("reading t.parquet: 70 % of 1.00 kB"), std::string::npos) << screen.line();
}

}  // namespace
}  // namespace idleburn
