#include "os/block_unpacker.h"

#include <snappy-c.h>
#include <zlib.h>
#include <zstd.h>

#include <cstring>

namespace idleburn {
namespace {

bool Copy(std::span<const char> block, std::span<char> out) {
  if (block.size() != out.size()) return false;
  if (!out.empty()) std::memcpy(out.data(), block.data(), out.size());
  return true;
}

bool UnpackSnappy(std::span<const char> block, std::span<char> out) {
  std::size_t size = 0;
  if (snappy_uncompressed_length(block.data(), block.size(), &size) != SNAPPY_OK || size != out.size()) return false;
  return snappy_uncompress(block.data(), block.size(), out.data(), &size) == SNAPPY_OK && size == out.size();
}

// Members one after another, with the header of gzip or of zlib: writers differ.
bool UnpackGzip(std::span<const char> block, std::span<char> out) {
  z_stream stream{};
  if (inflateInit2(&stream, 15 + 32) != Z_OK) return false;
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(block.data()));
  stream.avail_in = static_cast<uInt>(block.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  int rc = inflate(&stream, Z_FINISH);
  while (rc == Z_STREAM_END && stream.avail_in > 0) {
    const uInt before = stream.avail_in;
    inflateReset(&stream);
    rc = inflate(&stream, Z_FINISH);
    if (stream.avail_in == before) break;
  }
  const bool complete = rc == Z_STREAM_END && stream.avail_in == 0 && stream.avail_out == 0;
  inflateEnd(&stream);
  return complete;
}

}  // namespace

struct BlockUnpacker::State {
  State() = default;
  ~State() { ZSTD_freeDCtx(zstd); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  bool UnpackZstd(std::span<const char> block, std::span<char> out) {
    if (zstd == nullptr) zstd = ZSTD_createDCtx();
    return ZSTD_decompressDCtx(zstd, out.data(), out.size(), block.data(), block.size()) == out.size();
  }

  ZSTD_DCtx* zstd = nullptr;  // when it is first needed
};

BlockUnpacker::BlockUnpacker() : state_(std::make_unique<State>()) {}
BlockUnpacker::~BlockUnpacker() = default;

bool BlockUnpacker::Unpack(BlockPacking packing, std::span<const char> block, std::span<char> out) {
  switch (packing) {
    case BlockPacking::kNone:
      return Copy(block, out);
    case BlockPacking::kSnappy:
      return UnpackSnappy(block, out);
    case BlockPacking::kGzip:
      return UnpackGzip(block, out);
    case BlockPacking::kZstd:
      return state_->UnpackZstd(block, out);
  }
  return false;
}

}  // namespace idleburn
