#pragma once

#include <optional>
#include <string>

#include "base/run_ids.h"
#include "report/format_writers.h"
#include "report/screen.h"
#include "trial/drill.h"

namespace idleburn {

// A drill as it is reported: what was asked, what happened, and how it reads (docs/drill.md).
struct DrillReport {
  std::string command;  // as shown to people
  std::string resume;
  std::string cloud;  // the value of --as; empty without
  // Mean time between losses of a node (--uptime). Without it, the cost on spot capacity stays unknown.
  std::optional<Nanos> uptime;
  std::int64_t nodes = 1;
  DrillSpec spec;
  DrillResult result;
  DrillReading reading;
  RunIds ids;  // from the environment of the command
};

// For people, in `width` columns, the verdict first.
std::string DrillText(const DrillReport& report, int width);
// The same for a page or a comment on a change.
std::string DrillMarkdown(const DrillReport& report);
// The document of docs/json.md, schema idleburn.drill/1.
std::string DrillJson(const DrillReport& report);

inline constexpr auto kDrillWriters = std::to_array<FormatWriter<DrillReport>>({
    {ReportFormat::kText,
     [](const DrillReport& a, const Paper& paper) {
       return CutToScreen(DrillText(a, std::max(paper.columns, 60)), paper);
     }},
    {ReportFormat::kJson, OnAnyPaper<DrillJson>},
    {ReportFormat::kMarkdown, OnAnyPaper<DrillMarkdown>},
});

}  // namespace idleburn
