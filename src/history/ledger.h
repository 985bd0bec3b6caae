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

// What a row was judged by.
struct LedgerInput {
  std::string side;  // "baseline" of a claim, "before" and "after" of a comparison
  std::string name;
  std::string sha256;
};

// One entry of the ledger of savings, written once: a claim, how a comparison judged it, or that an earlier entry does
// not count. What is not known is absent.
struct LedgerRow {
  std::int64_t row = 0;  // its number, given when it is written
  Instant written;
  std::string tool;                           // "idleburn 0.1.0"
  std::string kind;                           // "claimed", "compared", "correction"
  std::string claim;                          // SHA-256 of the claim
  std::string boundary;                       // which jobs
  std::string unit;                           // of work
  std::string measure;                        // what was changed: the id of a lever, or words
  std::string verdict;                        // "VERIFIED", ...
  std::optional<std::int64_t> retrospective;  // 1: the claim was not dated before the change
  std::optional<double> predicted;            // the saving claimed, as a fraction
  std::optional<double> bound;                // the most that the audit before the change said could be saved
  std::optional<double> fraction, low, high;  // the saving found, with its interval
  std::optional<double> avoided_gpu_seconds;
  std::string currency;
  std::optional<std::int64_t> cashable_nano;  // money that stops being billed
  std::optional<double> freed_gpu_hours;      // capacity that is paid for and free: never money
  std::optional<std::int64_t> corrects;       // the row that does not count
  std::string note;
  std::vector<LedgerInput> inputs;
};

// Writes an entry behind the others. A claim that is in the ledger already is left as it is. All or nothing.
Result<void> AppendToLedger(SqliteDatabase& history, const LedgerRow& row);
// All entries in the order in which they were written.
Result<std::vector<LedgerRow>> ReadLedger(const SqliteDatabase& history);

// Where a claimed saving stands. kLost: it was verified, and a later comparison of the claim says otherwise, or one of
// its jobs a regression. kNotShown: judged, but never verified.
enum class Standing : std::uint8_t { kClaimed, kVerified, kLost, kNotShown };
inline constexpr std::array<std::string_view, 4> kStandingNames = {"claimed", "verified", "lost_again", "not_shown"};

struct LedgerLine {
  std::string claim;
  std::string boundary;
  std::string measure;
  Standing standing = Standing::kClaimed;
  Instant claimed;                // when it was written down, or first judged
  std::optional<Instant> judged;  // last
  std::string verdict;            // the last that judged it; INVALID judges nothing
  bool retrospective = false;
  std::optional<Instant> lost;
  std::optional<double> predicted, bound;
  std::optional<double> fraction, low, high;  // of the last verdict; where it is lost, of the one that verified it
  std::string currency;
  std::optional<std::int64_t> cashable_nano;
  std::optional<double> freed_gpu_hours;
};

// What became of the claims about one measure.
struct LeverOutcome {
  std::string measure;
  int verified = 0;
  int regressions = 0;
  double predicted = 0;  // sums over the `pairs` of which both are known
  double realised = 0;
  int pairs = 0;
  std::vector<double> shares;  // of its bound that each judged change gave back, 0 to 1: a regression gave back nothing
};

struct LedgerTotal {
  std::int64_t cashable_nano = 0;
  double freed_gpu_hours = 0;
  int lines = 0;
};

struct LedgerView {
  std::vector<LedgerLine> lines;  // in the order of the claims
  // By standing, then by currency ("" where there is no money).
  std::map<Standing, std::map<std::string, LedgerTotal>> totals;
  std::vector<LeverOutcome> levers;  // by name
};

// What the entries come to. Corrected ones do not count; of several comparisons of one claim the last decides.
LedgerView ViewLedger(std::span<const LedgerRow> rows);

}  // namespace idleburn
