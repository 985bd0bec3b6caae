#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"

namespace idleburn {

// Bytes that arrive in order: a file, a decompressed file, a string in a test. Every reader takes one, so a parser
// never knows where its bytes come from, and a fuzzer can give it any.
class ByteSource {
 public:
  ByteSource() = default;
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;
  virtual ~ByteSource() = default;

  // Fills up to out.size() bytes and returns how many; 0 at the end. Fewer than asked for is not the end. An error is
  // final. `out` has room for at least one byte.
  virtual Result<std::size_t> Read(std::span<char> out) = 0;
  // True once the end was reached in the middle of compressed data; what came before was delivered. A reader then
  // distrusts a last line without a line end, because its last number may be cut.
  [[nodiscard]] virtual bool truncated() const = 0;
  // What a message calls it: the path as the user gave it.
  [[nodiscard]] virtual const std::string& name() const = 0;
  // A reader that opens the file by its name says here how far it is, in bytes from the start. Only a source that shows
  // progress listens.
  virtual void Passed(std::uint64_t /*position*/) {}
};

}  // namespace idleburn
