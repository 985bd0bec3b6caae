#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

namespace idleburn {

// The encodings inside a Parquet file: Thrift for headers, bit packing, runs and deltas for values. ParquetReader
// (import/parquet_reader.h) combines them. The format is defined by the Apache Parquet project,
// https://parquet.apache.org/docs/file-format/.
//
// A file may be damaged, so no reader trusts a length in it. A reader that meets a fault delivers less than was asked
// for and never reads outside its bytes and the slack behind them.

// Encodings by their numbers in the format's definition (parquet.thrift).
namespace parquet_encoding {
inline constexpr int kPlain = 0;
inline constexpr int kPlainDictionary = 2;  // the older name of kDictionary
inline constexpr int kRuns = 3;
inline constexpr int kBitPackedLevels = 4;  // announced where there are no levels at all
inline constexpr int kDeltaPacked = 5;
inline constexpr int kDictionary = 8;
}  // namespace parquet_encoding

// Decoders load eight bytes at once, so this many bytes behind their input must be readable. Their contents do not
// matter.
constexpr std::size_t kParquetSlack = 16;

// Loads a number as the file keeps it, little-endian. Every machine that idleburn is built for is little-endian too.
template <typename T>
T LoadLittle(const char* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

// Unpacks `groups` times eight values of `width` bits each, lowest bits first. A group takes `width` bytes, and up to
// kParquetSlack bytes behind the last are read and ignored. Width is 0 to 32, or 0 to 64 for the second form. For
// example, width 3 packs 0 to 7 into the three bytes 88 C6 FA.
void UnpackBits(const char* in, int width, std::size_t groups, std::uint32_t* out);
void UnpackBits(const char* in, int width, std::size_t groups, std::uint64_t* out);

// Reads small numbers as Parquet stores dictionary indices and levels: runs of one repeated number, and runs of
// numbers packed in a fixed width ("RLE / bit-packing hybrid"). A run is handed out as it is, so that a caller can
// fill a stretch of rows at once.
class RunReader {
 public:
  // Some of the numbers: one repeated number if `values` is null, else one each. `values` point into the reader,
  // until the next call.
  struct Piece {
    std::size_t count = 0;
    const std::uint32_t* values = nullptr;
    std::uint32_t repeated = 0;
  };

  RunReader() = default;
  // `width` is 0 to 32. A number of `limit` or more is a fault. kParquetSlack bytes behind `bytes` must be readable.
  RunReader(std::span<const char> bytes, int width, std::uint32_t limit);

  // Returns what comes next, at most `most` numbers. The count is 0 at the end or at a fault.
  Piece Next(std::size_t most) {
    if (piece_.count == 0) Fetch();
    Piece piece = piece_;
    piece.count = std::min(piece.count, most);
    piece_.count -= piece.count;
    if (piece_.values != nullptr) piece_.values += piece.count;
    return piece;
  }

 private:
  static constexpr std::size_t kBuffered = 512;

  void Fetch();
  bool FetchRun();
  void UnpackSome();

  std::span<const char> bytes_;
  int width_ = 0;
  std::uint32_t limit_ = 0;
  Piece piece_;
  std::size_t packed_left_ = 0;  // left of the packed run at the start of `bytes_`, in groups of eight
  std::array<std::uint32_t, kBuffered> buffer_{};
};

// Reads integers that Parquet stores as DELTA_BINARY_PACKED: the first integer, then blocks of small differences. A
// block has the smallest difference, and what each difference exceeds it by, packed in miniblocks of a width of their
// own. For example, 10 12 14 17 is 10, then a smallest difference of 2 and the excesses 0 0 1.
class DeltaReader {
 public:
  DeltaReader() = default;
  // kParquetSlack bytes behind `bytes` must be readable. A damaged header leaves a reader with nothing to read.
  explicit DeltaReader(std::span<const char> bytes);

  // Reads the next `out.size()` integers, modulo 2^64. False if there are fewer or they are damaged.
  bool Read(std::span<std::uint64_t> out);

 private:
  bool NextVarint(std::uint64_t& value);
  bool NextZigzag(std::uint64_t& value);
  bool FetchBlock();
  bool FetchMiniblock();

  std::span<const char> bytes_;
  std::uint64_t miniblocks_ = 0;  // in a block
  std::uint64_t mini_size_ = 0;   // integers in a miniblock
  std::uint64_t left_ = 0;        // integers still to come
  std::uint64_t value_ = 0;       // the next integer
  std::uint64_t least_ = 0;       // smallest difference of the block
  std::span<const char> widths_;  // of the miniblocks still to come in the block
  std::vector<std::uint64_t> deltas_;
  std::size_t next_delta_ = 0;
  std::size_t deltas_ready_ = 0;
};

// Reads Apache Thrift's compact protocol, in which Parquet stores its footer and page headers
// (https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md). Never reads beyond its bytes.
// After the first fault every result is zero or empty, and ok() is false, so callers check once at the end. Callers
// name the few fields that they need by id and skip the rest, so no code is generated from parquet.thrift.
class ThriftReader {
 public:
  // The types of fields, by their numbers in the protocol. A bool has no value of its own: its type is its value.
  enum class Type : std::uint8_t {
    kStop,
    kTrue,
    kFalse,
    kByte,
    kI16,
    kI32,
    kI64,
    kDouble,
    kBinary,
    kList,
    kSet,
    kMap,
    kStruct,
  };

  static bool IsInteger(Type type) { return type == Type::kI16 || type == Type::kI32 || type == Type::kI64; }

  explicit ThriftReader(std::span<const char> bytes) : bytes_(bytes) {}

  [[nodiscard]] bool ok() const { return ok_; }
  // Bytes read so far.
  [[nodiscard]] std::size_t position() const { return at_; }

  // Calls `on_field(id, type)` for each field of a struct. It returns true if it read the field with one of the
  // functions below; otherwise the field is skipped.
  template <typename OnField>
  void Struct(OnField on_field) {
    std::int64_t id = 0;
    for (Type type = NextField(id); type != Type::kStop; type = NextField(id)) {
      if (!on_field(id, type)) Skip(type, 0);
    }
  }
  // Calls `on_element(type)` for each element of a list. It must read the element or Skip it.
  template <typename OnElement>
  void List(OnElement on_element) {
    Type type = Type::kStop;
    for (std::uint64_t left = ListHeader(type); left > 0 && ok_; --left) on_element(type);
  }
  // Reads an integer of any width but a byte; all look alike.
  std::int64_t Integer();
  // Reads a text. It refers to the reader's bytes.
  std::string_view Binary();
  void Skip(Type type) { Skip(type, 0); }

 private:
  static constexpr int kMostDepth = 32;

  Type NextField(std::int64_t& id);
  std::uint64_t ListHeader(Type& type);
  std::uint64_t Varint();
  std::uint8_t Byte();
  void Skip(Type type, int depth);
  void SkipBytes(std::uint64_t count);
  void SkipMap(int depth);
  // Enters the state after a fault.
  void Break() {
    ok_ = false;
    at_ = bytes_.size();
  }

  std::span<const char> bytes_;
  std::size_t at_ = 0;
  bool ok_ = true;
};

// The types of Thrift's fields, for the readers of Parquet's structs.
using ThriftType = ThriftReader::Type;

}  // namespace idleburn
