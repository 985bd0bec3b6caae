#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/command.h"
#include "cli/settings.h"

namespace idleburn {

Result<int> RunAudit(const std::vector<std::string>& arguments, const Environment& environment);

// What an audit needs besides the settings.
struct AuditRequest {
  std::vector<std::string> inputs;
  std::string output;  // -o; "" is standard output
  std::string work;    // --work
  std::vector<std::string> fail_on;
  bool explain = false;
  bool quiet = false;
  bool no_color = false;
};

// Reads, classifies, prices, advises, writes: the whole audit.
Result<int> Audit(const AuditRequest& request, const Settings& settings, const Environment& environment);

}  // namespace idleburn
