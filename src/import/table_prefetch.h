#pragma once

#include <memory>

#include "import/table_stream.h"

namespace idleburn {

// The same stream, fetched by a thread of its own a few chunks ahead of its reader: reading a file and using its rows
// take about as long as each other. Deleting it before its end stops the thread.
std::unique_ptr<TableStream> Prefetched(std::unique_ptr<TableStream> stream);

}  // namespace idleburn
