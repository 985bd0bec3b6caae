#include "telemetry/column_codec.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/int128.h"

namespace idleburn {
namespace {

constexpr int kZstdLevel = 3;
constexpr std::size_t kPackedBlock = 128;  // values that share a width
constexpr std::size_t kPadding = 16;       // bytes past the end that may be loaded, never used
constexpr std::size_t kMostBytesOfValue = 16;

unsigned WidthOf(std::uint64_t v) { return v == 0 ? 0 : 64 - static_cast<unsigned>(__builtin_clzll(v)); }

std::uint64_t Load(const char* at) {
  std::uint64_t word = 0;
  std::memcpy(&word, at, sizeof word);  // little-endian, as every machine with a supported GPU is
  return word;
}

// What a column has left once the least value is taken off and the greatest common divisor divided out.
struct Affine {
  std::uint64_t base = 0;
  std::uint64_t step = 1;
};

Affine Reduce(std::span<const std::int64_t> values, std::vector<std::uint64_t>& plain) {
  Affine affine;
  affine.base = static_cast<std::uint64_t>(*std::min_element(values.begin(), values.end()));
  plain.resize(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) plain[i] = static_cast<std::uint64_t>(values[i]) - affine.base;
  std::uint64_t step = 0;
  std::uint64_t before = 0;
  for (const std::uint64_t v : plain) {
    if (v == before) continue;
    before = v;
    step = std::gcd(step, v);
    if (step == 1) break;
  }
  if (step <= 1) return affine;
  affine.step = step;
  for (std::uint64_t& v : plain) v /= step;
  return affine;
}

void LayPacked(const std::vector<std::uint64_t>& numbers, std::string& out) {
  for (std::size_t from = 0; from < numbers.size(); from += kPackedBlock) {
    const std::size_t to = std::min(numbers.size(), from + kPackedBlock);
    std::uint64_t all = 0;
    for (std::size_t i = from; i < to; ++i) all |= numbers[i];
    const unsigned width = WidthOf(all);
    out += static_cast<char>(width);
    Uint128 bits = 0;
    unsigned filled = 0;
    for (std::size_t i = from; i < to; ++i) {
      bits |= static_cast<Uint128>(numbers[i]) << filled;
      for (filled += width; filled >= 8; filled -= 8, bits >>= 8) out += static_cast<char>(bits);
    }
    if (filled > 0) out += static_cast<char>(bits);
  }
}

void LayPlanes(const std::vector<std::uint64_t>& numbers, std::string& out) {
  std::uint64_t all = 0;
  for (const std::uint64_t n : numbers) all |= n;
  const unsigned planes = (WidthOf(all) + 7) / 8;
  out += static_cast<char>(planes);
  for (unsigned p = 0; p < planes; ++p) {
    for (const std::uint64_t n : numbers) out += static_cast<char>(n >> (8 * p));
  }
}

void LayRuns(const std::vector<std::uint64_t>& numbers, std::string& out) {
  for (std::size_t from = 0; from < numbers.size();) {
    std::size_t to = from + 1;
    while (to < numbers.size() && numbers[to] == numbers[from]) ++to;
    PutVarint(out, numbers[from]);
    PutVarint(out, to - from);
    from = to;
  }
}

// The readers below take a layout of n numbers from `bytes`, which are followed by kPadding bytes. They return false
// unless the bytes hold exactly that.

bool TakeVarints(std::string_view bytes, std::span<std::int64_t> out) {
  constexpr std::uint64_t kTops = 0x8080808080808080U;
  const char* at = bytes.data();
  const char* const end = at + bytes.size();
  std::size_t i = 0;
  while (i < out.size()) {
    std::uint64_t word = Load(at);
    const std::uint64_t stops = ~word & kTops;
    if (stops == kTops && i + 8 <= out.size() && at + 8 <= end) {  // eight of one byte
      for (unsigned k = 0; k < 8; ++k) out[i + k] = static_cast<std::int64_t>(word >> (8 * k) & 0x7F);
      i += 8;
      at += 8;
      continue;
    }
    if (stops == 0) {  // nine or ten bytes
      ByteCursor cursor(std::string_view(at, static_cast<std::size_t>(end - at)).substr(0, 10));
      out[i++] = static_cast<std::int64_t>(cursor.Varint());
      if (!cursor.good()) return false;
      while ((static_cast<unsigned char>(*at++) & 0x80U) != 0) {
      }
      continue;
    }
    const auto length = static_cast<unsigned>(__builtin_ctzll(stops) + 1) / 8;
    word &= ~std::uint64_t{0} >> (64 - 8 * length);
    // Closes the gaps that the top bits leave: pairs of bytes, pairs of those, and so on.
    word = (word & 0x007F007F007F007FU) | ((word & 0x7F007F007F007F00U) >> 1);
    word = (word & 0x00003FFF00003FFFU) | ((word & 0x3FFF00003FFF0000U) >> 2);
    word = (word & 0x000000000FFFFFFFU) | ((word & 0x0FFFFFFF00000000U) >> 4);
    at += length;
    if (at > end) return false;
    out[i++] = static_cast<std::int64_t>(word);
  }
  return at == end;
}

bool TakePacked(std::string_view bytes, std::span<std::int64_t> out) {
  const char* at = bytes.data();
  const char* const end = at + bytes.size();
  for (std::size_t from = 0; from < out.size(); from += kPackedBlock) {
    const std::size_t count = std::min(kPackedBlock, out.size() - from);
    if (at >= end) return false;
    const auto width = static_cast<unsigned char>(*at++);
    const std::size_t size = (count * width + 7) / 8;
    if (width > 64 || size > static_cast<std::size_t>(end - at)) return false;
    const std::uint64_t mask = width == 0 ? 0 : ~std::uint64_t{0} >> (64 - width);
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t bit = i * width;
      const char* const word = at + bit / 8;
      std::uint64_t value = Load(word) >> (bit % 8);
      if (width > 56 && bit % 8 != 0) value |= std::uint64_t{static_cast<unsigned char>(word[8])} << (64 - bit % 8);
      out[from + i] = static_cast<std::int64_t>(value & mask);
    }
    at += size;
  }
  return at == end;
}

bool TakePlanes(std::string_view bytes, std::span<std::int64_t> out) {
  if (bytes.empty()) return false;
  const auto planes = static_cast<unsigned char>(bytes.front());
  if (planes > 8 || bytes.size() != 1 + planes * out.size()) return false;
  std::fill(out.begin(), out.end(), 0);
  for (unsigned p = 0; p < planes; ++p) {
    const auto* const plane = reinterpret_cast<const unsigned char*>(bytes.data()) + 1 + p * out.size();
    for (std::size_t i = 0; i < out.size(); ++i) {
      out[i] = static_cast<std::int64_t>(static_cast<std::uint64_t>(out[i]) | std::uint64_t{plane[i]} << (8 * p));
    }
  }
  return true;
}

bool TakeRuns(std::string_view bytes, std::span<std::int64_t> out) {
  ByteCursor cursor(bytes);
  for (std::size_t i = 0; i < out.size();) {
    const auto value = static_cast<std::int64_t>(cursor.Varint());
    const std::uint64_t run = cursor.Count(out.size() - i);
    if (run == 0) return false;
    std::fill_n(out.begin() + static_cast<std::ptrdiff_t>(i), run, value);
    i += run;
  }
  return cursor.good() && cursor.empty();
}

bool TakeLayout(ColumnLayout layout, std::string_view bytes, std::span<std::int64_t> out) {
  switch (layout) {
    case ColumnLayout::kVarint: return TakeVarints(bytes, out);
    case ColumnLayout::kPacked: return TakePacked(bytes, out);
    case ColumnLayout::kPlanes: return TakePlanes(bytes, out);
    case ColumnLayout::kRuns: return TakeRuns(bytes, out);
  }
  return false;
}

void Unmap(ColumnMapping mapping, Affine affine, std::span<std::int64_t> out) {
  const auto number = [](std::int64_t v) { return static_cast<std::uint64_t>(v); };
  const std::uint64_t step = affine.step;
  std::uint64_t value = affine.base;  // base + step * number, kept as a running sum
  std::uint64_t slope = 0;
  switch (mapping) {
    case ColumnMapping::kPlain:
      for (std::int64_t& v : out) v = static_cast<std::int64_t>(affine.base + step * number(v));
      return;
    case ColumnMapping::kDelta:
      for (std::int64_t& v : out) {
        value += step * Unzigzag(number(v));
        v = static_cast<std::int64_t>(value);
      }
      return;
    case ColumnMapping::kDeltaOfDelta:
      for (std::int64_t& v : out) {
        slope += step * Unzigzag(number(v));
        value += slope;
        v = static_cast<std::int64_t>(value);
      }
      return;
  }
}

}  // namespace

ColumnEncoder::ColumnEncoder() : packer_(kZstdLevel) {}

void ColumnEncoder::Map(ColumnMapping mapping) {
  mapped_.resize(plain_.size());
  std::uint64_t before = 0;
  std::uint64_t slope = 0;
  for (std::size_t i = 0; i < plain_.size(); ++i) {
    const std::uint64_t delta = plain_[i] - before;
    before = plain_[i];
    switch (mapping) {
      case ColumnMapping::kPlain: mapped_[i] = plain_[i]; break;
      case ColumnMapping::kDelta: mapped_[i] = Zigzag(delta); break;
      case ColumnMapping::kDeltaOfDelta:
        mapped_[i] = Zigzag(delta - slope);
        slope = delta;
        break;
    }
  }
}

std::string_view ColumnEncoder::Coded(const ColumnCoding& coding, CodingEffort effort) {
  Map(coding.mapping);
  LayOut(coding.layout);
  return Stored(laid_, effort);
}

void ColumnEncoder::LayOut(ColumnLayout layout) {
  laid_.clear();
  switch (layout) {
    case ColumnLayout::kVarint:
      for (const std::uint64_t n : mapped_) PutVarint(laid_, n);
      return;
    case ColumnLayout::kPacked: return LayPacked(mapped_, laid_);
    case ColumnLayout::kPlanes: return LayPlanes(mapped_, laid_);
    case ColumnLayout::kRuns: return LayRuns(mapped_, laid_);
  }
}

std::string_view ColumnEncoder::Stored(std::string_view bytes, CodingEffort effort) {
  if (effort == CodingEffort::kQuick || bytes.size() < 16) return bytes;
  const std::string_view packed = packer_.Pack(bytes);
  return packed.empty() || packed.size() >= bytes.size() ? bytes : packed;
}

void ColumnEncoder::EncodeBytes(std::string_view bytes, CodingEffort effort, std::string& out) {
  const std::string_view stored = Stored(bytes, effort);
  PutVarint(out, bytes.size());
  PutText(out, stored);
}

void ColumnEncoder::Encode(std::span<const std::int64_t> values, CodingEffort effort, std::string& out) {
  if (values.empty()) return;
  const Affine affine = Reduce(values, plain_);
  best_.clear();
  std::size_t chosen = 0;
  std::size_t unpacked = 0;
  for (std::size_t c = 0; c < kColumnCodings.size(); ++c) {
    const bool quick = c == 0 || kColumnCodings[c].layout == ColumnLayout::kVarint;
    if (effort == CodingEffort::kQuick && !quick) continue;
    const std::string_view stored = Coded(kColumnCodings[c], effort);
    if (c > 0 && stored.size() >= best_.size()) continue;
    best_ = stored;
    chosen = c;
    unpacked = laid_.size();
  }
  out += static_cast<char>(chosen);
  PutSigned(out, static_cast<std::int64_t>(affine.base));
  PutVarint(out, affine.step);
  PutVarint(out, unpacked);
  PutText(out, best_);
}

void ColumnEncoder::EncodeAs(std::size_t coding, std::span<const std::int64_t> values, std::string& out) {
  const Affine affine = Reduce(values, plain_);
  const std::string_view stored = Coded(kColumnCodings[coding], CodingEffort::kSmallest);
  out += static_cast<char>(coding);
  PutSigned(out, static_cast<std::int64_t>(affine.base));
  PutVarint(out, affine.step);
  PutVarint(out, laid_.size());
  PutText(out, stored);
}

bool ColumnDecoder::DecodeBytes(ByteCursor& in, std::size_t most, std::string_view* out) {
  const auto size = static_cast<std::size_t>(in.Count(most));
  const std::string_view stored = in.Text();
  if (!in.good() || stored.size() > size) return false;
  buffer_.resize(size + kPadding);
  std::memset(buffer_.data() + size, 0, kPadding);
  *out = std::string_view(buffer_).substr(0, size);
  if (stored.size() < size) return unpacker_.Unpack(stored, std::span(buffer_).first(size));
  std::memcpy(buffer_.data(), stored.data(), size);
  return true;
}

bool ColumnDecoder::Decode(ByteCursor& in, std::span<std::int64_t> out) {
  if (out.empty()) return true;
  const auto coding = in.Fixed<std::uint8_t>();
  Affine affine;
  affine.base = static_cast<std::uint64_t>(in.Signed());
  affine.step = in.Varint();
  std::string_view bytes;
  if (coding >= kColumnCodings.size() || !DecodeBytes(in, kMostBytesOfValue * (out.size() + 4), &bytes)) return false;
  if (!TakeLayout(kColumnCodings[coding].layout, bytes, out)) return false;
  Unmap(kColumnCodings[coding].mapping, affine, out);
  return true;
}

}  // namespace idleburn
