// The first byte chooses the format and how the input arrives; the rest is unpacked, at most 16 MiB of it.
#include <algorithm>
#include <memory>
#include <string>

#include "os/compression.h"

namespace {

class Pieces final : public idleburn::ByteSource {
 public:
  Pieces(std::string text, std::size_t piece) : text_(std::move(text)), piece_(piece) {}
  idleburn::Result<std::size_t> Read(std::span<char> out) override {
    const std::size_t n = std::min({out.size(), text_.size() - at_, piece_});
    std::copy_n(text_.data() + at_, n, out.data());
    at_ += n;
    return n;
  }
  [[nodiscard]] bool truncated() const override { return false; }
  [[nodiscard]] const std::string& name() const override { return name_; }

 private:
  std::string text_;
  std::string name_ = "fuzz";
  std::size_t piece_;
  std::size_t at_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  if (size == 0) return 0;
  const auto format = static_cast<idleburn::Compression>(data[0] % 3);
  const std::size_t piece = data[0] < 128 ? SIZE_MAX : 5;
  std::string packed(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto source = idleburn::Inflate(std::make_unique<Pieces>(std::move(packed), piece), format);
  std::string block(1 << 14, '\0');
  for (std::size_t total = 0; total < std::size_t{16} << 20;) {
    const auto got = source->Read(block);
    if (!got || *got == 0) break;
    total += *got;
  }
  return 0;
}
