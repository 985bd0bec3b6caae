#pragma once

#include <string>

#include "base/run_ids.h"
#include "report/format_writers.h"
#include "report/screen.h"
#include "trial/series.h"

namespace idleburn {

// A series of trials as it is reported: what was asked and what happened (docs/isolate.md).
struct IsolateReport {
  std::string command;  // as shown to people
  SeriesSpec spec;
  SeriesResult result;
  RunIds ids;  // from the environment of the command
};

// For people, in `width` columns: the verdict first, then each knob that matters with what to do, the table of all
// knobs, and what was not measured.
std::string IsolateText(const IsolateReport& report, int width);
// The document of docs/json.md, schema idleburn.isolate/1.
std::string IsolateJson(const IsolateReport& report);

inline constexpr auto kIsolateWriters = std::to_array<FormatWriter<IsolateReport>>({
    {ReportFormat::kText,
     [](const IsolateReport& a, const Paper& paper) {
       return CutToScreen(IsolateText(a, std::max(paper.columns, 60)), paper);
     }},
    {ReportFormat::kJson, OnAnyPaper<IsolateJson>},
});

}  // namespace idleburn
