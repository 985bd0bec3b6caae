#include "compare/judged_by.h"

#include "config/flag_values.h"
#include "os/digest.h"
#include "os/output_file.h"
#include "verify/claim.h"

// The claim that is written before a change, and the flags that stand in for one. Both are read by one function, so
// `compare` with flags judges exactly as it would by a claim with the same values. Only the verdict differs: without a
// claim it is retrospective.

namespace idleburn {

namespace {

// A claim is a small file; anything larger is not one.
constexpr std::size_t kMostBytes = std::size_t{1} << 20;

}  // namespace

// The hash covers the document without the hash itself, in a form that other programs can compute
// (docs/claim-and-compare.md, "What a claim holds").
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
    return Fail(path + ": was changed after it was written: its content has the SHA-256 " +
                hash.substr(0, kClaimIdSize) + "..., it states " + document.claim.id +
                "...; judge by the claim as it was written, or without one");
  }
  return std::move(document.claim);
}

// Both forms are accepted, because reports print "per step" and files have a column "steps".
std::optional<WorkUnit> ParseUnit(const std::string& text) {
  for (std::size_t u = 0; u < kWorkUnitCount; ++u) {
    if (text == kWorkUnitNames[u] || text == kWorkUnitPlurals[u]) return static_cast<WorkUnit>(u);
  }
  return std::nullopt;
}

void JudgedBy::AddTo(CommandFlags& flags) {
  flags
      .Add("--unit", "UNIT",
           "unit of work: step, sample, token, epoch, request (for percent fields: setting import.unit)")
      .text = &unit;
  flags.Add("--changes", "KEY", "the factor that the change modifies: command, git.commit, precision, ...").text =
      &changes;
  flags.Add("--level", "SHARE", "level of confidence (default 95%)").text = &level;
  flags.Add("--min-effect", "SHARE", "smallest effect of interest (default 1%)").text = &effect;
  flags.Add("--linear", "", "model GPU-seconds as a line over work (needs 12 segments); default: their ratio").on =
      &linear;
  flags.Add("--switchback", "", "the setting alternates within a run (arm column) or from file to file").on =
      &switchback;
  flags.Add("--sequential", "", "allow repeated looks: a switchback, or 20 and more runs after one baseline").on =
      &sequential;
  flags.Add("--rate-after", "MONEY", "price of a GPU-hour after the change, where it differs").text = &rate_after;
  flags.Add("--cashable", "", "the bill drops the avoided hours in this period").on = &cashable;
}

bool JudgedBy::Given() const {
  return !changes.empty() || !level.empty() || !effect.empty() || linear || sequential || switchback ||
         !rate_after.empty() || cashable;
}

Result<void> JudgedBy::Take(const std::string& command, Claim& claim) const {
  if (!unit.empty()) {
    const std::optional<WorkUnit> known = ParseUnit(unit);
    if (!known) {
      return FailUsage(command + ": --unit '" + unit.substr(0, 20) +
                       "' is not one of step, sample, token, epoch, request");
    }
    claim.unit = *known;
  }
  claim.changed_factor = changes;
  if (!level.empty()) {
    const double share = TRY(FlagShare(command, "--level", level));
    // A level below 50 % is usually an error rate by mistake: 5% for 95%.
    if (share < 0.5) return FailUsage(command + ": --level " + level + " is below 50%; the usual one is 95%");
    claim.level = share;
  }
  if (!effect.empty()) {
    claim.smallest_effect = TRY(FlagShare(command, "--min-effect", effect));
  }
  // A switch that was not given is a choice too, so its default is entered.
  claim.model = linear ? BaselineModel::kLinear : BaselineModel::kRatio;
  claim.design = switchback ? ClaimDesign::kSwitchback : ClaimDesign::kRuns;
  claim.stop = sequential ? StopRule::kSequential : StopRule::kFixed;
  // `compare` allows it and gives an indication at most; a claim must be able to be verified.
  if (sequential && !switchback && command == "claim") {
    return FailUsage(
        "claim: --sequential needs --switchback: with one baseline, sequential runs can at most indicate a saving");
  }
  if (!rate_after.empty()) {
    const Result<Money> rate = Money::Parse(rate_after);
    if (!rate || rate->nano() < 0) {
      return FailUsage(command + ": --rate-after '" + rate_after.substr(0, 20) + "' is not a price; write 2.50");
    }
    claim.rate_after = *rate;
  }
  claim.cashable = cashable;
  return {};
}

}  // namespace idleburn
