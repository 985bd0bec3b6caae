#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace idleburn {

// Integers as Parquet's DELTA_BINARY_PACKED keeps them: the first, then differences packed in blocks of small ones.
class DeltaReader {
 public:
  DeltaReader() = default;
  // kParquetSlack bytes behind `bytes` can be read.
  explicit DeltaReader(std::span<const char> bytes);

  // The next `out.size()` integers, modulo 2^64; false if there are fewer or they are damaged.
  bool Read(std::span<std::uint64_t> out);

 private:
  bool NextVarint(std::uint64_t& value);
  bool NextZigzag(std::uint64_t& value);
  bool FetchBlock();
  bool FetchMiniblock();

  std::span<const char> bytes_;
  std::uint64_t miniblocks_ = 0;  // in a block
  std::uint64_t mini_size_ = 0;   // integers in a miniblock
  std::uint64_t left_ = 0;        // integers that are still to come
  std::uint64_t value_ = 0;       // the one to come
  std::uint64_t least_ = 0;       // difference of the block
  std::span<const char> widths_;  // of the miniblocks of the block that are still to come
  std::vector<std::uint64_t> deltas_;
  std::size_t next_delta_ = 0;
  std::size_t deltas_ready_ = 0;
};

}  // namespace idleburn
