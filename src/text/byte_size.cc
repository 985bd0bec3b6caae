#include "text/byte_size.h"

#include <array>
#include <string>

#include "text/number.h"

namespace idleburn {

Result<std::int64_t> ParseByteSize(std::string_view text) {
  struct SizeUnit {
    std::string_view suffix;
    std::int64_t bytes;
  };
  constexpr std::int64_t kKibi = 1024;
  constexpr std::int64_t kKilo = 1000;
  // What ends as another one does comes before it.
  constexpr auto kUnits = std::to_array<SizeUnit>({{"KiB", kKibi},
                                                   {"MiB", kKibi * kKibi},
                                                   {"GiB", kKibi * kKibi * kKibi},
                                                   {"TiB", kKibi * kKibi * kKibi * kKibi},
                                                   {"kB", kKilo},
                                                   {"MB", kKilo * kKilo},
                                                   {"GB", kKilo * kKilo * kKilo},
                                                   {"TB", kKilo * kKilo * kKilo * kKilo},
                                                   {"B", 1},
                                                   {"", 1}});
  constexpr int kDecimals = 3;
  for (const SizeUnit& unit : kUnits) {
    if (text.size() <= unit.suffix.size() || text.substr(text.size() - unit.suffix.size()) != unit.suffix) continue;
    const ScaledNumber n = ParseScaled(Trim(text.substr(0, text.size() - unit.suffix.size())), kDecimals);
    std::int64_t thousandths = 0;
    if (n.fault != NumberFault::kNone || n.value <= 0) break;
    if (__builtin_mul_overflow(n.value, unit.bytes, &thousandths) || thousandths < kKilo) break;
    return thousandths / kKilo;
  }
  return FailUsage("'" + std::string(text.substr(0, 40)) + "' is not a number of bytes such as 256MiB or 4GB");
}

}  // namespace idleburn
