#include "tco/scenario_errors.h"

#include "config/read_input.h"
#include "os/input_file.h"
#include "tco/actuals.h"
#include "tco/scenario_file.h"
#include "text/time_zone.h"

namespace idleburn {

Result<std::vector<JudgedForecast>> ScenarioForecasts(const std::string& scenario, const std::string& actuals,
                                                      Instant now) {
  constexpr std::size_t kMostBytes = 1 << 20;
  const std::string today = FormatDay(now);
  const std::string text = TRY(ReadInput(scenario, kMostBytes));
  const TcoFile file = TRY(ReadTcoFile(scenario, text, today));
  const TcoPlan& plan = file.plans.front();
  std::unique_ptr<ByteSource> paid = TRY(OpenInput(actuals));
  const ActualBill bill = TRY(ReadActuals(*paid, plan));
  const ActualReport report = TRY(CompareWithPlan(plan, bill, std::nullopt, today));
  std::vector<JudgedForecast> judged;
  for (const auto& [month, error] : report.forecast_errors) {
    const double share = 1 + error;  // of what was paid, as the plan had it; a plan is one figure
    judged.push_back({plan.name, month, ForecastQuantity::kScenarioCost, {share, share, share}, 1});
  }
  return judged;
}

}  // namespace idleburn
