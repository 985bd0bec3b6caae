#include "os/zstd_codec.h"

#include <zstd.h>

namespace idleburn {
namespace {

// Of the library's, given back with `free`.
template <typename Context, std::size_t (*free)(Context*)>
struct FreeContext {
  void operator()(Context* context) const { free(context); }
};
template <typename Context, std::size_t (*free)(Context*)>
using OwnedContext = std::unique_ptr<Context, FreeContext<Context, free>>;

}  // namespace

struct ZstdPacker::State {
  OwnedContext<ZSTD_CCtx, ZSTD_freeCCtx> context{ZSTD_createCCtx()};
  std::string out;
};

ZstdPacker::ZstdPacker(int level) : state_(std::make_unique<State>()) {
  ZSTD_CCtx_setParameter(state_->context.get(), ZSTD_c_compressionLevel, level);
  // Both sizes are written down by whoever packs.
  ZSTD_CCtx_setParameter(state_->context.get(), ZSTD_c_contentSizeFlag, 0);
}

ZstdPacker::~ZstdPacker() = default;

std::string_view ZstdPacker::Pack(std::string_view bytes) {
  std::string& out = state_->out;
  const std::size_t bound = ZSTD_compressBound(bytes.size());
  if (out.size() < bound) out.resize(bound);
  const std::size_t size = ZSTD_compress2(state_->context.get(), out.data(), out.size(), bytes.data(), bytes.size());
  if (ZSTD_isError(size) != 0U) return {};
  return std::string_view(out).substr(0, size);
}

struct ZstdUnpacker::State {
  OwnedContext<ZSTD_DCtx, ZSTD_freeDCtx> context{ZSTD_createDCtx()};
};

ZstdUnpacker::ZstdUnpacker() : state_(std::make_unique<State>()) {}

ZstdUnpacker::~ZstdUnpacker() = default;

bool ZstdUnpacker::Unpack(std::string_view packed, std::span<char> out) {
  const std::size_t size =
      ZSTD_decompressDCtx(state_->context.get(), out.data(), out.size(), packed.data(), packed.size());
  return ZSTD_isError(size) == 0U && size == out.size();
}

}  // namespace idleburn
