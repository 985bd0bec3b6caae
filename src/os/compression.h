#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/byte_source.h"

namespace idleburn {

// Compressed streams (gzip, xz, zstd) and compressed blocks (snappy too), behind one header: the libraries' headers are
// slow to compile.

// How a whole input is compressed.
enum class Compression : std::uint8_t { kGzip, kXz, kZstd };

// Detects the compression from the first bytes of an input.
std::optional<Compression> SniffCompression(std::string_view head);

// Decompresses a stream while it is read. Several members in a row (concatenated .gz files) are read as one input.
// OpenInput (os/input_file.h) states the rules for bombs and truncated data.
std::unique_ptr<ByteSource> Inflate(std::unique_ptr<ByteSource> packed, Compression compression);

// The text as one gzip member, packed fast rather than small. Empty if memory is short.
std::string GzipText(std::string_view text);

// How one block of a columnar file is compressed.
enum class BlockPacking : std::uint8_t { kNone, kSnappy, kGzip, kZstd };

// Decompresses whole blocks in memory whose decompressed size is known. Parquet stores such blocks. It keeps the state
// of the libraries between blocks, because allocating it costs more than a small block.
class BlockUnpacker {
 public:
  BlockUnpacker();
  ~BlockUnpacker();
  BlockUnpacker(const BlockUnpacker&) = delete;
  BlockUnpacker& operator=(const BlockUnpacker&) = delete;

  // Decompresses `block` into all of `out`. False if the block is damaged or has another size. Neither may exceed 2
  // GiB.
  bool Unpack(BlockPacking packing, std::span<const char> block, std::span<char> out);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Compresses small blocks with zstd, one after another, for recordings (telemetry/byte_coding.h). It keeps the
// library's working memory between blocks. The blocks do not state their decompressed size, so the caller must store
// it.
class ZstdPacker {
 public:
  // `level` is zstd's: higher is smaller and slower.
  explicit ZstdPacker(int level);
  ~ZstdPacker();
  ZstdPacker(const ZstdPacker&) = delete;
  ZstdPacker& operator=(const ZstdPacker&) = delete;

  // The compressed bytes, valid until the next call. Empty if zstd failed.
  std::string_view Pack(std::string_view bytes);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Decompresses blocks of a ZstdPacker. Keeps its working memory too.
class ZstdUnpacker {
 public:
  ZstdUnpacker();
  ~ZstdUnpacker();
  ZstdUnpacker(const ZstdUnpacker&) = delete;
  ZstdUnpacker& operator=(const ZstdUnpacker&) = delete;

  // Decompresses `packed` into all of `out`. False if the bytes are damaged or have another size.
  bool Unpack(std::string_view packed, std::span<char> out);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace idleburn
