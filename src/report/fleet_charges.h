#pragma once

#include <string>
#include <vector>

#include "base/money.h"
#include "fleet/fleet_statements.h"

// The amounts of a chargeback as they are printed, in the currency's minor unit. The summary and each statement take
// them from here, so they show the same cents.
namespace idleburn {

// What one team pays. The parts sum to the total.
struct ShownCharge {
  Money direct;
  Money shared;
  Money commitment;
  Money total;
  std::vector<Money> of_lines;  // sum to `shared`
};

// Every column sums to its cell in `sum`, and all totals with `left` to `total`. Each cell of a column is less than a
// minor unit off its exact amount, and so is each sum.
struct ShownCharges {
  std::vector<ShownCharge> rows;  // in the order of Chargeback::rows
  std::vector<Money> left;        // of each shared line, what no owner pays
  ShownCharge sum;                // of the rows
  Money total;                    // of the period
};
ShownCharges ShownChargesOf(const Chargeback& charge, const std::string& currency);

// Rounds exact amounts to `unit` so that they sum to `total`. `total` is a rounded cell of a larger table, less than a
// unit off the exact sum.
std::vector<Money> FitColumn(const std::vector<Money>& exact, Money total, std::int64_t unit);

// The id of a statement: the SHA-256 of its CSV document. A statement with the same content has the same id.
std::string StatementId(const FleetStatements& statements, const FleetStatement& statement);

// The exact figures of one team: rows of the kinds total, shared, job, user and experiment.
std::string StatementCsv(const FleetStatements& statements, const FleetStatement& statement);
// One row for each team, bucket and line that no team pays, and the total.
std::string SummaryCsv(const FleetStatements& statements);

// "closed", or "provisional" if figures may still change.
std::string StatusOf(const FleetStatements& statements);

// The team as people read it: "no known owner" for "_unknown".
std::string PayerText(const std::string& team);

// The file of a team's statement, or "" of a bucket and where no files are written.
std::string StatementFileOf(const FleetStatements& statements, const FleetStatement& statement);

}  // namespace idleburn
