#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "import/parquet_coding.h"
#include "import/table_stream.h"
#include "os/compression.h"
#include "os/input_file.h"

namespace idleburn {

// Reading Parquet without DuckDB: the footer describes columns and row groups, pages hold the values, column readers
// decode them, and ParquetReader puts the columns together. docs/architecture/pipeline.md says why there are two
// readers of Parquet and what this one covers.
//
//     file        PAR1 | pages of all row groups | footer | size of the footer | PAR1
//     row group   the pages of column 0, the pages of column 1, ...

// The first bytes and the last bytes of every Parquet file.
inline constexpr std::string_view kParquetMagic = "PAR1";

// How a column stores a value and what the value means. Integers of up to 32 bits are stored in 32.
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

// A column of the schema: what it holds for a reader of the table, and how the file stores it.
struct ParquetColumn {
  StreamColumn table;  // as DuckDB reports it
  ParquetValue value = ParquetValue::kOther;
  bool optional = false;  // may lack values
};

// The values of one column in one row group: pages one after another. Positions lie within the file;
// ReadParquetFooter has checked them.
struct ParquetPart {
  std::uint64_t begin = 0;  // positions in the file
  std::uint64_t end = 0;
  BlockPacking packing = BlockPacking::kNone;
  bool covered = false;  // the reader supports its packing and encodings
};

// A row group.
struct ParquetGroup {
  std::uint64_t rows = 0;
  std::vector<ParquetPart> parts;  // one per column, in their order
};

// What the end of a file says about the file.
struct ParquetFooter {
  std::vector<ParquetColumn> columns;
  std::vector<ParquetGroup> groups;
};

// Reads and checks the footer. Absent if it is damaged, or has what this reader does not cover: nested columns,
// encryption, or names that differ only in case. An absent footer is no error, because DuckDB reads the file then,
// and says what is wrong if it cannot either.
std::optional<ParquetFooter> ReadParquetFooter(const SeekableFile& file);

// A page, decompressed.
struct ParquetPage {
  bool dictionary = false;
  std::size_t count = 0;       // values, absent ones included
  int encoding = 0;            // as the format numbers them
  bool runs = true;            // levels are encoded as runs
  bool levels_counted = true;  // `values` starts with the size of the levels and the levels; else they are `levels`
  std::span<const char> levels;
  std::span<const char> values;  // kParquetSlack bytes behind them are readable
};

// Reads the pages of one column on demand, one row group after another. Index pages are skipped. Memory: one page,
// packed and unpacked.
class ParquetPages {
 public:
  // `file` and `unpacker` outlive the pages. With `keep`, the bytes of a page stay valid as long as its kept().
  ParquetPages(const SeekableFile& file, BlockUnpacker& unpacker, bool keep)
      : file_(file), unpacker_(unpacker), keep_(keep) {}

  void Start(const ParquetPart& part) {
    part_ = part;
    at_ = part.begin;
  }
  // The next data or dictionary page. Errors do not name the column.
  Result<ParquetPage> Next();
  // The bytes of the last page.
  [[nodiscard]] std::shared_ptr<const char[]> kept() const { return unpacked_; }

 private:
  // A page header, as the file has it.
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

// The rows of a chunk, as a column reader fills them. Owns everything that its vector points at. Values are in
// `data`, or as codes into a dictionary.
struct ParquetCells {
  std::size_t rows = 0;
  // 8 bytes a row, or a TextCell a row. Null if there are codes.
  std::unique_ptr<std::byte[]> data;
  std::unique_ptr<std::uint32_t[]> codes;  // per row, an index into `dictionary`, which has 8 bytes an entry
  std::shared_ptr<const void> dictionary;
  std::size_t entries = 0;
  std::unique_ptr<std::uint64_t[]> validity;         // null: every row has a value
  std::vector<std::shared_ptr<const char[]>> texts;  // the bytes that cells point at
};

// Decodes the values of one column in order, as int64, double or text. Timestamps keep the unit of their TableType.
// Subclasses decode one type each; this class walks over pages and rows without a value.
class ParquetColumnReader {
 public:
  // A reader for the column, null for kOther. `file` and `unpacker` outlive it. `coded`: numbers that the file stores
  // in a dictionary may stay there, which spares a look-up per row where the importer converts the dictionary
  // instead.
  static std::unique_ptr<ParquetColumnReader> Make(const ParquetColumn& column, const SeekableFile& file,
                                                   BlockUnpacker& unpacker, bool coded);
  ParquetColumnReader(const ParquetColumnReader&) = delete;
  ParquetColumnReader& operator=(const ParquetColumnReader&) = delete;
  virtual ~ParquetColumnReader() = default;

  // Continues with the column's part of the next row group.
  void Start(const ParquetPart& part);
  // Reads the next `rows` of the row group into empty cells.
  Result<void> Read(std::size_t rows, ParquetCells& cells);

 protected:
  ParquetColumnReader(const ParquetColumn& column, const SeekableFile& file, BlockUnpacker& unpacker);

  [[nodiscard]] const ParquetPages& pages() const { return pages_; }
  // Takes a dictionary page, which applies to the pages behind it. False if the values do not match what the page
  // says.
  virtual bool TakeDictionary(const ParquetPage& page) = 0;
  // Begins a page of values. False if its encoding is not one of this type.
  virtual bool StartValues(const ParquetPage& page, std::span<const char> values) = 0;
  // Decodes `count` values to the rows from `at` on. False if there are fewer or they are damaged.
  virtual bool Decode(std::size_t count, std::size_t at, ParquetCells& cells) = 0;
  // Moves values to their rows. `present` values are decoded from row `at` on; they belong to the valid rows between
  // `at` and `end`.
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

// Reads a Parquet file several times as fast as DuckDB, if the file has only what nearly all logs have: flat columns
// of integers, reals, timestamps and texts; plain, dictionary or (integers) delta encoding; no compression, Snappy,
// gzip or Zstandard. Results equal DuckDB's.
class ParquetReader {
 public:
  // A column to read and its form: the column's own type, or kText for an integer, which is then delivered as its
  // digits.
  struct Selection {
    std::size_t position = 0;
    TableType form = TableType::kOther;
  };

  // Absent if the file is damaged or not covered. `file` outlives the reader.
  static std::optional<ParquetReader> Open(const SeekableFile& file);

  [[nodiscard]] const std::vector<StreamColumn>& columns() const { return columns_; }
  // Of all row groups, by the footer.
  [[nodiscard]] std::uint64_t rows() const;
  // Null if a selected column is not covered; nothing was read then. `file` outlives the stream. Damaged pages are
  // errors that do not name the file. Holds at most a page of each column.
  [[nodiscard]] std::unique_ptr<TableStream> Read(std::span<const Selection> selected) const;

 private:
  ParquetReader(const SeekableFile& file, ParquetFooter footer);

  const SeekableFile* file_;
  std::shared_ptr<const ParquetFooter> footer_;
  std::vector<StreamColumn> columns_;
};

}  // namespace idleburn
