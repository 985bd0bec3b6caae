#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fleet/closed_hours.h"
#include "fleet/fleet_report.h"

// The bytes of the fleet's ledger: blocks of cells, states of nodes, and names. Pure functions; fleet/ledger_month.h
// keeps the bytes.
//
// Integers take seven bits a byte, least first, with the sign folded in. A text has its length before it. A block holds
// columns: the number of cells, the differences of their ids, each phase, and the lost milliseconds.
namespace idleburn {

// kJobsOver: the time that jobs of a team have on a node beyond their team. It is 0 unless two agents count one job.
enum class CellKind : std::uint8_t { kGpu, kTeam, kJob, kJobsOver };
inline constexpr std::size_t kCellKindCount = 4;

// What a cell is about. Unused parts are empty.
struct CellName {
  std::string node;
  std::string uuid;  // of a GPU
  JobKey owner;      // of a team only `team`
};

// One cell of a block.
struct CellRow {
  std::int64_t id = 0;  // of its name, from 0
  FleetTime time;
};

// Sorts rows by id, and adds up those of one id.
void MergeRows(std::vector<CellRow>* rows);
// The bytes of rows that are sorted by id.
std::string BlockBytes(const std::vector<CellRow>& rows);
// Reads a block into `*rows`. False if the bytes are no block.
bool ReadBlock(std::string_view bytes, std::vector<CellRow>* rows);

// What a name holds besides the node, as one text.
std::string NameBytes(CellKind kind, const CellName& name);
// Absent if the bytes are none of these.
std::optional<CellName> NameFrom(CellKind kind, std::string node, std::string_view bytes);

std::string StateBytes(const NodeState& state);
std::optional<NodeState> StateFrom(std::int64_t edge, std::string_view bytes);

}  // namespace idleburn
