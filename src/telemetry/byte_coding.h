#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace idleburn {

// The integers and texts of a recording as bytes: fixed-width integers little-endian, others as LEB128 (seven bits a
// byte, low first, the top bit set on all but the last), signed ones zigzag (0, -1, 1, -2, ...) before that.

constexpr std::uint64_t Zigzag(std::uint64_t v) { return (v << 1) ^ (std::uint64_t{0} - (v >> 63)); }
constexpr std::uint64_t Unzigzag(std::uint64_t z) { return (z >> 1) ^ (std::uint64_t{0} - (z & 1)); }

template <typename Int>
void PutFixed(std::string& out, Int value) {
  for (std::size_t i = 0; i < sizeof(Int); ++i) out += static_cast<char>(static_cast<std::uint64_t>(value) >> (8 * i));
}

inline void PutVarint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

inline void PutSigned(std::string& out, std::int64_t value) {
  PutVarint(out, Zigzag(static_cast<std::uint64_t>(value)));
}

inline void PutText(std::string& out, std::string_view text) {
  PutVarint(out, text.size());
  out += text;
}

// Takes values off the front of some bytes. What is not there or malformed reads as 0 or "", and good() is false from
// then on.
class ByteCursor {
 public:
  explicit ByteCursor(std::string_view bytes) : rest_(bytes) {}

  template <typename Int>
  Int Fixed() {
    const std::string_view bytes = Bytes(sizeof(Int));
    std::uint64_t value = 0;
    for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
    return static_cast<Int>(value);
  }

  std::uint64_t Varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (rest_.empty()) break;
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      if (shift == 63 && byte > 1) break;
      value |= std::uint64_t{byte & 0x7FU} << shift;
      if (byte < 0x80) return value;
    }
    return Spoil();
  }
  // A varint that must not be above `most`.
  std::uint64_t Count(std::uint64_t most) {
    const std::uint64_t value = Varint();
    return value <= most ? value : Spoil();
  }
  std::int64_t Signed() { return static_cast<std::int64_t>(Unzigzag(Varint())); }

  std::string_view Bytes(std::size_t size) {
    if (size > rest_.size()) {
      Spoil();
      return {};
    }
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }
  std::string_view Text() { return Bytes(static_cast<std::size_t>(Varint())); }

  [[nodiscard]] bool good() const { return good_; }
  [[nodiscard]] bool empty() const { return rest_.empty(); }

 private:
  std::uint64_t Spoil() {
    good_ = false;
    rest_ = {};
    return 0;
  }

  std::string_view rest_;
  bool good_ = true;
};

}  // namespace idleburn
