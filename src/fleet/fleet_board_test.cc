#include "fleet/fleet_board.h"

#include <gtest/gtest.h>

namespace idleburn {
namespace {

constexpr std::int64_t kGpu = 1000;  // a GPU in thousandths

FleetBoard BoardOf(std::int64_t gpus, std::int64_t no_job_thousandths) {
  FleetBoard board;
  board.whole.gpus[2] = gpus * kGpu;
  board.no_job.gpus[0] = no_job_thousandths;
  return board;
}

TEST(FleetBoardTest, FreeGpusOfALargeFleetAreNotTakenForJitter) {
  EXPECT_TRUE(AnyWithoutJob(BoardOf(10'000, 90 * kGpu)));
  EXPECT_TRUE(AnyWithoutJob(BoardOf(10'000, kGpu)));
  EXPECT_FALSE(AnyWithoutJob(BoardOf(10'000, kGpu / 2)));
  EXPECT_TRUE(AnyWithoutJob(BoardOf(1, 10)));
  EXPECT_FALSE(AnyWithoutJob(BoardOf(1, 9)));
  EXPECT_FALSE(AnyWithoutJob(BoardOf(0, 0)));
}

TEST(FleetBoardTest, ReadingsOfGaugesHaveNoJitter) {
  FleetBoard board = BoardOf(40'000, kGpu);
  EXPECT_FALSE(AnyWithoutJob(board));
  board.counter = "DCGM_FI_DEV_GPU_UTIL";
  EXPECT_TRUE(AnyWithoutJob(board));
}

}  // namespace
}  // namespace idleburn
