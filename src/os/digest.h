#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace idleburn {

// CRC-32 as in gzip and PNG (polynomial 0x04C11DB7, reflected). `before`: the checksum of what precedes `bytes`.
std::uint32_t Crc32(std::string_view bytes, std::uint32_t before = 0);

// Two lower-case hexadecimal digits for each byte.
inline std::string HexText(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text += {kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return text;
}

// SHA-256 (FIPS 180-4) of bytes that come in pieces.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void Add(std::string_view bytes);
  // 64 lower-case hexadecimal digits; nothing may be added afterwards.
  [[nodiscard]] std::string Hex();

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

std::string Sha256Hex(std::string_view bytes);
// Of a file as it lies on the disk, packed or not.
Result<std::string> Sha256OfFile(const std::string& path);

// Sixteen bytes that no other call returns, on this machine or another: an identity, not a secret.
std::string RandomId();
// One in 32 hexadecimal digits.
std::string RandomIdText();

}  // namespace idleburn
