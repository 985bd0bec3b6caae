#pragma once

#include <map>
#include <string>
#include <vector>

#include "audit/audit_plan.h"
#include "base/result.h"
#include "cli/command.h"
#include "config/settings.h"

namespace idleburn {

// An audit of files, without its settings. `audit`, `demo` and `history show --audit` fill it in, so all three give the
// same report for the same file.
struct AuditRequest {
  std::vector<std::string> inputs;
  std::string called;                        // what the report names as its input; empty: the files
  std::map<std::string, std::string> hosts;  // host by input, where one was named for it
  ReportRequest report;
  bool quiet = false;
  bool keep = false;         // keep the audit in the history
  bool use_history = false;  // expect of fixes what the user's own changes gave
  std::vector<std::string> tags;
  std::string window;  // --window
};

// Audits files and writes the report. Returns the exit code: 0, or kExitGate if a gate of --fail-on does not hold.
// Fails if an input cannot be read, or if the report would overwrite one. With `request.keep` the audit is kept in the
// history; a history that cannot be written is a message and no error.
Result<int> AuditFiles(const AuditRequest& request, const Settings& settings, const Environment& environment);

// Flags of a whole audit would be dropped silently: a usage error that names the first of them. `because`: "with --vs".
Result<void> RefuseAuditFlags(const AuditRequest& request, const std::string& because);

// `idleburn audit snapshot.pickle`, a memory snapshot of PyTorch: its own document, in place of an audit's.
Result<int> AuditMemoryOf(const AuditRequest& request, const Settings& settings, const Environment& environment);

// `idleburn audit A --vs B`: audits both sides and writes what differs between them. Each side may have a trace of each
// rank. Fails with a usage error if a side has anything but profilers' files, and on flags that need a whole audit.
Result<int> DiffTracesOf(const AuditRequest& request, const std::vector<std::string>& after, const Settings& settings,
                         const Environment& environment);

}  // namespace idleburn
