#pragma once

#include <cstdint>
#include <string>

#include "fleet/fleet_board.h"

// Prints the board of a cluster (`idleburn fleet watch`): a screen for people, a line for programs.
namespace idleburn {

// How old a board is when it is shown.
struct BoardAge {
  std::int64_t data_s = 0;   // since the moment of its data
  std::int64_t stale_s = 0;  // since the first refresh that failed
  std::string why;           // why that refresh failed; empty: it did not
};

// The board as at most 24 lines of at most `columns` columns (40 at least). Labels come from the engine, so control
// characters in them are escaped. Rows and columns add up as they are printed.
std::string FleetBoardText(const FleetBoard& board, const BoardAge& age, int columns);

// The document idleburn.fleet_board/1 (docs/json/fleet-board.md) as one line, with its newline.
std::string FleetBoardJson(const FleetBoard& board, const BoardAge& age);

}  // namespace idleburn
