#include "profile/scan_window.h"

#include <algorithm>
#include <cstring>

#include "profile/json_scan.h"

namespace idleburn {

ScanWindow::ScanWindow(ByteSource& in, std::size_t size)
    : in_(in), buffer_(std::max<std::size_t>(size, 1) + kScanPad) {}

Result<bool> ScanWindow::More() {
  std::memmove(buffer_.data(), begin(), size());
  end_ = size();
  begin_ = 0;
  if (const std::size_t room = buffer_.size() - kScanPad; end_ > room / 2) buffer_.resize(2 * room + kScanPad);
  const std::size_t before = end_;
  while (end_ < buffer_.size() - kScanPad) {
    const std::size_t got = TRY(in_.Read(std::span(buffer_).subspan(end_, buffer_.size() - kScanPad - end_)));
    if (got == 0) break;
    end_ += got;
  }
  return end_ > before;
}

}  // namespace idleburn
