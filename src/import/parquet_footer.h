#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "import/table_stream.h"
#include "os/compression.h"
#include "os/input_file.h"

namespace idleburn {

// What a Parquet file says of itself at its end, as far as our own reader covers it: see ParquetReader.

// How a column keeps a value, and what it stands for. Integers of 32 bits and fewer are kept in 32.
enum class ParquetValue : std::uint8_t {
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kUint8,
  kUint16,
  kUint32,
  kUint64,
  kFloat,
  kDouble,
  kText,
  kMillis,  // timestamps
  kMicros,
  kNanos,
  kNanosUtc,
  kOther,  // not covered
};

struct ParquetColumn {
  StreamColumn table;  // as DuckDB reports it
  ParquetValue value = ParquetValue::kOther;
  bool optional = false;  // may lack values
};

// A column's values of a row group: pages one after another.
struct ParquetPart {
  std::uint64_t begin = 0;  // positions in the file
  std::uint64_t end = 0;
  BlockPacking packing = BlockPacking::kNone;
  bool covered = false;  // its packing and encodings are among ours
};

struct ParquetGroup {
  std::uint64_t rows = 0;
  std::vector<ParquetPart> parts;  // as many as columns, in their order
};

struct ParquetFooter {
  std::vector<ParquetColumn> columns;
  std::vector<ParquetGroup> groups;
};

// Absent if the footer is damaged, or has what our reader does not cover: nested columns, encryption, names that differ
// only in case.
std::optional<ParquetFooter> ReadParquetFooter(const SeekableFile& file);

}  // namespace idleburn
