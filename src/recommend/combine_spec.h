#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "recommend/combine.h"

namespace idleburn {

// Savings to combine, as a person writes them. A share is ".35", "0.35" or "35%".
struct CombineSpec {
  std::vector<std::string> fixes;        // F or NAME=F
  std::string waste;                     // W
  std::vector<std::string> pools;        // NAME=w:fix=e,fix2=e
  std::vector<std::string> substitutes;  // A,B
  std::vector<std::string> lanes;        // NAME=stage:ms,stage:ms
  std::vector<std::string> lane_fixes;   // NAME=stage:e,stage:e
  std::vector<std::string> cheaper;      // SHARE:SPEEDUP
  std::string avoided;
  std::string rate;
  std::string overhead;  // may exceed 1
};

// Reads and checks it all; an error is a wrong use and says how to write the value.
Result<CombineInput> ReadCombineSpec(const CombineSpec& spec);

}  // namespace idleburn
