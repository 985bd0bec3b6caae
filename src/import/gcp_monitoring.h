#pragma once

#include <string_view>

#include "import/importer.h"

namespace idleburn {

// Answers of Google Cloud Monitoring's projects.timeSeries.list: metrics of the Ops Agent, and those that Managed
// Service for Prometheus stores under prometheus.googleapis.com/NAME/KIND. Pages may follow one another; the
// points of a series come newest first. At most kMaxJsonBytes.
bool SniffGcpMonitoring(std::string_view head);
Result<void> ImportGcpMonitoring(ByteSource& in, const ImportOptions& options, ImportTarget& out);

}  // namespace idleburn
