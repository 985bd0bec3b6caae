#include "telemetry/byte_coding.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "base/int128.h"

namespace idleburn {
namespace {

// Levels of zstd, and limits of the layouts.
constexpr int kQuickLevel = 3;
constexpr int kThoroughLevel = 19;         // 4 % smaller; cheap, as it packs only the chosen coding
constexpr std::size_t kPackedBlock = 128;  // values that share a width
constexpr std::size_t kPadding = 16;       // readable bytes past the end, never used
constexpr std::size_t kMostBytesOfValue = 16;

// The number of bits of a value.
unsigned BitWidth(std::uint64_t v) { return v == 0 ? 0 : 64 - static_cast<unsigned>(__builtin_clzll(v)); }

// The eight bytes from `at` as an integer. The caller's text has kPadding bytes behind it.
std::uint64_t Load(const char* at) {
  std::uint64_t word = 0;
  std::memcpy(&word, at, sizeof word);  // little-endian, like every machine with a supported GPU
  return word;
}

// A column is reduced to (value - base) / step: base is the least value, step the greatest common divisor.
// Example: 1000, 1250, 1500 become 0, 1, 2.
struct Affine {
  std::uint64_t base = 0;
  std::uint64_t step = 1;
};

// Reduces a column to numbers without base and step.
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

// Appends the head of a column: its coding, and what Reduce took out.
void PutHead(std::size_t coding, Affine affine, std::string& out) {
  out += static_cast<char>(coding);
  PutSigned(out, static_cast<std::int64_t>(affine.base));
  PutVarint(out, affine.step);
}

// Appends blocks of numbers, each with the width of its largest one. An outlier widens only its own block.
void LayPacked(const std::vector<std::uint64_t>& numbers, std::string& out) {
  for (std::size_t from = 0; from < numbers.size(); from += kPackedBlock) {
    const std::size_t to = std::min(numbers.size(), from + kPackedBlock);
    std::uint64_t all = 0;
    for (std::size_t i = from; i < to; ++i) all |= numbers[i];
    const unsigned width = BitWidth(all);
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

// The layout kSplit: a number is 0, or a symbol below kEscape (its high bits plus one) with its low bits stored
// separately, or kEscape with the whole number stored separately. The symbols pack well, and the low bits are noise
// that does not.
//
// Example: with four low bits, 37 has the symbol 3 and the low bits 0101.
constexpr std::uint64_t kEscape = 255;
constexpr unsigned kMostLowBits = 56;

// The symbol of a number in the layout kSplit.
std::uint64_t SplitSymbol(std::uint64_t number, unsigned low_bits) {
  return number == 0 ? 0 : std::min(kEscape, (number >> low_bits) + 1);
}

// Estimates the bits of a split at `low_bits`: the entropy of its symbols, the low bits, and 72 bits for each number
// that is stored as a whole.
// * The readers below take a layout of n numbers The functions below read a layout of out.size() numbers from
//   `bytes`, which are followed by kPadding bytes. They return false unless the bytes hold exactly these numbers.
double SplitCost(const std::vector<std::uint64_t>& numbers, unsigned low_bits) {
  std::array<std::uint32_t, kEscape + 1> counts{};
  for (const std::uint64_t n : numbers) ++counts[SplitSymbol(n, low_bits)];
  const auto all = static_cast<double>(numbers.size());
  double bits = 72.0 * counts[kEscape];
  for (const std::uint32_t count : counts) {
    if (count > 0) bits += count * std::log2(all / count);
  }
  return bits + low_bits * (all - counts[0] - counts[kEscape]);
}

// The number of low bits with the least cost.
unsigned BestSplit(const std::vector<std::uint64_t>& numbers) {
  std::uint64_t all = 0;
  for (const std::uint64_t n : numbers) all |= n;
  const unsigned most = std::min(BitWidth(all), kMostLowBits);
  unsigned best = most;
  double least = SplitCost(numbers, most);
  // Below the split at which most numbers escape it only gets worse.
  for (unsigned k = most; k-- > 0;) {
    const double cost = SplitCost(numbers, k);
    if (cost < least) {
      least = cost;
      best = k;
    } else if (cost > 2 * least) {
      break;
    }
  }
  return best;
}

// Pairs of a number and how often it repeats.
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

// Reads up to eight bytes at once. The top bits show where each value ends.
bool TakeVarints(std::string_view bytes, std::span<std::int64_t> out) {
  constexpr std::uint64_t kTops = 0x8080808080808080U;
  const char* at = bytes.data();
  const char* const end = at + bytes.size();
  std::size_t i = 0;
  while (i < out.size()) {
    std::uint64_t word = Load(at);
    const std::uint64_t stops = ~word & kTops;
    // Eight values of one byte each are the most frequent case.
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
    // Removes the gaps that the top bits leave: first between bytes, then between pairs, then between groups of
    // four.
    word = (word & 0x007F007F007F007FU) | ((word & 0x7F007F007F007F00U) >> 1);
    word = (word & 0x00003FFF00003FFFU) | ((word & 0x3FFF00003FFF0000U) >> 2);
    word = (word & 0x000000000FFFFFFFU) | ((word & 0x0FFFFFFF00000000U) >> 4);
    at += length;
    if (at > end) return false;
    out[i++] = static_cast<std::int64_t>(word);
  }
  return at == end;
}

// Reads blocks that LayPacked wrote. A value that spans nine bytes needs a second load.
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

// Reads what LaySplit wrote: the symbols, and in `rest` the number of low bits, the low bits and the escaped numbers.
bool TakeSplit(std::string_view symbols, std::string_view rest, std::span<std::int64_t> out) {
  if (symbols.size() != out.size() || rest.empty()) return false;
  const auto low_bits = static_cast<unsigned char>(rest.front());
  if (low_bits > kMostLowBits) return false;
  const auto* const symbol = reinterpret_cast<const unsigned char*>(symbols.data());
  std::size_t split = 0;
  for (std::size_t i = 0; i < out.size(); ++i) split += std::size_t{symbol[i] != 0 && symbol[i] != kEscape};
  const std::size_t bytes = 1 + (split * low_bits + 7) / 8;
  if (bytes > rest.size()) return false;
  const char* const bits = rest.data() + 1;
  ByteCursor escaped(rest.substr(bytes));
  const std::uint64_t mask = (std::uint64_t{1} << low_bits) - 1;
  std::size_t bit = 0;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::uint64_t s = symbol[i];
    if (s == kEscape) {
      out[i] = static_cast<std::int64_t>(escaped.Varint());
      continue;
    }
    const std::uint64_t low = Load(bits + bit / 8) >> (bit % 8) & mask;
    const std::uint64_t number = ((s - 1) << low_bits | low) & (std::uint64_t{s == 0} - 1);
    bit += s == 0 ? 0 : low_bits;
    out[i] = static_cast<std::int64_t>(number);
  }
  return escaped.good() && escaped.empty();
}

// Reads pairs of a number and its repetitions. Together they must give exactly out.size() numbers.
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

// Reads any layout. `low_bits` is for kSplit only.
bool TakeLayout(ColumnLayout layout, std::string_view bytes, std::string_view low_bits, std::span<std::int64_t> out) {
  switch (layout) {
    case ColumnLayout::kVarint:
      return TakeVarints(bytes, out);
    case ColumnLayout::kPacked:
      return TakePacked(bytes, out);
    case ColumnLayout::kRuns:
      return TakeRuns(bytes, out);
    case ColumnLayout::kSplit:
      return TakeSplit(bytes, low_bits, out);
  }
  return false;
}

// Reverses a mapping and the reduction in place.
void Unmap(ColumnMapping mapping, Affine affine, std::span<std::int64_t> out) {
  const auto number = [](std::int64_t v) { return static_cast<std::uint64_t>(v); };
  const std::uint64_t step = affine.step;
  std::uint64_t value = affine.base;  // base + step * number, as a running sum
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

ColumnEncoder::ColumnEncoder() : quick_(kQuickLevel), thorough_(kThoroughLevel) {}

// Writes the mapped values of plain_ to mapped_.
void ColumnEncoder::Map(ColumnMapping mapping) {
  mapped_.resize(plain_.size());
  std::uint64_t before = 0;
  std::uint64_t slope = 0;
  for (std::size_t i = 0; i < plain_.size(); ++i) {
    const std::uint64_t delta = plain_[i] - before;
    before = plain_[i];
    switch (mapping) {
      case ColumnMapping::kPlain:
        mapped_[i] = plain_[i];
        break;
      case ColumnMapping::kDelta:
        mapped_[i] = Zigzag(delta);
        break;
      case ColumnMapping::kDeltaOfDelta:
        mapped_[i] = Zigzag(delta - slope);
        slope = delta;
        break;
    }
  }
}

// Writes mapped_ to laid_ in that layout.
void ColumnEncoder::LayOut(ColumnLayout layout) {
  laid_.clear();
  switch (layout) {
    case ColumnLayout::kVarint:
      for (const std::uint64_t n : mapped_) PutVarint(laid_, n);
      return;
    case ColumnLayout::kPacked:
      return LayPacked(mapped_, laid_);
    case ColumnLayout::kRuns:
      return LayRuns(mapped_, laid_);
    case ColumnLayout::kSplit:
      return LaySplit();
  }
}

// Writes the symbols to laid_. Writes the number of low bits, the low bits and the escaped numbers to
// low_bits_.
void ColumnEncoder::LaySplit() {
  const unsigned low_bits = BestSplit(mapped_);
  const std::uint64_t mask = (std::uint64_t{1} << low_bits) - 1;
  low_bits_.assign(1, static_cast<char>(low_bits));
  std::string escaped;
  Uint128 bits = 0;
  unsigned filled = 0;
  for (const std::uint64_t n : mapped_) {
    const std::uint64_t symbol = SplitSymbol(n, low_bits);
    laid_ += static_cast<char>(symbol);
    if (symbol == kEscape) PutVarint(escaped, n);
    if (symbol == 0 || symbol == kEscape) continue;
    bits |= static_cast<Uint128>(n & mask) << filled;
    for (filled += low_bits; filled >= 8; filled -= 8, bits >>= 8) low_bits_ += static_cast<char>(bits);
  }
  if (filled > 0) low_bits_ += static_cast<char>(bits);
  low_bits_ += escaped;
}

// The bytes, packed if that makes them smaller.
std::string_view ColumnEncoder::Stored(std::string_view bytes, CodingEffort effort) {
  if (effort == CodingEffort::kQuick || bytes.size() < 16) return bytes;
  ZstdPacker& packer = effort == CodingEffort::kTrial ? quick_ : thorough_;
  const std::string_view packed = packer.Pack(bytes);
  return packed.empty() || packed.size() >= bytes.size() ? bytes : packed;
}

void ColumnEncoder::EncodeBytes(std::string_view bytes, CodingEffort effort, std::string& out) {
  const std::string_view stored = Stored(bytes, effort);
  PutVarint(out, bytes.size());
  PutText(out, stored);
}

void ColumnEncoder::EncodePlain(std::size_t coding, CodingEffort effort, std::string& out) {
  Map(kColumnCodings[coding].mapping);
  LayOut(kColumnCodings[coding].layout);
  EncodeBytes(laid_, effort, out);
  if (kColumnCodings[coding].layout == ColumnLayout::kSplit) EncodeBytes(low_bits_, CodingEffort::kQuick, out);
}

// Tries the codings with a fast zstd, because the smallest layout before zstd is often not the smallest after it.
void ColumnEncoder::Encode(std::span<const std::int64_t> values, CodingEffort effort, std::string& out) {
  if (values.empty()) return;
  const Affine affine = Reduce(values, plain_);
  std::size_t chosen = kColumnCodings.size();
  for (std::size_t c = 0; c < kColumnCodings.size(); ++c) {
    // Runs and varints are the fast layouts.
    const bool quick = c == 0 || kColumnCodings[c].layout == ColumnLayout::kVarint;
    if (effort == CodingEffort::kQuick && !quick) continue;
    tried_.clear();
    EncodePlain(c, effort == CodingEffort::kQuick ? effort : CodingEffort::kTrial, tried_);
    if (chosen < kColumnCodings.size() && tried_.size() >= best_.size()) continue;
    best_.swap(tried_);
    chosen = c;
  }
  PutHead(chosen, affine, out);
  if (effort == CodingEffort::kQuick) {
    out += best_;
  } else {
    EncodePlain(chosen, effort, out);
  }
}

void ColumnEncoder::EncodeAs(std::size_t coding, std::span<const std::int64_t> values, std::string& out) {
  const Affine affine = Reduce(values, plain_);
  PutHead(coding, affine, out);
  EncodePlain(coding, CodingEffort::kSmallest, out);
}

// Takes bytes that EncodeBytes appended into `buffer`, followed by kPadding zero bytes.
bool ColumnDecoder::Unpack(ByteCursor& in, std::size_t most, std::string& buffer, std::string_view* out) {
  const auto size = static_cast<std::size_t>(in.Count(most));
  const std::string_view stored = in.Text();
  if (!in.good() || stored.size() > size) return false;
  // The padding lets the layouts load whole words at the end.
  if (buffer.size() < size + kPadding) buffer.resize(size + kPadding);
  std::memset(buffer.data() + size, 0, kPadding);
  *out = std::string_view(buffer).substr(0, size);
  if (stored.size() < size) return unpacker_.Unpack(stored, std::span(buffer).first(size));
  std::memcpy(buffer.data(), stored.data(), size);
  return true;
}

bool ColumnDecoder::DecodeBytes(ByteCursor& in, std::size_t most, std::string_view* out) {
  return Unpack(in, most, buffer_, out);
}

// The caller knows the number of values. So damaged bytes can make values wrong, but never change how many there are.
bool ColumnDecoder::Decode(ByteCursor& in, std::span<std::int64_t> out) {
  if (out.empty()) return true;
  const auto number = in.Fixed<std::uint8_t>();
  Affine affine;
  affine.base = static_cast<std::uint64_t>(in.Signed());
  affine.step = in.Varint();
  if (number >= kColumnCodings.size()) return false;
  const ColumnCoding coding = kColumnCodings[number];
  // No layout needs more, so a larger size is damage.
  const std::size_t most = kMostBytesOfValue * (out.size() + 4);
  std::string_view bytes;
  std::string_view low_bits;
  if (!Unpack(in, most, buffer_, &bytes)) return false;
  if (coding.layout == ColumnLayout::kSplit && !Unpack(in, most, low_bits_, &low_bits)) return false;
  if (!TakeLayout(coding.layout, bytes, low_bits, out)) return false;
  Unmap(coding.mapping, affine, out);
  return true;
}

}  // namespace idleburn
