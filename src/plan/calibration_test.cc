#include "plan/calibration.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "plan/model_table.h"

namespace idleburn {
namespace {

TEST(CalibrationTest, TheShippedOneIsWhole) {
  const Calibration& shipped = ShippedCalibration();
  EXPECT_NE(SetFor(shipped.memory, "nobody"), nullptr);
  EXPECT_NE(SetFor(shipped.time, "nobody/x/half"), nullptr);
  EXPECT_EQ(SetFor(shipped.time, "qwen/unknown/half")->key, "qwen");
  EXPECT_GE(shipped.tables.size(), 9U);
  for (const CalibrationTable& table : shipped.tables) EXPECT_EQ(table.sha256.size(), 64U) << table.file;
  for (const auto* sets : {&shipped.memory, &shipped.time}) {
    for (const CoefficientSet& set : *sets) {
      EXPECT_TRUE(std::all_of(set.values.begin(), set.values.end(), [](double v) { return v >= 0 && v < 1000; }))
          << set.key;
    }
  }
  for (const ErrorBand& band : shipped.bands) {
    EXPECT_LE(band.low, 1) << band.framework;
    EXPECT_GE(band.high, 1) << band.framework;
  }
}

TEST(CalibrationTest, NamesBrokenLines) {
  const std::string head = "kind,set,name,value\n";
  for (const char* line :
       {"memory,*,resident,x", "memory,*,nothing,1", "band,memory,low,1", "spell,a,b,1", "band,memory/near/*,low,1"}) {
    const Result<Calibration> read = ReadCalibration(head + line + "\n", "c.csv");
    ASSERT_FALSE(read) << line;
    EXPECT_NE(read.error().message.find("c.csv:2"), std::string::npos) << read.error().message;
  }
}

// The wider interval for what is farther from what was measured.
TEST(CalibrationTest, UnknownFrameworksHaveWiderIntervals) {
  RunRow row;
  row.facts = *FindModel("qwen-7b");
  row.run.sequence = 2048;
  row.run.framework = "qwen";
  const std::optional<Prediction> near = PredictPeakBytes(ShippedCalibration(), row);
  row.run.framework = "nobody";
  const std::optional<Prediction> far = PredictPeakBytes(ShippedCalibration(), row);
  ASSERT_TRUE(near && far);
  EXPECT_EQ(near->nearness, Nearness::kModel);
  EXPECT_EQ(far->nearness, Nearness::kUnknown);
  EXPECT_GT(far->high / far->low, near->high / near->low);
}

// However its model is written, a run is as near.
TEST(CalibrationTest, AModelIsKnownByAnySpelling) {
  RunRow row;
  row.facts = *FindModel("qwen-7b");
  row.run.sequence = 2048;
  row.run.framework = "qwen";
  for (const char* name : {"Qwen/Qwen-7B", "qwen 7b", "Qwen-7B-Chat"}) {
    row.facts.name = name;
    EXPECT_EQ(PredictPeakBytes(ShippedCalibration(), row)->nearness, Nearness::kModel) << name;
  }
  row.facts.name = "qwen-70b";
  EXPECT_EQ(PredictPeakBytes(ShippedCalibration(), row)->nearness, Nearness::kFramework);
}

// Where nobody says what the framework does unless it is told otherwise, its name narrows nothing; of time it does.
TEST(CalibrationTest, UnknownDefaultsAreAsFarAsAStranger) {
  RunRow row;
  row.facts = *FindModel("qwen-7b");
  row.run.sequence = 2048;
  row.run.gpu = "a100_80gb";
  row.run.framework = "qwen";
  const Prediction known = *PredictPeakBytes(ShippedCalibration(), row);
  const Prediction fast = *PredictTokensPerSecond(ShippedCalibration(), row);
  row.defaults_unknown = true;
  const Prediction unsaid = *PredictPeakBytes(ShippedCalibration(), row);
  EXPECT_DOUBLE_EQ(unsaid.likely, known.likely);
  EXPECT_GT(unsaid.high / unsaid.low, 1.5 * known.high / known.low);
  EXPECT_DOUBLE_EQ(PredictTokensPerSecond(ShippedCalibration(), row)->high, fast.high);
  row.run.framework = "nobody";
  const Prediction stranger = *PredictPeakBytes(ShippedCalibration(), row);
  EXPECT_NEAR(stranger.high / stranger.likely, unsaid.high / unsaid.likely, 1e-9);
}

// What a framework did on one GPU says less of another, and of another number format.
TEST(CalibrationTest, OtherGpusHaveWiderIntervals) {
  RunRow row;
  row.facts = *FindModel("mpt-7b");
  row.run.sequence = 2048;
  row.run.micro_batch = 8;
  row.run.framework = "llm-foundry";
  const auto width = [&](const char* gpu, bool fp8, Nearness nearness) {
    row.run.gpu = gpu;
    row.run.fp8 = fp8;
    const std::optional<Prediction> speed = PredictTokensPerSecond(ShippedCalibration(), row);
    EXPECT_EQ(speed->nearness, nearness) << gpu;
    return speed->high / speed->low;
  };
  const double measured = width("a100_80gb", false, Nearness::kModel);
  EXPECT_GT(width("h200", false, Nearness::kGpu), 2 * measured);
  EXPECT_GT(width("l40s", true, Nearness::kGpu), 2 * measured);
  row.run.framework = "qwen";  // of which one GPU was measured
  width("a100_80gb", false, Nearness::kFramework);
  width("h100", false, Nearness::kGpu);
}

}  // namespace
}  // namespace idleburn
