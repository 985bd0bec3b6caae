#include "cli/scenario_errors.h"

#include "cli/read_input.h"
#include "os/input_file.h"
#include "tco/actuals.h"
#include "tco/scenario_file.h"
#include "text/time_zone.h"

namespace idleburn {

Result<std::vector<JudgedForecast>> ScenarioForecasts(const std::string& scenario, const std::string& actuals,
                                                      Instant now) {
  constexpr std::size_t kMostBytes = 1 << 20;
  const std::string today = FormatDay(now);
  const Result<std::string> text = ReadInput(scenario, kMostBytes);
  if (!text) return tl::unexpected<Error>(text.error());
  const Result<TcoFile> file = ReadTcoFile(scenario, *text, today);
  if (!file) return tl::unexpected<Error>(file.error());
  const TcoPlan& plan = file->plans.front();
  Result<std::unique_ptr<ByteSource>> paid = OpenInput(actuals);
  if (!paid) return tl::unexpected<Error>(paid.error());
  const Result<ActualBill> bill = ReadActuals(**paid, plan);
  if (!bill) return tl::unexpected<Error>(bill.error());
  const Result<ActualReport> report = CompareWithPlan(plan, *bill, std::nullopt, today);
  if (!report) return tl::unexpected<Error>(report.error());
  std::vector<JudgedForecast> judged;
  for (const auto& [month, error] : report->forecast_errors) {
    const double share = 1 + error;  // of what was paid, as the plan had it; a plan is one figure
    judged.push_back({plan.name, month, ForecastQuantity::kScenarioCost, {share, share, share}, 1});
  }
  return judged;
}

}  // namespace idleburn
