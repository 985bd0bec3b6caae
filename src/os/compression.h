#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/byte_source.h"

namespace idleburn {

enum class Compression : std::uint8_t { kGzip, kXz, kZstd };

// Told by the first bytes of an input.
std::optional<Compression> SniffCompression(std::string_view head);

// The unpacked bytes of `packed`. See OpenInput for bombs and truncation.
std::unique_ptr<ByteSource> Inflate(std::unique_ptr<ByteSource> packed, Compression compression);

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

// zstd over small blocks, one after the other, with the library's working memory kept between them.
class ZstdPacker {
 public:
  explicit ZstdPacker(int level);
  ~ZstdPacker();
  ZstdPacker(const ZstdPacker&) = delete;
  ZstdPacker& operator=(const ZstdPacker&) = delete;

  // The packed form of `bytes`, valid until the next call; empty if it could not be packed.
  std::string_view Pack(std::string_view bytes);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

class ZstdUnpacker {
 public:
  ZstdUnpacker();
  ~ZstdUnpacker();
  ZstdUnpacker(const ZstdUnpacker&) = delete;
  ZstdUnpacker& operator=(const ZstdUnpacker&) = delete;

  // Unpacks into all of `out`; false if the bytes are damaged or come to another size.
  bool Unpack(std::string_view packed, std::span<char> out);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace idleburn
