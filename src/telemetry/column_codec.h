#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "os/compression.h"
#include "telemetry/byte_coding.h"

namespace idleburn {

// How a column of integers becomes bytes: first each value becomes a small number (the mapping), then the numbers are
// laid out. docs/recording.md has both byte by byte.
enum class ColumnMapping : std::uint8_t { kPlain, kDelta, kDeltaOfDelta };
enum class ColumnLayout : std::uint8_t { kVarint, kPacked, kRuns, kSplit };

// The codings that are tried, by their number in a file: rows are only ever added at the end.
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
    {ColumnMapping::kDelta, ColumnLayout::kSplit},         // what moves by small steps
    {ColumnMapping::kDeltaOfDelta, ColumnLayout::kSplit},  // counters and times
}};

// kSmallest tries every coding with a quick zstd (kTrial) and packs the best of them with a thorough one; kQuick takes
// the best of three without zstd.
enum class CodingEffort : std::uint8_t { kQuick, kTrial, kSmallest };

class ColumnEncoder {
 public:
  ColumnEncoder();

  // Appends `values` in the smallest of the codings. Any values; no values append nothing.
  void Encode(std::span<const std::int64_t> values, CodingEffort effort, std::string& out);
  // As Encode, in the coding of that number. At least one value.
  void EncodeAs(std::size_t coding, std::span<const std::int64_t> values, std::string& out);
  // Appends any bytes with their sizes, packed by zstd where that makes them smaller.
  void EncodeBytes(std::string_view bytes, CodingEffort effort, std::string& out);

 private:
  void Map(ColumnMapping mapping);
  void LayOut(ColumnLayout layout);
  void LaySplit();
  // Appends plain_ in that coding.
  void EncodePlain(std::size_t coding, CodingEffort effort, std::string& out);
  [[nodiscard]] std::string_view Stored(std::string_view bytes, CodingEffort effort);

  ZstdPacker quick_;
  ZstdPacker thorough_;
  std::vector<std::uint64_t> plain_;   // (value - base) / step
  std::vector<std::uint64_t> mapped_;  // of the coding being tried
  std::string laid_;
  std::string low_bits_;  // of kSplit
  std::string tried_;
  std::string best_;
};

class ColumnDecoder {
 public:
  // Takes one column of out.size() values off `in`. False if its bytes are damaged.
  bool Decode(ByteCursor& in, std::span<std::int64_t> out);
  // Takes what EncodeBytes appended, at most `most` bytes; valid until the next call. False if damaged.
  bool DecodeBytes(ByteCursor& in, std::size_t most, std::string_view* out);

 private:
  bool Unpack(ByteCursor& in, std::size_t most, std::string& buffer, std::string_view* out);

  ZstdUnpacker unpacker_;
  std::string buffer_;
  std::string low_bits_;
};

}  // namespace idleburn
