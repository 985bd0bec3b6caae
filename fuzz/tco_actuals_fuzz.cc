// Any text is a bill or is not; a variance is what was paid less what was planned, and the months add up.
#include <string>

#include "base/result.h"
#include "tco/actuals.h"
#include "tco/scenario_file.h"
#include "text/line_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  idleburn::StringSource in(std::string(reinterpret_cast<const char*>(data), size));
  idleburn::StringSource again(std::string(reinterpret_cast<const char*>(data), size));
  const auto file = idleburn::ReadTcoFile("x.toml", idleburn::TcoTemplate(), "2026-11-21");
  const auto bill = idleburn::ReadActuals(in, file->plans.front());
  if (!bill) return 0;
  const auto tagged = idleburn::ReadActuals(again, file->plans.front(), {{"team", "vision"}});
  CHECK(!tagged || tagged->rows.size() + static_cast<std::size_t>(tagged->untagged) == bill->rows.size());
  const auto report = idleburn::CompareWithPlan(file->plans.front(), *bill, idleburn::Fraction::Of(4, 5), "2026-11-21");
  if (!report) return 0;
  std::int64_t expected = 0;
  for (const idleburn::MonthForecast& month : report->forecast) expected += month.expected.nano();
  CHECK(report->forecast.empty() || expected == report->expected.nano());
  for (const idleburn::MonthVariance& month : report->months) {
    CHECK(month.variance.nano() == month.actual.nano() - month.plan.nano());
  }
  return 0;
}
