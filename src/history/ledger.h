#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "os/sqlite.h"

namespace idleburn {

// A file that an entry rests on. Its hash identifies it, since names change.
struct LedgerInput {
  std::string side;  // "baseline" of a claim, "before" or "after" of a comparison
  std::string name;
  std::string sha256;
};

// One entry of the ledger of savings: a claim, a verdict on it, or a correction that says that an earlier entry does
// not count. Entries are written once and never changed; the schema enforces that. Unknown values are absent.
struct LedgerRow {
  std::int64_t row = 0;  // its number, assigned when it is written
  Instant written;
  std::string tool;                           // "idleburn 0.1.0"
  std::string kind;                           // "claimed", "compared", "correction"
  std::string claim;                          // SHA-256 of the claim
  std::string boundary;                       // which jobs
  std::string unit;                           // of work
  std::string measure;                        // what was changed: the id of a lever, or words
  std::string verdict;                        // "VERIFIED", ...
  std::optional<std::int64_t> retrospective;  // 1 if the claim is not known to be older than the change
  std::optional<double> predicted;            // the claimed saving, as a fraction
  std::optional<double> bound;                // the most that the audit before the change said could be saved
  std::optional<double> fraction, low, high;  // the measured saving with its interval
  std::optional<double> avoided_gpu_seconds;
  std::string currency;
  std::optional<std::int64_t> cashable_nano;  // money that stops being billed
  std::optional<double> freed_gpu_hours;      // capacity that is free but still paid for; never money
  std::optional<std::int64_t> corrects;       // the row that does not count
  std::string note;
  std::vector<LedgerInput> inputs;
};

// Writes an entry after the others, together with its inputs or not at all. A claim that the ledger has already is left
// unchanged: running a command twice must not count a claim twice.
Result<void> AppendToLedger(SqliteDatabase& history, const LedgerRow& row);
// All entries in the order of writing.
Result<std::vector<LedgerRow>> ReadLedger(const SqliteDatabase& history);

// Where a claimed saving stands. kLost: it was verified, and a later comparison of the claim, or a regression of its
// jobs, says otherwise. kNotShown: judged but never verified.
enum class Standing : std::uint8_t { kClaimed, kVerified, kLost, kNotShown };
inline constexpr std::array<std::string_view, 4> kStandingNames = {"claimed", "verified", "lost_again", "not_shown"};

// One claim with the sum of its entries.
struct LedgerLine {
  std::string claim;
  std::string boundary;
  std::string measure;
  Standing standing = Standing::kClaimed;
  Instant claimed;                // when it was written down, or first judged without a claim entry
  std::optional<Instant> judged;  // by the last verdict
  std::string verdict;            // the last one that judged it; INVALID judges nothing
  bool retrospective = false;
  std::optional<Instant> lost;
  std::optional<double> predicted, bound;
  std::optional<double> fraction, low,
      high;  // of the last verdict; of a lost saving, those of the verdict that verified it
  std::string currency;
  std::optional<std::int64_t> cashable_nano;
  std::optional<double> freed_gpu_hours;
};

// What became of the claims about one measure. Advice learns from it what a fix of this kind gives back.
struct LeverOutcome {
  std::string measure;
  int verified = 0;
  int regressions = 0;
  double predicted = 0;  // sums over the `pairs` claims with both figures
  double realised = 0;
  int pairs = 0;
  std::vector<double> shares;  // of its bound that each judged change gave back, 0 to 1; a regression gave back 0
};

// Sums over claims of one standing and currency. Money and freed hours are never added to each other.
struct LedgerTotal {
  std::int64_t cashable_nano = 0;
  double freed_gpu_hours = 0;
  int lines = 0;
};

// The sum of all entries.
struct LedgerView {
  std::vector<LedgerLine> lines;  // in the order of the claims
  // By standing, then by currency; "" for claims without money.
  std::map<Standing, std::map<std::string, LedgerTotal>> totals;
  std::vector<LeverOutcome> levers;  // by name
};

// Computes where each claim stands. It judges nothing itself. Corrected entries do not count, and of several verdicts
// on one claim the last decides. Example: claimed, VERIFIED, then REGRESSION is kLost, with the amount that was
// verified.
LedgerView ViewLedger(std::span<const LedgerRow> rows);

}  // namespace idleburn
