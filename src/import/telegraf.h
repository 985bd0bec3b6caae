#pragma once

#include <string_view>

#include "import/importer.h"

namespace idleburn {

// InfluxDB's line protocol with the measurement `nvidia_smi` of Telegraf's input of that name, as its file output and
// `influxd inspect export-lp` write it: all fields of a GPU on a line or one. Lines of other measurements are counted.
bool SniffTelegraf(std::string_view head);
Result<void> ImportTelegraf(ByteSource& in, const ImportOptions& options, ImportTarget& out);

}  // namespace idleburn
