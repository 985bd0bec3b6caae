#include "telemetry/byte_coding.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "support/property.h"

namespace idleburn {
namespace {

using Values = std::vector<std::int64_t>;

std::string Encoded(const Values& values, CodingEffort effort = CodingEffort::kSmallest) {
  ColumnEncoder encoder;
  std::string bytes;
  encoder.Encode(values, effort, bytes);
  return bytes;
}

bool Decoded(std::string_view bytes, std::size_t count, Values* values) {
  ColumnDecoder decoder;
  ByteCursor cursor(bytes);
  values->assign(count, -1);
  return decoder.Decode(cursor, *values) && cursor.empty();
}

// The number of the coding that was chosen; the values come back.
std::size_t ChosenFor(const Values& values) {
  const std::string bytes = Encoded(values);
  Values back;
  EXPECT_TRUE(Decoded(bytes, values.size(), &back));
  EXPECT_EQ(back, values);
  return static_cast<std::size_t>(bytes.front());
}

TEST(ColumnCodecTest, AnyValuesComeBack) {
  test::ExpectProperty("round trip", [] {
    const auto values = *rc::gen::container<Values>(rc::gen::arbitrary<std::int64_t>());
    for (const CodingEffort effort : {CodingEffort::kQuick, CodingEffort::kSmallest}) {
      Values back;
      RC_ASSERT(Decoded(Encoded(values, effort), values.size(), &back));
      RC_ASSERT(back == values);
    }
  });
}

TEST(ColumnCodecTest, ExtremesComeBack) {
  const Values values = {INT64_MIN, INT64_MAX, 0, -1, INT64_MIN, INT64_MIN, INT64_MAX, 1};
  for (const CodingEffort effort : {CodingEffort::kQuick, CodingEffort::kSmallest}) {
    Values back;
    EXPECT_TRUE(Decoded(Encoded(values, effort), values.size(), &back));
    EXPECT_EQ(back, values);
  }
  EXPECT_EQ(Encoded({}), "");
}

// Numbers of every width, so that every branch of every layout is taken.
TEST(ColumnCodecTest, EveryCodingHoldsNumbersOfEveryWidth) {
  std::mt19937_64 random(11);
  for (std::size_t c = 0; c < kColumnCodings.size(); ++c) {
    for (unsigned width = 0; width <= 64; ++width) {
      Values values(300);
      for (std::int64_t& v : values) v = width == 0 ? 5 : static_cast<std::int64_t>(random() >> (64 - width));
      ColumnEncoder encoder;
      std::string bytes;
      encoder.EncodeAs(c, values, bytes);
      Values back;
      ASSERT_TRUE(Decoded(bytes, values.size(), &back)) << c << " " << width;
      ASSERT_EQ(back, values) << c << " " << width;
    }
  }
}

TEST(ColumnCodecTest, EachKindOfColumnHasItsCoding) {
  std::mt19937_64 random(5);
  Values flat(4800, 700'000);
  EXPECT_LT(Encoded(flat).size(), 12U);
  Values states(4800);
  for (std::size_t i = 0; i < states.size(); ++i) states[i] = static_cast<std::int64_t>(i / 700 * 37 % 5);
  EXPECT_EQ(ChosenFor(states), 0U);
  Values ramp(4800);
  std::iota(ramp.begin(), ramp.end(), 1'700'000'000);
  EXPECT_EQ(ChosenFor(ramp), 1U);
  Values walk(4800);
  for (std::size_t i = 1; i < walk.size(); ++i) walk[i] = walk[i - 1] + static_cast<std::int64_t>(random() % 11) - 5;
  EXPECT_EQ(kColumnCodings[ChosenFor(walk)].mapping, ColumnMapping::kDelta);
  Values counter(4800);
  for (std::size_t i = 1, rate = 70'000; i < counter.size(); ++i, rate += random() % 9 - 4) {
    counter[i] = counter[i - 1] + static_cast<std::int64_t>(rate);
  }
  EXPECT_EQ(kColumnCodings[ChosenFor(counter)].mapping, ColumnMapping::kDeltaOfDelta);
  Values noise(4800);
  for (std::int64_t& v : noise) v = static_cast<std::int64_t>(random() >> 53);  // 11 bits
  EXPECT_EQ(kColumnCodings[ChosenFor(noise)].mapping, ColumnMapping::kPlain);
  EXPECT_LT(Encoded(noise).size(), 4800U * 11 / 8 + 80);
}

TEST(ColumnCodecTest, DividesByWhatAllValuesShare) {
  std::mt19937_64 random(5);
  Values units(4800);
  for (std::int64_t& v : units) v = static_cast<std::int64_t>(random() % 100);
  Values scaled = units;
  for (std::int64_t& v : scaled) v = 37 + v * 1'048'576;
  EXPECT_LE(Encoded(scaled).size(), Encoded(units).size() + 4);
}

TEST(ColumnCodecTest, DamageIsSeenOrYieldsOtherValuesNeverMore) {
  std::mt19937_64 random(3);
  Values values(200);
  for (std::int64_t& v : values) v = static_cast<std::int64_t>(random() % 1000);
  const std::string bytes = Encoded(values);
  Values back;
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(Decoded(std::string_view(bytes).substr(0, size), values.size(), &back)) << size;
  }
  EXPECT_FALSE(Decoded(bytes, values.size() + 200, &back));
  for (int i = 0; i < 20'000; ++i) {
    std::string damaged = bytes;
    damaged[random() % damaged.size()] = static_cast<char>(random());
    Decoded(damaged, values.size(), &back);  // under the sanitizers: within its bounds
  }
}

}  // namespace
}  // namespace idleburn
