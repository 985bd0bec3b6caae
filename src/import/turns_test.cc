#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "import/sweeps.h"

namespace idleburn {
namespace {

constexpr std::int64_t kMib = 1 << 20;

double Uniform(std::mt19937_64& random, double from, double to) {
  return std::uniform_real_distribution<double>(from, to)(random);
}

// One GPU through time: jobs of differing memory and load, a temperature that follows the load slowly.
class Gpu {
 public:
  Gpu(std::mt19937_64& random, bool steady) : random_(random), steady_(steady) {
    NextJob();
    warm_ = 30 + load_ * 0.4;
  }

  // Its row at `seconds`; `load` instead of its own where not negative.
  Sample Row(double seconds, double load = -1) {
    if (!steady_ && seconds >= until_) NextJob(seconds);
    const double use = std::clamp(load >= 0 ? load : load_ + Uniform(random_, -8, 8), 0.0, 100.0);
    const double share = 1 - std::exp(-(seconds - last_) / 20);
    warm_ += (30 + load_ * 0.4 + coolness_ - warm_) * share;
    last_ = seconds;
    Sample row;
    row.time = Instant::FromNanos(1'780'000'000 * kNanosPerSecond + static_cast<std::int64_t>(seconds * 1e9));
    row.Set(Signal::kUtilization, static_cast<std::int64_t>(use) * kPercent);
    row.Set(Signal::kPower, static_cast<std::int64_t>(70'000 + use * 5'000 + Uniform(random_, -3'000, 3'000)));
    row.Set(Signal::kMemoryUsed, memory_ + static_cast<std::int64_t>(Uniform(random_, 0, 8)) * kMib);
    row.Set(Signal::kTemperature, 1000 * static_cast<std::int64_t>(warm_ + Uniform(random_, -0.7, 0.7)));
    return row;
  }

 private:
  void NextJob(double now = 0) {
    load_ = Uniform(random_, 0, 1) < 0.25 ? 0 : Uniform(random_, 20, 98);
    memory_ = load_ == 0 ? 4 * kMib : static_cast<std::int64_t>(Uniform(random_, 2'000, 78'000)) * kMib;
    until_ = now + Uniform(random_, 60, 900);
  }

  std::mt19937_64& random_;
  bool steady_;
  double load_ = 0, until_ = 0, last_ = 0, warm_ = 0;
  double coolness_ = Uniform(random_, -4, 4);
  std::int64_t memory_ = 0;
};

// Rows of GPUs by turns, evenly in time.
std::vector<Sample> ByTurns(std::mt19937_64& random, int gpus, int rows, double period, double missing = 0) {
  std::vector<Gpu> all;
  for (int i = 0; i < gpus; ++i) all.emplace_back(random, Uniform(random, 0, 1) < 0.5);
  std::vector<Sample> log;
  for (int i = 0; i < rows; ++i) {
    const Sample row = all[static_cast<std::size_t>(i % gpus)].Row(period * i / gpus);
    if (Uniform(random, 0, 1) >= missing) log.push_back(row);
  }
  return log;
}

std::vector<Sample> Without(std::vector<Sample> rows, std::initializer_list<Signal> signals) {
  for (Sample& row : rows) {
    for (const Signal signal : signals) row.present &= ~(std::uint32_t{1} << Index(signal));
  }
  return rows;
}

// Whether some reading tells some two GPUs apart nearly all the time, by the truth.
bool CanTell(const std::vector<Sample>& rows, int gpus) {
  const auto n = static_cast<std::size_t>(gpus);
  std::size_t apart = 0;
  std::size_t all = 0;
  for (std::size_t i = 0; i + n <= rows.size() && i < 1024; i += n, ++all) {
    std::int64_t low = INT64_MAX;
    std::int64_t high = 0;
    for (std::size_t g = i; g < i + n; ++g) {
      low = std::min(low, rows[g].Get(Signal::kMemoryUsed));
      high = std::max(high, rows[g].Get(Signal::kMemoryUsed));
    }
    if (high - low > 1'000 * kMib) ++apart;
  }
  return apart * 10 >= all * 9;
}

TEST(TurnsTest, GpusThatTakeTurnsAreSeveral) {
  int told = 0;
  int tellable = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    std::mt19937_64 random(seed);
    const int gpus = 2 + static_cast<int>(seed % 7);
    const double period = std::exp(Uniform(random, std::log(0.5), std::log(60)));
    const std::vector<Sample> rows = ByTurns(random, gpus, 64 * gpus + static_cast<int>(Uniform(random, 0, 8'000)),
                                             period, seed % 3 == 0 ? Uniform(random, 0, 0.002) : 0);
    if (!CanTell(rows, gpus)) continue;
    ++tellable;
    const Turns turns = FindTurns(rows);
    told += turns.gpus > 0 ? 1 : 0;
    EXPECT_GT(turns.gpus, 0) << "seed " << seed << ", " << gpus << " GPUs, rows " << rows.size();
    if (seed % 3 != 0 && turns.gpus > 0) {
      EXPECT_EQ(gpus % turns.gpus, 0) << "seed " << seed << ": " << turns.gpus;
    }
    EXPECT_NE(FindSweeps(rows).gpus, 1) << "seed " << seed << ", " << gpus << " GPUs";
  }
  EXPECT_GT(tellable, 250);
  EXPECT_EQ(told, tellable);
}

TEST(TurnsTest, OneGpuIsNeverSeveral) {
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    std::mt19937_64 random(seed);
    const double period = std::exp(Uniform(random, std::log(0.1), std::log(60)));
    const double wave = std::exp(Uniform(random, std::log(2), std::log(200)));  // rows a burst comes after
    const double duty = Uniform(random, 0.1, 0.9);
    const int kind = static_cast<int>(seed % 4);
    Gpu gpu(random, false);
    std::vector<Sample> rows;
    for (int i = 0; i < 3'000; ++i) {
      const bool on = kind == 1 ? i % 2 == 0 : std::fmod(i / wave, 1.0) < duty;
      const double load = kind == 0 ? -1 : kind == 3 ? Uniform(random, 0, 100) : on ? 97 : 2;
      rows.push_back(gpu.Row(period * i, load));
    }
    EXPECT_EQ(FindTurns(rows).gpus, 0) << "seed " << seed << ": " << Describe(FindTurns(rows), "it");
    for (const auto& fewer : {Without(rows, {Signal::kTemperature}), Without(rows, {Signal::kMemoryUsed})}) {
      EXPECT_EQ(FindTurns(fewer).gpus, 0) << "seed " << seed << ": " << Describe(FindTurns(fewer), "it");
    }
    EXPECT_EQ(FindSweeps(rows).gpus, 1) << seed << ": " << FindSweeps(rows).why;
  }
}

// What no GPU changes to and fro tells, each reading by itself.
TEST(TurnsTest, EachReadingOfABoardTells) {
  struct Case {
    Signal signal;
    std::int64_t one, other;
  };
  for (const Case& c :
       {Case{Signal::kMemoryTotal, 81'559 * kMib, 40'960 * kMib}, Case{Signal::kPowerLimit, 700'000, 400'000},
        Case{Signal::kMaxSmClock, 1'980'000, 1'410'000}, Case{Signal::kTemperature, 61'000, 55'000},
        Case{Signal::kMemoryUsed, 40'000 * kMib, 39'900 * kMib}}) {
    std::mt19937_64 random(3);
    Gpu gpu(random, true);
    std::vector<Sample> rows;
    for (int i = 0; i < 40; ++i) {
      rows.push_back(gpu.Row(i * 0.5, i % 2 == 0 ? 95 : 5));
      rows.back().Set(c.signal, i % 2 == 0 ? c.one : c.other);
    }
    const Turns turns = FindTurns(rows);
    EXPECT_EQ(turns.gpus, 2) << Info(c.signal).name;
    EXPECT_EQ(turns.signal, c.signal);
    EXPECT_EQ(turns.low, std::min(c.one, c.other));
    EXPECT_EQ(turns.high, std::max(c.one, c.other));
  }
}

// A minute between rows is enough to warm and to cool; half a second is not.
TEST(TurnsTest, ATemperatureThatFollowsTheLoadIsOfOneGpuWhereThereIsTime) {
  for (const std::vector<int>& degrees : {std::vector{66, 41}, {66, 58, 41}, {70, 62, 50, 44}, {66, 58, 47, 43, 41}}) {
    for (const double apart : {60.0, 0.5}) {
      std::mt19937_64 random(5);
      Gpu gpu(random, true);
      std::vector<Sample> rows;
      for (std::size_t i = 0; i < 400; ++i) {
        const std::size_t at = i % degrees.size();
        rows.push_back(gpu.Row(static_cast<double>(i) * apart, at == 0 ? 100 : at == 1 ? 30 : 0));
        rows.back().Set(Signal::kTemperature,
                        1000 * degrees[at] + static_cast<std::int64_t>(Uniform(random, -1, 1) * 1000));
      }
      EXPECT_EQ(FindTurns(rows).gpus, apart > 1 ? 0 : static_cast<int>(degrees.size()))
          << degrees.size() << " " << apart;
    }
  }
}

// The next job takes the other GPU soon after the last one left: no row is missing.
TEST(TurnsTest, AJobOnAnotherGpuIsNoChangeOfPlaces) {
  TurnOrder order({2, Signal::kMemoryUsed, 4 * kMib, 40'000 * kMib, 1024}, 2);
  std::int64_t at = 0;
  const auto keeps = [&](std::int64_t first, std::int64_t second, int skip = 0) {
    std::array<Sample, 2> sweep;
    at += skip;
    for (Sample& row : sweep) row.time = Instant::FromNanos(++at * kNanosPerSecond / 2);
    sweep[0].Set(Signal::kMemoryUsed, first * kMib);
    sweep[1].Set(Signal::kMemoryUsed, second * kMib);
    return order.Keeps(sweep);
  };
  for (int i = 0; i < 50; ++i) EXPECT_TRUE(keeps(40'000, 4));
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(keeps(4, 4));
  for (int i = 0; i < 50; ++i) EXPECT_TRUE(keeps(4, 40'000)) << i;
  bool kept = keeps(40'000, 4, 1);
  for (int i = 0; i < 10; ++i) kept = keeps(40'000, 4) && kept;
  EXPECT_FALSE(kept);
}

TEST(TurnsTest, ItSaysColumnLevelsAndRows) {
  EXPECT_EQ(Describe({2, Signal::kMemoryUsed, 4 * kMib, 40'960 * kMib, 1200}, "mem"),
            "mem alternates between 4 MiB and 40960 MiB for 1200 rows, as with at least 2 GPUs in turn");
}

TEST(TurnsTest, RowsThatChangePlacesAreSeen) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    std::mt19937_64 random(seed);
    const int gpus = 2 + static_cast<int>(seed % 4);
    std::vector<Gpu> all;
    for (int i = 0; i < gpus; ++i) all.emplace_back(random, true);
    std::vector<Sample> rows;
    for (int i = 0; i < 600 * gpus; ++i) rows.push_back(all[static_cast<std::size_t>(i % gpus)].Row(i * 0.5));
    const Turns turns = FindTurns(rows);
    ASSERT_GT(turns.gpus, 0) << seed;
    const auto lost_at = [&](std::span<const Sample> log) {
      TurnOrder order(turns, gpus);
      std::size_t at = 0;
      for (; at + static_cast<std::size_t>(gpus) <= log.size(); at += static_cast<std::size_t>(gpus)) {
        if (!order.Keeps(log.subspan(at, static_cast<std::size_t>(gpus)))) return at;
      }
      return std::size_t{0};
    };
    EXPECT_EQ(lost_at(rows), 0U) << seed;
    rows.erase(rows.begin() + 801);
    EXPECT_NEAR(static_cast<double>(lost_at(rows)), 801, 8 * gpus) << seed;
  }
}

}  // namespace
}  // namespace idleburn
