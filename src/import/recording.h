#pragma once

#include <string_view>

#include "import/importer.h"

namespace idleburn {

// A recording of idleburn's own (docs/recording.md), finished, killed or still being written. Its samples of GPUs are
// pushed in the order in which they were recorded; what it holds besides (host samples, work, notes, facts) is given by
// ReadRecording.
bool SniffRecording(std::string_view head);
Result<void> ImportRecording(ByteSource& in, const ImportOptions& options, ImportTarget& out);

}  // namespace idleburn
