#pragma once

#include <cstdint>

namespace idleburn {

// Index into Profile::names.
using NameId = std::uint32_t;
inline constexpr NameId kNoName = 0;  // names[0] is ""

}  // namespace idleburn
