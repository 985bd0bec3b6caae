#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "fleet/gpu_findings.h"

// The arithmetic of live counters: from values that were scraped to what a counter rose in a window. Pure functions;
// fleet/gpu_counters.h reads the values.
//
// A live counter never falls while its agent keeps its state, so between two scrapes of one epoch the difference is
// what was counted. A lost state starts all counters of a node from zero with another epoch. The closed counters carry
// the epoch, so a reset shows even where no fall does: 2 h, gap, 3 h is 1 h in one epoch and 3 h across two. That is
// why the window is cut into pieces of one epoch. A fall within an epoch is two replicas out of step, not a reset.
namespace idleburn {

// All counters of a GPU in one array. Seconds are in milliseconds, joules in millijoules, NVLink in kB.
inline constexpr std::size_t kIdlePlace = kUtilizationDeciles;
inline constexpr std::size_t kSpinPlace = kIdlePlace + kIdleMemoryKinds;
inline constexpr std::size_t kEnergyPlace = kSpinPlace + 1;  // the driver's counter, then power
inline constexpr std::size_t kThrottledPlace = kEnergyPlace + 2;
inline constexpr std::size_t kNvlinkPlace = kThrottledPlace + kEventReasonCount;
inline constexpr std::size_t kGpuCounterCount = kNvlinkPlace + 1;
inline constexpr std::int64_t kNotRead = -1;
using GpuCounterValues = std::array<std::int64_t, kGpuCounterCount>;

// A table of values: every counter that was not read is kNotRead.
class CounterTable {
 public:
  // Keeps the larger of what several replicas or parts tell.
  void TakeMost(const GpuOnNode& gpu, std::size_t place, std::int64_t value);
  void TakeLeast(const GpuOnNode& gpu, std::size_t place, std::int64_t value);
  [[nodiscard]] std::int64_t At(const GpuOnNode& gpu, std::size_t place) const;
  [[nodiscard]] bool HasNode(const std::string& node) const { return nodes_.count(node) > 0; }
  [[nodiscard]] const std::map<GpuOnNode, GpuCounterValues>& gpus() const { return gpus_; }

 private:
  std::int64_t& Place(const GpuOnNode& gpu, std::size_t place);
  std::map<GpuOnNode, GpuCounterValues> gpus_;
  std::set<std::string> nodes_;
};

// A part of the window in which a node kept its epoch, engine seconds.
struct CounterPiece {
  std::int64_t from = 0;
  std::int64_t to = 0;
  bool from_zero = false;      // the counters began inside the window: at `from` they are 0
  std::int64_t seen_from = 0;  // earlier samples are of another epoch
  friend auto operator<=>(const CounterPiece&, const CounterPiece&) = default;
};

// The counts of an agent from one loss of its state to the next.
struct AgentEpoch {
  std::int64_t born = 0;  // by the agent's clock: the label `epoch`
  // By the engine's clock: the first second from which all samples are of this epoch, and the last second before it.
  // The first is far in the past if the epoch was shown before the window.
  std::int64_t shown_from = kLongAgo;
  std::int64_t old_until = kLongAgo;
  static constexpr std::int64_t kLongAgo = INT64_MIN / 2;
};

// The pieces of a window. `epochs` are those that one node showed in it or up to `lookback` seconds before, in the
// order of shown_from. Pieces without length are left out.
std::vector<CounterPiece> PiecesOf(std::int64_t from, std::int64_t to, std::int64_t lookback,
                                   const std::vector<AgentEpoch>& epochs);

// What was read of a piece. The ends are short looks back; the extremes are of the whole piece, and are only needed of
// nodes that PieceIsWhole denies.
struct PieceReadings {
  CounterTable begin;    // newest values at its begin
  CounterTable end;      // newest values at its end
  CounterTable lowest;   // the lowest values inside
  CounterTable highest;  // the highest values inside
};

// Whether the ends alone tell all of a node: it was seen at both, and each of its counters of the begin at the end.
bool PieceIsWhole(const CounterPiece& piece, const PieceReadings& read, const std::string& node);

// Adds what each counter of these nodes rose within the piece. A GPU that appears while its node is seen began at zero.
void AddRises(const CounterPiece& piece, const PieceReadings& read, std::map<GpuOnNode, GpuCounterValues>* rises);

// Whether a GPU can have counted so much in so many seconds. It cannot if two agents count for one node, or if the
// clocks of two replicas are further apart than an agent was down when it lost its state.
bool IsPossible(const GpuCounterValues& rise, std::int64_t seconds);

}  // namespace idleburn
