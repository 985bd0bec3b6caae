#include "import/delta_reader.h"

#include <algorithm>

#include "import/bit_unpack.h"
#include "telemetry/byte_coding.h"

namespace idleburn {
namespace {

constexpr std::uint64_t kMostMiniSize = 1 << 16;
constexpr std::uint64_t kMostMiniblocks = 1 << 10;

}  // namespace

DeltaReader::DeltaReader(std::span<const char> bytes) : bytes_(bytes) {
  std::uint64_t block = 0;
  std::uint64_t total = 0;
  if (!NextVarint(block) || !NextVarint(miniblocks_) || !NextVarint(total) || !NextZigzag(value_)) return;
  if (miniblocks_ == 0 || miniblocks_ > kMostMiniblocks || block % miniblocks_ != 0) return;
  mini_size_ = block / miniblocks_;
  if (mini_size_ == 0 || mini_size_ % 32 != 0 || mini_size_ > kMostMiniSize) return;
  deltas_.resize(mini_size_);
  left_ = total;
}

bool DeltaReader::NextVarint(std::uint64_t& value) {
  value = 0;
  for (int shift = 0; shift < 64 && !bytes_.empty(); shift += 7) {
    const auto byte = static_cast<std::uint8_t>(bytes_.front());
    bytes_ = bytes_.subspan(1);
    value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

bool DeltaReader::NextZigzag(std::uint64_t& value) {
  if (!NextVarint(value)) return false;
  value = Unzigzag(value);
  return true;
}

bool DeltaReader::FetchBlock() {
  if (!NextZigzag(least_) || bytes_.size() < miniblocks_) return false;
  widths_ = bytes_.first(miniblocks_);
  bytes_ = bytes_.subspan(miniblocks_);
  return true;
}

bool DeltaReader::FetchMiniblock() {
  if (widths_.empty() && !FetchBlock()) return false;
  const auto width = static_cast<std::uint8_t>(widths_.front());
  widths_ = widths_.subspan(1);
  // Of the last miniblock some writers keep only what is needed.
  const std::uint64_t wanted = std::min(mini_size_, left_);
  const std::uint64_t groups = (wanted + 7) / 8;
  if (width > 64 || groups * width > bytes_.size()) return false;
  UnpackBits(bytes_.data(), width, groups, deltas_.data());
  bytes_ = bytes_.subspan(std::min<std::size_t>(bytes_.size(), mini_size_ / 8 * width));
  next_delta_ = 0;
  deltas_ready_ = wanted;
  return true;
}

bool DeltaReader::Read(std::span<std::uint64_t> out) {
  if (out.size() > left_) return false;
  while (!out.empty()) {
    out.front() = value_;
    out = out.subspan(1);
    if (--left_ == 0) return out.empty();
    if (next_delta_ == deltas_ready_ && !FetchMiniblock()) {
      left_ = 0;
      return out.empty();
    }
    value_ += least_ + deltas_[next_delta_++];
  }
  return true;
}

}  // namespace idleburn
