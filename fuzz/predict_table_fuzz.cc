// Any table of configurations: every key has one line of the answer, and what is predicted is positive.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/result.h"
#include "plan/calibration.h"
#include "text/line_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  idleburn::StringSource in{std::string(reinterpret_cast<const char*>(data), size)};
  const auto table = idleburn::PredictTable(in, idleburn::ShippedCalibration());
  if (!table) return 0;
  CHECK(table->predicted <= table->rows);
  const auto lines = std::count(table->csv.begin(), table->csv.end(), '\n');
  std::size_t repeated = 0;
  for (const auto& [reason, count] : table->reasons)
    repeated += reason.find("answered once") != std::string::npos ? count : 0;
  CHECK(static_cast<std::size_t>(lines) + repeated >= table->rows + 1);
  return 0;
}
