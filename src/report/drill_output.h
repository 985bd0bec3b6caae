#pragma once

#include <optional>
#include <string>

#include "base/run_ids.h"
#include "report/format_writers.h"
#include "report/report_page.h"
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

// For people, the verdict first.
ReportPage DrillPage(const DrillReport& report);
// The document of docs/json.md, schema idleburn.drill/1.
std::string DrillJson(const DrillReport& report);

inline constexpr auto kDrillWriters = std::to_array<FormatWriter<DrillReport>>({
    {ReportFormat::kText, AsText<DrillPage>},
    {ReportFormat::kJson, OnAnyPaper<DrillJson>},
    {ReportFormat::kHtml, AsHtml<DrillPage>},
    {ReportFormat::kMarkdown, AsMarkdown<DrillPage>},
});

}  // namespace idleburn
