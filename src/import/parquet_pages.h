#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "base/result.h"
#include "import/parquet_footer.h"

namespace idleburn {

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

}  // namespace idleburn
