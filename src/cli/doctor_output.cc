#include "cli/doctor_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "text/escape.h"
#include "text/table.h"

namespace idleburn {
namespace {

struct Counts {
  int can = 0;
  int cannot = 0;
  int warnings = 0;
  int failures = 0;
};

Counts CountsOf(std::span<const CheckResult> results) {
  Counts counts;
  for (const CheckResult& result : results) {
    const CheckStatus status = result.verdict.status;
    if (result.check->quantity) ++(status == CheckStatus::kOk ? counts.can : counts.cannot);
    counts.warnings += status == CheckStatus::kWarning ? 1 : 0;
    counts.failures += status == CheckStatus::kFailure ? 1 : 0;
  }
  return counts;
}

std::string Several(int n, const char* word) { return fmt::format("{} {}{}", n, word, n == 1 ? "" : "s"); }

// What is wrong, the worst first, each with what to do.
std::string Troubles(std::span<const CheckResult> results, int width) {
  std::string text;
  for (const CheckStatus status : {CheckStatus::kFailure, CheckStatus::kWarning}) {
    for (const CheckResult& result : results) {
      if (result.verdict.status != status) continue;
      text += fmt::format("\n{} {}: {}\n", Name(status), result.check->id, result.check->what);
      for (const std::string& line : {result.verdict.evidence, "-> " + result.verdict.fix}) {
        for (const std::string& part : WrapWords(Printable(line), std::max(width - 2, 20))) text += "  " + part + "\n";
      }
    }
  }
  return text;
}

}  // namespace

std::string DoctorText(std::span<const CheckResult> results, int width) {
  const Counts counts = CountsOf(results);
  std::string text = fmt::format("{} can be measured, {} cannot; {}, {}\n", Several(counts.can, "thing"), counts.cannot,
                                 Several(counts.failures, "failure"), Several(counts.warnings, "warning"));
  text += Troubles(results, width);
  std::vector<TableColumn> columns(3);
  columns[0].header = "check";
  columns[1].header = "status";
  columns[2].header = "what was read";
  columns[2].wraps = true;
  std::vector<TableRow> rows;
  for (const CheckResult& result : results) {
    if (result.verdict.status > CheckStatus::kOk) continue;
    rows.push_back({std::string(result.check->id), std::string(Name(result.verdict.status)), result.verdict.evidence});
  }
  return text + "\n" + LayOutTable(columns, rows, width, 0);
}

std::string DoctorJson(std::span<const CheckResult> results) {
  using Json = nlohmann::ordered_json;
  const Counts counts = CountsOf(results);
  Json document;
  document["schema"] = "idleburn.doctor/1";
  document["version"] = IDLEBURN_VERSION;
  document["status"] = Name(WorstOf(results));
  document["can_measure"] = counts.can;
  document["cannot_measure"] = counts.cannot;
  document["checks"] = Json::array();
  for (const CheckResult& result : results) {
    Json check;
    check["id"] = result.check->id;
    check["status"] = Name(result.verdict.status);
    check["evidence"] = Printable(result.verdict.evidence);
    check["fix"] = result.verdict.fix.empty() ? Json(nullptr) : Json(Printable(result.verdict.fix));
    document["checks"].push_back(std::move(check));
  }
  return document.dump(2) + "\n";
}

}  // namespace idleburn
