#include "diagnose/rank_join.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>

#include "profile/profile_builder.h"
#include "support/property.h"

namespace idleburn {
namespace {

struct Row {
  Interval at;
  std::optional<std::int64_t> sequence;
  std::string_view operation = "all_reduce";
  std::string_view group = "0";
};

Profile Rank(std::int64_t rank, const std::vector<Row>& rows, std::optional<std::int64_t> world = 2,
             bool described = true) {
  ProfileBuilder b;
  b.header().rank = rank;
  b.header().world_size = world;
  for (const Row& row : rows) {
    DeviceEvent e;
    e.start_ns = row.at.start;
    e.end_ns = row.at.end;
    e.name = b.Intern("ncclDevKernel_" + std::string(row.operation));
    const std::size_t event = b.AddDeviceEvent(rank, e);
    if (described) {
      b.Device(rank).collectives.push_back({event, b.Intern(row.group), b.Intern(row.operation), row.sequence, -1});
    }
  }
  return b.Build();
}

std::vector<Interval> Parts(const IntervalSet& set) { return {set.parts().begin(), set.parts().end()}; }

TEST(PeerWaitTest, TheShortestRankIsTheTransferAndTheRestIsWaiting) {
  // Rank 0 arrives first at both: it waits 50, then 0; rank 1 waits 0, then 20. Their clocks differ.
  const std::vector<Profile> ranks = {Rank(0, {{{100, 180}, 7}, {{200, 240}, 8}}),
                                      Rank(1, {{{5100, 5130}, 7}, {{5180, 5240}, 8}})};
  const auto waits = JoinRanks(ranks);
  ASSERT_TRUE(waits[0] && waits[1]);
  EXPECT_EQ(Parts(waits[0]->waiting), (std::vector<Interval>{{100, 150}}));
  EXPECT_EQ(Parts(waits[1]->waiting), (std::vector<Interval>{{5180, 5200}}));
  EXPECT_EQ(waits[0]->transfer_ns, 70);
  EXPECT_EQ(waits[0]->own_ns, 120);
  EXPECT_EQ(waits[0]->matched, 2);
  EXPECT_TRUE(waits[0]->all_ranks);
  EXPECT_EQ(waits[0]->last_rank, 1);
}

// The same script run twice has the same collectives; clocks of hosts may be off by minutes.
TEST(PeerWaitTest, CapturesOfDifferentTimesAreNotOfOneJob) {
  std::vector<Profile> ranks = {Rank(0, {{{100, 180}, 7}}), Rank(1, {{{100, 130}, 7}})};
  ranks[0].wall_base_ns = 1'712'195'495 * kNanosPerSecond;
  for (const auto& [minutes, joined] : {std::pair(0, true), std::pair(9, true), std::pair(11, false)}) {
    ranks[1].wall_base_ns = *ranks[0].wall_base_ns + 60 * minutes * kNanosPerSecond;
    EXPECT_EQ(JoinRanks(ranks)[0].has_value(), joined) << minutes;
  }
  ranks[1].wall_base_ns = std::nullopt;
  EXPECT_TRUE(JoinRanks(ranks)[0]);
}

// A number that stands twice in one rank's file is no second rank.
TEST(PeerWaitTest, ARankIsNotItsOwnPeer) {
  const std::vector<Profile> ranks = {Rank(0, {{{0, 90}, 7}, {{100, 110}, 7}}), Rank(1, {{{0, 5}, 8}})};
  const auto waits = JoinRanks(ranks);
  EXPECT_FALSE(waits[0] || waits[1]);
}

TEST(PeerWaitTest, SequencesMatchWhereOrdinalsWouldNot) {
  // Rank 1's capture starts a collective later.
  const std::vector<Profile> ranks = {Rank(0, {{{0, 90}, 1}, {{100, 110}, 2}}), Rank(1, {{{0, 5}, 2}, {{50, 60}, 3}})};
  const auto waits = JoinRanks(ranks);
  EXPECT_EQ(waits[0]->matched, 1);
  EXPECT_EQ(waits[0]->unmatched, 1);
  EXPECT_EQ(Parts(waits[0]->waiting), (std::vector<Interval>{{100, 105}}));
}

TEST(PeerWaitTest, WithoutSequencesTheOrdinalCountsIfBothSawAsMany) {
  const auto like = JoinRanks(
      std::vector<Profile>{Rank(0, {{{0, 90}, {}}, {{100, 110}, {}}}), Rank(1, {{{0, 30}, {}}, {{100, 140}, {}}})});
  EXPECT_EQ(Parts(like[0]->waiting), (std::vector<Interval>{{0, 60}}));
  EXPECT_EQ(Parts(like[1]->waiting), (std::vector<Interval>{{100, 130}}));
  const auto unlike =
      JoinRanks(std::vector<Profile>{Rank(0, {{{0, 90}, {}}, {{100, 110}, {}}}), Rank(1, {{{0, 30}, {}}})});
  EXPECT_FALSE(unlike[0] || unlike[1]);
}

TEST(PeerWaitTest, OperationsAndGroupsAreMatchedApart) {
  const auto waits = JoinRanks(std::vector<Profile>{
      Rank(0, {{{0, 90}, {}, "all_reduce"}, {{100, 110}, {}, "all_gather"}, {{200, 210}, {}, "all_reduce", "1"}}),
      Rank(1, {{{0, 10}, {}, "all_gather"}, {{50, 60}, {}, "all_reduce"}, {{200, 205}, {}, "all_reduce", "2"}})});
  EXPECT_EQ(waits[0]->matched, 2);
  EXPECT_EQ(waits[0]->unmatched, 1);
  EXPECT_EQ(Parts(waits[0]->waiting), (std::vector<Interval>{{0, 80}}));
}

TEST(PeerWaitTest, KernelsServeWhereTheFileDescribesNoCollectives) {
  const auto waits = JoinRanks(std::vector<Profile>{Rank(0, {{{0, 90}, {}}, {{95, 99}, {}, "SendRecv"}}, 2, false),
                                                    Rank(1, {{{0, 30}, {}}}, 2, false)});
  EXPECT_EQ(Parts(waits[0]->waiting), (std::vector<Interval>{{0, 60}}));
  EXPECT_EQ(waits[0]->unmatched, 1);  // a send or an all-to-all: nothing tells whose
  EXPECT_EQ(waits[0]->unmatched_ns, 4);
}

// A send and the receive of it are one operation on two ranks; a third rank has no part in it.
TEST(PeerWaitTest, SendsMeetTheirReceives) {
  const auto with = [](Profile profile, std::int32_t from, std::int32_t to) {
    for (Collective& c : profile.devices[0].collectives) {
      c.from = from;
      c.to = to;
    }
    return profile;
  };
  const auto waits = JoinRanks(std::vector<Profile>{with(Rank(0, {{{0, 90}, {}, "send"}}, 3), 0, 1),
                                                    with(Rank(1, {{{70, 90}, {}, "recv"}}, 3), 0, 1),
                                                    with(Rank(2, {{{0, 50}, {}, "send"}}, 3), 2, 0)});
  EXPECT_EQ(Parts(waits[0]->waiting), (std::vector<Interval>{{0, 70}}));
  EXPECT_EQ(waits[1]->last_in, 1);
  EXPECT_EQ(waits[1]->caused_ns, 70);
  EXPECT_FALSE(waits[2]);
}

// All spellings of an operation are one: kernels of two libraries meet.
TEST(PeerWaitTest, SpellingsOfAnOperationAreOne) {
  const auto waits = JoinRanks(
      std::vector<Profile>{Rank(0, {{{0, 90}, {}, "allreduce"}}), Rank(1, {{{0, 30}, {}, "nccl:all_reduce"}})});
  EXPECT_EQ(Parts(waits[0]->waiting), (std::vector<Interval>{{0, 60}}));
}

// Repairing the last rank alone helps until the second latest: 20 of the 60 and 80 that the others wait.
TEST(PeerWaitTest, TheLastRankAloneGainsUpToTheSecondLatest) {
  const auto waits = JoinRanks(
      std::vector<Profile>{Rank(0, {{{0, 90}, 1}}, 3), Rank(1, {{{20, 50}, 1}}, 3), Rank(2, {{{80, 90}, 1}}, 3)});
  EXPECT_EQ(waits[2]->last_in, 1);
  EXPECT_EQ(waits[2]->caused_ns, 80 + 20);
  EXPECT_EQ(waits[2]->alone_ns, 20);
  EXPECT_EQ(waits[0]->last_rank, 2);
  EXPECT_EQ(waits[0]->late_alone_ns, 20);
}

// 1 GB all-reduced by 8 ranks in 10 ms is 100 GB/s, and 175 GB/s on the bus (nccl-tests).
TEST(CollectiveSpeedTest, IsThatOfNcclTests) {
  Profile profile = Rank(0, {{{0, 10'000'000}, 1, "allreduce"}, {{20'000'000, 30'000'000}, 2, "_allgather_base"}}, 8);
  for (Collective& c : profile.devices[0].collectives) {
    c.bytes = 1'000'000'000;
    c.ranks = 8;
  }
  const std::vector<CollectiveSpeed> speeds = MeasureCollectives(profile, profile.devices[0]);
  ASSERT_EQ(speeds.size(), 2U);
  EXPECT_EQ(speeds[0].operation, "all_gather");
  EXPECT_DOUBLE_EQ(speeds[0].bus_gb_per_s, 87.5);
  EXPECT_EQ(speeds[1].operation, "all_reduce");
  EXPECT_DOUBLE_EQ(speeds[1].bus_gb_per_s, 175);
  EXPECT_EQ(speeds[1].from_bytes, 536'870'912);
  EXPECT_EQ(PeerLinkGBs("NVIDIA A100-SXM4-80GB"), 300);
  EXPECT_FALSE(PeerLinkGBs("NVIDIA A100-PCIE-40GB"));
  EXPECT_FALSE(PeerLinkGBs("Tesla T4"));
}

TEST(PeerWaitTest, OnlyRanksOfOneJobAreJoined) {
  const std::vector<Row> rows = {{{0, 90}, 1}};
  const auto joined = [&](const std::vector<Profile>& ranks) { return JoinRanks(ranks)[0].has_value(); };
  EXPECT_TRUE(joined({Rank(0, rows), Rank(1, rows)}));
  EXPECT_FALSE(joined({Rank(0, rows)}));
  EXPECT_FALSE(joined({Rank(0, rows), Rank(0, rows)}));
  EXPECT_FALSE(joined({Rank(0, rows), Rank(1, rows, 4)}));
  Profile unnamed = Rank(1, rows);
  unnamed.rank.reset();
  EXPECT_FALSE(joined({Rank(0, rows), unnamed}));
  EXPECT_FALSE(joined({Rank(0, rows), Rank(1, {})}));
}

TEST(PeerWaitTest, WhatKeepsProfilesApartIsSaid) {
  const std::vector<Row> rows = {{{0, 90}, 1}};
  const auto why = [&](Profile a, Profile b) {
    a.file = "a";
    b.file = "b";
    return WhyApart(std::vector<Profile>{std::move(a), std::move(b)});
  };
  EXPECT_EQ(why(Rank(0, rows), Rank(1, rows)), "");
  EXPECT_EQ(why(Rank(3, rows), Rank(3, rows)), "two files have rank 3: a and b");
  EXPECT_EQ(why(Rank(0, rows), Rank(1, rows, 4)), "a is from a job of 2 ranks, b from one of 4 ranks");
  EXPECT_EQ(why(Rank(0, rows, std::nullopt), Rank(1, rows)), "a is from a job of unknown size, b from one of 2 ranks");
  EXPECT_EQ(why(Rank(0, rows), Rank(1, {})), "b holds 0 GPUs, not one");
  Profile late = Rank(1, rows);
  late.wall_base_ns = 3600 * kNanosPerSecond;
  Profile early = Rank(0, rows);
  early.wall_base_ns = 0;
  EXPECT_EQ(why(early, late), "they were recorded more than ten minutes apart");
}

// Nine in ten of a rank's calls must be those of the others, or the rest could say something else.
TEST(PeerWaitTest, MuchThatIsNotMatchedConcludesNothing) {
  PeerWait wait;
  wait.all_ranks = true;
  wait.matched = 20;
  for (const auto& [unmatched, conclusive] : {std::pair(0, true), std::pair(2, true), std::pair(3, false)}) {
    wait.unmatched = unmatched;
    EXPECT_EQ(wait.Conclusive(), conclusive) << unmatched;
  }
  wait.unmatched = 0;
  wait.all_ranks = false;
  EXPECT_FALSE(wait.Conclusive());
}

TEST(PeerWaitTest, MissingRanksAreSaid) {
  const std::vector<Row> rows = {{{0, 90}, 1}};
  const auto some = JoinRanks(std::vector<Profile>{Rank(0, rows, 8), Rank(1, rows, 8)});
  EXPECT_EQ(some[0]->ranks, 2);
  EXPECT_FALSE(some[0]->all_ranks);
  EXPECT_FALSE(JoinRanks(std::vector<Profile>{Rank(0, rows, {}), Rank(1, rows, {})})[0]->all_ranks);
}

// The rank that waits least of any collective does not wait at all, and nobody waits longer than the collective lasts.
void SomebodyIsAlwaysLast() {
  const auto ranks = *rc::gen::inRange<std::int64_t>(2, 5);
  const auto calls = *rc::gen::inRange<std::int64_t>(1, 6);
  std::vector<Profile> profiles;
  std::vector<std::vector<std::int64_t>> durations;
  for (std::int64_t r = 0; r < ranks; ++r) {
    std::vector<Row> rows;
    durations.emplace_back();
    for (std::int64_t c = 0; c < calls; ++c) {
      durations.back().push_back(*rc::gen::inRange<std::int64_t>(1, 90));
      rows.push_back({{100 * c, 100 * c + durations.back().back()}, c});
    }
    profiles.push_back(Rank(r, rows, ranks));
  }
  const auto waits = JoinRanks(profiles);
  for (std::int64_t c = 0; c < calls; ++c) {
    const auto at = static_cast<std::size_t>(c);
    std::int64_t shortest = durations[0][at];
    for (const auto& rank : durations) shortest = std::min(shortest, rank[at]);
    for (std::size_t r = 0; r < durations.size(); ++r) {
      RC_ASSERT(waits[r]->waiting.OverlapNs({100 * c, 100 * c + 99}) == durations[r][at] - shortest);
    }
  }
}

TEST(PeerWaitTest, WaitingIsWhatAnotherRankDidNotNeed) {
  test::ExpectProperty("waiting of any ranks", SomebodyIsAlwaysLast);
}

}  // namespace

}  // namespace idleburn
