#pragma once

#include <cstdint>
#include <cstring>

namespace idleburn {

// Encodings by their numbers in the format's definition (parquet.thrift).
namespace parquet_encoding {
inline constexpr int kPlain = 0;
inline constexpr int kPlainDictionary = 2;  // the older name of kDictionary
inline constexpr int kRuns = 3;
inline constexpr int kBitPackedLevels = 4;  // announced where there are no levels at all
inline constexpr int kDeltaPacked = 5;
inline constexpr int kDictionary = 8;
}  // namespace parquet_encoding

// Decoders load eight bytes at once: that many may be read behind the bytes that they are given.
constexpr std::size_t kParquetSlack = 16;

// A number as the file keeps it: little-endian, as every machine that this is built for.
template <typename T>
T LoadLittle(const char* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

}  // namespace idleburn
