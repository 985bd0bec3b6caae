#pragma once

#include <string>
#include <vector>

#include "config/common_flags.h"
#include "fleet/fleet_statements.h"
#include "report/format_writers.h"

// What `idleburn fleet statements` has beside the other fleet actions: its flags, and how its files are written.
namespace idleburn {

// The flags of a chargeback, as they were written.
struct FleetChargeFlags {
  // Adds the flags. The object must not move until they were read, because the flags point into it.
  void AddTo(CommandFlags& flags);
  // Whether any was given. Other actions refuse them.
  [[nodiscard]] bool given() const;
  // What they ask for. Fails on an unknown policy or basis, an amount that is negative or unreadable, a line that is
  // given twice, weights without --share custom, and that policy without weights.
  [[nodiscard]] Result<ChargeRequest> Read() const;

 private:
  std::string basis_;
  std::string share_;
  std::string weights_;
  std::vector<std::string> shared_;
  std::vector<std::string> commitments_;
};

// Reads --share and --share-weights of `command`. Fails on an unknown policy, weights without --share custom, and that
// policy without weights.
Result<void> ReadShareFlags(const std::string& command, const std::string& share, const std::string& weights,
                            SharePolicy* policy, std::map<std::string, std::int64_t>* of_teams);

// Writes files by their names into a folder, which is created.
Result<void> WriteIntoFolder(const std::string& folder, const std::vector<std::pair<std::string, std::string>>& files);

// Prints the summary, or writes it and one statement for each team into `folder`.
Result<int> WriteStatements(FleetStatements statements, ReportFormat format, const std::string& folder,
                            const Paper& paper);

}  // namespace idleburn
