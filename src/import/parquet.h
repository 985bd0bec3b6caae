#pragma once

#include "import/importer.h"

namespace idleburn {

// Parquet files of samples, read by ParquetReader or, where that does not cover a file, by DuckDB's C library. Columns
// are those of --columns, or go by their usual names (nvidia-smi's, DCGM's, "ts", "gpu", "util", "power"). A row is one
// reading of one GPU. Parquet is read by position, so `in` must name a plain file: standard input and compressed files
// are refused.
bool SniffParquet(std::string_view head);
Result<void> ImportParquet(ByteSource& in, const ImportOptions& options, ImportTarget& out);

}  // namespace idleburn
