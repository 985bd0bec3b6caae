#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/money.h"
#include "bill/bill_report.h"
#include "bill/cost_owners.h"
#include "bill/reconcile.h"
#include "fleet/chargeback.h"

// The answer of `idleburn bill chargeback`: who pays what of an invoice, and a statement for each owner. The rules are
// on docs/bill-chargeback.md, the arithmetic is that of fleet/chargeback.h.
//
//     owners' direct + shared + unused commitments, + bucket + what is left of shared lines = total of the invoice
namespace idleburn {

// One resource, job or experiment of an owner. The parts of each kind sum to the direct cost.
struct BillStatementPart {
  std::string name;  // kFleetUnknown: not told
  std::int64_t gpu_ms = 0;
  std::array<Money, kUsePartCount> use{};
  Money direct;  // the sum of `use`
};

// What one owner pays, and for what. Of the bucket kFleetUnknown it is a row of the summary only.
struct BillStatement {
  ChargeRow charge;
  BillStatementPart whole;  // its name is that of the owner
  std::vector<BillStatementPart> resources;
  std::vector<BillStatementPart> jobs;
  std::vector<BillStatementPart> experiments;
};

// What a close fixed of an owner or a line that nobody pays, beside what the rows say now.
struct BillCorrection {
  std::string name;
  bool line = false;  // a line that nobody pays
  Money closed;
  Money now;
};

// The close of a month that an answer is laid beside.
struct BillClose {
  std::string sha256;
  Instant at;
  Money total;
};

struct BillChargeback {
  RunIds ids = {};
  std::string month;  // "2026-10"; empty: all rows
  std::string currency;
  OwnerBy by = OwnerBy::kTeam;
  SharePolicy policy = SharePolicy::kNone;
  bool total_given = false;
  bool reconciled = false;
  Money residual;
  std::vector<SharedCost> lines;
  Chargeback charge;                  // rows and `owners` have the same order
  std::vector<BillStatement> owners;  // with the bucket
  std::vector<UntaggedCost> untagged;
  std::vector<BillDoubt> doubts;
  std::optional<BillClose> closed;
  std::vector<BillCorrection> corrections;  // since the close; they sum to the total less that of the close
  std::string file_ending;                  // of the statements' files; empty: none is written
};

// What the user asks for.
struct BillChargeRequest {
  OwnerBy by = OwnerBy::kTeam;
  SharePolicy policy = SharePolicy::kNone;
  std::map<std::string, std::int64_t> weights = {};  // ChargeInput::weights
};

// Charges a reconciled bill, which was asked with the same `by`. Fails if ChargeOwners fails, or on --share
// proportional with an owner whose direct cost is negative.
Result<BillChargeback> ChargeBill(const BillReport& report, const BillChargeRequest& request);

// Reconciles the rows of a store and charges them. Lists what has no tag, unless owners are jobs or experiments.
Result<BillChargeback> ChargeStore(BillStore& store, ReconcileQuestion question, const BillChargeRequest& request);

}  // namespace idleburn
