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

// Queries over files with DuckDB's C library, which is loaded when it is first needed.

// What a column holds and how it is read: integers cast to BIGINT, real numbers to DOUBLE, kOther to VARCHAR, the rest
// as it is. Timestamps are 64-bit counts of their unit since 1970 on a wall clock without a zone, except kTimestampUtc
// (microseconds).
enum class DuckDbType : std::uint8_t {
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

struct DuckDbColumn {
  std::string name;
  DuckDbType type = DuckDbType::kOther;
};

// One column of a chunk, in place.
struct DuckDbVector {
  const void* data = nullptr;
  const std::uint64_t* validity = nullptr;  // a bit a row, set where there is a value; null: all have one

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
  template <typename T>
  [[nodiscard]] const T& Get(std::size_t row) const {
    return static_cast<const T*>(data)[row];
  }
  template <typename T>
  [[nodiscard]] std::span<const T> All(std::size_t rows) const {
    return {static_cast<const T*>(data), rows};
  }
  // Of a kText column. DuckDB keeps a length and either up to 12 bytes or 4 of them and a pointer.
  [[nodiscard]] std::string_view Text(std::size_t row) const {
    constexpr std::size_t kSize = 16;
    constexpr std::uint32_t kInlined = 12;
    const char* const at = static_cast<const char*>(data) + row * kSize;
    std::uint32_t length = 0;
    std::memcpy(&length, at, sizeof length);
    if (length <= kInlined) return {at + sizeof length, length};
    const char* pointer = nullptr;
    std::memcpy(&pointer, at + kSize / 2, sizeof pointer);
    return {pointer, length};
  }
};

// Some rows of a result. May be used and deleted by another thread than the one that fetched it.
class DuckDbChunk {
 public:
  DuckDbChunk() = default;
  DuckDbChunk(const DuckDbChunk&) = delete;
  DuckDbChunk& operator=(const DuckDbChunk&) = delete;
  virtual ~DuckDbChunk() = default;

  [[nodiscard]] virtual std::size_t rows() const = 0;
  // Valid as long as the chunk.
  [[nodiscard]] virtual DuckDbVector Vector(std::size_t column) const = 0;
};

// A result that is read once, chunk after chunk, while its query runs.
class DuckDbStream {
 public:
  DuckDbStream() = default;
  DuckDbStream(const DuckDbStream&) = delete;
  DuckDbStream& operator=(const DuckDbStream&) = delete;
  virtual ~DuckDbStream() = default;

  [[nodiscard]] virtual const std::vector<DuckDbColumn>& columns() const = 0;
  // Null at the end.
  virtual Result<std::unique_ptr<DuckDbChunk>> Next() = 0;
};

class DuckDbConnection {
 public:
  DuckDbConnection() = default;
  DuckDbConnection(const DuckDbConnection&) = delete;
  DuckDbConnection& operator=(const DuckDbConnection&) = delete;
  virtual ~DuckDbConnection() = default;

  // The connection outlives the stream.
  virtual Result<std::unique_ptr<DuckDbStream>> Query(const std::string& sql) = 0;
};

// Opens a database in memory with nothing in it; it neither spills to disk nor loads extensions. The library is the
// system's, else the one beside the program, else the one that the build fetched; without any the error says how to
// get it.
Result<std::unique_ptr<DuckDbConnection>> OpenDuckDb(int threads);

// "a""b": a name as SQL quotes it. 'a''b': a text.
std::string SqlName(std::string_view name);
std::string SqlText(std::string_view text);

}  // namespace idleburn
