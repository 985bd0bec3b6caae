#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "fleet/closed_hours.h"
#include "os/sqlite.h"

// The booked hours of one cluster, in one SQLite file of the user. Reports read it and not the engine: a month of
// 10,000 GPUs takes an engine many seconds, and engines forget.
//
// A block holds the cells of one span of hours in columns of variable-length integers: the differences of ids, then
// each phase. A node's hours and its new state are written in one transaction, so an engine or a pull that dies midway
// loses nothing, and two pulls at once book an hour once.
namespace idleburn {

enum class CellKind : std::uint8_t { kGpu, kTeam, kJob };

// What a cell is about. Unused parts are empty.
struct CellName {
  std::string node;
  std::string uuid;  // of a GPU
  JobKey owner;      // of a team only `team`
};

// The time of one GPU, team on a node, or job on a node, between two edges.
struct LedgerCell {
  std::size_t id = 0;              // of the name, small and dense: sums are kept in vectors
  const CellName* name = nullptr;  // valid while the ledger is open
  std::int64_t from = 0;
  std::int64_t to = 0;
  FleetTime time;
};

// What is to be written of a node: its spans, and its state before and after them.
struct NodePull {
  std::optional<std::int64_t> edge_before;  // absent: the node is new
  NodeState after;
  std::vector<NodeSpan> spans;
};

class FleetLedger {
 public:
  // Opens the ledger of an engine, or creates it. `patience` for another pull that is writing.
  static Result<FleetLedger> Open(const std::string& path, Nanos patience);

  // The state of every node.
  [[nodiscard]] Result<std::map<std::string, NodeState>> States() const;
  // Writes the hours of nodes together. A node that another pull has moved meanwhile is left out. Returns how many
  // nodes were written.
  Result<std::int64_t> Write(const std::map<std::string, NodePull>& pulls);
  // Calls `take` for each cell of a kind that overlaps [from, to), in the order of time.
  Result<void> ForEach(CellKind kind, std::int64_t from, std::int64_t to,
                       const std::function<void(const LedgerCell&)>& take);
  // The edge at which counting began. Absent: nothing was pulled yet.
  [[nodiscard]] Result<std::optional<std::int64_t>> Begin() const;
  // Forgets everything and begins at this edge, so that the next pull fills the ledger again.
  Result<void> Restart(std::int64_t begin);
  // Bytes on disk.
  [[nodiscard]] Result<std::int64_t> Size() const { return database_.Size(); }

 private:
  explicit FleetLedger(SqliteDatabase database) : database_(std::move(database)) {}
  Result<void> LoadNames();
  void SetName(std::int64_t id, CellName name);
  Result<std::int64_t> IdOf(CellKind kind, const CellName& name);
  Result<void> WriteBlocks(const std::map<std::string, NodePull>& pulls);

  using NameText = std::array<std::string, 8>;
  SqliteDatabase database_;
  std::deque<CellName> names_;  // by id
  std::map<NameText, std::int64_t> ids_;
};

// Where the ledger of an engine lies: in the user's data folder, by the engine's URL. Empty if the user has none.
std::string FleetLedgerFile(const std::string& engine_url);

}  // namespace idleburn
