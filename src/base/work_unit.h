#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace idleburn {

// What work is counted in. Costs per sample, token, step or epoch are costs per one of these.
enum class WorkUnit : std::uint8_t { kStep, kSample, kToken, kEpoch, kRequest };
inline constexpr std::size_t kWorkUnitCount = 5;
inline constexpr std::array<std::string_view, kWorkUnitCount> kWorkUnitNames = {"step", "sample", "token", "epoch",
                                                                                "request"};
inline constexpr std::array<std::string_view, kWorkUnitCount> kWorkUnitPlurals = {"steps", "samples", "tokens",
                                                                                  "epochs", "requests"};
// Whether the work of a job's processes is added up. Each process takes samples of its own, so samples, tokens and
// requests are added. All take the same steps and epochs, so the process that is furthest counts.
inline constexpr std::array<bool, kWorkUnitCount> kAddsOverRanks = {false, true, true, false, true};

// Work done since some moment, in every unit that is known. Epochs are finished ones.
struct WorkCount {
  std::array<std::optional<std::int64_t>, kWorkUnitCount> of = {};

  std::optional<std::int64_t>& operator[](WorkUnit unit) { return of[static_cast<std::size_t>(unit)]; }
  const std::optional<std::int64_t>& operator[](WorkUnit unit) const { return of[static_cast<std::size_t>(unit)]; }
  // Whether any unit is known.
  [[nodiscard]] bool any() const { return *this != WorkCount{}; }
  // Adds the work of one more process of the same job, by kAddsOverRanks.
  void AddRank(const WorkCount& rank);
  // The increase since `before`, in every unit that both know and that rose.
  [[nodiscard]] WorkCount Beyond(const WorkCount& before) const;

  friend bool operator==(const WorkCount&, const WorkCount&) = default;
};

}  // namespace idleburn
