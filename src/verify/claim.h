#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/money.h"
#include "base/result.h"
#include "base/run_ids.h"
#include "verify/measured_run.h"

namespace idleburn {

// Claims: what a saving will be measured by, written down before the change. The words of these enumerations are in
// files that people keep for years, so they are only added to.

// How the two sides are measured: as separate runs, or by alternating the setting within a run.
enum class ClaimDesign : std::uint8_t { kRuns, kSwitchback };
// How the baseline predicts GPU-seconds from work: in proportion, or by a line with a fixed part.
enum class BaselineModel : std::uint8_t { kRatio, kLinear };
// Whether the data are looked at once, or repeatedly while they grow. Looking until an effect shows finds one in any
// noise, so repeated looks need wider intervals.
enum class StopRule : std::uint8_t { kFixed, kSequential };
// How the runs before the change were chosen. kAll: every run of the jobs in that period, or drawn by lot. kWorst:
// picked by the value that is judged. Picked runs improve by themselves, so the judge must know.
enum class BaselineChoice : std::uint8_t { kUnknown, kAll, kWorst };

// How a saving will be judged, written down before the change (docs/claim-and-compare.md, "What a claim holds"). Its
// point is that the measurement cannot choose its own criteria afterwards. A claim is never changed once it is
// written, and its SHA-256 stands in every result that used it.
struct Claim {
  std::string id;      // the first kClaimIdSize hexadecimal digits of `sha256`
  std::string sha256;  // of the file's canonical text
  Instant written;
  std::string boundary;  // which jobs it is about: a name or selector
  WorkUnit unit = WorkUnit::kStep;
  StaticFactors factors;       // as they are before the change
  std::string changed_factor;  // the key of `factors` that the measure changes; empty if none
  std::string measure;         // what will be done, in words, or the id of a recommendation
  struct BaselineRun {
    std::string name;
    std::string sha256;
  };
  std::vector<BaselineRun> baseline;
  BaselineChoice choice = BaselineChoice::kUnknown;
  ClaimDesign design = ClaimDesign::kRuns;
  BaselineModel model = BaselineModel::kRatio;
  double level = 0.95;
  double smallest_effect = 0.01;  // fraction saved that the interval must exceed
  StopRule stop = StopRule::kFixed;
  std::optional<double> predicted;               // the saving that is claimed, as a fraction
  std::optional<Money> rate_before, rate_after;  // per GPU-hour
  std::string currency = "USD";                  // of both rates
  bool cashable = false;                         // avoided hours stop being billed within the period
  std::optional<RunIds> ids;                     // of the claimant's environment; absent in older claims
};

// A claim as a file: JSON as in docs/claim-and-compare.md, schema idleburn.claim/1. The hash is taken over the same
// document without "sha256", with sorted keys and no blanks, so that anybody can check it with jq.

// The text that is hashed. It excludes `id` and `sha256`.
std::string HashedText(const Claim& claim);
// The text of the file, including claim.sha256.
std::string ClaimText(const Claim& claim);

// A claim as read from a file.
struct ClaimDocument {
  Claim claim;         // with sha256 and id as the file states them
  std::string hashed;  // canonical text of the file; its hash must equal claim.sha256
};
// Reads a claim. Does not check the hash: the caller compares the hash of `hashed` with the stated one. Fails, naming
// `file` and the key, if a key is missing, unknown or of another kind.
Result<ClaimDocument> ParseClaim(std::string_view text, const std::string& file);

// Hexadecimal digits of the hash that form the id of a claim.
inline constexpr std::size_t kClaimIdSize = 12;

}  // namespace idleburn
