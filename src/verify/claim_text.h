#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "verify/claim.h"

namespace idleburn {

// A claim as a file: the JSON of docs/claim-and-compare.md, schema idleburn.claim/1. Its hash is taken over the same
// document without "sha256", keys sorted and no blanks between them, so that anybody can check it with jq.

// What is hashed of a claim; its own `id` and `sha256` are no part of it.
std::string HashedText(const Claim& claim);
// The file, with claim.sha256 in it.
std::string ClaimText(const Claim& claim);

// What a claim's file says.
struct ClaimDocument {
  Claim claim;         // its sha256 and id as stated
  std::string hashed;  // of what stands there: its hash must be claim.sha256
};
// Fails, naming `file` and the key, on what is no claim: a key that is missing, unknown or not of its kind.
Result<ClaimDocument> ParseClaim(std::string_view text, const std::string& file);

// Digits of the hash that make a claim's id.
inline constexpr std::size_t kClaimIdSize = 12;

}  // namespace idleburn
