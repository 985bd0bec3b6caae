#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/command.h"

namespace idleburn {

// idleburn history list|show|tag|rm|export
Result<int> RunHistory(const std::vector<std::string>& arguments, const Environment& environment);
// idleburn ledger [correct ROW]
Result<int> RunLedger(const std::vector<std::string>& arguments, const Environment& environment);

}  // namespace idleburn
