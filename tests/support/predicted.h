#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "plan/calibration.h"
#include "text/line_reader.h"

namespace idleburn::test {

// What is predicted of a table that is one.
inline PredictedTable Predicted(const std::string& csv) {
  StringSource in{csv, "rows.csv"};
  Result<PredictedTable> table = PredictTable(in, ShippedCalibration());
  EXPECT_TRUE(table) << table.error().message;
  return table ? std::move(*table) : PredictedTable{};
}

}  // namespace idleburn::test
