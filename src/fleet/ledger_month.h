#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "fleet/ledger_cells.h"
#include "os/sqlite.h"

// One month of the ledger: a SQLite file that needs no other. Its names, its cells and the states of its nodes change
// in one transaction. So an engine or a pull that dies midway loses nothing, and two pulls at once book an hour once.
//
// Cells are kept twice: the hours as they were booked, and the sum of each UTC day. An answer for a month reads 30 days
// instead of 720 hours. A span over midnight belongs to no day, and is only among the hours.
namespace idleburn {

// No hour is later: 2200-01-01. Nanoseconds of much later times do not fit 64 bits.
inline constexpr std::int64_t kLedgerEnd = 7'258'118'400;
// The begin of the UTC day of a moment after 1970.
inline std::int64_t LedgerDay(std::int64_t second) { return second / kDaySeconds * kDaySeconds; }

// What is to be written of a node: its spans, and its state before and after them.
struct NodePull {
  std::optional<std::int64_t> edge_before;  // absent: the node is new
  NodeState after;
  std::vector<NodeSpan> spans;
};

using NodePulls = std::map<std::string, NodePull>;  // by node
using NamedCells = std::vector<std::pair<CellName, FleetTime>>;

// Where a node's counting stands.
struct NodeMark {
  std::int64_t first = 0;  // the edge at which its first hour began
  std::int64_t edge = 0;   // the newest edge that is booked
  std::string state;       // StateFrom() reads it
};

// Which cells to read. Of the days from `first_day` up to `last_day` the sums are read, else the cells.
struct CellQuery {
  std::int64_t from = 0;
  std::int64_t to = 0;
  std::int64_t first_day = 0;
  std::int64_t last_day = 0;  // not after first_day: none
};

// The cells of one span or day.
struct CellBlock {
  std::int64_t from = 0;
  std::int64_t to = 0;
  std::vector<CellRow> rows;
};

class MonthFile {
 public:
  // Opens a month, or creates it. A file that may not be changed is opened for reading.
  static Result<MonthFile> Open(const std::string& path, Nanos patience);

  // Calls `take` for each block that the query wants, in the order of time.
  Result<void> ForEachBlock(CellKind kind, const CellQuery& query, const std::function<Result<void>(CellBlock&)>& take);
  // The names of a kind by id. Valid until the next call after a write.
  Result<const std::vector<CellName>*> Names(CellKind kind);

  // Counting began at several edges if an earlier hour was asked for later. Each has its own states.
  [[nodiscard]] Result<std::vector<std::int64_t>> Begins() const;
  [[nodiscard]] Result<std::map<std::string, NodeMark>> Marks(std::int64_t begin) const;

  // Takes the edges of these nodes into `*edges`, if they are newer than those there.
  Result<void> AddNewestEdges(std::int64_t begin, const NodePulls& pulls,
                              std::map<std::string, std::int64_t>* edges) const;

  // Writes hours of nodes that end in this month, and the states. The caller keeps other pulls away.
  Result<void> Write(std::int64_t begin, const std::vector<const NodePulls::value_type*>& pulls);
  // Makes several of the changes below in one transaction.
  Result<void> Together(const std::function<Result<void>()>& change);
  // Writes cells of another ledger.
  Result<void> AddCells(CellKind kind, std::int64_t from, std::int64_t to, const NamedCells& cells);
  // Moves the mark of a node. The first edge of a mark stays.
  Result<void> SetMark(std::int64_t begin, const std::string& node, const NodeMark& mark);
  [[nodiscard]] Result<std::int64_t> Size() const { return database_.Size(); }

 private:
  // Rows that one transaction writes.
  struct NewBlocks;
  struct IdCache {
    std::unordered_map<std::string, std::int64_t> ids;  // by node and bytes of the name
    std::int64_t next = -1;                             // the next new id; -1: not read
  };
  MonthFile(SqliteDatabase database, SqliteStatement find_name, SqliteStatement add_name)
      : database_(std::move(database)), find_name_(std::move(find_name)), add_name_(std::move(add_name)) {}
  static Result<MonthFile> On(SqliteDatabase database);
  Result<std::int64_t> IdOf(CellKind kind, const CellName& name);
  Result<void> Put(CellKind kind, std::int64_t from, std::int64_t to, const CellName& name, const FleetTime& time,
                   NewBlocks* blocks);
  Result<void> Keep(NewBlocks* blocks);
  Result<void> AddToDay(CellKind kind, std::int64_t day, std::vector<CellRow>* rows);
  Result<void> PutSpan(const std::string& node, const NodeSpan& span, NewBlocks* blocks);

  SqliteDatabase database_;
  SqliteStatement find_name_;
  SqliteStatement add_name_;
  std::array<IdCache, kCellKindCount> caches_;
  std::array<std::vector<CellName>, kCellKindCount> names_;
};

}  // namespace idleburn
