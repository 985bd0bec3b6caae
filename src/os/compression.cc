#include "os/compression.h"

#include <isa-l/igzip_lib.h>
#include <lzma.h>
#include <snappy-c.h>
#include <zlib.h>
#include <zstd.h>

#include <cstring>
#include <vector>

namespace idleburn {

namespace {

constexpr std::size_t kBlock = 1 << 17;
// Output beyond both limits is refused. The first lets small inputs be as repetitive as they like; the second lets
// honest logs be as large as they like.
constexpr std::uint64_t kBombBytes = std::uint64_t{1} << 30;
constexpr std::uint64_t kBombRatio = 1000;  // an idle GPU's log as .xz unpacks to 560 times its size
// The most memory that an .xz file may ask for. The largest preset takes 65 MiB.
constexpr std::uint64_t kXzMemory = std::uint64_t{256} << 20;

// One decompression library. A step reads from `in`, writes to `out`, and moves both past what it used. kMore: it
// needs more input or more room. kMemberEnd: a whole member was read, with its checksum.
class Codec {
 public:
  enum class State : std::uint8_t { kMore, kMemberEnd, kBroken };

  Codec() = default;
  Codec(const Codec&) = delete;
  Codec& operator=(const Codec&) = delete;
  virtual ~Codec() = default;
  virtual State Step(std::span<const char>& in, std::span<char>& out) = 0;
  virtual void Restart() = 0;  // for the next member
};

// Intel's library unpacks gzip several times faster than zlib.
class GzipCodec final : public Codec {
 public:
  GzipCodec() {
    isal_inflate_init(&stream_);
    stream_.crc_flag = ISAL_GZIP;  // with headers, and checksums verified
  }

  State Step(std::span<const char>& in, std::span<char>& out) override {
    stream_.next_in = reinterpret_cast<std::uint8_t*>(const_cast<char*>(in.data()));
    stream_.avail_in = static_cast<std::uint32_t>(in.size());
    stream_.next_out = reinterpret_cast<std::uint8_t*>(out.data());
    stream_.avail_out = static_cast<std::uint32_t>(out.size());
    const int rc = isal_inflate(&stream_);
    // If damaged data ends within a code, the library counts one byte too many and avail_in wraps.
    if (stream_.avail_out <= out.size()) out = out.subspan(out.size() - stream_.avail_out);
    if (rc < 0 || stream_.avail_in > in.size()) return State::kBroken;
    in = in.subspan(in.size() - stream_.avail_in);
    return stream_.block_state == ISAL_BLOCK_FINISH ? State::kMemberEnd : State::kMore;
  }
  void Restart() override { isal_inflate_reset(&stream_); }

 private:
  inflate_state stream_;
};

class XzCodec final : public Codec {
 public:
  XzCodec() { Restart(); }
  ~XzCodec() override { lzma_end(&stream_); }
  XzCodec(const XzCodec&) = delete;
  XzCodec& operator=(const XzCodec&) = delete;

  State Step(std::span<const char>& in, std::span<char>& out) override {
    stream_.next_in = reinterpret_cast<const std::uint8_t*>(in.data());
    stream_.avail_in = in.size();
    stream_.next_out = reinterpret_cast<std::uint8_t*>(out.data());
    stream_.avail_out = out.size();
    const lzma_ret rc = lzma_code(&stream_, LZMA_RUN);
    in = in.subspan(in.size() - stream_.avail_in);
    out = out.subspan(out.size() - stream_.avail_out);
    if (rc == LZMA_STREAM_END) return State::kMemberEnd;
    return rc == LZMA_OK || rc == LZMA_BUF_ERROR ? State::kMore : State::kBroken;
  }
  void Restart() override {
    if (lzma_stream_decoder(&stream_, kXzMemory, 0) != LZMA_OK) lzma_end(&stream_);
  }

 private:
  lzma_stream stream_ = LZMA_STREAM_INIT;
};

class ZstdCodec final : public Codec {
 public:
  ZstdCodec() : stream_(ZSTD_createDStream()) {}
  ~ZstdCodec() override { ZSTD_freeDStream(stream_); }
  ZstdCodec(const ZstdCodec&) = delete;
  ZstdCodec& operator=(const ZstdCodec&) = delete;

  State Step(std::span<const char>& in, std::span<char>& out) override {
    ZSTD_inBuffer from{in.data(), in.size(), 0};
    ZSTD_outBuffer to{out.data(), out.size(), 0};
    const std::size_t rc = ZSTD_decompressStream(stream_, &to, &from);
    in = in.subspan(from.pos);
    out = out.subspan(to.pos);
    if (ZSTD_isError(rc) != 0U) return State::kBroken;
    return rc == 0 ? State::kMemberEnd : State::kMore;
  }
  void Restart() override { ZSTD_DCtx_reset(stream_, ZSTD_reset_session_only); }

 private:
  ZSTD_DStream* stream_;
};

// A codec at the start of a member.
std::unique_ptr<Codec> MakeCodec(Compression compression) {
  switch (compression) {
    case Compression::kGzip:
      return std::make_unique<GzipCodec>();
    case Compression::kXz:
      return std::make_unique<XzCodec>();
    case Compression::kZstd:
      return std::make_unique<ZstdCodec>();
  }
  return nullptr;
}

// Reads members one after another through a codec. Tells three ends apart: the end of the last member, an end inside
// a member (truncated), and bytes that are no member (an error).
class InflateSource final : public ByteSource {
 public:
  InflateSource(std::unique_ptr<ByteSource> packed, std::unique_ptr<Codec> codec)
      : packed_(std::move(packed)), codec_(std::move(codec)), block_(kBlock) {}

  // Steps until there is some output or the input ends. `starved` says that the step had no input left; if it then
  // gives nothing, the data ends inside a member.
  Result<std::size_t> Read(std::span<char> out) override {
    std::span<char> room = out;
    while (room.size() == out.size() && !done_) {
      if (rest_.empty()) TRY(Refill());
      // Another member may follow, or padding, or nothing.
      if (between_members_) {
        SkipPadding();
        if (rest_.empty()) {
          done_ = at_end_;
          continue;
        }
      }
      const bool starved = rest_.empty();
      between_members_ = false;
      const std::size_t room_before = room.size();
      const Codec::State state = codec_->Step(rest_, room);
      after_member_ = after_member_ && room.size() == room_before;
      if (state == Codec::State::kBroken) {
        // The checksum failed or is missing, so the damage may be anywhere in the member. None of it may count.
        return Fail(name() +
                    (after_member_ ? ": there are other bytes after the end of the compressed data; remove them"
                                   : ": the compressed data is damaged at an unknown place; copy it again") +
                    ", or unpack it yourself");
      } else if (state == Codec::State::kMemberEnd) {
        codec_->Restart();
        between_members_ = after_member_ = true;
      } else if (starved && room.size() == out.size()) {
        truncated_ = done_ = true;
      }
    }
    const std::size_t n = out.size() - room.size();
    produced_ += n;
    if (produced_ > kBombBytes && produced_ / kBombRatio > consumed_ - rest_.size()) {
      return Fail(name() + ": unpacks to more than " + std::to_string(kBombRatio) +
                  " times its size, which looks like a decompression bomb; unpack it yourself if you trust it");
    }
    return n;
  }
  [[nodiscard]] bool truncated() const override { return truncated_; }
  [[nodiscard]] const std::string& name() const override { return packed_->name(); }

 private:
  // Reads the next compressed bytes. None are left of those before.
  Result<void> Refill() {
    const std::size_t got = TRY(packed_->Read(block_));
    rest_ = std::span<const char>(block_.data(), got);
    consumed_ += got;
    at_end_ = got == 0;
    return {};
  }
  // Tapes and block devices pad with zeros. No member starts with one.
  void SkipPadding() {
    while (!rest_.empty() && rest_.front() == '\0') rest_ = rest_.subspan(1);
  }

  std::unique_ptr<ByteSource> packed_;
  std::unique_ptr<Codec> codec_;
  std::vector<char> block_;
  std::span<const char> rest_;
  std::uint64_t consumed_ = 0;
  std::uint64_t produced_ = 0;
  bool at_end_ = false;
  bool between_members_ = false;
  bool after_member_ = false;  // and nothing came of a next one yet
  bool done_ = false;
  bool truncated_ = false;
};

}  // namespace

std::optional<Compression> SniffCompression(std::string_view head) {
  if (head.starts_with("\x1f\x8b")) return Compression::kGzip;
  if (head.starts_with(std::string_view("\xfd\x37zXZ\0", 6))) return Compression::kXz;
  if (head.starts_with("\x28\xb5\x2f\xfd")) return Compression::kZstd;
  return std::nullopt;
}

std::unique_ptr<ByteSource> Inflate(std::unique_ptr<ByteSource> packed, Compression compression) {
  return std::make_unique<InflateSource>(std::move(packed), MakeCodec(compression));
}

namespace {

// The block as it is, if the sizes agree.
bool CopyStored(std::span<const char> block, std::span<char> out) {
  if (block.size() != out.size()) return false;
  if (!out.empty()) std::memcpy(out.data(), block.data(), out.size());
  return true;
}

// Checks the size that the block states before unpacking, because `out` has exactly that room.
bool UnpackSnappy(std::span<const char> block, std::span<char> out) {
  std::size_t size = 0;
  if (snappy_uncompressed_length(block.data(), block.size(), &size) != SNAPPY_OK || size != out.size()) return false;
  return snappy_uncompress(block.data(), block.size(), out.data(), &size) == SNAPPY_OK && size == out.size();
}

// Unpacks consecutive members. Some writers use the gzip header, others the zlib header.
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

// Only zstd has a context that is worth keeping. It is made when a block needs it.
std::string GzipText(std::string_view text) {
  constexpr int kGzipWindow = 15 + 16;  // zlib's largest window, with the head of gzip
  z_stream stream{};
  if (deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, kGzipWindow, 8, Z_DEFAULT_STRATEGY) != Z_OK) return {};
  std::string out(deflateBound(&stream, static_cast<uLong>(text.size())), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const bool whole = deflate(&stream, Z_FINISH) == Z_STREAM_END;
  out.resize(whole ? stream.total_out : 0);
  deflateEnd(&stream);
  return out;
}

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
      return CopyStored(block, out);
    case BlockPacking::kSnappy:
      return UnpackSnappy(block, out);
    case BlockPacking::kGzip:
      return UnpackGzip(block, out);
    case BlockPacking::kZstd:
      return state_->UnpackZstd(block, out);
  }
  return false;
}

struct ZstdPacker::State {
  struct Free {
    void operator()(ZSTD_CCtx* owned) const { ZSTD_freeCCtx(owned); }
  };
  std::unique_ptr<ZSTD_CCtx, Free> context{ZSTD_createCCtx()};
  std::string out;
};

ZstdPacker::ZstdPacker(int level) : state_(std::make_unique<State>()) {
  ZSTD_CCtx_setParameter(state_->context.get(), ZSTD_c_compressionLevel, level);
  // The caller stores the size, so zstd's header leaves it out.
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
  struct Free {
    void operator()(ZSTD_DCtx* owned) const { ZSTD_freeDCtx(owned); }
  };
  std::unique_ptr<ZSTD_DCtx, Free> context{ZSTD_createDCtx()};
};

ZstdUnpacker::ZstdUnpacker() : state_(std::make_unique<State>()) {}

ZstdUnpacker::~ZstdUnpacker() = default;

bool ZstdUnpacker::Unpack(std::string_view packed, std::span<char> out) {
  const std::size_t size =
      ZSTD_decompressDCtx(state_->context.get(), out.data(), out.size(), packed.data(), packed.size());
  return ZSTD_isError(size) == 0U && size == out.size();
}

}  // namespace idleburn
