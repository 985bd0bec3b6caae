#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/common_flags.h"
#include "verify/claim.h"

namespace idleburn {

// A claim is sealed by its hash, then written once. `compare` refuses a claim that was edited.

// Sets the hash and the id of a claim.
void Seal(Claim& claim);
// Writes a sealed claim, read-only. Fails if the file exists.
Result<void> WriteClaim(const Claim& claim, const std::string& path);
// Reads a claim and checks its hash.
Result<Claim> ReadClaim(const std::string& path);

// The flags that say how a saving is judged. `claim` writes them down; `compare` takes them only if there is no
// claim, and the verdict is then retrospective.
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

  void AddTo(CommandFlags& flags);
  // Whether any flag was given that a claim fixes. Beside a claim that is a contradiction.
  [[nodiscard]] bool Given() const;
  // Checks the flags and enters them into the claim. `command` starts the message of a usage error.
  Result<void> Take(const std::string& command, Claim& claim) const;
};

// "step" or "steps". Absent for any other word.
std::optional<WorkUnit> ParseUnit(const std::string& text);

}  // namespace idleburn
