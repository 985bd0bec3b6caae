#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace idleburn {

// A table as its readers deliver it: chunks of rows, with a vector per column. ParquetReader and DuckDB both produce
// this, so the importer does not know which of them reads a file. Columns, not rows, because an audit reads six
// columns of a table that may have a hundred, and because a column of numbers converts without a branch per cell.

// What a column holds. Integers are int64, reals are double, texts are TextCell. Timestamps are 64-bit counts of their
// unit since 1970 on a wall clock without a zone, except kTimestampUtc, which is UTC in microseconds.
enum class TableType : std::uint8_t {
  kInteger,
  kReal,
  kText,
  kTimestampSeconds,
  kTimestampMillis,
  kTimestampMicros,
  kTimestampNanos,
  kTimestampUtc,
  kOther,
};

// A column of a table.
struct StreamColumn {
  std::string name;
  TableType type = TableType::kOther;
};

// A text: its length, and either its bytes (up to 12) or its first four bytes and a pointer. The layout is DuckDB's, so
// DuckDB's results are read in place.
class TextCell {
 public:
  TextCell() = default;
  explicit TextCell(std::string_view text) : length_(static_cast<std::uint32_t>(text.size())) {
    if (text.size() <= kInlined) {
      if (!text.empty()) std::memcpy(rest_, text.data(), text.size());
      return;
    }
    const char* const bytes = text.data();
    std::memcpy(rest_, bytes, kPrefix);
    std::memcpy(rest_ + kPrefix, &bytes, sizeof bytes);
  }
  // Valid as long as the cell and the bytes that it points at.
  [[nodiscard]] std::string_view View() const {
    if (length_ <= kInlined) return {rest_, length_};
    const char* bytes = nullptr;
    std::memcpy(&bytes, rest_ + kPrefix, sizeof bytes);
    return {bytes, length_};
  }

 private:
  static constexpr std::size_t kPrefix = 4;
  static constexpr std::size_t kInlined = 12;

  alignas(8) std::uint32_t length_ = 0;
  char rest_[kInlined] = {};
};
static_assert(sizeof(TextCell) == 16);

// One column of a chunk, read in place. Owns nothing but its dictionary: valid as long as its chunk.
struct TableVector {
  const void* data = nullptr;
  const std::uint64_t* validity = nullptr;  // a bit per row, set if there is a value; null: every row has one
  // If not null, `data` is a dictionary of `entries` values, and `codes` selects one for each row. While `dictionary`
  // is held, no other dictionary has the same address.
  const std::uint32_t* codes = nullptr;
  std::shared_ptr<const void> dictionary = nullptr;
  std::size_t entries = 0;

  [[nodiscard]] bool IsNull(std::size_t row) const {
    return validity != nullptr && (validity[row / 64] >> (row % 64) & 1) == 0;
  }
  // True if the first `rows` rows all have a value.
  [[nodiscard]] bool IsFull(std::size_t rows) const {
    if (validity == nullptr) return true;
    const std::size_t words = rows / 64;
    const std::uint64_t rest = (std::uint64_t{1} << rows % 64) - 1;
    return std::all_of(validity, validity + words, [](std::uint64_t word) { return word == ~std::uint64_t{0}; }) &&
           (rest == 0 || (validity[words] & rest) == rest);
  }
  // The value of a row, through the dictionary if there is one. T is the type that TableType names; the caller has
  // checked it.
  template <typename T>
  [[nodiscard]] const T& Get(std::size_t row) const {
    return static_cast<const T*>(data)[codes != nullptr ? codes[row] : row];
  }
  // All values as one span, for loops over a whole column. Only for vectors without a dictionary.
  template <typename T>
  [[nodiscard]] std::span<const T> All(std::size_t rows) const {
    return {static_cast<const T*>(data), rows};
  }
  // The values of the dictionary; each may occur in any number of rows.
  template <typename T>
  [[nodiscard]] std::span<const T> Entries() const {
    return {static_cast<const T*>(data), entries};
  }
  // For kText columns.
  [[nodiscard]] std::string_view Text(std::size_t row) const { return Get<TextCell>(row).View(); }
};

// Some rows. May be used and deleted by another thread than the one that fetched it.
class TableChunk {
 public:
  TableChunk() = default;
  TableChunk(const TableChunk&) = delete;
  TableChunk& operator=(const TableChunk&) = delete;
  virtual ~TableChunk() = default;

  [[nodiscard]] virtual std::size_t rows() const = 0;
  // Valid as long as the chunk.
  [[nodiscard]] virtual TableVector Vector(std::size_t column) const = 0;
};

// A table, read once, chunk after chunk.
class TableStream {
 public:
  TableStream() = default;
  TableStream(const TableStream&) = delete;
  TableStream& operator=(const TableStream&) = delete;
  virtual ~TableStream() = default;

  // The columns of the table, in the order of every chunk's vectors.
  [[nodiscard]] virtual const std::vector<StreamColumn>& columns() const = 0;
  // The next rows. Null at the end.
  virtual Result<std::unique_ptr<TableChunk>> Next() = 0;
};

}  // namespace idleburn
