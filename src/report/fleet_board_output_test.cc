// The board on a terminal: labels of series are anyone's text.
#include "report/fleet_board_output.h"

#include <gtest/gtest.h>

namespace idleburn {
namespace {

TEST(FleetBoardOutputTest, NoLabelReachesTheTerminalRaw) {
  FleetBoard board;
  board.currency = "\x1b[31mUSD";
  board.rate_source = "\x1b[2J";
  board.whole.idle_per_hour = Money::Cents(100);
  EXPECT_EQ(FleetBoardText(board, {}, 100).find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace idleburn
