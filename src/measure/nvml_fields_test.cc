#include "measure/nvml_fields.h"

#include <gtest/gtest.h>

namespace idleburn {
namespace {

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

}  // namespace
}  // namespace idleburn
