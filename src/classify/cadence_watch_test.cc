#include "classify/cadence_watch.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <array>
#include <random>

#include "classify/run_classifier.h"
#include "support/naive_twin.h"
#include "support/property.h"

namespace idleburn {

namespace {

using testing::NaivePeriod;
using testing::NaivePieces;
using testing::NaiveSlow;
using testing::NaiveTotals;

constexpr std::int64_t kMs = 1'000'000;
constexpr std::int64_t kStart = 1'772'445'600 * kNanosPerSecond;

// So many rows, each `ms` after the one before it.
struct Pace {
  std::int64_t ms;
  int rows;
};
// The times of a first row and then of one pace after the other.
std::vector<std::int64_t> TimesOf(const std::vector<Pace>& paces) {
  std::vector<std::int64_t> times = {kStart};
  for (const Pace& s : paces) {
    for (int i = 0; i < s.rows; ++i) times.push_back(times.back() + s.ms * kMs);
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
  std::vector<Pace> late;
  for (int i = 0; i < 200; ++i) late.insert(late.end(), {{2000, 3}, {7000, 1}, {200, 1}});
  EXPECT_EQ(Watched(TimesOf(late)).size(), 1U);
}

// Readers that take turns make intervals of 3 and 12 s, of one period of 15 s; a second reader that joins changes
// nothing.
TEST(PeriodWatchTest, ReadersByTurnsAreOnePace) {
  std::vector<Pace> turns;
  for (int i = 0; i < 300; ++i) turns.insert(turns.end(), {{3000, 1}, {12'000, 1}});
  EXPECT_EQ(Watched(TimesOf(turns)).size(), 1U);
  turns.insert(turns.begin(), {15'000, 300});
  EXPECT_EQ(Watched(TimesOf(turns)).size(), 1U);
}

BoardFacts NoFacts(std::string_view /*gpu_name*/) { return {}; }

Sample At(std::int64_t ns, std::int64_t percent) {
  Sample s;
  s.time = Instant::FromNanos(ns);
  s.Set(Signal::kUtilization, percent * kPercent);
  s.Set(Signal::kPower, 100'000 + percent * 5000);
  return s;
}

std::vector<Sample> Trace(const std::vector<Pace>& paces) {
  std::vector<Sample> rows;
  for (const std::int64_t time : TimesOf(paces)) rows.push_back(At(time, 50));
  return rows;
}

// Stretches of one pace each, 15 % of jitter, with rows that are missing.
std::vector<Sample> RandomTrace(const std::vector<std::int64_t>& paces_ms) {
  std::vector<Sample> rows = {At(kStart + *rc::gen::inRange<std::int64_t>(0, kNanosPerSecond), 50)};
  const int stretches = *rc::gen::inRange(1, 5);
  std::mt19937 random(*rc::gen::arbitrary<std::uint32_t>());
  const auto below = [&](std::uint32_t n) { return static_cast<std::int64_t>(random() % n); };
  for (int i = 0; i < stretches; ++i) {
    const std::int64_t period = *rc::gen::elementOf(paces_ms) * kMs;
    const int count = *rc::gen::element(5, 15, 25, 80, 130, 200);
    for (int r = 0; r < count; ++r) {
      const std::int64_t missing = below(30) == 0 ? 3 + below(6) : 1;
      const std::int64_t step = period * (85 + below(31)) / 100 * missing;
      rows.push_back(At(rows.back().time.nanos() + step, std::array{0, 40, 80, 95, 100}[random() % 5]));
    }
  }
  return rows;
}

DeviceResult Audit(const std::vector<Sample>& rows, const Thresholds& thresholds) {
  DeviceTable devices;
  DeviceKey key;
  key.index = 0;
  devices.Enter(key);
  DataQuality quality;
  RunClassifier classifier(thresholds, devices, quality, NoFacts);
  classifier.OnSamples(rows);
  return classifier.Finish().devices.at(0);
}

// 2 s rows, then 20 s rows, then 2 s rows again: all of it is observed. One period of 2 s would call three quarters of
// the middle a gap.
TEST(CadenceWatchTest, AllOfALogIsObservedWhosePaceChanges) {
  const Thresholds t;
  const DeviceResult got = Audit(Trace({{2000, 500}, {20'000, 300}, {2000, 500}}), t);
  EXPECT_EQ(got.totals.UnobservedNs(), 0);
  EXPECT_EQ(got.totals.phase_ns[1], 8'000 * kNanosPerSecond);
  EXPECT_EQ(got.totals.power.ns, 8'000 * kNanosPerSecond);
  const auto at = [](std::int64_t seconds) { return Instant::FromNanos(kStart + seconds * kNanosPerSecond); };
  const std::vector<PeriodPiece> want = {
      {at(0), Nanos(2000 * kMs)}, {at(1000), Nanos(20'000 * kMs)}, {at(7000), Nanos(2000 * kMs)}};
  EXPECT_EQ(got.periods, want);
  EXPECT_EQ(got.period, Nanos(20'000 * kMs));  // of most of the time
}

TEST(CadenceWatchTest, FewSlowRowsAndGivenPeriodsStayGaps) {
  Thresholds t;
  EXPECT_EQ(Audit(Trace({{2000, 500}, {20'000, 20}, {2000, 500}}), t).totals.UnobservedNs(), 20 * 15 * kNanosPerSecond);
  t.period = Nanos(2000 * kMs);
  const DeviceResult given = Audit(Trace({{2000, 500}, {20'000, 300}}), t);
  EXPECT_EQ(given.totals.UnobservedNs(), 300 * 15 * kNanosPerSecond);
  EXPECT_EQ(given.periods.size(), 1U);
}

// Several readings a second, then one every two seconds, and back.
TEST(CadenceWatchTest, ALogMayBecomeFastOrSlow) {
  const Thresholds t;
  for (const std::int64_t slow_ms : {1000, 2000, 30'000}) {
    const DeviceResult got = Audit(Trace({{100, 3000}, {slow_ms, 300}, {100, 3000}}), t);
    EXPECT_EQ(got.periods.size(), 3U) << slow_ms;
    EXPECT_EQ(got.totals.UnobservedNs(), 0) << slow_ms;
    EXPECT_EQ(got.totals.ObservedNs(), (601 + slow_ms * 300 / 1000) * kNanosPerSecond) << slow_ms;
    EXPECT_EQ(got.WindowNs(), (got.last - got.first).count()) << slow_ms;
  }
}

TEST(CadenceWatchTest, StreamEqualsTheNaiveBatchOverTheWholeFile) {
  const Thresholds t;
  test::ExpectProperty([&] {
    const std::vector<Sample> rows = RandomTrace({700, 2000, 6000, 20'000, 70'000});
    std::vector<std::int64_t> times;
    for (const Sample& s : rows) times.push_back(s.time.nanos());
    std::vector<NaivePeriod> pieces = NaivePieces(times);
    const NaiveTotals want = NaiveSlow(rows, Cadence(), t, pieces);
    const DeviceResult got = Audit(rows, t);
    for (std::size_t p = 0; p < kPhaseCount; ++p) RC_ASSERT(got.totals.phase_ns[p] == want.phase_ns[p]);
    RC_ASSERT(got.totals.UnobservedNs() == want.unobserved_ns);
    RC_ASSERT(got.totals.utilization.area == want.utilization_area);
    RC_ASSERT(got.totals.power.area == want.power_area);
    if (pieces.size() > 1 && pieces[1].start == pieces[0].start) pieces.erase(pieces.begin());
    RC_ASSERT(got.periods.size() == pieces.size());
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      RC_ASSERT(got.periods[i] == (PeriodPiece{Instant::FromNanos(pieces[i].start), Nanos(pieces[i].period)}));
    }
  });
}

// What is said while rows wait for their pace is what an end would say there, and changes nothing.
TEST(CadenceWatchTest, SoFarIsWhatAnEndWouldSay) {
  const Thresholds t;
  const std::vector<Sample> rows = Trace({{2000, 150}, {20'000, 140}, {500, 300}});
  DeviceTable devices;
  DeviceKey key;
  key.index = 0;
  devices.Enter(key);
  DataQuality quality;
  RunClassifier live(t, devices, quality, NoFacts);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    live.OnSamples(std::span(&rows[i], 1));
    if (i % 13 != 0) continue;
    const DeviceResult ended = Audit({rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(i) + 1}, t);
    const DeviceResult said = live.SoFar().devices.at(0);
    EXPECT_EQ(said.totals, ended.totals) << i;
    EXPECT_EQ(said.periods, ended.periods) << i;
  }
  EXPECT_EQ(live.Finish().devices.at(0).totals, Audit(rows, t).totals);
}

// Power in rows of its own that becomes ten times slower, while utilization goes on as it was.
TEST(CadenceWatchTest, EachSignalHasItsOwnPace) {
  const Thresholds t;
  std::vector<Sample> rows;
  for (std::int64_t second = 0; second <= 6000; ++second) {
    Sample s;
    s.time = Instant::FromNanos(kStart + second * kNanosPerSecond);
    s.Set(Signal::kUtilization, 50 * kPercent);
    if (second % (second < 1000 ? 2 : 20) == 0) s.Set(Signal::kPower, 300'000);
    rows.push_back(s);
  }
  const DeviceResult got = Audit(rows, t);
  EXPECT_EQ(got.periods.size(), 1U);
  EXPECT_EQ(got.totals.phase_ns[1], 6000 * kNanosPerSecond);
  EXPECT_NEAR(static_cast<double>(got.totals.power.ns) / 1e9, 6000, 15);  // some before the first slow row was seen
}

// A log that is there twice changes its pace only once.
TEST(CadenceWatchTest, ALogThatIsThereTwiceHasItsPiecesOnce) {
  const Thresholds t;
  std::vector<Sample> rows = Trace({{1000, 300}, {10'000, 300}});
  const DeviceResult once = Audit(rows, t);
  rows.insert(rows.end(), rows.begin(), rows.begin() + 601);
  const DeviceResult twice = Audit(rows, t);
  EXPECT_EQ(once.periods, twice.periods);
  EXPECT_EQ(once.totals.phase_ns, twice.totals.phase_ns);
}

}  // namespace

}  // namespace idleburn
