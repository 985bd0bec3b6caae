#pragma once

#include <string_view>

#include "import/importer.h"

namespace idleburn {

// Answers of the HTTP API of Prometheus (query, query_range), alone, several after one another, or only their results,
// as `promtool query -o json` prints them; and the data frames that Grafana exports of such answers. Read as the same
// samples in the text format would be, in constant memory. A result that can be of no GPU (a scalar, a string, an
// error) is an error, as is a series without a name where --metric does not give one.
bool SniffPrometheusJson(std::string_view head);
Result<void> ImportPrometheusJson(ByteSource& in, const ImportOptions& options, ImportTarget& out);

}  // namespace idleburn
