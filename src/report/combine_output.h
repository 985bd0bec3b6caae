#pragma once

#include <string>

#include "base/run_ids.h"
#include "recommend/combine.h"
#include "recommend/saving_draws.h"

namespace idleburn {

// Everything that `idleburn combine` has computed. The printers below compute nothing of their own, so text and JSON
// agree. docs/combining.md explains the rules and the JSON document.
struct CombineAnswer {
  CombineInput input;
  CombineResult result;
  DrawnSaving drawn;
  SavingDraws draws;
  RunIds ids = {};
};

// For a person: the headline, its interval, every rule, then what to beware of. `explain` adds how the interval was
// drawn, so that it can be repeated.
std::string CombineText(const CombineAnswer& answer, bool explain);
// Schema idleburn.combine/1.
std::string CombineJson(const CombineAnswer& answer);

}  // namespace idleburn
