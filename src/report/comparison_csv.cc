#include <fmt/format.h>

#include "report/comparison_writers.h"
#include "text/escape.h"

namespace idleburn {
namespace {

constexpr std::string_view kHeader =
    "verdict,unit,saving_fraction,low,high,confidence,gpu_seconds_avoided,gpu_seconds_avoided_low,"
    "gpu_seconds_avoided_high,runs_before,runs_after,gpu_seconds_per_unit_before,gpu_seconds_per_unit_after,"
    "effective_samples_before,effective_samples_after,plan,claim_sha256,reasons\n";

std::string Number(const std::optional<double>& value) { return value ? fmt::format("{:.12g}", *value) : ""; }
std::string Ratio(const SideEstimate& side) { return side.work > 0 ? fmt::format("{:.12g}", side.ratio) : ""; }

}  // namespace

std::string ComparisonCsv(const ComparisonReport& report) {
  const SavingVerdict& verdict = report.verdict;
  const auto part = [](const std::optional<SavingInterval>& interval, double SavingInterval::*which) {
    return interval ? fmt::format("{:.12g}", (*interval).*which) : std::string();
  };
  std::string reasons;
  for (const VerdictReason& reason : verdict.reasons) reasons += (reasons.empty() ? "" : " ") + std::string(reason.id);
  const std::optional<SavingInterval>& avoided = verdict.avoided_gpu_seconds;
  std::string row(VerdictName(verdict.verdict));
  for (const std::string& cell :
       {verdict.unit ? std::string(kWorkUnitNames[static_cast<std::size_t>(*verdict.unit)]) : std::string(),
        Number(verdict.fraction), part(verdict.saving, &SavingInterval::low),
        part(verdict.saving, &SavingInterval::high), fmt::format("{:g}", verdict.level),
        part(avoided, &SavingInterval::fraction), part(avoided, &SavingInterval::low),
        part(avoided, &SavingInterval::high), std::to_string(verdict.before.runs), std::to_string(verdict.after.runs),
        Ratio(verdict.before), Ratio(verdict.after), Number(verdict.before.n_eff), Number(verdict.after.n_eff),
        std::string(verdict.retrospective ? "retrospective" : "claimed"), report.claimed ? report.claim.sha256 : "",
        reasons}) {
    row += "," + CsvCell(cell);
  }
  return std::string(kHeader) + row + "\n";
}

}  // namespace idleburn
