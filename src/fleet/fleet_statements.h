#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/money.h"
#include "base/result.h"
#include "fleet/chargeback.h"
#include "fleet/fleet_report.h"

// The answer of `idleburn fleet statements`: who pays what for a period, and a statement for each team. Printed by
// report/fleet_statements_output.h. The rules are on docs/fleet-statements.md.
namespace idleburn {

// What a team pays for directly.
enum class ChargeBasis : std::uint8_t {
  kAllocated,  // the GPUs that it held
  kBusy,       // what of their cost was no waste; unobserved time counts as busy
};
std::string_view Name(ChargeBasis basis);

// What the user asks for.
struct ChargeRequest {
  ChargeBasis basis = ChargeBasis::kAllocated;
  SharePolicy policy = SharePolicy::kNone;
  std::map<std::string, std::int64_t> weights = {};  // ChargeInput::weights
  std::vector<SharedCost> shared = {};               // beside the GPUs: head nodes, support
  std::vector<UnusedCommitment> commitments = {};
};

// A job, user or experiment on a statement. Jobs sum to the direct cost of their team, and so do the others.
struct StatementPart {
  std::string name;  // kFleetUnknown: not told
  std::string user;  // of a job
  std::string experiment;
  FleetTime time;
  Money direct;
  Money shared;  // of an experiment, by SharePolicy::kExperiments
  FleetCost cost;
};

// What one team pays, and for what. Of a bucket (kFleetUnknown, kFleetOther) it is a row of the summary only.
struct FleetStatement {
  ChargeRow charge;  // its name is that of the team
  FleetTime time;
  FleetCost cost;  // of the GPUs that it held, and their waste
  std::vector<StatementPart> jobs;
  std::vector<StatementPart> users;
  std::vector<StatementPart> experiments;
};

struct FleetStatements {
  RunIds ids = {};
  std::int64_t from = 0;  // Unix seconds
  std::int64_t to = 0;
  std::string currency;
  std::string rate_source;
  ChargeBasis basis = ChargeBasis::kAllocated;
  SharePolicy policy = SharePolicy::kNone;
  std::vector<FleetDoubt> provisional;  // why figures may still change; empty: the period is closed
  Money gpu_cost;                       // what all GPUs cost; the total has the user's shared cost beside it
  FleetTime unallocated;
  std::vector<SharedCost> lines;           // of shared cost
  Chargeback charge;                       // rows and `teams` have the same order
  std::vector<FleetStatement> teams;       // with buckets
  std::vector<std::string> new_to_period;  // owners of commitments that held no GPU in the period
  std::vector<FleetDoubt> doubts;
  std::string file_ending;  // of the statements' files: ".csv"; empty: none is written
};

// Fails in one line if no hour is closed, if there is no price, if the basis is busy and the waste of a team is known
// by bounds only, or if ChargeOwners fails.
Result<FleetStatements> StatementsOf(const FleetReport& report, const ChargeRequest& request);

// The name of a team's file, without an extension: "team-vision". `kind` says what an owner is. A name that is not
// plain (letters, digits, ". _ -", at most 64 characters, no dot first) becomes "hashed-" and the first 32 digits of
// its SHA-256, so a label never becomes part of a path.
std::string StatementFileName(const std::string& team, const std::string& kind = "team");

}  // namespace idleburn
