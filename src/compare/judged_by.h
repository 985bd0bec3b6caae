#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/common_flags.h"
#include "verify/claim.h"

namespace idleburn {

// How a saving will be judged, and the claim file that fixes this before the change. A claim is sealed by its hash and
// written once. `compare` refuses a claim that was edited. A signature would prove more, but it needs keys, and a hash
// that was published is enough to show an edit.

// Sets the hash and the id of a claim from its content. Call it last.
void Seal(Claim& claim);
// Writes a sealed claim as a read-only file. Fails if the file exists: a second claim must not replace the first.
Result<void> WriteClaim(const Claim& claim, const std::string& path);
// Reads a claim. Fails if its content does not have the hash that it states.
Result<Claim> ReadClaim(const std::string& path);

// The flags that say how a saving is judged, as written. `claim` writes them down. `compare` takes them only without a
// claim, and then the verdict is retrospective.
struct JudgedBy {
  std::string unit;
  std::string changes;
  std::string level;
  std::string effect;
  bool linear = false;
  bool sequential = false;
  bool switchback = false;
  std::string rate_after;
  bool cashable = false;

  // Adds the flags. The object must not move until they were read.
  void AddTo(CommandFlags& flags);
  // Whether a flag was given that a claim fixes. Beside a claim that is a contradiction. --unit is not among them.
  [[nodiscard]] bool Given() const;
  // Checks the flags and enters them into the claim. `command` starts the message of a usage error.
  Result<void> Take(const std::string& command, Claim& claim) const;
};

// Reads the name of a unit: "step" or "steps". Absent for any other word.
std::optional<WorkUnit> ParseUnit(const std::string& text);

}  // namespace idleburn
