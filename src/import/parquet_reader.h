#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "import/parquet_coding.h"
#include "import/table_stream.h"
#include "os/block_unpacker.h"
#include "os/seekable_file.h"

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

// A page, unpacked.
struct ParquetPage {
  bool dictionary = false;
  std::size_t count = 0;       // values, those that are absent included
  int encoding = 0;            // as the format numbers them
  bool runs = true;            // of the levels' encoding
  bool levels_counted = true;  // the levels start `values`, after their size; else they are `levels`
  std::span<const char> levels;
  std::span<const char> values;  // kParquetSlack bytes behind them can be read
};

// Reads the pages of one column, a row group after another, each page when it is asked for.
class ParquetPages {
 public:
  // `file` and `unpacker` outlive the pages. With `keep`, the bytes of a page stay valid as long as kept() of it.
  ParquetPages(const SeekableFile& file, BlockUnpacker& unpacker, bool keep)
      : file_(file), unpacker_(unpacker), keep_(keep) {}

  void Start(const ParquetPart& part) {
    part_ = part;
    at_ = part.begin;
  }
  // The next page of data or dictionary. Errors do not name the column.
  Result<ParquetPage> Next();
  // The bytes of the last page.
  [[nodiscard]] std::shared_ptr<const char[]> kept() const { return unpacked_; }

 private:
  struct Header;

  Result<Header> ReadHeader();
  Result<ParquetPage> Unpack(const Header& header);
  [[nodiscard]] tl::unexpected<Error> Broken(const char* what) const;

  const SeekableFile& file_;
  BlockUnpacker& unpacker_;
  bool keep_;
  ParquetPart part_;
  std::uint64_t at_ = 0;
  std::uint64_t page_at_ = 0;
  std::unique_ptr<char[]> packed_;
  std::size_t packed_room_ = 0;
  std::shared_ptr<char[]> unpacked_;
  std::size_t unpacked_room_ = 0;
};

// What a column reader fills: the rows of a chunk. Owns all that its vector points at.
struct ParquetCells {
  std::size_t rows = 0;
  // 8 bytes a row, or a TextCell; or null, where there are codes.
  std::unique_ptr<std::byte[]> data;
  std::unique_ptr<std::uint32_t[]> codes;  // of each row, in `dictionary` of 8 bytes an entry
  std::shared_ptr<const void> dictionary;
  std::size_t entries = 0;
  std::unique_ptr<std::uint64_t[]> validity;         // null: all rows have a value
  std::vector<std::shared_ptr<const char[]>> texts;  // where cells point
};

// Reads the values of one column in their order, as int64, double or text by the kind of value: timestamps in the unit
// of their TableType.
class ParquetColumnReader {
 public:
  // `coded`: numbers that the file keeps in a dictionary may be left there.
  static std::unique_ptr<ParquetColumnReader> Make(const ParquetColumn& column, const SeekableFile& file,
                                                   BlockUnpacker& unpacker, bool coded);
  ParquetColumnReader(const ParquetColumnReader&) = delete;
  ParquetColumnReader& operator=(const ParquetColumnReader&) = delete;
  virtual ~ParquetColumnReader() = default;

  // Goes on with the column's part of the next row group.
  void Start(const ParquetPart& part);
  // The next `rows` of the row group, into empty cells.
  Result<void> Read(std::size_t rows, ParquetCells& cells);

 protected:
  ParquetColumnReader(const ParquetColumn& column, const SeekableFile& file, BlockUnpacker& unpacker);

  [[nodiscard]] const ParquetPages& pages() const { return pages_; }
  // False if the values cannot be what the page says.
  virtual bool TakeDictionary(const ParquetPage& page) = 0;
  virtual bool StartValues(const ParquetPage& page, std::span<const char> values) = 0;
  // Decodes `count` values to the rows from `at` on; false if there are fewer or they are damaged.
  virtual bool Decode(std::size_t count, std::size_t at, ParquetCells& cells) = 0;
  // Moves values to their rows: the last `present` of the rows from `at` to `end` that are valid, from the first of
  // them.
  virtual void Spread(std::size_t at, std::size_t present, std::size_t end, ParquetCells& cells) = 0;

 private:
  Result<void> NextPage();
  bool StartPage(const ParquetPage& page);
  bool ReadLevels(std::size_t count, std::size_t at, std::size_t rows, std::size_t& present, ParquetCells& cells);

  std::string name_;  // as messages show it
  bool optional_;
  ParquetPages pages_;
  RunReader levels_;
  std::size_t page_left_ = 0;  // rows of the page that are still to come
};

// A Parquet file read without DuckDB, several times as fast, where it has only what nearly all logs have: flat columns
// of integers, reals, timestamps and texts; plain, in dictionaries or (integers) as packed differences; not packed or
// by snappy, gzip or zstd. What it gives is what DuckDB would.
class ParquetReader {
 public:
  // A column to read, and the form: that of the column itself, or kText of an integer.
  struct Selection {
    std::size_t position = 0;
    TableType form = TableType::kOther;
  };

  // Absent if the file is damaged or is not covered. `file` outlives the reader.
  static std::optional<ParquetReader> Open(const SeekableFile& file);

  [[nodiscard]] const std::vector<StreamColumn>& columns() const { return columns_; }
  // Null if one of the columns is not covered, in which case nothing was read. `file` outlives the stream. Pages that
  // turn out to be damaged are errors, which do not name the file. Never holds more than a page of each column.
  [[nodiscard]] std::unique_ptr<TableStream> Read(std::span<const Selection> selected) const;

 private:
  ParquetReader(const SeekableFile& file, ParquetFooter footer);

  const SeekableFile* file_;
  std::shared_ptr<const ParquetFooter> footer_;
  std::vector<StreamColumn> columns_;
};

}  // namespace idleburn
