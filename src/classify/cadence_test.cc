#include "classify/cadence.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <random>
#include <vector>

#include "support/property.h"

namespace idleburn {

namespace {

constexpr std::uint32_t kCounter = Bit(Signal::kUtilization);

using Known = Collection::Known;

// Scrapes every `scrape_s` of an exporter that collects every `collect_s`: what it said last, a busy load.
std::vector<Sample> Scrapes(double scrape_s, double collect_s, int scrapes, std::uint32_t seed) {
  std::vector<Sample> rows;
  for (int i = 0; i < scrapes; ++i) {
    const double at = scrape_s * i;
    std::mt19937 collected(seed + static_cast<std::uint32_t>(at / collect_s + 1e-9));
    Sample s;
    s.time = Instant::FromNanos(1'772'445'600 * kNanosPerSecond + static_cast<std::int64_t>(at * 1e9));
    s.Set(Signal::kUtilization, kFull);  // alone it would tell nothing
    s.Set(Signal::kPower, 600'000 + static_cast<std::int64_t>(collected() % 40'000));
    s.Set(Signal::kTemperature, 60'000 + static_cast<std::int64_t>(collected() % 5) * 1000);
    rows.push_back(s);
  }
  return rows;
}

CollectionRuns RunsOf(const std::vector<Sample>& rows, std::size_t from, std::size_t to, CollectionWatch& watch) {
  for (std::size_t i = from; i < to; ++i) watch.OnRow(rows[i], rows[i].time.nanos(), kCounter);
  watch.Settle();
  return watch.runs();
}

Collection ToldOf(const std::vector<Sample>& rows) {
  CollectionWatch watch;
  return RunsOf(rows, 0, rows.size(), watch).Told();
}

TEST(CollectionRunsTest, FindsHowManyScrapesSeeOneCollection) {
  for (int n = 1; n <= 30; ++n) {
    const Collection told = ToldOf(Scrapes(10, 10.0 * n, 60 * n, static_cast<std::uint32_t>(n)));
    EXPECT_EQ(told.known, Known::kTold) << n;
    EXPECT_EQ(told.scrapes, n);
  }
  // 30 s scraped every 7 s: 4.3 scrapes a collection, now four and now five.
  EXPECT_EQ(ToldOf(Scrapes(7, 30, 2000, 1)).scrapes, 4);
}

TEST(CollectionRunsTest, AConstantDeviceSaysNothing) {
  std::vector<Sample> rows = Scrapes(10, 10, 100, 1);
  for (Sample& s : rows) {
    s.Set(Signal::kPower, 70'000);
    s.Set(Signal::kTemperature, 35'000);
  }
  EXPECT_EQ(ToldOf(rows).known, Known::kConstant);
  rows[50].Set(Signal::kPower, 71'000);  // two changes
  EXPECT_EQ(ToldOf(rows).known, Known::kTooFew);
}

// A load that changes at random: its median run is several scrapes, and early changes refute that it is a collection.
TEST(CollectionRunsTest, ALoadThatChangesAtRandomIsNoCollection) {
  std::mt19937 random(7);
  std::vector<Sample> rows = Scrapes(10, 10, 3000, 1);
  std::int64_t watts = 300;
  for (Sample& s : rows) {
    if (random() % 8 == 0) watts = 100 + static_cast<std::int64_t>(random() % 500);
    s.Set(Signal::kPower, watts * 1000);
    s.Set(Signal::kTemperature, 60'000);
  }
  EXPECT_EQ(ToldOf(rows).known, Known::kIrregular);
}

}  // namespace

}  // namespace idleburn
