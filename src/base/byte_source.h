#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "base/result.h"

namespace idleburn {

// Bytes that arrive in order: a file, a decompressed file, a string in a test.
class ByteSource {
 public:
  ByteSource() = default;
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;
  virtual ~ByteSource() = default;

  // Fills up to out.size() bytes and returns how many; 0 at the end. An error is final.
  virtual Result<std::size_t> Read(std::span<char> out) = 0;
  // True after the end was reached in the middle of compressed data; what came before was delivered.
  [[nodiscard]] virtual bool truncated() const = 0;
  // What a message calls it: the path as the user gave it.
  [[nodiscard]] virtual const std::string& name() const = 0;
};

}  // namespace idleburn
