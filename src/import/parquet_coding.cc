#include "import/parquet_coding.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "telemetry/byte_coding.h"

namespace idleburn {

// Decoders of Parquet's encodings. Lengths come from the file and may be wrong, so each is checked against the bytes
// that are left before it is used.

namespace {

// Each width has a function of its own, so that every position and shift within a group is a constant.
template <int kWidth, int kIndex, typename T>
T OneValue(const char* in) {
  constexpr int kBit = kWidth * kIndex;
  constexpr int kShift = kBit % 8;
  std::uint64_t word = LoadLittle<std::uint64_t>(in + kBit / 8) >> kShift;
  // Only widths above 57 can reach into a ninth byte.
  if constexpr (kShift + kWidth > 64) word |= LoadLittle<std::uint64_t>(in + kBit / 8 + 8) << (64 - kShift);
  if constexpr (kWidth < 64) word &= (std::uint64_t{1} << kWidth) - 1;
  return static_cast<T>(word);
}

template <int kWidth, typename T>
void UnpackGroups(const char* in, std::size_t groups, T* out) {
  for (; groups > 0; --groups, in += kWidth, out += 8) {
    [&]<int... kIndex>(std::integer_sequence<int, kIndex...>) {
      ((out[kIndex] = OneValue<kWidth, kIndex, T>(in)), ...);
    }
    (std::make_integer_sequence<int, 8>{});
  }
}

template <typename T>
using Unpacker = void (*)(const char*, std::size_t, T*);

// A table of functions by width, since widths are only known when a file is read.
template <typename T, int... kWidth>
constexpr std::array<Unpacker<T>, sizeof...(kWidth)> UnpackersByWidth(std::integer_sequence<int, kWidth...>) {
  return {&UnpackGroups<kWidth, T>...};
}

}  // namespace

void UnpackBits(const char* in, int width, std::size_t groups, std::uint32_t* out) {
  static constexpr auto kTable = UnpackersByWidth<std::uint32_t>(std::make_integer_sequence<int, 33>{});
  kTable[static_cast<std::size_t>(width)](in, groups, out);
}

void UnpackBits(const char* in, int width, std::size_t groups, std::uint64_t* out) {
  static constexpr auto kTable = UnpackersByWidth<std::uint64_t>(std::make_integer_sequence<int, 65>{});
  kTable[static_cast<std::size_t>(width)](in, groups, out);
}

RunReader::RunReader(std::span<const char> bytes, int width, std::uint32_t limit)
    : bytes_(bytes), width_(width), limit_(limit) {}

// Makes the next piece: the rest of the packed run, else the next run. No bytes are left after the end or a fault.
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

// Reads a header: the number of packed groups of eight and 1 in the lowest bit, or the number of repetitions and 0.
bool RunReader::FetchRun() {
  std::uint64_t header = 0;
  int shift = 0;
  std::uint8_t byte = 0x80;
  // The header is a varint of at most five bytes.
  for (; byte >= 0x80; shift += 7) {
    if (bytes_.empty() || shift > 28) return false;
    byte = static_cast<std::uint8_t>(bytes_.front());
    bytes_ = bytes_.subspan(1);
    header |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
  }
  const auto width = static_cast<std::size_t>(width_);
  if ((header & 1) != 0) {
    // The last group may be cut short if its values are not needed.
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

// Unpacks up to kBuffered numbers of a packed run, and checks them against the limit.
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
    // An incomplete last group is copied to where bytes behind it are readable.
    std::array<char, 32 + 16> last{};
    const std::span<const char> rest = bytes_.subspan(groups * width);
    if (!rest.empty()) std::memcpy(last.data(), rest.data(), rest.size());
    UnpackBits(last.data(), width_, 1, buffer_.data() + groups * 8);
    count = groups * 8 + rest.size() * 8 / width;
    bytes_ = {};
  }
  // One check for all numbers instead of a branch for each.
  std::uint32_t highest = 0;
  for (std::size_t i = 0; i < count; ++i) highest = std::max(highest, buffer_[i]);
  if (highest >= limit_) {
    count = 0;
    bytes_ = {};
    packed_left_ = 0;
  }
  piece_ = {count, buffer_.data(), 0};
}

namespace {

// Limits that keep a damaged header from claiming gigabytes.
constexpr std::uint64_t kMostMiniSize = 1 << 16;
constexpr std::uint64_t kMostMiniblocks = 1 << 10;

}  // namespace

// Reads the header: values in a block, miniblocks in a block, integers in all, and the first integer.
DeltaReader::DeltaReader(std::span<const char> bytes) : bytes_(bytes) {
  std::uint64_t block = 0;
  std::uint64_t total = 0;
  if (!NextVarint(block) || !NextVarint(miniblocks_) || !NextVarint(total) || !NextZigzag(value_)) return;
  // The format requires whole miniblocks of a multiple of 32 integers.
  if (miniblocks_ == 0 || miniblocks_ > kMostMiniblocks || block % miniblocks_ != 0) return;
  mini_size_ = block / miniblocks_;
  if (mini_size_ == 0 || mini_size_ % 32 != 0 || mini_size_ > kMostMiniSize) return;
  deltas_.resize(mini_size_);
  left_ = total;
}

// An integer in groups of seven bits, lowest first; the top bit of a byte says that another follows.
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

// A signed integer as 0, -1, 1, -2, ..., so that small ones are short.
bool DeltaReader::NextZigzag(std::uint64_t& value) {
  if (!NextVarint(value)) return false;
  value = Unzigzag(value);
  return true;
}

// Reads the header of a block: the smallest difference and the width of each miniblock.
bool DeltaReader::FetchBlock() {
  if (!NextZigzag(least_) || bytes_.size() < miniblocks_) return false;
  widths_ = bytes_.first(miniblocks_);
  bytes_ = bytes_.subspan(miniblocks_);
  return true;
}

// Unpacks the next miniblock, with the header of its block if it is the first.
bool DeltaReader::FetchMiniblock() {
  if (widths_.empty() && !FetchBlock()) return false;
  const auto width = static_cast<std::uint8_t>(widths_.front());
  widths_ = widths_.subspan(1);
  // Some writers store only the needed part of the last miniblock.
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
    // The integers so far were right, so a reader that asked for no more gets them.
    if (next_delta_ == deltas_ready_ && !FetchMiniblock()) {
      left_ = 0;
      return out.empty();
    }
    // Unsigned arithmetic wraps, as the format demands of differences that overflow.
    value_ += least_ + deltas_[next_delta_++];
  }
  return true;
}

std::uint8_t ThriftReader::Byte() {
  if (at_ >= bytes_.size()) {
    Break();
    return 0;
  }
  return static_cast<std::uint8_t>(bytes_[at_++]);
}

std::uint64_t ThriftReader::Varint() {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    const std::uint8_t byte = Byte();
    value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
    if (byte < 0x80) return ok_ ? value : 0;
  }
  Break();
  return 0;
}

std::int64_t ThriftReader::Integer() { return static_cast<std::int64_t>(Unzigzag(Varint())); }

std::string_view ThriftReader::Binary() {
  const std::uint64_t size = Varint();
  if (size > bytes_.size() - at_) {
    Break();
    return {};
  }
  const std::string_view text(bytes_.data() + at_, size);
  at_ += size;
  return text;
}

// A field's header: the difference to the previous id and the type in one byte, or the whole id behind it. kStop at
// the end of the struct or after a fault.
ThriftReader::Type ThriftReader::NextField(std::int64_t& id) {
  const std::uint8_t header = Byte();
  const int type = header & 0xF;
  if (!ok_ || header == 0) return Type::kStop;
  // A difference of 0 in the header means that the id follows by itself.
  id = header >> 4 != 0 ? id + (header >> 4) : Integer();
  if (type == 0 || type > static_cast<int>(Type::kStruct)) Break();
  return ok_ ? static_cast<Type>(type) : Type::kStop;
}

// A list's header: the number of elements and their type. The number cannot exceed what is left, so that a damaged
// one does not keep a caller busy.
std::uint64_t ThriftReader::ListHeader(Type& type) {
  const std::uint8_t header = Byte();
  const std::uint64_t size = header >> 4 == 0xF ? Varint() : header >> 4;
  type = static_cast<Type>(header & 0xF);
  // An element takes at least a byte.
  if (type == Type::kStop || type > Type::kStruct || size > bytes_.size() - at_) Break();
  return ok_ ? size : 0;
}

void ThriftReader::SkipBytes(std::uint64_t count) {
  if (count > bytes_.size() - at_) return Break();
  at_ += count;
}

// Skips a map: its size, one byte for the types of keys and values, then the pairs.
void ThriftReader::SkipMap(int depth) {
  const std::uint64_t size = Varint();
  if (size == 0) return;
  const std::uint8_t types = Byte();
  if (size > bytes_.size() - at_) return Break();
  for (std::uint64_t i = 0; i < size && ok_; ++i) {
    for (const int type : {types >> 4, types & 0xF}) {
      if (type == 0 || type > static_cast<int>(Type::kStruct)) return Break();
      // Inside containers a bool takes a byte.
      const auto inner = static_cast<Type>(type);
      Skip(inner == Type::kTrue || inner == Type::kFalse ? Type::kByte : inner, depth + 1);
    }
  }
}

// Skips a value of any type. `depth` is bounded because a damaged file may nest without end.
void ThriftReader::Skip(Type type, int depth) {
  if (depth > kMostDepth) return Break();
  switch (type) {
    case Type::kStop:
    case Type::kTrue:
    case Type::kFalse:
      return;
    case Type::kByte:
      return SkipBytes(1);
    case Type::kI16:
    case Type::kI32:
    case Type::kI64:
      Varint();
      return;
    case Type::kDouble:
      return SkipBytes(8);
    case Type::kBinary:
      Binary();
      return;
    case Type::kList:
    case Type::kSet: {
      Type element = Type::kStop;
      std::uint64_t left = ListHeader(element);
      if (element == Type::kTrue || element == Type::kFalse) element = Type::kByte;
      for (; left > 0 && ok_; --left) Skip(element, depth + 1);
      return;
    }
    case Type::kMap:
      return SkipMap(depth);
    case Type::kStruct: {
      std::int64_t id = 0;
      for (Type field = NextField(id); field != Type::kStop; field = NextField(id)) Skip(field, depth + 1);
      return;
    }
  }
}

}  // namespace idleburn
