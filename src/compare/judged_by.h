#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/common_flags.h"
#include "verify/claim.h"

namespace idleburn {

// Gives a claim its hash and id.
void Seal(Claim& claim);
// Writes a sealed claim, read-only; a file that is there already is an error.
Result<void> WriteClaim(const Claim& claim, const std::string& path);
// Reads a claim and checks its hash: one that was altered is refused.
Result<Claim> ReadClaim(const std::string& path);

// What `claim` writes down and `compare` takes from flags where there is no claim.
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
  // Whether a flag was given that a claim fixes.
  [[nodiscard]] bool Given() const;
  // Into the claim; `command` starts the message of a usage error.
  Result<void> Take(const std::string& command, Claim& claim) const;
};

// "step" or "steps"; absent for another word.
std::optional<WorkUnit> ParseUnit(const std::string& text);

}  // namespace idleburn
