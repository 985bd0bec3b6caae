#include "import/line_blocks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "text/line_reader.h"

namespace idleburn {
namespace {

// What the workers of one import share: without a lock, so that a race detector sees two of them in it at once.
struct Log {
  std::string text;        // of the blocks delivered
  std::set<char> letters;  // that some block began with
  std::int64_t lines = 0;
};

// Copies its block; fails at a line that says so. The first block that begins with a letter enters it in the log, as an
// importer enters a device that it meets.
class Copier final : public LineBlockWorker {
 public:
  explicit Copier(Log& log) : log_(log) {}

  void Parse(const LineBlock& block, Turn& turn) override {
    text_ = block.text();
    const char first = text_.front();
    if (known_.count(first) > 0) return;
    if (!turn.Await()) return;
    log_.letters.insert(first);
    known_ = log_.letters;
  }
  Result<void> Deliver() override {
    if (text_.find("bad") != std::string::npos) return Fail("bad after " + std::to_string(log_.lines) + " lines");
    log_.text += text_;
    log_.lines += std::count(text_.begin(), text_.end(), '\n');
    return {};
  }
  [[nodiscard]] std::int64_t LinesDelivered() const override { return log_.lines; }

 private:
  Log& log_;
  std::set<char> known_;
  std::string text_;
};

Result<void> Copy(const std::string& text, int threads, int workers, Log& log) {
  StringSource in(text);
  std::vector<std::unique_ptr<LineBlockWorker>> copiers;
  for (int i = 0; i < workers; ++i) copiers.push_back(std::make_unique<Copier>(log));
  return ForEachLineBlock(in, threads, copiers);
}

std::string RandomLines(std::mt19937& rng, std::size_t bytes) {
  std::string text;
  while (text.size() < bytes) {
    text.append(rng() % 300, static_cast<char>('c' + rng() % 20));
    text += '\n';
  }
  return text;
}

TEST(LineBlocks, AreDeliveredInTheirOrderOnAnyNumberOfThreads) {
  std::mt19937 rng(1);
  for (const int threads : {1, 2, 3, 8}) {
    for (const int spare : {0, 1, 7}) {
      const std::string text = RandomLines(rng, rng() % 4'000'000);
      Log log;
      ASSERT_TRUE(Copy(text, threads, threads + spare, log));
      EXPECT_TRUE(log.text == text) << threads << " threads, " << spare << " spare";
    }
  }
}

TEST(LineBlocks, TheFirstErrorWinsAndEndsTheImport) {
  std::mt19937 rng(2);
  for (const int threads : {1, 2, 5}) {
    const std::string before = RandomLines(rng, 700'000);
    const std::string text = before + "bad\n" + RandomLines(rng, 2'000'000) + "bad\n";
    Log log;
    const Result<void> done = Copy(text, threads, 2 * threads - 1, log);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().message, "bad after " + std::to_string(log.lines) + " lines");
    EXPECT_LE(log.text.size(), before.size());
    EXPECT_TRUE(before.compare(0, log.text.size(), log.text) == 0);
  }
}

TEST(LineBlocks, ALineThatIsTooLongIsPlacedAfterWhatCameBefore) {
  std::mt19937 rng(3);
  for (const int threads : {1, 2, 5}) {
    const std::string before = RandomLines(rng, 900'000);
    Log log;
    const std::string text = before + std::string(1'000'000, 'x') + "\n" + RandomLines(rng, 500'000);
    const Result<void> done = Copy(text, threads, 2 * threads - 1, log);
    ASSERT_FALSE(done);
    EXPECT_TRUE(log.text == before);
    EXPECT_NE(done.error().message.find(":" + std::to_string(log.lines + 1) + ": a line is longer"), std::string::npos)
        << done.error().message;
  }
}

}  // namespace
}  // namespace idleburn
