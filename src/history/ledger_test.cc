#include "history/ledger.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/history_folder.h"

namespace idleburn {
namespace {

using test::HistoryFolder;

LedgerRow Compared(const std::string& claim) {
  LedgerRow row;
  row.written = Instant::FromNanos(42);
  row.tool = "idleburn 0.1.0";
  row.kind = "compared";
  row.claim = claim;
  row.boundary = "train resnet";
  row.unit = "step";
  row.measure = "num_workers";
  row.verdict = "VERIFIED";
  row.retrospective = 0;
  row.predicted = 0.3;
  row.bound = 0.375;
  row.fraction = 0.28;
  row.low = 0.2;
  row.high = 0.36;
  row.avoided_gpu_seconds = 1234.5;
  row.currency = "USD";
  row.cashable_nano = 80'000'000'000;
  row.freed_gpu_hours = 16;
  row.inputs = {{"before", "a.idleburn", "00"}, {"after", "history:12", ""}};
  return row;
}

TEST(LedgerTest, RowsComeBackInTheOrderInWhichTheyWereWritten) {
  const HistoryFolder folder;
  SqliteDatabase history = folder.Open();
  ASSERT_TRUE(AppendToLedger(history, Compared("c1")));
  LedgerRow claimed;
  claimed.kind = "claimed";
  claimed.tool = "t";
  claimed.claim = "c2";
  claimed.inputs = {{"baseline", "b", "01"}};
  ASSERT_TRUE(AppendToLedger(history, claimed));
  const std::vector<LedgerRow> rows = ReadLedger(history).value();
  ASSERT_EQ(rows.size(), 2U);
  const LedgerRow expected = Compared("c1");
  EXPECT_EQ(rows[0].row, 1);
  EXPECT_EQ(rows[0].written, expected.written);
  EXPECT_EQ(rows[0].verdict, "VERIFIED");
  EXPECT_EQ(rows[0].retrospective, 0);
  EXPECT_EQ(rows[0].bound, 0.375);
  EXPECT_EQ(rows[0].low, 0.2);
  EXPECT_EQ(rows[0].avoided_gpu_seconds, 1234.5);
  EXPECT_EQ(rows[0].cashable_nano, 80'000'000'000);
  EXPECT_EQ(rows[0].freed_gpu_hours, 16);
  EXPECT_FALSE(rows[0].corrects);
  ASSERT_EQ(rows[0].inputs.size(), 2U);
  EXPECT_EQ(rows[0].inputs[1].name, "history:12");
  EXPECT_EQ(rows[1].row, 2);
  ASSERT_EQ(rows[1].inputs.size(), 1U);
  EXPECT_EQ(rows[1].inputs[0].sha256, "01");
}

TEST(LedgerTest, AClaimIsWrittenOnceAndAComparisonEachTime) {
  const HistoryFolder folder;
  SqliteDatabase history = folder.Open();
  LedgerRow claimed;
  claimed.kind = "claimed";
  claimed.tool = "t";
  claimed.claim = "c";
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(AppendToLedger(history, claimed));
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(AppendToLedger(history, Compared("c")));
  EXPECT_EQ(ReadLedger(history)->size(), 3U);
}

TEST(LedgerTest, NothingChangesWhatWasWritten) {
  const HistoryFolder folder;
  SqliteDatabase history = folder.Open();
  ASSERT_TRUE(AppendToLedger(history, Compared("c")));
  for (const char* sql :
       {"UPDATE ledger SET verdict = 'INVALID'", "DELETE FROM ledger", "UPDATE ledger_inputs SET sha256 = 'ff'",
        "DELETE FROM ledger_inputs", "INSERT OR REPLACE INTO ledger_inputs VALUES (1, 0, 'x', 'y', NULL)",
        "INSERT OR REPLACE INTO ledger (row, written_ns, tool, kind, claim) VALUES (1, 1, 'x', "
        "'compared', 'z')"}) {
    const Result<void> changed = history.Execute(sql);
    EXPECT_FALSE(changed) << sql;
  }
  EXPECT_EQ(ReadLedger(history)->at(0).verdict, "VERIFIED");
  EXPECT_EQ(ReadLedger(history)->at(0).inputs.at(0).side, "before");
}

}  // namespace
}  // namespace idleburn
