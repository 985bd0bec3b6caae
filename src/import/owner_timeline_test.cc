#include "import/owner_timeline.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>

namespace idleburn {
namespace {

struct Held {
  int owner;
  int first;
  int last;
};

double ShareOf(const OwnerLedger& ledger, const std::string& owner) {
  for (const OwnerLedger::Share& share : ledger.SharesOf(0)) {
    if (share.owner == owner) return share.fraction;
  }
  return 0;
}

// Against counting scrape by scrape, in the order of scrapes, of series, and of series twice (two metrics).
TEST(OwnerTimeline, EqualsCountingEveryScrape) {
  const bool held = rc::check("stretches count what single scrapes count", [] {
    std::vector<Held> runs;
    const int owners = *rc::gen::inRange(1, 5);
    for (int owner = 0; owner < owners; ++owner) {
      const int first = *rc::gen::inRange(0, 60);
      runs.push_back({owner, first, first + *rc::gen::inRange(0, 60)});
    }
    const auto name = [](int owner) { return owner == 0 ? std::string() : "job " + std::to_string(owner); };
    OwnerLedger want;
    OwnerTimeline by_scrape;
    for (int t = 0; t < 130; ++t) {
      std::vector<std::string> here;
      bool any = false;
      for (const Held& run : runs) {
        if (t < run.first || t > run.last) continue;
        any = true;
        if (run.owner != 0) here.push_back(name(run.owner));
        OwnerTimeline::See(by_scrape.Track(0, name(run.owner)), Instant::FromNanos(t * kNanosPerSecond));
      }
      if (any)
        want.Add(0, here, Instant::FromNanos(t * kNanosPerSecond), Instant::FromNanos((t + 1) * kNanosPerSecond));
    }
    OwnerTimeline by_series;
    for (int pass = 0; pass < 2; ++pass) {
      for (const Held& run : runs) {
        OwnerTimeline::Presence* presence = by_series.Track(0, name(run.owner));
        for (int t = run.first; t <= run.last; ++t) {
          OwnerTimeline::See(presence, Instant::FromNanos(t * kNanosPerSecond));
        }
      }
    }
    for (const OwnerTimeline* timeline : {&by_scrape, &by_series}) {
      OwnerLedger got;
      DataQuality quality;
      timeline->Deliver(got, quality);
      RC_ASSERT(got.ToldTime(0) == want.ToldTime(0));
      for (const Held& run : runs) {
        const double difference = ShareOf(got, name(run.owner)) - ShareOf(want, name(run.owner));
        RC_ASSERT(difference < 1e-9 && difference > -1e-9);
      }
    }
  });
  EXPECT_TRUE(held);
}

TEST(OwnerTimeline, AGapIsNobodysTime) {
  OwnerTimeline timeline;
  const auto see = [&](const std::string& owner, int from, int to) {
    for (int t = from; t < to; t += 10) {
      OwnerTimeline::See(timeline.Track(0, owner), Instant::FromNanos(t * kNanosPerSecond));
    }
  };
  see("job 1", 0, 100);
  see("job 1", 1000, 1100);
  see("job 2", 200, 900);
  OwnerLedger ledger;
  DataQuality quality;
  timeline.Deliver(ledger, quality);
  EXPECT_DOUBLE_EQ(ShareOf(ledger, "job 1"), 20.0 / 90);
  EXPECT_DOUBLE_EQ(ShareOf(ledger, "job 2"), 70.0 / 90);
  EXPECT_EQ(ledger.ToldTime(0), Nanos(900 * kNanosPerSecond));
  EXPECT_FALSE(ledger.SharesOf(0)[0].estimated);
}

// One job after another on one device, each named at its own pace: the hours count, not how often they were looked at.
TEST(OwnerTimeline, TimeCountsAndNotScrapes) {
  OwnerTimeline timeline;
  const auto see = [&](const std::string& owner, int from, int to, int step) {
    for (int t = from; t < to; t += step) {
      OwnerTimeline::See(timeline.Track(0, owner), Instant::FromNanos(t * kNanosPerSecond));
    }
  };
  see("job 1", 0, 300, 10);
  see("job 2", 300, 600, 30);
  see("job 3", 600, 1200, 15);
  see("job 4", 1185, 1200, 15);  // one scrape, shared
  OwnerLedger ledger;
  DataQuality quality;
  timeline.Deliver(ledger, quality);
  EXPECT_DOUBLE_EQ(ShareOf(ledger, "job 1"), 300.0 / 1200);
  EXPECT_DOUBLE_EQ(ShareOf(ledger, "job 2"), 300.0 / 1200);
  EXPECT_DOUBLE_EQ(ShareOf(ledger, "job 3"), (585.0 + 5 + 5) / 1200);
  EXPECT_DOUBLE_EQ(ShareOf(ledger, "job 4"), 5.0 / 1200);
}

// A minute of every hour, for most of a year: of the gaps beyond those that are kept it is said how many there are.
TEST(OwnerTimeline, GapsThatAreTooManyAreCounted) {
  for (const bool backwards : {false, true}) {
    constexpr std::int64_t kKept = 4096;
    constexpr std::int64_t kHours = 6000;
    OwnerTimeline timeline;
    for (std::int64_t i = 0; i < kHours; ++i) {
      const std::int64_t hour = backwards ? kHours - 1 - i : i;
      for (std::int64_t s = 0; s < 60; s += 15) {
        OwnerTimeline::See(timeline.Track(0, "job 1"), Instant::FromNanos((hour * 3600 + s) * kNanosPerSecond));
      }
    }
    OwnerLedger ledger;
    DataQuality quality;
    timeline.Deliver(ledger, quality);
    EXPECT_EQ(quality.CountOf(QualityId::kOwnerGaps), kHours - kKept);
    EXPECT_EQ(quality.Get(QualityId::kOwnerGaps).names.count("job 1"), 1U);
    EXPECT_EQ(ledger.ToldTime(0).count() / kNanosPerSecond, kHours * 60 + (kHours - kKept) * 3540);
  }
}

}  // namespace
}  // namespace idleburn
