#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "fleet/ledger_month.h"
#include "os/folder.h"

// The booked hours of one cluster, in a folder of the user: `index.sqlite`, and a file for each month
// ("2026-03.sqlite"). Reports read it and not the engine: a month of 10,000 GPUs takes an engine many seconds, and
// engines forget.
//
// A month needs no other file. So old months can be moved away, deleted, or kept on a disk that cannot be written.
namespace idleburn {

// The time of one GPU, team on a node, or job on a node, between two edges.
struct LedgerCell {
  std::size_t id = 0;              // of the name, small and dense within one reading: sums are kept in vectors
  const CellName* name = nullptr;  // valid until the ledger is written
  std::int64_t from = 0;
  std::int64_t to = 0;
  FleetTime time;

  // How much of its time lies in [begin, end), which it overlaps, if it is spread evenly. Milliseconds.
  [[nodiscard]] std::int64_t MsInside(std::int64_t begin, std::int64_t end) const;
};

// Times summed by the name of their cells. Ids are small, so sums are kept in vectors: a month of 10,000 GPUs has
// millions of cells.
class CellSums {
 public:
  void Add(const LedgerCell& cell, const FleetTime& time);
  // Calls take(name, time) for each name that has cells. A GPU has another name in each month.
  template <typename Take>
  void ForEach(const Take& take) const {
    for (std::size_t id = 0; id < names_.size(); ++id) {
      if (names_[id] != nullptr) take(*names_[id], times_[id]);
    }
  }

 private:
  std::vector<FleetTime> times_;
  std::vector<const CellName*> names_;  // null: no cell
};

// Hours that one pull asks for: from the edge at which counting begins up to the next such edge, or without an end.
// There are several if an earlier hour was asked for later.
struct LedgerReach {
  std::int64_t begin = 0;
  std::optional<std::int64_t> end;
  std::int64_t through = 0;  // every node was asked for up to this edge; 0: none
  [[nodiscard]] bool done() const { return end && through >= *end; }
};

class FleetLedger {
 public:
  // Opens the ledger of an engine, or creates it. `patience` for another pull that is writing.
  static Result<FleetLedger> Open(const std::string& path, Nanos patience);
  // The same for a pull. While it is open no rebuild puts another ledger in its place. Waits up to `patience` for one.
  static Result<FleetLedger> OpenToPull(const std::string& path, Nanos patience);
  // What a rebuild holds: it waits up to `patience` for pulls and for another rebuild. Creates the folder.
  static Result<FolderLock> LockToReplace(const std::string& path, Nanos patience);

  using TakeCell = std::function<void(const LedgerCell&)>;
  // Calls `take` for each cell of a kind that overlaps [from, to), in the order of time.
  Result<void> ForEach(CellKind kind, std::int64_t from, std::int64_t to, const TakeCell& take);
  // The same, with one cell for all hours of a UTC day that lies in the window.
  Result<void> ForEachDay(CellKind kind, std::int64_t from, std::int64_t to, const TakeCell& take);

  // From where hours were asked for, oldest first. Empty: nothing was pulled yet.
  [[nodiscard]] Result<std::vector<LedgerReach>> Reaches();
  // Adds a reach, or moves the edge up to which every node was asked for.
  Result<void> MoveReach(std::int64_t begin, std::int64_t through);
  // Where each node stands in a reach, with its newest state. The first edge is that of its newest months.
  Result<std::map<std::string, NodeMark>> Marks(std::int64_t begin);
  // The first edge of each node in a reach, over all months.
  Result<std::map<std::string, std::int64_t>> FirstEdges(std::int64_t begin);
  // Writes the hours of nodes together. All lie in one month (MonthOf). A node that another pull has moved since, in
  // whatever month, is left out. Returns those nodes.
  Result<std::set<std::string>> Write(std::int64_t begin, const NodePulls& pulls);

  // The months by name, oldest first, and one of them.
  [[nodiscard]] std::vector<std::string> Months() const;
  Result<MonthFile*> Month(const std::string& name);
  // Bytes on disk.
  Result<std::int64_t> Size();

 private:
  FleetLedger(std::string folder, Nanos patience, SqliteDatabase index)
      : folder_(std::move(folder)), patience_(patience), index_(std::move(index)) {}
  Result<std::map<std::string, std::int64_t>> NewestEdges(std::int64_t begin, const NodePulls& pulls);
  Result<void> Read(CellKind kind, const CellQuery& query, const TakeCell& take);

  std::string folder_;
  Nanos patience_;
  std::optional<FolderLock> lock_;
  SqliteDatabase index_;
  std::map<std::string, MonthFile> open_;
};

// The month that holds the hour up to an edge: "2026-03". It is UTC's.
std::string MonthOf(std::int64_t edge);

// Where the ledger of an engine lies: in the user's data folder, by the engine's URL. Empty if the user has none.
std::string FleetLedgerFolder(const std::string& engine_url);

}  // namespace idleburn
