#pragma once

#include <string>
#include <vector>

#include "diagnose/trace_diff.h"
#include "price/rate_book.h"
#include "report/format_writers.h"
#include "report/report_page.h"

namespace idleburn {

// The answer of `idleburn audit A --vs B`. It shows a difference and judges nothing: whether a change saves money needs
// more than a capture of seconds, and `idleburn compare` judges that.
struct TraceDiffAnswer {
  TraceDiff diff;
  std::vector<std::string> before_files;
  std::vector<std::string> after_files;
  Rate before_rate;  // per GPU-hour; may lack a price
  Rate after_rate;
};

// For people: how much longer or shorter a step takes and where, then what differs most.
ReportPage TraceDiffPage(const TraceDiffAnswer& answer);
// The document of docs/json.md, schema idleburn.trace_diff/1.
std::string TraceDiffJson(const TraceDiffAnswer& answer);

inline constexpr auto kTraceDiffWriters = std::to_array<FormatWriter<TraceDiffAnswer>>({
    {ReportFormat::kText, AsText<TraceDiffPage>},
    {ReportFormat::kJson, OnAnyPaper<TraceDiffJson>},
    {ReportFormat::kHtml, AsHtml<TraceDiffPage>},
    {ReportFormat::kMarkdown, AsMarkdown<TraceDiffPage>},
});

}  // namespace idleburn
