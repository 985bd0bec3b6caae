#include "isolate/reading.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

namespace idleburn {
namespace {

WorkRate PerSecond(double rate) { return {WorkUnit::kStep, 1'000'000, Nanos(static_cast<std::int64_t>(1e15 / rate))}; }

KnobResult Result(std::string_view knob, std::optional<double> ratio, const std::vector<std::array<double, 2>>& pairs) {
  KnobResult result;
  result.knob = FindKnob(knob);
  result.status = KnobStatus::kMeasured;
  result.resource_ratio = ratio;
  for (const auto& [before, after] : pairs) result.pairs.push_back({PerSecond(before), PerSecond(after)});
  return result;
}

// The same by another way: the geometric mean and its spread, t from the printed table, no logarithm of base e.
struct Twin {
  double effect, low, high, sensitivity;
};
Twin NaiveTwin(const std::vector<std::array<double, 2>>& pairs, double ratio, double t) {
  const auto n = static_cast<double>(pairs.size());
  double product = 1;
  for (const auto& [before, after] : pairs) product *= after / before;
  const double mean = std::pow(product, 1 / n);
  double squares = 0;
  for (const auto& [before, after] : pairs) squares += std::pow(std::log2(after / before / mean), 2);
  const double factor = std::exp2(t * std::sqrt(squares / (n * (n - 1))));
  return {mean - 1, mean / factor - 1, mean * factor - 1, std::log2(mean) / std::log2(ratio)};
}

TEST(ReadingTest, EffectSensitivityAndIntervalsAreThoseOfANaiveTwin) {
  struct Case {
    std::vector<std::array<double, 2>> pairs;
    double ratio;
    double t;
  };
  const std::vector<Case> cases = {
      {{{10, 5.2}, {10.4, 5.1}, {9.8, 5.4}}, 0.5, 4.302653},
      {{{10, 9.7}, {11, 10.9}, {9, 9.4}, {10, 10.1}}, 1.0 / 3, 3.182446},
      {{{4, 7}, {4.2, 7.7}}, 2, 12.706205},
  };
  for (const Case& c : cases) {
    const KnobReading reading = ReadKnob(Result("cpu_affinity", c.ratio, c.pairs));
    const Twin twin = NaiveTwin(c.pairs, c.ratio, c.t);
    EXPECT_NEAR(reading.effect, twin.effect, 1e-6);
    ASSERT_TRUE(reading.effect_interval && reading.sensitivity && reading.sensitivity_interval);
    EXPECT_NEAR(reading.effect_interval->low, twin.low, 1e-4 * std::abs(twin.low) + 1e-6);
    EXPECT_NEAR(reading.effect_interval->high, twin.high, 1e-4 * std::abs(twin.high) + 1e-6);
    EXPECT_NEAR(*reading.sensitivity, twin.sensitivity, 1e-6);
    const double at_low = std::log(1 + twin.low) / std::log(c.ratio);
    const double at_high = std::log(1 + twin.high) / std::log(c.ratio);
    EXPECT_NEAR(reading.sensitivity_interval->low, std::min(at_low, at_high), 1e-3);
    EXPECT_NEAR(reading.sensitivity_interval->high, std::max(at_low, at_high), 1e-3);
  }
}

TEST(ReadingTest, InProportionIsOneAndUnmovedIsNone) {
  const KnobReading bound = ReadKnob(Result("cpu_affinity", 0.25, {{{8, 2}}, {{12, 3}}}));
  EXPECT_NEAR(*bound.sensitivity, 1, 1e-9);
  EXPECT_EQ(bound.finding, KnobFinding::kBounds);
  const KnobReading free = ReadKnob(Result("cpu_affinity", 0.5, {{{8, 8}}, {{12, 12}}}));
  EXPECT_NEAR(*free.sensitivity, 0, 1e-9);
  EXPECT_EQ(free.finding, KnobFinding::kNone);
}

TEST(ReadingTest, FindingsFollowTheIntervalAndTheSign) {
  const auto finding = [](const char* knob, std::optional<double> ratio, const std::vector<std::array<double, 2>>& p) {
    return ReadKnob(Result(knob, ratio, p)).finding;
  };
  EXPECT_EQ(finding("cpu_quota", 0.5, {{{10, 8}}, {{10, 8.01}}, {{10, 7.99}}}), KnobFinding::kPartly);  // s = .32
  // A sensitivity of a half in the midst of its interval: .45 to .55, say.
  EXPECT_EQ(finding("cpu_quota", 0.5, {{{10, 7}}, {{10, 7.1}}, {{10, 7.15}}}), KnobFinding::kAtLeastPartly);
  EXPECT_EQ(finding("cpu_quota", 0.5, {{{10, 5}}, {{10, 5.01}}, {{10, 4.99}}}), KnobFinding::kBounds);
  EXPECT_EQ(finding("cpu_quota", 0.5, {{{10, 12}}, {{10, 12.1}}}), KnobFinding::kOpposite);
  EXPECT_EQ(finding("cpu_quota", 0.5, {{{10, 5}}, {{10, 12}}}), KnobFinding::kNotShown);
  EXPECT_EQ(finding("cpu_quota", 0.5, {{{10, 5}}}), KnobFinding::kOneRound);
  EXPECT_EQ(finding("cpu_quota", 0.5, {{{10, 9.9}}, {{10, 9.901}}}), KnobFinding::kNone);  // surely 1 %, and too little
  EXPECT_EQ(finding("workers", 2, {{{10, 12}}, {{10, 12.01}}}), KnobFinding::kBounds);  // takes nothing: no "in part"
  EXPECT_EQ(finding("workers", 2, {{{10, 8}}, {{10, 8.01}}}), KnobFinding::kOpposite);
  EXPECT_EQ(finding("synthetic_data", std::nullopt, {{{10, 30}}, {{10, 30.1}}}), KnobFinding::kBounds);
  EXPECT_FALSE(ReadKnob(Result("synthetic_data", std::nullopt, {{{10, 30}}, {{10, 31}}})).sensitivity);
  EXPECT_FALSE(ReadKnob(Result("cpu_quota", 0.5, {{{10, 5}}})).effect_interval);
}

}  // namespace
}  // namespace idleburn
