#pragma once

#include <string>

#include "base/result.h"
#include "verify/claim.h"

namespace idleburn {

// Gives a claim its hash and id.
void Seal(Claim& claim);
// Writes a sealed claim, read-only; a file that is there already is an error.
Result<void> WriteClaim(const Claim& claim, const std::string& path);
// Reads a claim and checks its hash: one that was altered is refused.
Result<Claim> ReadClaim(const std::string& path);

}  // namespace idleburn
