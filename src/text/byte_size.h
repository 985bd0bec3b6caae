#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace idleburn {

// "256MiB", "1.5GB", "4096": a positive number of bytes, by powers of 1024 (KiB, MiB, GiB, TiB) or 1000 (kB, MB, GB,
// TB).
Result<std::int64_t> ParseByteSize(std::string_view text);

}  // namespace idleburn
