#include "os/zstd_codec.h"

#include <zstd.h>

namespace idleburn {

struct ZstdPacker::State {
  ZSTD_CCtx* context = ZSTD_createCCtx();
  std::string out;
};

ZstdPacker::ZstdPacker(int level) : state_(new State) {
  ZSTD_CCtx_setParameter(state_->context, ZSTD_c_compressionLevel, level);
  // Both sizes are written down by whoever packs.
  ZSTD_CCtx_setParameter(state_->context, ZSTD_c_contentSizeFlag, 0);
}

ZstdPacker::~ZstdPacker() {
  ZSTD_freeCCtx(state_->context);
  delete state_;
}

std::string_view ZstdPacker::Pack(std::string_view bytes) {
  std::string& out = state_->out;
  const std::size_t bound = ZSTD_compressBound(bytes.size());
  if (out.size() < bound) out.resize(bound);
  const std::size_t size = ZSTD_compress2(state_->context, out.data(), out.size(), bytes.data(), bytes.size());
  if (ZSTD_isError(size) != 0U) return {};
  return std::string_view(out).substr(0, size);
}

struct ZstdUnpacker::State {
  ZSTD_DCtx* context = ZSTD_createDCtx();
};

ZstdUnpacker::ZstdUnpacker() : state_(new State) {}

ZstdUnpacker::~ZstdUnpacker() {
  ZSTD_freeDCtx(state_->context);
  delete state_;
}

bool ZstdUnpacker::Unpack(std::string_view packed, std::span<char> out) {
  const std::size_t size = ZSTD_decompressDCtx(state_->context, out.data(), out.size(), packed.data(), packed.size());
  return ZSTD_isError(size) == 0U && size == out.size();
}

}  // namespace idleburn
