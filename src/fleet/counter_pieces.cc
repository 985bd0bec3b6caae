#include "fleet/counter_pieces.h"

#include <algorithm>

namespace idleburn {
namespace {

// From where a counter rose in the piece. kNotRead: it was not seen there at all.
std::int64_t BaseOf(const CounterPiece& piece, const PieceReadings& read, const GpuOnNode& gpu, std::size_t place) {
  if (piece.from_zero) return 0;
  const std::int64_t begin = read.begin.At(gpu, place);
  if (begin != kNotRead) return begin;
  return read.begin.HasNode(gpu.node) ? 0 : read.lowest.At(gpu, place);
}

// A fall that no epoch explains: the engine lacks the closed counters. What the counter shows at the end counts.
std::int64_t RiseOf(std::int64_t base, std::int64_t last) {
  if (base == kNotRead || last == kNotRead) return 0;
  return last >= base ? last - base : last;
}

}  // namespace

std::int64_t& CounterTable::Place(const GpuOnNode& gpu, std::size_t place) {
  const auto [row, fresh] = gpus_.try_emplace(gpu);
  if (fresh) {
    row->second.fill(kNotRead);
    nodes_.insert(gpu.node);
  }
  return row->second[place];
}

void CounterTable::TakeMost(const GpuOnNode& gpu, std::size_t place, std::int64_t value) {
  std::int64_t& kept = Place(gpu, place);
  kept = std::max(kept, value);
}

void CounterTable::TakeLeast(const GpuOnNode& gpu, std::size_t place, std::int64_t value) {
  std::int64_t& kept = Place(gpu, place);
  kept = kept == kNotRead ? value : std::min(kept, value);
}

std::int64_t CounterTable::At(const GpuOnNode& gpu, std::size_t place) const {
  const auto row = gpus_.find(gpu);
  return row == gpus_.end() ? kNotRead : row->second[place];
}

std::vector<CounterPiece> PiecesOf(std::int64_t from, std::int64_t to, std::int64_t lookback,
                                   const std::vector<AgentEpoch>& epochs) {
  std::vector<CounterPiece> pieces;
  for (std::size_t i = 0; i < epochs.size(); ++i) {
    const AgentEpoch& epoch = epochs[i];
    CounterPiece piece;
    piece.from = std::max(from, epoch.old_until);  // a range lacks its begin
    piece.to = i + 1 < epochs.size() ? std::min(to, epochs[i + 1].old_until) : to;
    // An epoch after another one began between their samples. The first one may have begun before the window and be
    // shown late.
    piece.from_zero = epoch.shown_from > from && (i > 0 || epoch.born >= from);
    piece.seen_from = std::max(from - lookback, epoch.old_until);
    if (piece.to > piece.from) pieces.push_back(piece);
  }
  return pieces;
}

bool PieceIsWhole(const CounterPiece& piece, const PieceReadings& read, const std::string& node) {
  if (!read.end.HasNode(node) || (!piece.from_zero && !read.begin.HasNode(node))) return false;
  const auto& begun = read.begin.gpus();
  for (auto row = begun.lower_bound({node, ""}); row != begun.end() && row->first.node == node; ++row) {
    for (std::size_t place = 0; place < kGpuCounterCount; ++place) {
      if (row->second[place] != kNotRead && read.end.At(row->first, place) == kNotRead) return false;
    }
  }
  return true;
}

bool IsPossible(const GpuCounterValues& rise, std::int64_t seconds) {
  std::int64_t observed = 0;
  for (std::size_t d = 0; d < kUtilizationDeciles; ++d) observed += rise[d];
  return observed <= seconds * 1000;
}

void AddRises(const CounterPiece& piece, const PieceReadings& read, std::map<GpuOnNode, GpuCounterValues>* rises) {
  std::set<GpuOnNode> all;
  for (const CounterTable* table : {&read.end, &read.highest}) {
    for (const auto& [gpu, values] : table->gpus()) all.insert(gpu);
  }
  for (const GpuOnNode& gpu : all) {
    GpuCounterValues& sum = rises->try_emplace(gpu, GpuCounterValues{}).first->second;
    for (std::size_t place = 0; place < kGpuCounterCount; ++place) {
      const std::int64_t last = std::max(read.end.At(gpu, place), read.highest.At(gpu, place));
      sum[place] += RiseOf(BaseOf(piece, read, gpu, place), last);
    }
  }
}

}  // namespace idleburn
