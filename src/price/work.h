#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/int128.h"
#include "base/money.h"
#include "base/result.h"

namespace idleburn {

// Work done in the window of a run, as stated.
struct WorkDone {
  static constexpr Int128 kOne = 1'000'000'000;
  std::map<std::string, Int128> units;  // "samples" -> count in billionths, so that 2.64 epochs is exact
};

// From the text of --work: "samples=200000,epochs=2.64". Units: samples, tokens, steps, epochs; decimals above 0. A bad
// text is a usage error.
Result<WorkDone> ParseWork(std::string_view text);

// One of them: "samples" -> "sample".
std::string_view Singular(std::string_view unit);

// What one unit of work costs: digits x 10^-decimals. To nine decimals, as other money; of one so cheap that these
// would show fewer than three digits of it, to nine digits.
struct CostOfOne {
  std::int64_t digits = 0;
  int decimals = 9;

  // NOLINTNEXTLINE(google-explicit-constructor)
  constexpr CostOfOne(Money m = {}) : digits(m.nano()) {}
  // `whole` (not negative) over a count in billionths, above 0; absent where it is more than money holds.
  static std::optional<CostOfOne> Of(Money whole, Int128 count_in_billionths);

  [[nodiscard]] bool beyond_money() const { return decimals > 9; }  // of which a million is better told
  [[nodiscard]] CostOfOne PerMillion() const;                       // of what is beyond money
  friend bool operator==(const CostOfOne&, const CostOfOne&) = default;
};

// As FormatExact of money: "0.0004", "0.00000000270872".
std::string FormatExact(const CostOfOne& cost, int min_digits = 2);

}  // namespace idleburn
