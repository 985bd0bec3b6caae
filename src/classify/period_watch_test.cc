#include "classify/period_watch.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <random>

#include "support/naive_twin.h"
#include "support/property.h"

namespace idleburn {
namespace {

using testing::NaivePeriod;
using testing::NaivePieces;

constexpr std::int64_t kMs = 1'000'000;
constexpr std::int64_t kStart = 1'772'445'600 * kNanosPerSecond;

// Times of rows `ms` apart, one stretch after the other.
struct Stretch {
  std::int64_t ms;
  int intervals;
};
std::vector<std::int64_t> TimesOf(const std::vector<Stretch>& stretches) {
  std::vector<std::int64_t> times = {kStart};
  for (const Stretch& s : stretches) {
    for (int i = 0; i < s.intervals; ++i) times.push_back(times.back() + s.ms * kMs);
  }
  return times;
}

// The first period, as of FirstSamples, and what a watch finds from there on.
std::vector<NaivePeriod> Watched(const std::vector<std::int64_t>& times) {
  std::vector<std::int64_t> first;
  for (std::size_t i = 1; i < times.size() && first.size() < kIntervals; ++i) first.push_back(times[i] - times[i - 1]);
  std::vector<NaivePeriod> found = {{times.front(), PeriodOf(first)}};
  PeriodWatch watch(found.front().period);
  std::vector<PeriodWatch::Piece> opened;
  std::int64_t number = 0;
  for (const std::int64_t time : times) watch.Note({time, number++}, opened);
  watch.End(opened);
  for (const PeriodWatch::Piece& piece : opened) {
    EXPECT_EQ(times[static_cast<std::size_t>(piece.row) - 1], piece.start);
    found.push_back({piece.start, piece.period});
  }
  EXPECT_FALSE(watch.waits());
  return found;
}

TEST(PeriodWatchTest, FindsThePiecesThatAPassOverTheWholeFileFinds) {
  test::ExpectProperty([] {
    std::vector<std::int64_t> times = {kStart};
    const int stretches = *rc::gen::inRange(1, 6);
    const auto jitter = *rc::gen::element<std::uint32_t>(0, 5, 15);
    std::mt19937 random(*rc::gen::arbitrary<std::uint32_t>());
    for (int s = 0; s < stretches; ++s) {
      const auto period = *rc::gen::element<std::int64_t>(100, 1000, 7000, 20'000, 110'000) * kMs;
      const int rows = *rc::gen::element(5, 15, 20, 21, 22, 40, 100, 101, 102, 130, 300);
      for (int i = 0; i < rows; ++i) {
        const std::int64_t percent = 100 - jitter + static_cast<std::int64_t>(random() % (2 * jitter + 1));
        const std::int64_t missing = random() % 40 == 0 ? 3 + static_cast<std::int64_t>(random() % 6) : 1;
        times.push_back(times.back() + period * percent / 100 * missing);
      }
    }
    RC_ASSERT(Watched(times) == NaivePieces(times));
  });
}

// 2 s, then 20 s, then 2 s: pieces at the very rows where the pace changed.
TEST(PeriodWatchTest, TwoSecondsThenTwentyThenTwoAreThreePieces) {
  const auto times = TimesOf({{2000, 500}, {20'000, 300}, {2000, 400}});
  const std::vector<NaivePeriod> want = {
      {times[0], 2'000 * kMs}, {times[500], 20'000 * kMs}, {times[800], 2'000 * kMs}};
  EXPECT_EQ(Watched(times), want);
}

TEST(PeriodWatchTest, FewerThanTwentyOneSlowerRowsAreGaps) {
  for (const auto& [rows, pieces] :
       std::vector<std::pair<int, std::size_t>>{{1, 1}, {11, 1}, {20, 1}, {21, 3}, {90, 3}}) {
    EXPECT_EQ(Watched(TimesOf({{2000, 300}, {20'000, rows}, {2000, 300}})).size(), pieces) << rows;
  }
  EXPECT_EQ(Watched(TimesOf({{2000, 300}, {20'000, 20}})).size(), 1U);
  EXPECT_EQ(Watched(TimesOf({{2000, 300}, {20'000, 21}})).size(), 2U);
}

// A change within the first 101 intervals: their median is the later pace, and the earlier is a piece all the same.
TEST(PeriodWatchTest, AChangeWithinTheFirstRowsIsFound) {
  const auto times = TimesOf({{2000, 30}, {20'000, 300}});
  const auto found = Watched(times);
  ASSERT_EQ(found.size(), 3U);  // the first gives way to the second, which begins with the same row
  EXPECT_EQ(found[1], (NaivePeriod{times[0], 2'000 * kMs}));
  EXPECT_EQ(found[2], (NaivePeriod{times[30], 20'000 * kMs}));
}

// Less than twice as fast or slow is the same pace; a hole is a gap however long; so are rows that are late now and
// then.
TEST(PeriodWatchTest, JitterAndHolesAreNoChange) {
  EXPECT_EQ(Watched(TimesOf({{2000, 300}, {3900, 300}, {1100, 300}})).size(), 1U);
  EXPECT_EQ(Watched(TimesOf({{2000, 300}, {86'400'000, 1}, {2000, 300}})).size(), 1U);
  std::vector<Stretch> late;
  for (int i = 0; i < 200; ++i) late.insert(late.end(), {{2000, 3}, {7000, 1}, {200, 1}});
  EXPECT_EQ(Watched(TimesOf(late)).size(), 1U);
}

// Readers that take turns make intervals of 3 and 12 s, of one period of 15 s; a second reader that joins changes
// nothing.
TEST(PeriodWatchTest, ReadersByTurnsAreOnePace) {
  std::vector<Stretch> turns;
  for (int i = 0; i < 300; ++i) turns.insert(turns.end(), {{3000, 1}, {12'000, 1}});
  EXPECT_EQ(Watched(TimesOf(turns)).size(), 1U);
  turns.insert(turns.begin(), {15'000, 300});
  EXPECT_EQ(Watched(TimesOf(turns)).size(), 1U);
}

}  // namespace
}  // namespace idleburn
