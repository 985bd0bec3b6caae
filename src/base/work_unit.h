#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace idleburn {

// In what work is counted.
enum class WorkUnit : std::uint8_t { kStep, kSample, kToken, kEpoch, kRequest };
inline constexpr std::size_t kWorkUnitCount = 5;
inline constexpr std::array<std::string_view, kWorkUnitCount> kWorkUnitNames = {"step", "sample", "token", "epoch",
                                                                                "request"};
inline constexpr std::array<std::string_view, kWorkUnitCount> kWorkUnitPlurals = {"steps", "samples", "tokens",
                                                                                  "epochs", "requests"};

}  // namespace idleburn
