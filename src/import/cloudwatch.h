#pragma once

#include <string_view>

#include "import/importer.h"

namespace idleburn {

// Answers of AWS CloudWatch GetMetricData with metrics of the CloudWatch agent (namespace CWAgent); pages may follow
// one another. A result carries only an Id and a Label: device and metric are read from the dimensions of a
// MetricDataQueries array beside the results, else from the label's words. At most kMaxJsonBytes.
bool SniffCloudWatch(std::string_view head);
Result<void> ImportCloudWatch(ByteSource& in, const ImportOptions& options, ImportTarget& out);

}  // namespace idleburn
