#include "plan/run_row.h"

#include <gtest/gtest.h>

namespace idleburn {

namespace {

TEST(ColumnNamesTest, WithoutUnitsAndWaysOfWriting) {
  EXPECT_EQ(PlainColumn("Seq-Len (tokens)"), "seq_len");
  EXPECT_EQ(PlainColumn("seq_len_tokens"), "seq_len");
  EXPECT_EQ(PlainColumn(" GPU "), "gpu");
  EXPECT_EQ(PlainColumn("gpu_count"), "gpu_count");  // a name of its own, not "gpu" with a unit
  EXPECT_EQ(PlainColumn("train_tokens"), "train_tokens");
  EXPECT_EQ(PlainColumn("Global batch (tokens)"), "global_batch_tokens");  // not of sequences
  EXPECT_EQ(PlainColumn(""), "");
}

// A name in two groups would say two things.
TEST(ColumnNamesTest, EveryNameSaysOneThing) {
  for (const char* column : {"model", "gpu", "n_gpus", "micro_batch", "seq_len", "method", "act_ckpt", "sharding", "tp",
                             "dp", "global_batch", "precision", "optimizer", "attention"}) {
    for (const std::string_view name : SynonymsOf(column)) {
      ASSERT_FALSE(SynonymsOf(name).empty()) << name;
      EXPECT_EQ(SynonymsOf(name).front(), SynonymsOf(column).front()) << name;
      EXPECT_TRUE(IsKnownColumn(name)) << name;
    }
  }
  EXPECT_TRUE(SynonymsOf("colour").empty());
  EXPECT_TRUE(SynonymsOf("").empty());
}

}  // namespace

}  // namespace idleburn
