// How values become bytes in a recording: single integers and texts first, then whole columns of integers.
//
// A column is much smaller than its rows, because neighbouring readings of one quantity are alike. General
// compressors do not see that in interleaved rows. So each column is first transformed into small numbers, and
// only then packed by zstd.

#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "os/compression.h"

namespace idleburn {

// Integers and texts of a recording as bytes. Fixed-width integers are little-endian. Others are LEB128: seven bits a
// byte, low bits first, the top bit set on all but the last byte. Example: 300 is the two bytes 0xAC 0x02.

// Maps signed to unsigned integers so that small magnitudes stay short: 0, -1, 1, -2, ... become 0, 1, 2, 3, ...
constexpr std::uint64_t Zigzag(std::uint64_t v) { return (v << 1) ^ (std::uint64_t{0} - (v >> 63)); }
constexpr std::uint64_t Unzigzag(std::uint64_t z) { return (z >> 1) ^ (std::uint64_t{0} - (z & 1)); }

// Appends a value of each kind: of fixed width, unsigned, signed, and a text with its size.
template <typename Int>
void PutFixed(std::string& out, Int value) {
  for (std::size_t i = 0; i < sizeof(Int); ++i) out += static_cast<char>(static_cast<std::uint64_t>(value) >> (8 * i));
}

inline void PutVarint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

inline void PutSigned(std::string& out, std::int64_t value) {
  PutVarint(out, Zigzag(static_cast<std::uint64_t>(value)));
}

inline void PutText(std::string& out, std::string_view text) {
  PutVarint(out, text.size());
  out += text;
}

// Takes values off the front of a byte string. A missing or malformed value reads as 0 or "", and good() is
// false from then on. So a caller may read a whole structure and check once.
class ByteCursor {
 public:
  explicit ByteCursor(std::string_view bytes) : rest_(bytes) {}

  template <typename Int>
  Int Fixed() {
    const std::string_view bytes = Bytes(sizeof(Int));
    std::uint64_t value = 0;
    for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
    return static_cast<Int>(value);
  }

  std::uint64_t Varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (rest_.empty()) break;
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      if (shift == 63 && byte > 1) break;
      value |= std::uint64_t{byte & 0x7FU} << shift;
      if (byte < 0x80) return value;
    }
    return Spoil();
  }
  // A varint that must not exceed `most`.
  std::uint64_t Count(std::uint64_t most) {
    const std::uint64_t value = Varint();
    return value <= most ? value : Spoil();
  }
  std::int64_t Signed() { return static_cast<std::int64_t>(Unzigzag(Varint())); }

  std::string_view Bytes(std::size_t size) {
    if (size > rest_.size()) {
      Spoil();
      return {};
    }
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }
  std::string_view Text() { return Bytes(static_cast<std::size_t>(Varint())); }

  [[nodiscard]] bool good() const { return good_; }
  [[nodiscard]] bool empty() const { return rest_.empty(); }

 private:
  std::uint64_t Spoil() {
    good_ = false;
    rest_ = {};
    return 0;
  }

  std::string_view rest_;
  bool good_ = true;
};

// How a column of integers becomes bytes. First the mapping turns each value into a small number; then the layout
// stores the numbers. docs/recording-format.md, "Columns" describes both byte by byte.
//
// Example: the numbers 100, 200, 300, 401 have the deltas 100, 100, 100, 101 and the deltas of deltas 100, 0, 0, 1.
enum class ColumnMapping : std::uint8_t { kPlain, kDelta, kDeltaOfDelta };
enum class ColumnLayout : std::uint8_t { kVarint, kPacked, kRuns, kSplit };

// A coding is a pair of both. The encoder tries them and keeps the smallest result, because no coding suits every
// signal. A file stores the row number, so rows may only be added at the end.
struct ColumnCoding {
  ColumnMapping mapping;
  ColumnLayout layout;
};
inline constexpr std::array<ColumnCoding, 8> kColumnCodings = {{
    {ColumnMapping::kPlain, ColumnLayout::kRuns},    // states and limits: long runs of one value
    {ColumnMapping::kDelta, ColumnLayout::kRuns},    // ramps
    {ColumnMapping::kDelta, ColumnLayout::kVarint},  // patterns that repeat
    {ColumnMapping::kDeltaOfDelta, ColumnLayout::kVarint},
    {ColumnMapping::kPlain, ColumnLayout::kPacked},        // noise between two limits
    {ColumnMapping::kPlain, ColumnLayout::kSplit},         // noise around a level
    {ColumnMapping::kDelta, ColumnLayout::kSplit},         // slow movement in small steps
    {ColumnMapping::kDeltaOfDelta, ColumnLayout::kSplit},  // counters and times
}};

// kSmallest tries every coding with a fast zstd (kTrial), then packs the best with a thorough one. kQuick takes
// the best of three codings without zstd.
enum class CodingEffort : std::uint8_t { kQuick, kTrial, kSmallest };

// Encodes columns of integers. Reuses its buffers between calls.
class ColumnEncoder {
 public:
  ColumnEncoder();

  // Appends `values` in the smallest coding. An empty column appends nothing.
  void Encode(std::span<const std::int64_t> values, CodingEffort effort, std::string& out);
  // Like Encode, with a given coding. At least one value.
  void EncodeAs(std::size_t coding, std::span<const std::int64_t> values, std::string& out);
  // Appends bytes with their size, packed by zstd if that is smaller.
  void EncodeBytes(std::string_view bytes, CodingEffort effort, std::string& out);

 private:
  void Map(ColumnMapping mapping);
  void LayOut(ColumnLayout layout);
  void LaySplit();
  // Appends plain_ in the given coding.
  void EncodePlain(std::size_t coding, CodingEffort effort, std::string& out);
  [[nodiscard]] std::string_view Stored(std::string_view bytes, CodingEffort effort);

  ZstdPacker quick_;
  ZstdPacker thorough_;
  std::vector<std::uint64_t> plain_;   // (value - base) / step
  std::vector<std::uint64_t> mapped_;  // in the coding being tried
  std::string laid_;
  std::string low_bits_;  // only for kSplit
  std::string tried_;
  std::string best_;
};

// Decodes what ColumnEncoder appended. Reuses its buffers between calls.
class ColumnDecoder {
 public:
  // Takes one column of out.size() values off `in`. Returns false if its bytes are damaged.
  bool Decode(ByteCursor& in, std::span<std::int64_t> out);
  // Takes what EncodeBytes appended, at most `most` bytes. *out is valid until the next call. Returns false if the
  // bytes are damaged.
  bool DecodeBytes(ByteCursor& in, std::size_t most, std::string_view* out);

 private:
  bool Unpack(ByteCursor& in, std::size_t most, std::string& buffer, std::string_view* out);

  ZstdUnpacker unpacker_;
  std::string buffer_;
  std::string low_bits_;
};

}  // namespace idleburn
