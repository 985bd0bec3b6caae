// Any table of configurations: every row has one line of the answer, and what is predicted is positive.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/check.h"
#include "plan/predict_table.h"
#include "text/line_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  idleburn::StringSource in{std::string(reinterpret_cast<const char*>(data), size)};
  const auto table = idleburn::PredictTable(in, idleburn::ShippedCalibration());
  if (!table) return 0;
  CHECK(table->predicted <= table->rows);
  const auto lines = std::count(table->csv.begin(), table->csv.end(), '\n');
  CHECK(static_cast<std::size_t>(lines) >= table->rows + 1);
  return 0;
}
