#pragma once

#include <cstdint>
#include <memory>
#include <span>

namespace idleburn {

enum class BlockPacking : std::uint8_t { kNone, kSnappy, kGzip, kZstd };

// Unpacks blocks that are in memory as a whole and whose size unpacked is known, as columnar files keep them. Holds
// what the libraries can use again for the next block.
class BlockUnpacker {
 public:
  BlockUnpacker();
  ~BlockUnpacker();
  BlockUnpacker(const BlockUnpacker&) = delete;
  BlockUnpacker& operator=(const BlockUnpacker&) = delete;

  // False if the block is damaged or does not unpack to exactly `out.size()` bytes. Neither side exceeds 2 GiB.
  bool Unpack(BlockPacking packing, std::span<const char> block, std::span<char> out);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace idleburn
