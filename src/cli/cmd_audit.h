#pragma once

#include <map>
#include <string>
#include <vector>

#include "audit/audit_plan.h"
#include "base/result.h"
#include "cli/command.h"
#include "config/settings.h"

namespace idleburn {

// What an audit needs besides the settings.
struct AuditRequest {
  std::vector<std::string> inputs;
  std::string called;                        // what the report names instead; empty: the inputs
  std::map<std::string, std::string> hosts;  // by input, where a machine was named for it
  ReportRequest report;
  bool quiet = false;
  bool keep = false;         // in the history
  bool use_history = false;  // what it teaches of fixes
  std::vector<std::string> tags;
  std::string window;  // --window
};

// Audits files and writes the report. Returns the exit code.
Result<int> AuditFiles(const AuditRequest& request, const Settings& settings, const Environment& environment);

}  // namespace idleburn
