#include "report/plan_utilization.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "config/flag_values.h"
#include "plan/run_arithmetic.h"
#include "report/ids_json.h"
#include "text/json.h"
#include "text/number.h"

namespace idleburn {
namespace {

// "45%@220ms": how long a step is, and the share of it in which the GPU is busy.
struct StepUse {
  double share = 0;
  std::optional<double> ms;
};

Result<StepUse> ParseStep(const char* flag, const std::string& text) {
  const std::size_t at = text.find('@');
  const double share = TRY(FlagShare("plan", flag, text.substr(0, at)));
  if (share <= 0) return FailUsage(fmt::format("plan: {}: a step that never uses the GPU has no target", flag));
  StepUse use{share, {}};
  if (at == std::string::npos) return use;
  const Nanos span = TRY(FlagSpan("plan", flag, text.substr(at + 1), Nanos()));
  if (span <= Nanos()) return FailUsage(fmt::format("plan: {} has no time behind the @; write 45%@220ms", flag));
  use.ms = static_cast<double>(span.count()) / 1e6;
  return use;
}

std::string HoursText(const std::optional<double>& hours, double saved) {
  return hours ? fmt::format("; {:.4g} h become {:.4g} h", *hours, *hours * (1 - saved)) : "";
}

std::string TargetText(const StepUse& from, const StepUse& to, const UtilizationTarget& target,
                       const std::optional<double>& hours) {
  return fmt::format(
      "A step of {:.4g} ms at {:.4g} % keeps the GPU busy for {:.4g} ms.\n"
      "For {:.4g} % it may take at most {:.2f} ms: {:.4f} times as fast, {:.2f} % fewer hours and dollars{}, if the "
      "busy "
      "time stays.\n"
      "What feeds a GPU faster: cached tokenisation, 8 or more loader workers instead of 2, pinned memory with "
      "prefetch, "
      "persistent workers.\n",
      *from.ms, 100 * from.share, target.busy_ms, 100 * to.share, target.step_ms, target.speedup, 100 * target.saved,
      HoursText(hours, target.saved));
}

std::string ChangeText(const StepUse& from, const StepUse& to, const UtilizationChange& change,
                       const std::optional<double>& hours) {
  std::string text =
      fmt::format("From {:.4g} to {:.4g} ms a step: {:.4f} times as fast, {:.2f} % fewer hours and dollars{}.\n",
                  *from.ms, *to.ms, change.speedup, 100 * change.saved, HoursText(hours, change.saved));
  return text + fmt::format(
                    "The busy time goes from {:.1f} to {:.1f} ms; utilization alone would imply {:.4g} ms and "
                    "{:.4g} times as fast.\n",
                    change.busy_before_ms, change.busy_after_ms, change.implied_ms, change.implied_speedup);
}

}  // namespace

void StepFlags::AddTo(CommandFlags& flags) {
  flags.Add("--step", "SHARE@TIME", "a step's GPU utilization and length, 45%@220ms; with --step-to, no model").text =
      &from;
  flags.Add("--step-to", "SHARE[@TIME]", "the utilization aimed at, 80%; or what came of it, 88%@130ms").text = &to;
  flags.Add("--step-of", "TIME", "how long the run took before, 10h").text = &of;
}

Result<std::string> UtilizationAnswer(const StepFlags& flags, bool json, const RunIds& ids) {
  if (flags.from.empty() || flags.to.empty()) {
    return FailUsage("plan: --step 45%@220ms and --step-to 80% go together");
  }
  const StepUse from = TRY(ParseStep("--step", flags.from));
  if (!from.ms) return FailUsage("plan: --step needs the length of the step: 45%@220ms");
  const StepUse to = TRY(ParseStep("--step-to", flags.to));
  const Nanos span = TRY(FlagSpan("plan", "--step-of", flags.of, Nanos()));
  std::optional<double> hours;
  if (span > Nanos()) hours = InHours(span);
  const UtilizationTarget target = TargetOf(from.share, *from.ms, to.share);
  std::optional<UtilizationChange> change;
  if (to.ms) change = ChangeOf(from.share, *from.ms, to.share, *to.ms);
  if (!json)
    return IdsLine(ids) + (change ? ChangeText(from, to, *change, hours) : TargetText(from, to, target, hours));
  const double saved = change ? change->saved : target.saved;
  using Json = nlohmann::ordered_json;
  Json document = BeginDocument<Json>("idleburn.utilization/1", ids);
  document["busy_ms"] = target.busy_ms;
  document["busy_after_ms"] = change ? Json(change->busy_after_ms) : Json();
  document["step_ms"] = change ? *to.ms : target.step_ms;
  document["speedup"] = change ? change->speedup : target.speedup;
  document["saved"] = saved;
  document["implied_step_ms"] = target.step_ms;
  document["implied_speedup"] = target.speedup;
  document["hours"] = hours ? Json(*hours * (1 - saved)) : Json();
  return JsonDocument(document);
}

}  // namespace idleburn
