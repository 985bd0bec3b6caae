#pragma once

#include <string>
#include <vector>

#include "audit/open_input.h"
#include "base/result.h"
#include "terminal/progress.h"

namespace idleburn {

// `idleburn export --format perfetto`: diagnoses traces and writes their idle gaps as tracks for ui.perfetto.dev
// (report/perfetto_output.h). A file gets its name when it is complete. Fails on inputs without a trace.
Result<void> ExportPerfetto(const std::vector<std::string>& inputs, const std::string& output,
                            const ImportOptions& options, Progress& progress);

}  // namespace idleburn
