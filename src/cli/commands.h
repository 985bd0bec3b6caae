#pragma once

#include "cli/command.h"

namespace idleburn {

// The functions of the commands. Each reads its own words and prints its own help.
Result<int> RunRun(const std::vector<std::string>& arguments, const Environment& environment);
Result<int> RunRecord(const std::vector<std::string>& arguments, const Environment& environment);
Result<int> RunTop(const std::vector<std::string>& arguments, const Environment& environment);
Result<int> RunAudit(const std::vector<std::string>& arguments, const Environment& environment);
Result<int> RunCombine(const std::vector<std::string>& arguments, const Environment& environment);
Result<int> RunClaim(const std::vector<std::string>& arguments, const Environment& environment);
Result<int> RunCompare(const std::vector<std::string>& arguments, const Environment& environment);
Result<int> RunTco(const std::vector<std::string>& arguments, const Environment& environment);
Result<int> RunIsolate(const std::vector<std::string>& arguments, const Environment& environment);
Result<int> RunHistory(const std::vector<std::string>& arguments, const Environment& environment);
Result<int> RunLedger(const std::vector<std::string>& arguments, const Environment& environment);
Result<int> RunDrillCommand(const std::vector<std::string>& arguments, const Environment& environment);
Result<int> RunPlan(const std::vector<std::string>& arguments, const Environment& environment);
Result<int> RunExport(const std::vector<std::string>& arguments, const Environment& environment);
Result<int> RunPrices(const std::vector<std::string>& arguments, const Environment& environment);
// Exits 0, 1 for warnings, 2 for failures.
Result<int> RunDoctor(const std::vector<std::string>& arguments, const Environment& environment);
Result<int> RunDemo(const std::vector<std::string>& arguments, const Environment& environment);
Result<int> RunConfigCommand(const std::vector<std::string>& arguments, const Environment& environment);

}  // namespace idleburn
