#include "import/run_reader.h"

#include <cstring>

namespace idleburn {

RunReader::RunReader(std::span<const char> bytes, int width, std::uint32_t limit)
    : bytes_(bytes), width_(width), limit_(limit) {}

void RunReader::Fetch() {
  while (piece_.count == 0) {
    if (packed_left_ > 0) {
      UnpackSome();
    } else if (!FetchRun()) {
      bytes_ = {};
      return;
    }
  }
}

// A header: how many groups of eight are packed and 1 in the lowest bit, or how often a number repeats and 0.
bool RunReader::FetchRun() {
  std::uint64_t header = 0;
  int shift = 0;
  std::uint8_t byte = 0x80;
  for (; byte >= 0x80; shift += 7) {
    if (bytes_.empty() || shift > 28) return false;
    byte = static_cast<std::uint8_t>(bytes_.front());
    bytes_ = bytes_.subspan(1);
    header |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
  }
  const auto width = static_cast<std::size_t>(width_);
  if ((header & 1) != 0) {
    // The last group may be cut short where its values are not needed.
    const std::size_t groups = header >> 1;
    packed_left_ = width == 0 ? groups : std::min<std::size_t>(groups, (bytes_.size() + width - 1) / width);
    return true;
  }
  const std::size_t size = (width + 7) / 8;
  if (bytes_.size() < size) return false;
  std::uint32_t value = 0;
  if (size > 0) std::memcpy(&value, bytes_.data(), size);
  bytes_ = bytes_.subspan(size);
  if (value >= limit_) return false;
  piece_ = {header >> 1, nullptr, value};
  return true;
}

void RunReader::UnpackSome() {
  const auto width = static_cast<std::size_t>(width_);
  std::size_t groups = std::min(packed_left_, kBuffered / 8);
  std::size_t count = groups * 8;
  packed_left_ -= groups;
  const std::size_t used = groups * width;
  if (used <= bytes_.size()) {
    UnpackBits(bytes_.data(), width_, groups, buffer_.data());
    bytes_ = bytes_.subspan(used);
  } else {
    groups = bytes_.size() / width;
    UnpackBits(bytes_.data(), width_, groups, buffer_.data());
    // The rest of a group, with nothing behind it.
    std::array<char, 32 + 16> last{};
    const std::span<const char> rest = bytes_.subspan(groups * width);
    if (!rest.empty()) std::memcpy(last.data(), rest.data(), rest.size());
    UnpackBits(last.data(), width_, 1, buffer_.data() + groups * 8);
    count = groups * 8 + rest.size() * 8 / width;
    bytes_ = {};
  }
  std::uint32_t highest = 0;
  for (std::size_t i = 0; i < count; ++i) highest = std::max(highest, buffer_[i]);
  if (highest >= limit_) {
    count = 0;
    bytes_ = {};
    packed_left_ = 0;
  }
  piece_ = {count, buffer_.data(), 0};
}

}  // namespace idleburn
