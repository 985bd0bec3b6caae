#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/int128.h"
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

}  // namespace idleburn
