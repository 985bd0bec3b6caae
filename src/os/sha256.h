#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace idleburn {

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

}  // namespace idleburn
