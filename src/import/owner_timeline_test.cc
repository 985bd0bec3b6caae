#include "import/owner_timeline.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

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

// Against counting scrape by scrape, in the order of scrapes, of series, of series twice (two metrics) and newest
// first. The last scrape covers no time.
TEST(OwnerTimeline, EqualsCountingEveryScrape) {
  const bool held = rc::check("stretches count what single scrapes count", [] {
    std::vector<Held> runs;
    const int owners = *rc::gen::inRange(1, 5);
    int end = 0;
    for (int owner = 0; owner < owners; ++owner) {
      const int first = *rc::gen::inRange(0, 60);
      runs.push_back({owner, first, first + *rc::gen::inRange(1, 300)});
      end = std::max(end, runs.back().last);
    }
    const auto name = [](int owner) { return owner == 0 ? std::string() : "job " + std::to_string(owner); };
    const auto at = [](int t) { return Instant::FromNanos(t * kNanosPerSecond); };
    const ImportOptions options;
    OwnerLedger want;
    OwnerTimeline by_scrape(options);
    for (int t = 0; t <= end; ++t) {
      std::vector<std::string> here;
      bool any = false;
      for (const Held& run : runs) {
        if (t < run.first || t > run.last) continue;
        any = true;
        if (run.owner != 0) here.push_back(name(run.owner));
        by_scrape.See(by_scrape.Track(0, name(run.owner)), at(t));
      }
      if (any && t < end) want.Add(0, here, at(t), at(t + 1));
    }
    OwnerTimeline by_series(options);
    for (int pass = 0; pass < 2; ++pass) {
      for (const Held& run : runs) {
        OwnerTimeline::Presence* presence = by_series.Track(0, name(run.owner));
        for (int t = run.first; t <= run.last; ++t) by_series.See(presence, at(t));
      }
    }
    OwnerTimeline newest_first(options);
    for (const Held& run : runs) {
      OwnerTimeline::Presence* presence = newest_first.Track(0, name(run.owner));
      for (int t = run.last; t >= run.first; --t) newest_first.See(presence, at(t));
    }
    for (OwnerTimeline* timeline : {&by_scrape, &by_series, &newest_first}) {
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

// One short interval among alike ones makes no gaps of the others.
TEST(OwnerTimeline, AGapIsMoreThanTwoAndAHalfPeriods) {
  struct Case {
    std::string_view what;
    std::vector<int> steps;  // by turns
    std::vector<int> extra;  // seconds of stamps in between
    std::optional<int> period, max_gap;
    int want;  // seconds of 3,600
  };
  const std::vector<Case> cases = {
      {"two replicas, 3 s apart", {3, 12}, {}, {}, {}, 3600},
      {"a scrape soon after the first", {30}, {5}, {}, {}, 3600},
      {"one by hand", {15}, {1807}, {}, {}, 3600},
      {"the longest that is held", {1200}, {}, 480, {}, 3600},
      {"longer", {1200}, {}, 479, {}, 3 * 479},
      {"as long as is said", {1200}, {}, {}, 1200, 3600},
      {"longer than is said", {1200}, {}, {}, 1199, 3 * 1199},
  };
  for (const Case& c : cases) {
    ImportOptions options;
    if (c.period) options.period = Nanos(*c.period * kNanosPerSecond);
    if (c.max_gap) options.max_gap = Nanos(*c.max_gap * kNanosPerSecond);
    std::vector<int> stamps = c.extra;
    int t = 0;
    for (std::size_t i = 0; t <= 3600; t += c.steps[i++ % c.steps.size()]) stamps.push_back(t);
    std::sort(stamps.begin(), stamps.end());
    OwnerTimeline timeline(options);
    for (const int stamp : stamps) {
      timeline.See(timeline.Track(0, "job 1"), Instant::FromNanos(stamp * kNanosPerSecond));
    }
    OwnerLedger ledger;
    DataQuality quality;
    timeline.Deliver(ledger, quality);
    EXPECT_EQ(ledger.ToldTime(0).count() / kNanosPerSecond, c.want) << c.what;
  }
}

// The last stamp of a device ends its time: a job that is first seen then has none of it, and is listed.
TEST(OwnerTimeline, NobodyHasTimeBeyondTheLastReading) {
  const ImportOptions options;
  OwnerTimeline timeline(options);
  const auto see = [&](DeviceId device, const std::string& owner, int t) {
    timeline.See(timeline.Track(device, owner), Instant::FromNanos(t * kNanosPerSecond));
  };
  for (int i = 0; i < 12; ++i) see(0, "job 1", 300 * i);
  see(0, "job 2", 3600);
  for (int i = 0; i < 8; ++i) see(1, i < 4 ? "job 1" : "job 2", 15 * i);
  see(2, "job 1", 5);
  OwnerLedger ledger;
  DataQuality quality;
  timeline.Deliver(ledger, quality);
  ASSERT_EQ(ledger.SharesOf(0).size(), 2U);
  EXPECT_EQ(ledger.SharesOf(0)[0].fraction, 1);
  EXPECT_EQ(ledger.SharesOf(0)[1].fraction, 0);
  EXPECT_EQ(ledger.ToldTime(0), Nanos(3600 * kNanosPerSecond));
  ASSERT_EQ(ledger.SharesOf(1).size(), 2U);
  EXPECT_DOUBLE_EQ(ledger.SharesOf(1)[0].fraction, 60.0 / 105);
  EXPECT_DOUBLE_EQ(ledger.SharesOf(1)[1].fraction, 45.0 / 105);
  ASSERT_EQ(ledger.SharesOf(2).size(), 1U);
  EXPECT_EQ(ledger.ToldTime(2), Nanos(1));
}

// An hour to a file, in whichever order they are read: no time is lost between them.
TEST(OwnerTimeline, TheNextInputGoesOn) {
  for (const bool backwards : {false, true}) {
    const ImportOptions options;
    OwnerLedger ledger;
    DataQuality quality;
    for (int i = 0; i < 3; ++i) {
      const int hour = backwards ? 2 - i : i;
      OwnerTimeline timeline(options);
      OwnerTimeline::Presence* job = timeline.Track(0, hour < 2 ? "job 1" : "job 2");
      for (int t = 0; t < 3600; t += 15) timeline.See(job, Instant::FromNanos((hour * 3600 + t) * kNanosPerSecond));
      timeline.Deliver(ledger, quality);
    }
    EXPECT_EQ(ledger.ToldTime(0), Nanos((3 * 3600 - 15) * kNanosPerSecond));
    EXPECT_DOUBLE_EQ(ShareOf(ledger, "job 1"), 7200.0 / (3 * 3600 - 15));
  }
}

TEST(OwnerTimeline, AGapIsNobodysTime) {
  const ImportOptions options;
  OwnerTimeline timeline(options);
  const auto see = [&](const std::string& owner, int from, int to) {
    for (int t = from; t < to; t += 10) {
      timeline.See(timeline.Track(0, owner), Instant::FromNanos(t * kNanosPerSecond));
    }
  };
  see("job 1", 0, 100);
  see("job 1", 1000, 1100);
  see("job 2", 200, 900);
  OwnerLedger ledger;
  DataQuality quality;
  timeline.Deliver(ledger, quality);
  EXPECT_DOUBLE_EQ(ShareOf(ledger, "job 1"), 190.0 / 890);
  EXPECT_DOUBLE_EQ(ShareOf(ledger, "job 2"), 700.0 / 890);
  EXPECT_EQ(ledger.ToldTime(0), Nanos(890 * kNanosPerSecond));
  EXPECT_FALSE(ledger.SharesOf(0)[0].estimated);
}

// One job after another on one device, each named at its own pace: the hours count, not how often they were looked at.
TEST(OwnerTimeline, TimeCountsAndNotScrapes) {
  const ImportOptions options;
  OwnerTimeline timeline(options);
  const auto see = [&](const std::string& owner, int from, int to, int step) {
    for (int t = from; t < to; t += step) {
      timeline.See(timeline.Track(0, owner), Instant::FromNanos(t * kNanosPerSecond));
    }
  };
  see("job 1", 0, 300, 10);
  see("job 2", 300, 600, 30);
  see("job 3", 600, 1200, 15);
  see("job 4", 1185, 1200, 15);  // one scrape, shared
  see("", 1200, 1215, 15);
  OwnerLedger ledger;
  DataQuality quality;
  timeline.Deliver(ledger, quality);
  EXPECT_DOUBLE_EQ(ShareOf(ledger, "job 1"), 300.0 / 1200);
  EXPECT_DOUBLE_EQ(ShareOf(ledger, "job 2"), 300.0 / 1200);
  EXPECT_DOUBLE_EQ(ShareOf(ledger, "job 3"), (585.0 + 5 + 5) / 1200);
  EXPECT_DOUBLE_EQ(ShareOf(ledger, "job 4"), 5.0 / 1200);
}

// Two minutes of every hour, for most of a year: of the gaps beyond those that are kept it is said how many there are.
TEST(OwnerTimeline, GapsThatAreTooManyAreCounted) {
  for (const bool backwards : {false, true}) {
    constexpr std::int64_t kKept = 4096;
    constexpr std::int64_t kHours = 6000;
    const ImportOptions options;
    OwnerTimeline timeline(options);
    for (std::int64_t i = 0; i < kHours; ++i) {
      const std::int64_t hour = backwards ? kHours - 1 - i : i;
      for (std::int64_t s = 0; s < 120; s += 15) {
        timeline.See(timeline.Track(0, "job 1"), Instant::FromNanos((hour * 3600 + s) * kNanosPerSecond));
      }
    }
    OwnerLedger ledger;
    DataQuality quality;
    timeline.Deliver(ledger, quality);
    EXPECT_EQ(quality.CountOf(QualityId::kOwnerGaps), kHours - kKept);
    EXPECT_EQ(quality.Get(QualityId::kOwnerGaps).names.count("job 1"), 1U);
    EXPECT_EQ(ledger.ToldTime(0).count() / kNanosPerSecond, kHours * 120 - 15 + (kHours - kKept) * 3480);
  }
}

// A label that goes on for a minute after its job ended at 100 s, and began 20 s too early. Truth by counting seconds.
TEST(OwnerTimeline, AJobOwnsItsGpuOnlyWhileTheSchedulerSaysThatItRan) {
  const auto at = [](int t) { return Instant::FromNanos(t * kNanosPerSecond); };
  ImportOptions options;
  options.jobs.Add("7", {20 * kNanosPerSecond, 100 * kNanosPerSecond});
  OwnerTimeline owners(options);
  OwnerTimeline::Presence* seven = owners.Track(0, "job 7");
  for (int t = 0; t <= 160; ++t) owners.See(seven, at(t));
  // Not in the list: nothing bounds it.
  OwnerTimeline::Presence* eight = owners.Track(1, "job 8");
  for (int t = 0; t <= 160; ++t) owners.See(eight, at(t));
  OwnerLedger ledger;
  DataQuality quality;
  owners.Deliver(ledger, quality);
  EXPECT_DOUBLE_EQ(ShareOf(ledger, "job 7"), 80.0 / 160);
  EXPECT_DOUBLE_EQ(ShareOf(ledger, ""), 80.0 / 160);
  EXPECT_EQ(ledger.ToldTime(0), Nanos(160 * kNanosPerSecond));
  EXPECT_EQ(ledger.SharesOf(1).at(0).owner, "job 8");
  EXPECT_DOUBLE_EQ(ledger.SharesOf(1).at(0).fraction, 1);
  EXPECT_EQ(quality.CountOf(QualityId::kOwnerOutlivesJob), 1);
  EXPECT_EQ(quality.Get(QualityId::kOwnerOutlivesJob).names, std::set<std::string>{"job 7"});
}

// The next job has the GPU while the label of the one before still stands: no half of it is the dead job's.
TEST(OwnerTimeline, AStaleLabelTakesNothingFromTheNextJob) {
  const auto at = [](int t) { return Instant::FromNanos(t * kNanosPerSecond); };
  ImportOptions options;
  options.jobs.Add("7", {0, 50 * kNanosPerSecond});
  options.jobs.Add("8", {50 * kNanosPerSecond, JobTimes::kStillRunning});
  OwnerTimeline owners(options);
  for (int t = 0; t <= 100; ++t) owners.See(owners.Track(0, "job 7"), at(t));
  for (int t = 50; t <= 100; ++t) owners.See(owners.Track(0, "job 8"), at(t));
  OwnerLedger ledger;
  DataQuality quality;
  owners.Deliver(ledger, quality);
  EXPECT_DOUBLE_EQ(ShareOf(ledger, "job 7"), 0.5);
  EXPECT_DOUBLE_EQ(ShareOf(ledger, "job 8"), 0.5);
  for (const OwnerLedger::Share& share : ledger.SharesOf(0)) EXPECT_FALSE(share.estimated) << share.owner;
}

}  // namespace
}  // namespace idleburn
