#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace idleburn {

// Why a verdict is not a better one, or what it must be read with.
struct VerdictReason {
  std::string_view id;   // "drift_not_excluded", "run_to_run_noise_not_seen", "low_effective_n", ...
  std::string sentence;  // what was seen, and what would settle it
};

// What a reason does to a verdict.
enum class ReasonWeight : std::uint8_t {
  kInvalid,      // the sides cannot be compared
  kNotShown,     // too little to say anything
  kAtMost,       // the evidence does not suffice: at most INDICATED or INDICATED_REGRESSION
  kNotVerified,  // a saving is at most INDICATED; a regression stands
  kNote,         // gates nothing; to be read with the verdict
};

struct ReasonRow {
  std::string_view id;
  ReasonWeight weight;
  std::string_view settle;  // what would settle it
};
std::span<const ReasonRow> ReasonTable();
const ReasonRow& ReasonOf(std::string_view id);  // of the table; anything else is a programmer's mistake

// Whether one of the reasons has that weight.
bool AnyWeighs(std::span<const VerdictReason> reasons, ReasonWeight weight);

// "3.14 %", in what was seen.
std::string Percent(double fraction);

// "<seen>; <what would settle it>"
VerdictReason MakeReason(std::string_view id, std::string_view seen);

}  // namespace idleburn
