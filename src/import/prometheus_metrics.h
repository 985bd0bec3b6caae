#pragma once

#include <string_view>

#include "import/importer.h"

namespace idleburn {

// Scrapes in the Prometheus text format or OpenMetrics: dcgm-exporter and the other exporters of metric_table.h,
// ordered by scrape or by series. Samples without a stamp belong to one scrape at second 0; where a series
// repeats without stamps, a new scrape begins one second later. Memory grows with devices, series (up to a
// limit) and jobs, not with scrapes; readings come out in the order of the file.
bool SniffPrometheus(std::string_view head);
Result<void> ImportPrometheus(ByteSource& in, const ImportOptions& options, ImportTarget& out);

}  // namespace idleburn
