#pragma once

#include <functional>
#include <string>

#include "bill/focus_export.h"
#include "config/output_format.h"

namespace idleburn {

// Writes the table of `idleburn bill export` as CSV or Parquet. `table` passes its text on. A file gets its name when
// it is complete; standard output ("" or "-") takes CSV as it comes.
Result<FocusExportFacts> WriteFocus(const std::string& output, ReportFormat format,
                                    const std::function<Result<FocusExportFacts>(const WriteText&)>& table);

}  // namespace idleburn
