#include "measure/held_samples.h"

#include <gtest/gtest.h>

#include "support/property.h"

namespace idleburn {
namespace {

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
