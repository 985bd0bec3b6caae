#pragma once

#include <string_view>

#include "import/importer.h"

namespace idleburn {

// `dcgmi dmon -e FIELDS` as it is printed: a header of short names that comes again every few rows, units below it, and
// a row for each GPU. It carries no times: --start says the time of the first sweep and --period the distance of two,
// as `-d` set it. A sweep ends where a GPU comes again.
bool SniffDcgmiDmon(std::string_view head);
Result<void> ImportDcgmiDmon(ByteSource& in, const ImportOptions& options, ImportTarget& out);

}  // namespace idleburn
