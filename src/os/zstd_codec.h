#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace idleburn {

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
