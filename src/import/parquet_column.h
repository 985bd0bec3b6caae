#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "import/parquet_pages.h"
#include "import/run_reader.h"

namespace idleburn {

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

}  // namespace idleburn
