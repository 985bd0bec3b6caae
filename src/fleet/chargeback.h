#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_source.h"
#include "base/money.h"
#include "base/result.h"

// Who pays what in a period: each owner's direct cost, its part of the shared cost by a policy, and commitments that it
// owns and did not use. Pure arithmetic on amounts of one currency; it knows no engine, ledger or invoice.
//
//     owners' direct + shared + commitments, + buckets + what is left of shared lines = total        exactly
namespace idleburn {

// How a shared line is split over the owners that take a share.
enum class SharePolicy : std::uint8_t {
  kNone,          // it stays a line of its own
  kUniform,       // equal parts
  kProportional,  // by direct cost
  kCustom,        // by given weights
  kExperiments,   // by the GPU time of each owner's experiments
};
// The name in flags and documents ("uniform"), and back.
std::string_view Name(SharePolicy policy);
Result<SharePolicy> ParseSharePolicy(std::string_view text);

// Somebody who pays, or a bucket of cost without a payer.
struct ChargeOwner {
  std::string name;
  bool bucket = false;  // it takes no share
  Money direct;         // >= 0
};

// Cost that no owner caused alone: unallocated GPUs, head nodes, support.
struct SharedCost {
  std::string name;
  Money amount;
  bool spread = true;  // false: it stays a line of its own under every policy, such as a difference of prices
};

// The unused part of a commitment. It belongs to the commitment's owner and is never spread.
struct UnusedCommitment {
  std::string owner;
  Money amount;
};

// The time of one experiment of an owner.
struct ExperimentUse {
  std::string owner;
  std::string experiment;
  std::int64_t gpu_ms = 0;
};

struct ChargeInput {
  std::vector<ChargeOwner> owners;  // unique names
  std::vector<SharedCost> shared;
  std::vector<UnusedCommitment> commitments;
  SharePolicy policy = SharePolicy::kNone;
  std::map<std::string, std::int64_t> weights;  // of kCustom, by owner, > 0
  std::vector<ExperimentUse> experiments;       // of kExperiments; of owners that are no bucket
};

// What one owner pays.
struct ChargeRow {
  std::string name;
  bool bucket = false;
  Money direct;
  std::vector<Money> of_lines;  // its part of each shared line, in the order of ChargeInput::shared
  Money shared;                 // their sum
  Money commitment;
  Money total;
};

struct Chargeback {
  std::vector<ChargeRow> rows;          // the owners in their order, then owners of commitments only
  std::vector<Money> left;              // of each shared line: what no owner pays
  std::vector<Money> experiments;       // of kExperiments: the share of each use, in the order of the input
  Money total;                          // of the period: all direct cost, shared lines and commitments
  std::vector<std::string> unweighted;  // of kCustom or kExperiments: owners without a weight or an experiment
  std::vector<std::string> unmatched;   // of kCustom: weights without an owner; they count for nothing
};

// Splits each shared line by largest remainder in nano-units, so every sum is exact. Fails in one line if a line must
// be split and no owner has a weight above 0, or if a sum exceeds what Money holds.
Result<Chargeback> ChargeOwners(const ChargeInput& input);

// Reads a number for each team: a table with the columns team and `column`. A number is decimal and above 0, and no
// team comes twice; else the error names the line. The result is in billionths.
Result<std::map<std::string, std::int64_t>> ReadTeamNumbers(ByteSource& in, std::string_view column);
// Reads weights, for ChargeInput::weights: the columns team and weight.
Result<std::map<std::string, std::int64_t>> ReadShareWeights(ByteSource& in);

}  // namespace idleburn
