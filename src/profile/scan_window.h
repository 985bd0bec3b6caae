#pragma once

#include <cstddef>
#include <vector>

#include "base/byte_source.h"

namespace idleburn {

// The part of a source that is being scanned: contiguous, with kScanPad readable bytes after it. Grows only when one
// value is longer than the window.
class ScanWindow {
 public:
  ScanWindow(ByteSource& in, std::size_t size);

  [[nodiscard]] const char* begin() const { return buffer_.data() + begin_; }
  [[nodiscard]] const char* end() const { return buffer_.data() + end_; }
  [[nodiscard]] std::size_t size() const { return end_ - begin_; }

  // Forgets what stands before `p`.
  void DropTo(const char* p) { begin_ = static_cast<std::size_t>(p - buffer_.data()); }
  // Reads on, as much as fits; false if there is no more. Pointers into the window end here.
  Result<bool> More();

 private:
  ByteSource& in_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

}  // namespace idleburn
