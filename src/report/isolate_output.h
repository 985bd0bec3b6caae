#pragma once

#include <string>

#include "base/run_ids.h"
#include "report/format_writers.h"
#include "report/report_page.h"
#include "trial/series.h"

namespace idleburn {

// A series of trials as it is reported: what was asked and what happened (docs/isolate.md).
struct IsolateReport {
  std::string command;  // as shown to people
  SeriesSpec spec;
  SeriesResult result;
  RunIds ids;  // from the environment of the command
};

// For people: the strongest claim first, then every knob that matters with what to do, doubts, the table of all knobs,
// and what was not measured.
ReportPage IsolatePage(const IsolateReport& report);
// The document of docs/json.md, schema idleburn.isolate/1.
std::string IsolateJson(const IsolateReport& report);

inline constexpr auto kIsolateWriters = std::to_array<FormatWriter<IsolateReport>>({
    {ReportFormat::kText, AsText<IsolatePage>},
    {ReportFormat::kJson, OnAnyPaper<IsolateJson>},
    {ReportFormat::kHtml, AsHtml<IsolatePage>},
    {ReportFormat::kMarkdown, AsMarkdown<IsolatePage>},
});

}  // namespace idleburn
