#include "import/bit_unpack.h"

#include <array>
#include <utility>

#include "import/parquet_numbers.h"

namespace idleburn {
namespace {

// One function a width, so that every position and shift of a group is a constant.
template <int kWidth, int kIndex, typename T>
T OneValue(const char* in) {
  constexpr int kBit = kWidth * kIndex;
  constexpr int kShift = kBit % 8;
  std::uint64_t word = LoadLittle<std::uint64_t>(in + kBit / 8) >> kShift;
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

template <typename T, int... kWidth>
constexpr std::array<Unpacker<T>, sizeof...(kWidth)> Table(std::integer_sequence<int, kWidth...>) {
  return {&UnpackGroups<kWidth, T>...};
}

}  // namespace

void UnpackBits(const char* in, int width, std::size_t groups, std::uint32_t* out) {
  static constexpr auto kTable = Table<std::uint32_t>(std::make_integer_sequence<int, 33>{});
  kTable[static_cast<std::size_t>(width)](in, groups, out);
}

void UnpackBits(const char* in, int width, std::size_t groups, std::uint64_t* out) {
  static constexpr auto kTable = Table<std::uint64_t>(std::make_integer_sequence<int, 65>{});
  kTable[static_cast<std::size_t>(width)](in, groups, out);
}

}  // namespace idleburn
