#include "fit/calibrate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <deque>

namespace idleburn {
namespace {

// Left-out rows of a framework with these ratios of measured to predicted.
void Add(std::deque<MeasuredRow>& rows, std::vector<HeldOutRow>& held_out, const std::string& framework,
         const std::vector<double>& ratios) {
  for (const double ratio : ratios) {
    rows.emplace_back();
    rows.back().row.run.framework = framework;
    held_out.push_back({&rows.back(), ratio, 1});
  }
}

TEST(CalibrateTest, AnUnseenFrameworkCarriesWhatLiesBetweenFrameworks) {
  std::deque<MeasuredRow> rows;
  std::vector<HeldOutRow> unknown;
  Add(rows, unknown, "large", std::vector<double>(1000, 1.0));
  Add(rows, unknown, "slow", std::vector<double>(5, 0.5));
  Add(rows, unknown, "fast", std::vector<double>(5, 2.0));
  // Means of 0 and -+log 2 without errors within: -+t(2 degrees, 95 %) x log 2 x sqrt(1 + 1/3), however many rows.
  const RatioBand band = BandFor("*", {}, unknown);
  const double width = std::exp(2.91998558 * std::log(2.0) * std::sqrt(4.0 / 3));
  EXPECT_NEAR(band.low, 1 / width, 1e-6);
  EXPECT_NEAR(band.high, width, 1e-4);
}

TEST(CalibrateTest, AFrameworkOfManyRowsIsJudgedByItsOwn) {
  std::deque<MeasuredRow> rows;
  std::vector<HeldOutRow> unknown;
  std::vector<HeldOutRow> known;
  Add(rows, unknown, "other", std::vector<double>(20, 3.0));
  Add(rows, known, "mine", std::vector<double>(30, 1.1));
  EXPECT_DOUBLE_EQ(BandFor("mine", known, unknown).high, 1.1);
  known.resize(8);  // of few rows the others' errors stand for the missing ones
  EXPECT_DOUBLE_EQ(BandFor("mine", known, unknown).high, 3.0);
  EXPECT_DOUBLE_EQ(BandFor("mine", known, unknown).low, 1.1);
}

// What its own errors were while it was left out says nothing of a framework that is known.
TEST(CalibrateTest, AFrameworkIsNoStrangerToItself) {
  std::deque<MeasuredRow> rows;
  std::vector<HeldOutRow> unknown;
  std::vector<HeldOutRow> known;
  Add(rows, unknown, "mine", std::vector<double>(20, 9.0));
  Add(rows, unknown, "other", std::vector<double>(20, 2.0));
  Add(rows, known, "mine", std::vector<double>(3, 1.0));
  EXPECT_DOUBLE_EQ(BandFor("mine", known, unknown).high, 2.0);
}

TEST(CalibrateTest, WrittenAndReadAgain) {
  const std::string csv = CalibrationCsv(ShippedCalibration());
  const Result<Calibration> read = ReadCalibration(csv, "again.csv");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(CalibrationCsv(*read), csv);
}

}  // namespace
}  // namespace idleburn
