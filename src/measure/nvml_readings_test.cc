#include "measure/nvml_readings.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "support/property.h"
#include "telemetry/sample.h"

namespace idleburn {

namespace {

Instant At(double seconds) { return Instant::FromNanos(static_cast<std::int64_t>(seconds * 1e9)); }

TEST(CounterRate, IsTheDifferenceOverTimeAlsoAcrossAWrap) {
  CounterRate rate(10'000'000'000);
  EXPECT_FALSE(rate.Take(0xFFFF'FF00, 32, At(0)).has_value());
  EXPECT_EQ(rate.Take(0x0000'0100, 32, At(0.5)), 2 * 0x200);
  EXPECT_EQ(rate.Take(0x0000'0100, 32, At(1)), 0);
}

TEST(CounterRate, FasterThanAnyLinkIsACounterThatBeganAnew) {
  CounterRate rate(1'000'000);
  rate.Take(5'000'000'000, 64, At(0));
  EXPECT_FALSE(rate.Take(100, 64, At(1)).has_value());
  EXPECT_EQ(rate.Take(1'000'100, 64, At(2)), 1'000'000);
  EXPECT_EQ(rate.Take(2'100'100, 64, At(3)), 1'100'000);  // a tenth more is believed
  EXPECT_FALSE(rate.Take(3'300'000, 64, At(4)).has_value());
  EXPECT_FALSE(rate.Take(3'400'000, 64, At(4)).has_value());  // no time passed
}

using nvml::ValueType;

nvml::Value Bits(std::uint64_t bits) {
  nvml::Value value{};
  value.u64 = bits;
  return value;
}

TEST(NvmlFields, ValuesAreReadByTheirType) {
  EXPECT_EQ(IntegerOf(Bits(0x1'0000'0005), ValueType::kUint), 5U);
  EXPECT_EQ(IntegerOf(Bits(0x1'0000'0005), ValueType::kUlonglong), 0x1'0000'0005U);
  EXPECT_EQ(IntegerOf(Bits(7), ValueType::kInt), 7U);
  EXPECT_EQ(IntegerOf(Bits(9), ValueType::kUshort), 9U);
  EXPECT_FALSE(IntegerOf(Bits(nvml::kNone32), ValueType::kUint).has_value());
  EXPECT_FALSE(IntegerOf(Bits(nvml::kNone64), ValueType::kUlonglong).has_value());
  EXPECT_FALSE(IntegerOf(Bits(nvml::kNone64), ValueType::kLonglong).has_value());
  EXPECT_FALSE(IntegerOf(Bits(0), ValueType::kDouble).has_value());
  EXPECT_EQ(BitsOf(ValueType::kUint), 32);
  EXPECT_EQ(BitsOf(ValueType::kUlonglong), 64);
}

std::array<nvml::FieldValue, 3> Fields(std::uint64_t value, ValueType type = ValueType::kUlonglong,
                                       nvml::Return result = nvml::kSuccess) {
  std::array<nvml::FieldValue, 3> fields{};
  for (nvml::FieldValue& field : fields) {
    field.type = type;
    field.result = result;
    field.value.u64 = value;
  }
  return fields;
}

constexpr Nanos kSecond(kNanosPerSecond);

TEST(SlowdownFields, ThreeReadingsThatCouldBeTimeSettleTheIds) {
  SlowdownFields fields("13.580.95");
  EXPECT_EQ(fields.Candidate(), nvml::kFieldSlowdowns);
  for (int i = 0; i < 3; ++i) fields.Judge(Fields(500'000'000U * static_cast<unsigned>(i)), i * kSecond);
  EXPECT_EQ(fields.ids(), nvml::kFieldSlowdowns);
  EXPECT_FALSE(fields.Candidate().has_value());
}

TEST(SlowdownFields, WhatIsNoTimeIsNotBelieved) {
  struct Case {
    const char* what;
    std::uint64_t second;
    ValueType type;
    nvml::Return result;
  };
  for (const Case& c :
       {Case{"falls", 99, ValueType::kUlonglong, 0},
        Case{"counts more than passed", 100 + 1'060'000'000, ValueType::kUlonglong, 0},
        Case{"is narrow", 100, ValueType::kUint, 0}, Case{"fails", 100, ValueType::kUlonglong, nvml::kNotSupported}}) {
    SlowdownFields fields("12.570");
    EXPECT_EQ(fields.Candidate(), nvml::kFieldSlowdownsBefore13);
    fields.Judge(Fields(100), kSecond);
    fields.Judge(Fields(c.second, c.type, c.result), 2 * kSecond);
    EXPECT_EQ(fields.Candidate(), nvml::kFieldSlowdowns) << c.what;
    fields.Judge(Fields(1, ValueType::kUint), 3 * kSecond);
    EXPECT_FALSE(fields.Candidate().has_value());  // neither: unknown
    EXPECT_FALSE(fields.ids().has_value());
  }
}

constexpr std::int64_t kLater = 1'000'000'000;  // than all stamps
constexpr auto kUint = static_cast<std::uint32_t>(nvml::ValueType::kUint);

nvml::DriverSample At(std::int64_t us, std::uint32_t percent) {
  nvml::DriverSample sample{};
  sample.timestamp = static_cast<std::uint64_t>(us);
  sample.value.u32 = percent;
  return sample;
}

TEST(UtilizationRing, GivesEachStampOnceInOrderWhateverTheDriverRepeats) {
  UtilizationRing ring(1000);
  const std::vector<nvml::DriverSample> first = {At(900, 1), At(3000, 30), At(2000, 20), At(3000, 30)};
  const auto readings = ring.Take(first, kUint, kLater);
  ASSERT_EQ(readings.size(), 2U);
  EXPECT_EQ(readings[0].stamp_us, 2000);
  EXPECT_EQ(readings[0].value, 20 * kPercent);
  EXPECT_EQ(readings[1].stamp_us, 3000);
  EXPECT_EQ(ring.Take(first, kUint, kLater).size(), 0U);
  EXPECT_EQ(ring.ask_from_us(), 3000);
}

TEST(UtilizationRing, ValuesNoShareCanHaveAreNoValues) {
  UtilizationRing ring(0);
  const std::vector<nvml::DriverSample> bad = {At(1, 101), At(2, 0xFFFFFFFF), At(3, 100)};
  const auto readings = ring.Take(bad, kUint, kLater);
  EXPECT_FALSE(readings[0].value.has_value());
  EXPECT_FALSE(readings[1].value.has_value());
  EXPECT_EQ(readings[2].value, kFull);
}

TEST(UtilizationRing, WindowIsTheMedianDistanceAndJumpsAreGaps) {
  UtilizationRing ring(0);
  std::int64_t stamp = 1'000'000;
  std::vector<nvml::DriverSample> samples = {At(stamp, 5)};
  for (int i = 0; i < 20; ++i) samples.push_back(At(stamp += i % 5 == 0 ? 170'000 : 166'000, 5));
  for (const auto& reading : ring.Take(samples, kUint, kLater)) EXPECT_FALSE(reading.gap);
  EXPECT_EQ(ring.window(), Nanos(166'000'000));
  const std::vector<nvml::DriverSample> later = {At(stamp += 333'000, 5), At(stamp += 332'000, 5)};
  const auto readings = ring.Take(later, kUint, kLater);
  EXPECT_TRUE(readings[0].gap);   // more than two windows
  EXPECT_FALSE(readings[1].gap);  // two
}

// However a stream of stamps is cut into calls that overlap: the readings are the same.
TEST(UtilizationRing, DoesNotDependOnHowOftenItIsRead) {
  test::ExpectProperty("ring", [] {
    const auto gaps = *rc::gen::nonEmpty(rc::gen::container<std::vector<int>>(rc::gen::inRange(1, 400'000)));
    std::vector<nvml::DriverSample> all;
    std::int64_t stamp = 10;
    for (const int gap : gaps) all.push_back(At(stamp += gap, static_cast<std::uint32_t>(gap % 101)));
    UtilizationRing ring(10);
    std::vector<std::int64_t> seen;
    for (std::size_t end = 0; end < all.size();) {
      end = std::min(all.size(), end + static_cast<std::size_t>(*rc::gen::inRange(1, 9)));
      const std::size_t begin = end - std::min<std::size_t>(end, 20);
      const auto readings = ring.Take({all.data() + begin, end - begin}, kUint, kLater);
      for (const auto& r : readings) seen.push_back(r.stamp_us);
    }
    RC_ASSERT(seen.size() == all.size());
    for (std::size_t i = 0; i < all.size(); ++i) RC_ASSERT(seen[i] == static_cast<std::int64_t>(all[i].timestamp));
  });
}

TEST(UtilizationRing, StampsOfAnotherClockAreNoTimeOfOurs) {
  UtilizationRing ring(1'000'000'000);
  const std::vector<nvml::DriverSample> strange = {At(5'000'000, 10), At(9'000'000'000, 10)};  // since boot; ahead
  EXPECT_TRUE(ring.Take(strange, kUint, 1'000'500'000).empty());
}

// A driver's ring of 100 entries whose stamps stay what they were, read every 0.2 s while the clock is set again and
// again, by less and by more than the ring holds: each entry is had once, where it was published by the clock that does
// not move.
TEST(UtilizationRing, HoweverTheClockIsSetEachEntryIsHadOnceAndInItsPlace) {
  test::ExpectProperty("steps", [] {
    constexpr std::int64_t kWindow = 166'667;
    std::int64_t offset = 1'700'000'000'000'000;  // wall clock less monotonic
    std::int64_t now = 0;                         // monotonic
    std::vector<nvml::DriverSample> kept;
    std::vector<std::int64_t> published;
    const auto advance = [&](std::int64_t until) {
      while ((static_cast<std::int64_t>(published.size()) + 1) * kWindow <= until) {
        published.push_back((static_cast<std::int64_t>(published.size()) + 1) * kWindow);
        kept.push_back(At(published.back() + offset, 50));
        if (kept.size() > 100) kept.erase(kept.begin());
      }
      now = until;
    };
    advance(10'000'000 + *rc::gen::inRange(0, 200'000));
    const std::size_t before = published.size();
    UtilizationRing ring(now + offset);
    std::vector<std::int64_t> had;
    const int steps = *rc::gen::inRange(1, 4);
    for (int step = 0; step <= steps; ++step) {
      const int reads = *rc::gen::inRange(1, 60);
      for (int read = 0; read < reads; ++read) {
        advance(now + 200'000);
        std::vector<nvml::DriverSample> answer;
        for (const nvml::DriverSample& entry : kept) {
          if (static_cast<std::int64_t>(entry.timestamp) > ring.ask_from_us()) answer.push_back(entry);
        }
        for (const auto& r : ring.Take(answer, kUint, now + offset)) had.push_back(r.stamp_us - offset);
      }
      // Never whole windows, also of several steps together: no stamps of a real driver meet again.
      const std::int64_t span = *rc::gen::inRange(1, 40) * 1'000'000 + 50'003 + 1000 * step;
      const std::int64_t set = *rc::gen::arbitrary<bool>() ? span : -span;
      offset += set;
      advance(now + 10'000);
      ring.MoveWall(Nanos(1000 * set), now + offset);
    }
    RC_ASSERT(had.size() <= published.size() - before);
    for (std::size_t i = 0; i < had.size(); ++i) RC_ASSERT(had[i] == published[before + i]);
    RC_ASSERT(had.size() + 3 >= published.size() - before);  // what was published since the last read
  });
}

Sample At(std::int64_t time, Signal signal, std::int64_t value) {
  Sample sample;
  sample.time = Instant::FromNanos(time);
  sample.Set(signal, value);
  return sample;
}

TEST(HeldSamples, PassesOnInOrderAndNoLaterThanAsked) {
  HeldSamples held;
  held.Add(At(30, Signal::kPower, 3));
  held.Add(At(10, Signal::kPower, 1));
  held.Add(At(20, Signal::kPower, 2));
  std::vector<Sample> out;
  held.Release(Instant::FromNanos(20), out);
  ASSERT_EQ(out.size(), 2U);
  EXPECT_EQ(out[0].Get(Signal::kPower), 1);
  EXPECT_EQ(out[1].Get(Signal::kPower), 2);
  held.Add(At(15, Signal::kPower, 9));  // too late
  EXPECT_EQ(held.too_late(), 1);
  held.Release(Instant::FromNanos(99), out);
  ASSERT_EQ(out.size(), 3U);
  EXPECT_EQ(out[2].Get(Signal::kPower), 3);
}

TEST(HeldSamples, ReadingsOfOneMomentAreOneSample) {
  HeldSamples held;
  held.Add(At(10, Signal::kPower, 1));
  Sample other = At(10, Signal::kUtilization, 7);
  other.SetUnavailable(Signal::kSmClock, Unobserved::kPermission);
  held.Add(other);
  std::vector<Sample> out;
  held.Release(Instant::FromNanos(10), out);
  ASSERT_EQ(out.size(), 1U);
  EXPECT_EQ(out[0].Get(Signal::kPower), 1);
  EXPECT_EQ(out[0].Get(Signal::kUtilization), 7);
  EXPECT_TRUE(out[0].Lacks(Signal::kSmClock));
  EXPECT_EQ(out[0].reason, Unobserved::kPermission);
}

TEST(HeldSamples, WhatAnotherSaidForbidsWhatIsOlder) {
  HeldSamples held;
  held.Add(At(10, Signal::kPower, 1));
  held.Add(At(20, Signal::kPower, 2));
  held.Forbid(Instant::FromNanos(15));
  held.Add(At(12, Signal::kPower, 3));
  std::vector<Sample> out;
  held.Release(Instant::FromNanos(99), out);
  ASSERT_EQ(out.size(), 1U);
  EXPECT_EQ(out[0].Get(Signal::kPower), 2);
  EXPECT_EQ(held.too_late(), 2);
}

TEST(HeldSamples, PassingOnIsAddingAndReleasing) {
  test::ExpectProperty("passed", [] {
    HeldSamples two_steps;
    HeldSamples one_step;
    std::vector<Sample> expected;
    std::vector<Sample> out;
    for (const int time : *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 100))) {
      const Sample sample = At(time, Signal::kPower, time);
      const Instant until = Instant::FromNanos(time + *rc::gen::inRange(-10, 10));
      two_steps.Add(sample);
      two_steps.Release(until, expected);
      one_step.Pass(sample, until, out);
    }
    RC_ASSERT(one_step.too_late() == two_steps.too_late());
    RC_ASSERT(out.size() == expected.size());
    for (std::size_t i = 0; i < out.size(); ++i) RC_ASSERT(out[i].time == expected[i].time);
  });
}

TEST(HeldSamples, NothingIsLostAndStampsRise) {
  test::ExpectProperty("held", [] {
    HeldSamples held;
    std::vector<Sample> out;
    std::int64_t added = 0;
    std::int64_t merged = 0;
    for (const int time : *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 200))) {
      std::vector<Sample> before;
      HeldSamples copy = held;
      copy.Release(Instant::FromNanos(INT64_MAX), before);
      for (const Sample& s : before) merged += s.time.nanos() == time ? 1 : 0;
      held.Add(At(time, Signal::kPower, time));
      ++added;
      if (*rc::gen::inRange(0, 4) == 0) held.Release(Instant::FromNanos(time - 20), out);
    }
    held.Release(Instant::FromNanos(INT64_MAX), out);
    RC_ASSERT(static_cast<std::int64_t>(out.size()) + held.too_late() + merged == added);
    for (std::size_t i = 1; i < out.size(); ++i) RC_ASSERT(out[i - 1].time < out[i].time);
  });
}

}  // namespace

}  // namespace idleburn
