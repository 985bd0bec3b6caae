#include "telemetry/device.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "support/property.h"

namespace idleburn {
namespace {

constexpr const char* kUuidA = "GPU-5f3a0000-1111-2222-3333-444444444444";
constexpr const char* kUuidB = "GPU-6f3a0000-1111-2222-3333-444444444444";
constexpr const char* kMasked = "GPU-00000000-0000-0000-0000-000000000000";

DeviceKey ByUuid(std::string uuid, std::optional<int> index = {}, std::string bus = "") {
  DeviceKey key;
  key.uuid = std::move(uuid);
  key.index = index;
  key.bus_id = std::move(bus);
  return key;
}
DeviceKey ByIndex(int index, std::string host = "") {
  DeviceKey key;
  key.index = index;
  key.host = std::move(host);
  return key;
}

TEST(DeviceTableTest, OneEntryForEverySpellingOfAUuid) {
  DeviceTable table;
  const DeviceId id = table.Enter(ByUuid(kUuidA));
  EXPECT_EQ(table.Enter(ByUuid("5F3A0000-1111-2222-3333-444444444444")), id);
  EXPECT_EQ(table.Enter(ByUuid("gpu-5f3a0000-1111-2222-3333-444444444444")), id);
  EXPECT_NE(table.Enter(ByUuid(kUuidB)), id);
  EXPECT_EQ(table[id].uuid, kUuidA);
  EXPECT_EQ(table.size(), 2U);
}

TEST(DeviceTableTest, AUuidIsKnownOnceItsDeviceIs) {
  DeviceTable table;
  const DeviceId a = table.Enter(ByUuid(kUuidA, 0));
  EXPECT_TRUE(table.KnowsUuid(kUuidA));
  EXPECT_FALSE(table.KnowsUuid(kUuidB));
  EXPECT_NE(table.Enter(ByUuid(kUuidB, 0)), a) << "another UUID is another GPU whatever its index";
  EXPECT_EQ(table.Enter(ByUuid("", 0)), a);
  EXPECT_FALSE(table.KnowsUuid(""));
}

TEST(DeviceTableTest, NormalizesUuids) {
  EXPECT_EQ(NormalUuid("gpu-79CCD55167A2124A"), "GPU-79ccd55167a2124a");
  EXPECT_EQ(NormalUuid("79ccd55167a2124a"), "");  // too short to be told from other numbers
  EXPECT_EQ(NormalUuid("MIG-5F3A0000-1111-2222-3333-444444444444"), "MIG-5f3a0000-1111-2222-3333-444444444444");
  for (const std::string_view text :
       {"", "GPU-", "N/A", "5f3a0000", "GPU-5f3a0000-1111-2222-3333-44444444444",
        "GPU-5f3a0000-1111-2222-3333-44444444444g", "GPU-5f3a000001111-2222-3333-444444444444",
        "MIG-GPU-5f3a0000-1111-2222-3333-444444444444/1/0", "TPU-5f3a0000-1111-2222-3333-444444444444"}) {
    EXPECT_EQ(NormalUuid(text), "") << text;
  }
  EXPECT_TRUE(IsMaskedUuid(kMasked));
  EXPECT_FALSE(IsMaskedUuid(kUuidA));
  EXPECT_FALSE(IsMaskedUuid(""));
}

TEST(DeviceTableTest, FollowsTheUuidWhenIndexesMove) {
  DeviceTable table;
  const DeviceId a = table.Enter(ByUuid(kUuidA, 0));
  const DeviceId b = table.Enter(ByUuid(kUuidB, 1));
  EXPECT_EQ(table.Enter(ByUuid(kUuidA, 1)), a);
  EXPECT_EQ(table.Enter(ByUuid(kUuidB, 0)), b);
}

TEST(DeviceTableTest, MaskedUuidsAreToldApartByBusOrIndex) {
  DeviceTable table;
  const DeviceId first = table.Enter(ByUuid(kMasked, 0, "00000000:01:00.0"));
  const DeviceId second = table.Enter(ByUuid(kMasked, 1, "00000000:02:00.0"));
  EXPECT_NE(first, second);
  EXPECT_EQ(table.Enter(ByUuid(kMasked, {}, "0000:02:00.0")), second);
  EXPECT_EQ(table.Enter(ByIndex(0)), first);
  EXPECT_EQ(table[first].uuid, "");
}

TEST(DeviceTableTest, LearnsWhatItDidNotKnow) {
  DeviceTable table;
  const DeviceId id = table.Enter(ByIndex(3));
  DeviceKey full = ByUuid(kUuidA, 3, "0000:0a:00.0");
  full.name = "NVIDIA H100 80GB HBM3";
  full.host = "node7";
  EXPECT_EQ(table.Enter(full), id);
  EXPECT_EQ(table[id].uuid, kUuidA);
  EXPECT_EQ(table[id].bus_id, "0000:0A:00.0");
  EXPECT_EQ(table[id].name, "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(table.Enter(ByUuid(kUuidA)), id);  // by uuid alone, learned later
  EXPECT_NE(table.Enter(ByUuid(kUuidB, 3)), id);
}

TEST(DeviceTableTest, HostsKeepTheirIndexesApart) {
  DeviceTable table;
  const DeviceId a = table.Enter(ByIndex(0, "node1"));
  const DeviceId b = table.Enter(ByIndex(0, "node2"));
  EXPECT_NE(a, b);
  EXPECT_EQ(table.Enter(ByIndex(0, "node2")), b);
}

TEST(DeviceTableTest, InstancesHaveABoard) {
  DeviceTable table;
  DeviceKey key = ByUuid(kUuidA, 0);
  key.mig = MigInstance{"7", "1g.10gb", 1};
  const DeviceId first = table.Enter(key);
  key.mig = MigInstance{"8", "3g.40gb", 3};
  const DeviceId second = table.Enter(key);
  EXPECT_NE(first, second);
  ASSERT_TRUE(table[first].board);
  EXPECT_EQ(table[first].board, table[second].board);
  const DeviceId board = *table[first].board;
  EXPECT_TRUE(table[board].has_instances);
  EXPECT_FALSE(table[first].has_instances);
  EXPECT_EQ(table.Enter(ByUuid(kUuidA)), board);
  EXPECT_EQ(table.Enter(key), second);
  EXPECT_EQ(table.Home(second, Signal::kPower), board);
  EXPECT_EQ(table.Home(second, Signal::kGrEngineActive), second);
  EXPECT_EQ(table.Home(board, Signal::kPower), board);
}

TEST(DeviceTableTest, TheLastCounterNamesTheReadingsToCome) {
  DeviceTable table;
  const DeviceId id = table.Enter(ByIndex(0));
  table.NameCounter(id, Signal::kUtilization, "nvidia-smi.utilization.gpu");
  table.NameCounter(id, Signal::kUtilization, "other");
  EXPECT_EQ(table[id].counter[Index(Signal::kUtilization)], "other");
  EXPECT_EQ(table[id].also[Index(Signal::kUtilization)], (std::set<std::string>{"nvidia-smi.utilization.gpu"}));
  EXPECT_EQ(table[id].counter[Index(Signal::kPower)], "");
  table.NameCounter(id, Signal::kUtilization, "nvidia-smi.utilization.gpu");
  EXPECT_EQ(table[id].also[Index(Signal::kUtilization)], (std::set<std::string>{"other"}));
}

TEST(DeviceTableTest, CountsSlices) {
  EXPECT_EQ(ProfileSlices("1g.10gb"), 1);
  EXPECT_EQ(ProfileSlices("3g.40gb"), 3);
  EXPECT_EQ(ProfileSlices("1c.3g.71gb"), 3);
  EXPECT_EQ(ProfileSlices("7g.80gb+me"), 7);
  EXPECT_EQ(ProfileSlices("g.10gb"), 1);
  EXPECT_EQ(ProfileSlices(""), 1);
  EXPECT_EQ(BoardSlices("NVIDIA A100-SXM4-80GB"), 7);
  EXPECT_EQ(BoardSlices("NVIDIA A30"), 4);
}

constexpr Instant At(std::int64_t ns) { return Instant::FromNanos(ns); }

TEST(OwnerLedgerTest, SharesTimeEquallyAmongThoseNamedForIt) {
  OwnerLedger ledger;
  ledger.Add(0, {"job 1"}, At(0), At(1));
  ledger.Add(0, {"job 1", "job 2"}, At(1), At(2));
  ledger.Add(0, {}, At(2), At(3));
  ledger.Add(0, {"job 2"}, At(3), At(4));
  ledger.Add(1, {}, At(0), At(1));
  const auto shares = ledger.SharesOf(0);
  ASSERT_EQ(shares.size(), 3U);
  EXPECT_EQ(shares[0].owner, "");
  EXPECT_DOUBLE_EQ(shares[0].fraction, 0.25);
  EXPECT_FALSE(shares[0].estimated);
  EXPECT_EQ(shares[1].owner, "job 1");
  EXPECT_DOUBLE_EQ(shares[1].fraction, 0.375);
  EXPECT_TRUE(shares[1].estimated);
  EXPECT_DOUBLE_EQ(shares[2].fraction, 0.375);
  EXPECT_TRUE(ledger.SharesOf(1).empty());  // nobody was ever named
  EXPECT_TRUE(ledger.SharesOf(2).empty());
  EXPECT_EQ(ledger.ToldTime(0), Nanos(4));
  EXPECT_EQ(ledger.ToldTime(2), Nanos(0));
}

// Against marking second by second: however often, by however many and in whichever order a time was told, it is once.
TEST(OwnerLedgerTest, TimeIsToldOnce) {
  test::ExpectProperty([] {
    OwnerLedger ledger;
    std::vector<bool> told(100);
    const int stretches = *rc::gen::inRange(0, 20);
    for (int i = 0; i < stretches; ++i) {
      const int from = *rc::gen::inRange(0, 90);
      const int to = from + *rc::gen::inRange(1, 11);
      ledger.Add(0, {"job " + std::to_string(i % 3)}, At(from * kNanosPerSecond), At(to * kNanosPerSecond));
      std::fill(told.begin() + from, told.begin() + to, true);
    }
    RC_ASSERT(ledger.ToldTime(0).count() == std::count(told.begin(), told.end(), true) * kNanosPerSecond);
  });
}

// Against second by second, exactly: up to eight at a time, whose shares are whole parts of 1/840 s.
TEST(OwnerLedgerTest, OwnersOfOneTimeShareIt) {
  test::ExpectProperty([] {
    std::vector<OwnerLedger::Stay> stays;
    std::map<std::string, std::vector<bool>> here;
    for (const std::string_view owner : {"", "a", "b", "c", "d", "e", "f", "g"}) {
      int from = *rc::gen::inRange(0, 40);
      for (int i = 0; i < 3; ++i) {
        const int to = from + *rc::gen::inRange(0, 20);
        stays.push_back({owner, from * kNanosPerSecond, to * kNanosPerSecond});
        std::vector<bool>& seconds = here[std::string(owner)];
        seconds.resize(200);
        std::fill(seconds.begin() + from, seconds.begin() + to, true);
        from = std::max(0, to + *rc::gen::inRange(-10, 20));
      }
    }
    std::map<std::string, std::int64_t> parts;
    std::set<std::string> shared;
    std::int64_t told = 0;
    for (std::size_t t = 0; t < 200; ++t) {
      std::vector<std::string> now;
      for (const auto& [owner, seconds] : here) {
        if (seconds[t] && !owner.empty()) now.push_back(owner);
      }
      for (const std::string& owner : now) parts[owner] += 840 / static_cast<std::int64_t>(now.size());
      if (now.size() > 1) shared.insert(now.begin(), now.end());
      if (now.empty() && here[""][t]) parts[""] += 840;
      told += now.empty() && !here[""][t] ? 0 : 1;
    }
    OwnerLedger ledger;
    ledger.Add(0, stays);
    RC_ASSERT(ledger.ToldTime(0).count() == told * kNanosPerSecond);
    if (told == 0) return;
    for (const OwnerLedger::Share& share : ledger.SharesOf(0)) {
      const double want = static_cast<double>(parts[share.owner]) / (840.0 * static_cast<double>(told));
      RC_ASSERT(share.fraction > want - 1e-12 && share.fraction < want + 1e-12);
      RC_ASSERT(share.estimated == (shared.count(share.owner) != 0));
    }
  });
}

// What was told last goes on as far as the next that is told, and nowhere else.
TEST(OwnerLedgerTest, WhatIsHeldLastsToTheNext) {
  OwnerLedger ledger;
  ledger.Add(0, {"a"}, At(0), At(100));
  ledger.Hold(0, {"a"}, At(100), At(115));
  EXPECT_EQ(ledger.ToldTime(0), Nanos(100)) << "nothing follows";
  ledger.Add(0, {"b"}, At(110), At(200));
  ledger.Hold(0, {"b"}, At(200), At(215));
  EXPECT_EQ(ledger.ToldTime(0), Nanos(200));
  EXPECT_DOUBLE_EQ(ledger.SharesOf(0)[0].fraction, 110.0 / 200);
  ledger.Add(0, {"c"}, At(150), At(300));
  EXPECT_EQ(ledger.ToldTime(0), Nanos(300)) << "told by another";
  EXPECT_DOUBLE_EQ(ledger.SharesOf(0)[1].fraction, 90.0 / (110 + 90 + 150));
  ledger.Add(0, {"a"}, At(1000), At(1100));
  EXPECT_EQ(ledger.ToldTime(0), Nanos(400)) << "what is held by none is nobody's";
}

// A century in nanoseconds, beside one of an hour: no sum overflows.
TEST(OwnerLedgerTest, CountsNanosecondsOverYears) {
  OwnerLedger ledger;
  const Instant century = At(876'600 * kNanosPerHour);
  ledger.Add(0, {"a"}, At(0), century);
  ledger.Add(0, {"b"}, century, century + Nanos(kNanosPerHour));
  const auto shares = ledger.SharesOf(0);
  ASSERT_EQ(shares.size(), 2U);
  EXPECT_DOUBLE_EQ(shares[1].fraction, 1.0 / 876'601);
  EXPECT_EQ(ledger.ToldTime(0), Nanos(876'601 * kNanosPerHour));
  ledger.Add(1, {"c"}, century, century);
  ASSERT_EQ(ledger.SharesOf(1).size(), 1U);
  EXPECT_DOUBLE_EQ(ledger.SharesOf(1)[0].fraction, 1) << "named for an instant, and nobody else was";
}

// Two inputs that both know index 0: one GPU, unless it is said whose they are.
TEST(DeviceTableTest, AnInputMaySayItsHost) {
  DeviceKey key;
  key.index = 0;
  DeviceTable devices;
  devices.BeginInput("node1");
  const DeviceId first = devices.Enter(key);
  EXPECT_EQ(devices.NamedBy(first), DeviceTable::kByPlace | DeviceTable::kByHost);
  devices.BeginInput("node2");
  const DeviceId second = devices.Enter(key);
  EXPECT_NE(first, second);
  EXPECT_EQ(devices[second].host, "node2");
  EXPECT_EQ(devices.NamedBy(first), 0U) << "not by this input";
  key.host = "node1";
  EXPECT_EQ(devices.Enter(key), first) << "what a source says itself goes before";
  devices.BeginInput();
  key.host.clear();
  key.uuid = "GPU-00000000-0000-0000-0000-000000000000";
  EXPECT_EQ(devices.NamedBy(devices.Enter(key)), DeviceTable::kByPlace) << "a masked UUID is none";
  key.uuid = "GPU-11111111-2222-3333-4444-555555555555";
  EXPECT_EQ(devices.NamedBy(devices.Enter(key)), DeviceTable::kByPlace | DeviceTable::kByUuid);
}

TEST(OwnerLedgerTest, SharesSumToOne) {
  OwnerLedger ledger;
  std::vector<std::string> owners;
  for (int i = 0; i < 23; ++i) {
    owners.push_back("pod " + std::to_string(i));
    ledger.Add(0, owners, At(i * kNanosPerHour), At((i + 1) * kNanosPerHour));
  }
  double sum = 0;
  for (const OwnerLedger::Share& share : ledger.SharesOf(0)) sum += share.fraction;
  EXPECT_NEAR(sum, 1.0, 1e-12);
}

}  // namespace
}  // namespace idleburn
