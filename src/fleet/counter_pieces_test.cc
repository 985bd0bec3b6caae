// Rises of live counters against a walk over samples that know their epoch, and the cases in which a difference of two
// values would be wrong.
#include "fleet/counter_pieces.h"

#include <gtest/gtest.h>

#include "stats/random.h"

namespace idleburn {
namespace {

constexpr std::int64_t kFrom = 1'772'409'600;
constexpr std::int64_t kTo = kFrom + 6 * 3600;
constexpr std::int64_t kBack = 300;
const GpuOnNode kGpu{"n", "GPU-1"};

struct TwinSample {
  std::int64_t time = 0;
  std::int64_t epoch = 0;
  std::int64_t value = 0;
};
using TwinSeries = std::vector<TwinSample>;  // of one replica, by time

// What an engine answers: the newest, least and largest value in (from, to], over replicas.
PieceReadings ReadTwin(const CounterPiece& piece, const std::vector<TwinSeries>& replicas) {
  PieceReadings read;
  const auto newest = [](const TwinSeries& series, std::int64_t from, std::int64_t to, CounterTable* table) {
    const TwinSample* last = nullptr;
    for (const TwinSample& sample : series) {
      if (sample.time > from && sample.time <= to) last = &sample;
    }
    if (last != nullptr) table->TakeMost(kGpu, 0, last->value);
  };
  for (const TwinSeries& series : replicas) {
    if (!piece.from_zero) newest(series, std::max(piece.seen_from, piece.from - kBack), piece.from, &read.begin);
    newest(series, std::max(piece.from, piece.to - kBack), piece.to, &read.end);
  }
  if (PieceIsWhole(piece, read, kGpu.node)) return read;
  for (const TwinSeries& series : replicas) {
    for (const TwinSample& sample : series) {
      if (sample.time <= piece.from || sample.time > piece.to) continue;
      read.highest.TakeMost(kGpu, 0, sample.value);
      read.lowest.TakeLeast(kGpu, 0, sample.value);
    }
  }
  return read;
}

// The epochs as an engine shows them.
std::vector<AgentEpoch> EpochsIn(const std::vector<TwinSeries>& replicas) {
  std::map<std::int64_t, std::int64_t> first;
  for (const TwinSeries& series : replicas) {
    for (const TwinSample& sample : series) {
      if (sample.time <= kFrom - kBack || sample.time > kTo) continue;
      const auto known = first.try_emplace(sample.epoch, sample.time).first;
      known->second = std::min(known->second, sample.time);
    }
  }
  std::vector<AgentEpoch> epochs;
  for (const auto& [born, shown] : first) {
    const bool old = first.size() == 1 && born < kFrom;
    epochs.push_back({born, old ? AgentEpoch::kLongAgo : shown, old ? AgentEpoch::kLongAgo : shown - 1});
  }
  return epochs;
}

std::int64_t RiseIn(const std::vector<TwinSeries>& replicas) {
  std::map<GpuOnNode, GpuCounterValues> rises;
  for (const CounterPiece& piece : PiecesOf(kFrom, kTo, kBack, EpochsIn(replicas))) {
    AddRises(piece, ReadTwin(piece, replicas), &rises);
  }
  return rises.empty() ? 0 : rises.begin()->second[0];
}

// The same from all samples of one replica, each with its epoch.
std::int64_t WalkRise(const TwinSeries& series) {
  std::int64_t sum = 0;
  const TwinSample* last = nullptr;
  for (const TwinSample& sample : series) {
    if (sample.time > kTo) break;
    if (sample.time > kFrom) {
      const bool known = last != nullptr && last->epoch == sample.epoch && last->time > kFrom - kBack;
      const bool begun_inside = last != nullptr && last->time > kFrom - kBack ? true : sample.epoch >= kFrom;
      if (known) {
        sum += sample.value - last->value;
      } else if (begun_inside) {
        sum += sample.value;
      }
    }
    last = &sample;
  }
  return sum;
}

// An agent's life: it counts one in some seconds, is down now and then, and may begin from zero.
struct TwinLife {
  std::vector<std::int64_t> births;
  std::vector<std::pair<std::int64_t, std::int64_t>> silent;  // not scraped
  std::vector<std::int64_t> counted;                          // up to each second since kBegin
  static constexpr std::int64_t kBegin = kFrom - 2 * 3600;

  [[nodiscard]] std::int64_t Until(std::int64_t second) const {
    return counted[static_cast<std::size_t>(second - kBegin)];
  }
  [[nodiscard]] TwinSeries Scraped(std::int64_t first, std::int64_t step) const {
    TwinSeries series;
    for (std::int64_t t = first; t < kTo + 3600; t += step) {
      const bool lost =
          std::any_of(silent.begin(), silent.end(), [t](const auto& gap) { return t >= gap.first && t < gap.second; });
      if (lost || t < births.front()) continue;
      const std::int64_t born = *(std::upper_bound(births.begin(), births.end(), t) - 1);
      series.push_back({t, born, Until(t) - Until(born)});
    }
    return series;
  }
};

TwinLife RandomLife(Random& random) {
  const auto below = [&](std::int64_t n) {
    return static_cast<std::int64_t>(random.Uniform() * static_cast<double>(n));
  };
  TwinLife life;
  life.births.push_back(below(4) == 0 ? kFrom + below(3600) : TwinLife::kBegin + below(600));
  for (std::int64_t i = below(4); i > 0; --i) {
    const std::int64_t at = life.births.back() + 120 + below(2 * 3600);
    if (at >= kTo + 1800) break;
    life.births.push_back(at);
    if (below(2) == 0) life.silent.emplace_back(at - below(3600), at + below(3600));
  }
  if (below(3) == 0) life.silent.emplace_back(kFrom - below(1800), kFrom + below(1800));
  if (below(3) == 0) life.silent.emplace_back(kTo - below(1800), kTo + below(1800));
  std::int64_t sum = 0;
  bool on = true;
  for (std::int64_t t = TwinLife::kBegin; t <= kTo + 3600; ++t) {
    life.counted.push_back(sum);
    if (below(200) == 0) on = !on;
    sum += on ? 1 : 0;
  }
  return life;
}

TEST(CounterPiecesTest, AgreesWithAWalkOverAllSamples) {
  Random random(7);
  int resets = 0;
  for (int round = 0; round < 800; ++round) {
    SCOPED_TRACE(round);
    const TwinLife life = RandomLife(random);
    const TwinSeries series = life.Scraped(TwinLife::kBegin + round % 60, 15 + round % 50);
    resets += life.births.size() > 1 ? 1 : 0;
    ASSERT_EQ(RiseIn({series}), WalkRise(series));
  }
  EXPECT_GT(resets, 200);
}

TEST(CounterPiecesTest, ReplicasNeverAddUp) {
  Random random(8);
  for (int round = 0; round < 200; ++round) {
    SCOPED_TRACE(round);
    const TwinLife life = RandomLife(random);
    const TwinSeries one = life.Scraped(TwinLife::kBegin, 30);
    const TwinSeries two = life.Scraped(TwinLife::kBegin + 11, 30);
    // Each end of a piece is known to one scrape, so two replicas tell at most that much more.
    const auto pieces = static_cast<std::int64_t>(life.births.size());
    ASSERT_NEAR(static_cast<double>(RiseIn({one, two})), static_cast<double>(WalkRise(one)),
                static_cast<double>(60 * pieces));
    TwinSeries merged = one;
    merged.insert(merged.end(), two.begin(), two.end());
    std::sort(merged.begin(), merged.end(), [](const auto& a, const auto& b) { return a.time < b.time; });
    ASSERT_EQ(RiseIn({merged}), WalkRise(merged));
  }
}

TEST(CounterPiecesTest, ValuesThatStepBackInOneEpochAreNoReset) {
  // A second replica whose samples are stamped late: 100, 90, 130, 120 ...
  TwinSeries merged;
  for (std::int64_t t = kFrom - 600; t <= kTo + 600; t += 30) {
    merged.push_back({t, kFrom - 9000, t - kFrom + 9000});
    merged.push_back({t + 5, kFrom - 9000, t - kFrom + 9000 - 20});
  }
  EXPECT_NEAR(static_cast<double>(RiseIn({merged})), static_cast<double>(kTo - kFrom), 30);
}

TEST(CounterPiecesTest, AResetInsideAGapShowsByItsEpoch) {
  // 2 h at the gap's begin, 3 h after it: one hour in one epoch, three across two.
  TwinSeries series;
  for (std::int64_t t = kFrom - 600; t <= kFrom + 3600; t += 30) series.push_back({t, kFrom - 3600, t - kFrom + 3600});
  const std::int64_t born = kFrom + 2 * 3600;
  for (std::int64_t t = born + 3 * 3600; t <= kTo + 60; t += 30) series.push_back({t, born, t - born});
  EXPECT_EQ(RiseIn({series}), 3600 + 4 * 3600);
  for (TwinSample& sample : series) sample.epoch = kFrom - 3600;
  EXPECT_EQ(RiseIn({series}), 3 * 3600);  // what a reader without epochs must believe
}

TEST(CounterPiecesTest, AGpuThatAppearsWhileItsNodeIsSeenBeganAtZero) {
  const CounterPiece piece{kFrom, kTo, false, kFrom - kBack};
  PieceReadings read;
  read.begin.TakeMost({"n", "GPU-old"}, 0, 500);
  read.end.TakeMost({"n", "GPU-old"}, 0, 800);
  read.end.TakeMost({"n", "GPU-moved-here"}, 0, 70);
  std::map<GpuOnNode, GpuCounterValues> rises;
  EXPECT_TRUE(PieceIsWhole(piece, read, "n"));
  AddRises(piece, read, &rises);
  EXPECT_EQ((rises[{"n", "GPU-old"}][0]), 300);
  EXPECT_EQ((rises[{"n", "GPU-moved-here"}][0]), 70);
}

TEST(CounterPiecesTest, ANodeThatWasNotSeenAtTheBeginIsNoNewNode) {
  // It ran for months and was not scraped around the begin: its value there is unknown, and not 0.
  const CounterPiece piece{kFrom, kTo, false, kFrom - kBack};
  PieceReadings read;
  read.end.TakeMost(kGpu, 0, 9'000'000);
  EXPECT_FALSE(PieceIsWhole(piece, read, "n"));
  read.highest.TakeMost(kGpu, 0, 9'000'000);
  read.lowest.TakeLeast(kGpu, 0, 8'999'000);
  std::map<GpuOnNode, GpuCounterValues> rises;
  AddRises(piece, read, &rises);
  EXPECT_EQ(rises[kGpu][0], 1000);
}

TEST(CounterPiecesTest, MoreTimeThanPassedIsNotBelieved) {
  // A second replica, whose clock is ahead, still tells the lost epoch after the new one was seen.
  TwinSeries a;
  for (std::int64_t t = kFrom - 600; t <= kFrom + 600; t += 30) a.push_back({t, kFrom - 90'000, t - kFrom + 90'000});
  TwinSeries b = a;
  const std::int64_t born = kFrom + 610;
  for (std::int64_t t = born + 5; t <= kTo - 1200; t += 30) a.push_back({t, born, t - born});
  b.push_back({born + 8, kFrom - 90'000, 90'605});
  GpuCounterValues rise{};
  rise[3] = RiseIn({a}) * 1000;
  EXPECT_TRUE(IsPossible(rise, kTo - kFrom));
  rise[3] = RiseIn({a, b}) * 1000;
  EXPECT_FALSE(IsPossible(rise, kTo - kFrom));
}

}  // namespace
}  // namespace idleburn
