#pragma once

#include <string>

#include "base/run_ids.h"
#include "recommend/combine.h"
#include "recommend/saving_draws.h"
#include "report/format_writers.h"
#include "report/screen.h"

namespace idleburn {

// Everything that `idleburn combine` has computed. The printers below compute nothing of their own, so text and JSON
// agree. docs/combining.md explains the rules and the JSON document.
struct CombineAnswer {
  CombineInput input;
  CombineResult result;
  DrawnSaving drawn;
  SavingDraws draws;
  RunIds ids = {};
  bool explain = false;  // also say how the saving was drawn
};

// For a person: the headline, its interval, every rule, then what to beware of.
std::string CombineText(const CombineAnswer& answer);
// Schema idleburn.combine/1.
std::string CombineJson(const CombineAnswer& answer);

inline constexpr auto kCombineWriters = std::to_array<FormatWriter<CombineAnswer>>({
    {ReportFormat::kText, [](const CombineAnswer& a, const Paper& paper) { return WrapLines(CombineText(a), paper); }},
    {ReportFormat::kJson, OnAnyPaper<CombineJson>},
});

}  // namespace idleburn
