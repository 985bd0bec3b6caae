#include "compare/claim_file.h"

#include "config/read_input.h"
#include "os/digest.h"
#include "os/output_file.h"
#include "verify/claim_text.h"

namespace idleburn {
namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 20;

}  // namespace

void Seal(Claim& claim) {
  claim.sha256 = Sha256Hex(HashedText(claim));
  claim.id = claim.sha256.substr(0, kClaimIdSize);
}

Result<void> WriteClaim(const Claim& claim, const std::string& path) { return WriteFileOnce(path, ClaimText(claim)); }

Result<Claim> ReadClaim(const std::string& path) {
  const std::string text = TRY(ReadInput(path, kMostBytes));
  ClaimDocument document = TRY(ParseClaim(text, path));
  const std::string hash = Sha256Hex(document.hashed);
  if (hash != document.claim.sha256) {
    return Fail(path + ": was altered after it was written: its content has the SHA-256 " +
                hash.substr(0, kClaimIdSize) + "..., it states " + document.claim.id +
                "...; judge by the claim as it was written, or without one");
  }
  return std::move(document.claim);
}

}  // namespace idleburn
