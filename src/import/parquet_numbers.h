#pragma once

#include <cstdint>
#include <cstring>

namespace idleburn {

// Encodings by their numbers in the format's definition (parquet.thrift).
enum ParquetEncoding : std::uint8_t {
  kPlain = 0,
  kPlainDictionary = 2,
  kRuns = 3,
  kBitPackedLevels = 4,  // announced where there are no levels at all
  kDeltaPacked = 5,
  kDictionary = 8,
};

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
