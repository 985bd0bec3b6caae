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
};

// For a person: the headline, its interval, every rule, then what to beware of. One screen, or with Paper::full
// everything: also how the interval was drawn. Plain text, without colour.
std::string CombineText(const CombineAnswer& answer, const Paper& paper);
// Schema idleburn.combine/1.
std::string CombineJson(const CombineAnswer& answer);

inline constexpr auto kCombineWriters = std::to_array<FormatWriter<CombineAnswer>>({
    {ReportFormat::kText, CombineText},
    {ReportFormat::kJson, OnAnyPaper<CombineJson>},
});

}  // namespace idleburn
