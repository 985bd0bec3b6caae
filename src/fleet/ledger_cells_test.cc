// The bytes of the ledger: what was written is read again, and damaged bytes are never read as cells.
#include "fleet/ledger_cells.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace idleburn {
namespace {

std::vector<CellRow> RandomRows(std::mt19937_64* random, std::size_t count) {
  std::vector<CellRow> rows(count);
  for (CellRow& row : rows) {
    row.id = static_cast<std::int64_t>((*random)() % 50);
    for (std::int64_t& ms : row.time.phases) ms = static_cast<std::int64_t>((*random)() >> ((*random)() % 64));
    row.time.reset_ms = static_cast<std::int64_t>((*random)() % 3);
  }
  return rows;
}

TEST(LedgerCellsTest, ABlockIsReadAsItWasWritten) {
  std::mt19937_64 random(1);
  for (std::size_t count = 0; count < 40; ++count) {
    const std::vector<CellRow> rows = RandomRows(&random, count);
    std::vector<CellRow> read;
    ASSERT_TRUE(ReadBlock(BlockBytes(rows), &read));
    ASSERT_EQ(read.size(), rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      EXPECT_EQ(read[i].id, rows[i].id);
      EXPECT_EQ(read[i].time.phases, rows[i].time.phases);
      EXPECT_EQ(read[i].time.reset_ms, rows[i].time.reset_ms);
    }
  }
}

TEST(LedgerCellsTest, MergedRowsAreTheSumsByName) {
  std::mt19937_64 random(2);
  std::vector<CellRow> rows = RandomRows(&random, 500);
  std::map<std::int64_t, std::int64_t> sums;
  for (CellRow& row : rows) {
    for (std::int64_t& ms : row.time.phases) ms &= 0xFFFFFF;
    sums[row.id] += row.time.TotalMs();
  }
  MergeRows(&rows);
  ASSERT_EQ(rows.size(), sums.size());
  auto sum = sums.begin();
  for (const CellRow& row : rows) {
    EXPECT_EQ(row.id, sum->first);
    EXPECT_EQ(row.time.TotalMs(), sum->second);
    ++sum;
  }
}

TEST(LedgerCellsTest, CutOrLongerBytesAreNoBlockAndNoState) {
  std::mt19937_64 random(3);
  const std::string block = BlockBytes(RandomRows(&random, 7));
  NodeState state;
  state.gpus[{"GPU-1", 5}] = {1, 2, 3, 4, 5};
  state.jobs[{"c", "1", "u", "ml", "e"}] = {{1, 0, 0, 0, 0}, 3600};
  const std::string bytes = StateBytes(state);
  std::vector<CellRow> rows;
  for (std::size_t size = 0; size < block.size(); ++size) {
    EXPECT_FALSE(ReadBlock(std::string_view(block).substr(0, size), &rows)) << size;
  }
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(StateFrom(0, std::string_view(bytes).substr(0, size))) << size;
  }
  EXPECT_FALSE(ReadBlock(block + '\0', &rows));
  EXPECT_FALSE(StateFrom(0, bytes + '\0'));
  EXPECT_EQ(StateFrom(0, bytes), state);
}

TEST(LedgerCellsTest, NamesOfEveryKindAreReadAsTheyWereWritten) {
  const CellName name{"node\n1", "GPU-1", {"c", "job", "", "team,\"x\"", "e"}};
  for (const CellKind kind : {CellKind::kGpu, CellKind::kTeam, CellKind::kJob, CellKind::kJobsOver}) {
    const auto read = NameFrom(kind, name.node, NameBytes(kind, name));
    ASSERT_TRUE(read);
    EXPECT_EQ(read->node, name.node);
    EXPECT_EQ(read->uuid, kind == CellKind::kGpu ? name.uuid : "");
    EXPECT_EQ(read->owner.team, kind == CellKind::kGpu ? "" : name.owner.team);
    EXPECT_EQ(read->owner.job, kind == CellKind::kJob ? name.owner.job : "");
  }
  EXPECT_FALSE(NameFrom(CellKind::kJob, "n",
                        "\x04"
                        "c"));
}

}  // namespace
}  // namespace idleburn
