#pragma once

#include <string_view>

#include "import/importer.h"

namespace idleburn {

// `nvidia-smi --query-gpu=... --format=csv[,nounits]`, with its header line. See docs/formats/nvidia_smi.md.
bool SniffNvidiaSmiCsv(std::string_view head);
Result<void> ImportNvidiaSmiCsv(ByteSource& in, const ImportOptions& options, ImportTarget& out);

}  // namespace idleburn
