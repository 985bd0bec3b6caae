#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "import/bit_unpack.h"

namespace idleburn {

// Small numbers as Parquet keeps dictionary indices and levels: runs of one repeated number, and runs of numbers packed
// in a fixed width ("RLE / bit-packing hybrid").
class RunReader {
 public:
  // Some of the numbers: one repeated, where `values` is null, or one each.
  struct Piece {
    std::size_t count = 0;
    const std::uint32_t* values = nullptr;
    std::uint32_t repeated = 0;
  };

  RunReader() = default;
  // `width` is 0 to 32; numbers of `limit` and more are a fault. kParquetSlack bytes behind `bytes` can be read.
  RunReader(std::span<const char> bytes, int width, std::uint32_t limit);

  // What comes next, at most `most` of it; count 0 at the end or at a fault.
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
  std::size_t packed_left_ = 0;  // of the packed run at the start of `bytes_`, in groups of eight
  std::array<std::uint32_t, kBuffered> buffer_{};
};

}  // namespace idleburn
