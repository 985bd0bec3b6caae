#pragma once

#include "import/importer.h"

namespace idleburn {

// Delimiter-separated tables of samples: whatever columns the user named with --columns, with or without a header;
// without --columns, those whose header has a time and a utilisation under a usual name. A row is one reading of one
// GPU.

// Any table of at least two columns, for inputs that --columns is about.
bool SniffColumnsCsv(std::string_view head);
// A table that is understood without --columns.
bool SniffUsualColumnsCsv(std::string_view head);
Result<void> ImportColumnsCsv(ByteSource& in, const ImportOptions& options, ImportTarget& out);

}  // namespace idleburn
