#include "import/percent_guard.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "support/collecting_sink.h"

namespace idleburn {
namespace {

using testing::Collected;

// What the guard made of readings of one field, in micro-percent.
struct Guarded {
  std::vector<std::int64_t> passed;
  std::size_t unavailable = 0;
  std::string error;
  bool unproven = false;
};

Guarded Guard(const std::vector<std::int64_t>& values, const std::string& counter,
              const std::map<std::string, PercentUnit>& units = {}) {
  Collected out;
  DeviceKey key;
  key.index = 0;
  const DeviceId device = out.devices.Enter(key);
  out.devices.NameCounter(device, Signal::kUtilization, counter);
  ImportOptions options;
  options.units = units;
  PercentGuard guard(out, out.devices, options);
  for (const std::int64_t value : values) {
    Sample s;
    s.device = device;
    s.Set(Signal::kUtilization, value);
    s.Set(Signal::kPower, 100'000);
    guard.OnSamples({&s, 1});
  }
  Guarded result;
  const Result<void> checked = guard.Check("f", out.quality);
  result.error = checked ? "" : checked.error().message;
  result.unproven = out.quality.CountOf(QualityId::kScaleUnproven) == 1;
  for (const Sample& s : out.samples) {
    EXPECT_EQ(s.Get(Signal::kPower), 100'000);
    if (s.Has(Signal::kUtilization)) result.passed.push_back(s.Get(Signal::kUtilization));
    result.unavailable += s.Lacks(Signal::kUtilization) ? 1U : 0U;
  }
  return result;
}

const std::string kDcgm = "dcgm.DCGM_FI_DEV_GPU_UTIL";
constexpr std::int64_t kHalf = kPercent / 2;

TEST(PercentGuard, FractionsThatNeverExceedOneAreRefusedInEverySource) {
  for (const char* counter : {"dcgm.DCGM_FI_DEV_GPU_UTIL", "dcgm.DCGM_FI_DEV_GPU_UTIL_RATIO", "nvitop.gpu_utilization",
                              "nvidia_smi.utilization.gpu [%]", "nvidia_smi_dmon.sm", "telegraf.utilization_gpu",
                              "cloudwatch.nvidia_smi_utilization_gpu", "gcp.gpu/utilization", "jobstats.duty_cycle"}) {
    const std::string error = Guard({0, kHalf, kPercent}, counter).error;
    EXPECT_NE(error.find("never exceeds 1: ratio or percent? Say --unit ratio or --unit percent"), std::string::npos)
        << counter << ": " << error;
    EXPECT_EQ(Guard({0, kHalf, 37 * kPercent}, counter).error, "") << counter;
  }
}

TEST(PercentGuard, FieldsOfRatiosAndColumnsOfTheUserAreLeftAlone) {
  for (const char* counter :
       {"nvidia_smi_exporter.utilization_gpu_ratio", "csv.util", "parquet.util", "jobstats.graphics_util_percent"}) {
    EXPECT_EQ(Guard({0, kHalf, kPercent}, counter).error, "") << counter;
  }
}

TEST(PercentGuard, OnlyZerosAndOnesAreADoubtWhereNoUnitIsWritten) {
  EXPECT_TRUE(Guard({0, kPercent, 0}, kDcgm).unproven);
  EXPECT_FALSE(Guard({0, 0}, kDcgm).unproven);
  EXPECT_FALSE(Guard({0, kPercent, 2 * kPercent}, kDcgm).unproven);
  EXPECT_FALSE(Guard({0, kPercent}, "nvidia_smi.utilization.gpu [%]").unproven);
  EXPECT_FALSE(Guard({0, kPercent}, kDcgm, {{"", PercentUnit::kHundred}}).unproven);
}

TEST(PercentGuard, TheUserDecides) {
  const std::vector<std::int64_t> values = {0, kHalf, kPercent};
  for (const char* name : {"", "DCGM_FI_DEV_GPU_UTIL"}) {
    const Guarded percent = Guard(values, kDcgm, {{name, PercentUnit::kHundred}});
    EXPECT_EQ(percent.error, "");
    EXPECT_EQ(percent.passed, values);
    const Guarded ratio = Guard(values, kDcgm, {{name, PercentUnit::kOne}});
    EXPECT_EQ(ratio.error, "");
    EXPECT_EQ(ratio.passed, (std::vector<std::int64_t>{0, 50 * kPercent, kFull}));
  }
  EXPECT_NE(Guard(values, kDcgm, {{"DCGM_FI_DEV_MEM_COPY_UTIL", PercentUnit::kOne}}).error, "");
  EXPECT_NE(Guard({kHalf, 37 * kPercent}, kDcgm, {{"", PercentUnit::kOne}}).error.find("exceeds 1, so it is no ratio"),
            std::string::npos);
}

// The rule as it is written down, over whole files.
RC_GTEST_PROP(PercentGuard, AgreesWithTheRule, ()) {
  const auto values = *rc::gen::container<std::vector<std::int64_t>>(rc::gen::element<std::int64_t>(
      0, 1, kPercent / 4, kHalf, kPercent, kPercent, 3 * kHalf, 2 * kPercent, 60 * kPercent));
  bool fraction = false;
  std::int64_t most = 0;
  for (const std::int64_t value : values) {
    fraction = fraction || value % kPercent != 0;
    most = std::max(most, value);
  }
  const Guarded guarded = Guard(values, kDcgm);
  RC_ASSERT(guarded.error.empty() == !(fraction && most <= kPercent));
  RC_ASSERT(guarded.unproven == (!fraction && most == kPercent));
  RC_ASSERT(guarded.passed == values);
}

}  // namespace
}  // namespace idleburn
