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

enum class ClaimDesign : std::uint8_t { kRuns, kSwitchback };
enum class BaselineModel : std::uint8_t { kRatio, kLinear };
enum class StopRule : std::uint8_t { kFixed, kSequential };
// How the runs before the change came to be these. kAll: every run of the jobs in that period, or drawn by lot.
// kWorst: picked by the value that is judged.
enum class BaselineChoice : std::uint8_t { kUnknown, kAll, kWorst };

// How a saving will be judged, written down before the change: docs/verification.md. Never changed once written;
// its SHA-256 stands in every result.
struct Claim {
  std::string id;      // the first 12 hexadecimal digits of `sha256`
  std::string sha256;  // of the file's canonical text
  Instant written;
  std::string boundary;  // which jobs: a name or selector
  WorkUnit unit = WorkUnit::kStep;
  StaticFactors factors;       // as they are before the change
  std::string changed_factor;  // the key of `factors` that the measure changes; empty: none
  std::string measure;         // what will be done, in words; or the id of a recommendation
  struct BaselineRun {
    std::string name;
    std::string sha256;
  };
  std::vector<BaselineRun> baseline;
  BaselineChoice choice = BaselineChoice::kUnknown;
  ClaimDesign design = ClaimDesign::kRuns;
  BaselineModel model = BaselineModel::kRatio;
  double level = 0.95;
  double smallest_effect = 0.01;  // as a fraction saved
  StopRule stop = StopRule::kFixed;
  std::optional<double> predicted;               // the saving that is claimed, as a fraction
  std::optional<Money> rate_before, rate_after;  // per GPU-hour
  std::string currency = "USD";                  // of both
  bool cashable = false;                         // the hours avoided stop being billed in the period
  std::optional<RunIds> ids;                     // of whoever claimed; absent of an older claim
};

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
