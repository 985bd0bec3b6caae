#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace idleburn {

// Checksums, SHA-256, and random ids.

// CRC-32 as in gzip and PNG (polynomial 0x04C11DB7, reflected). `before` is the checksum of the bytes before, so that a
// long text can come in pieces.
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

// SHA-256 (FIPS 180-4) of bytes that arrive in pieces. Claims and comparisons name their inputs by it, so that a
// later change shows.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  // Appends to the hashed bytes. Not after Hex.
  void Add(std::string_view bytes);
  // The digest as 64 lower-case hexadecimal digits. Ends the hash: call it once.
  [[nodiscard]] std::string Hex();

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

// The SHA-256 of bytes in memory, as 64 hexadecimal digits.
std::string Sha256Hex(std::string_view bytes);
// The SHA-256 of a file as stored: a compressed file is not decompressed.
Result<std::string> Sha256OfFile(const std::string& path);

// Sixteen random bytes from the kernel. They identify a recording or a run: no two calls return the same, on any
// machine. They are no secret.
std::string RandomId();
// A random id as 32 hexadecimal digits.
std::string RandomIdText();

}  // namespace idleburn
