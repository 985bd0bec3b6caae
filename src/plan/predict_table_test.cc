#include "plan/predict_table.h"

#include <gtest/gtest.h>

#include "text/line_reader.h"

namespace idleburn {
namespace {

PredictedTable Predicted(const std::string& csv) {
  StringSource in{csv, "rows.csv"};
  Result<PredictedTable> table = PredictTable(in, ShippedCalibration());
  EXPECT_TRUE(table) << table.error().message;
  return table ? std::move(*table) : PredictedTable{};
}

constexpr const char* kConfig =
    "model=qwen-7b;method=lora;nodes=1;gpus_per_node=1;seq_len=2048;micro_batch=1;grad_accum=8;gpu=a100_80gb";

TEST(PredictTableTest, ColumnsAndConfigSayTheSame) {
  const std::string config =
      std::string("key,quantity,config\na,peak_bytes,") + kConfig + "\nb,s_per_iter," + kConfig + "\n";
  const PredictedTable from_config = Predicted(config);
  const PredictedTable from_columns = Predicted(
      "key,quantity,model,method,nodes,gpus_per_node,seq_len,micro_batch,grad_accum,gpu\n"
      "a,peak_bytes,qwen-7b,lora,1,1,2048,1,8,a100_80gb\nb,s_per_iter,qwen-7b,lora,1,1,2048,1,8,a100_80gb\n");
  EXPECT_EQ(from_config.predicted, 2U);
  EXPECT_EQ(from_config.csv, from_columns.csv);
  EXPECT_EQ(from_config.nearness.at("model"), 2U);
}

// A result that stands in the row must not help: results are not configurations.
TEST(PredictTableTest, ResultsInARowChangeNothing) {
  const std::string row = std::string("key,quantity,mem_per_gpu_g,config\na,peak_bytes,");
  EXPECT_EQ(Predicted(row + "," + kConfig + "\n").csv, Predicted(row + "99," + kConfig + "\n").csv);
}

TEST(PredictTableTest, TimeAndRateOfOneRowAgree) {
  const std::string head = "key,quantity,config\n";
  const PredictedTable table = Predicted(head + "a,s_per_iter," + kConfig + "\nb,tokens_s_per_gpu," + kConfig + "\n");
  double s = 0, s_low = 0, s_high = 0, r = 0, r_low = 0, r_high = 0;
  ASSERT_EQ(std::sscanf(table.csv.c_str(), "key,predicted,low,high\na,%lf,%lf,%lf\nb,%lf,%lf,%lf", &s, &s_low, &s_high,
                        &r, &r_low, &r_high),
            6);
  EXPECT_NEAR(s * r / (8 * 2048), 1, 1e-4);
  EXPECT_NEAR(s_low * r_high / (8 * 2048), 1, 1e-4);
  EXPECT_LE(s_low, s);
  EXPECT_LE(s, s_high);
}

TEST(PredictTableTest, WhatCannotBePredictedIsEmptyAndCounted) {
  const PredictedTable table =
      Predicted(std::string("key,quantity,colour,config\n") + "a,peak_bytes,red," + kConfig + "\nb,watts,red," +
                kConfig + "\nc,peak_bytes,red,speed=3\n" + "\"d,1\",peak_bytes,red,model=nobody;grad_accum=1\n");
  EXPECT_EQ(table.rows, 4U);
  EXPECT_EQ(table.predicted, 1U);
  EXPECT_EQ(table.reasons.size(), 3U);
  EXPECT_NE(table.csv.find("\nb,,,\nc,,,\n\"d,1\",,,\n"), std::string::npos) << table.csv;
  EXPECT_EQ(table.unknown_columns, (std::vector<std::string>{"colour", "speed"}));
}

TEST(PredictTableTest, AKeyIsNoFormula) {
  const PredictedTable table = Predicted(std::string("key,quantity,config\n=1+1,peak_bytes,") + kConfig + "\n");
  EXPECT_EQ(table.csv.rfind("key,predicted,low,high\n'=1+1,", 0), 0U) << table.csv;
}

TEST(PredictTableTest, NeedsKeyAndQuantity) {
  StringSource in{"key,model\na,b\n", "rows.csv"};
  const Result<PredictedTable> table = PredictTable(in, ShippedCalibration());
  ASSERT_FALSE(table);
  EXPECT_NE(table.error().message.find("quantity"), std::string::npos);
}

TEST(PredictTableTest, AConfigMayHoldLists) {
  const TableCells cells = ReadConfigCell("a=1; target_modules = q_proj;v_proj ;b=x=y;;c=");
  EXPECT_EQ(cells, (TableCells{{"a", "1"}, {"target_modules", "q_proj;v_proj"}, {"b", "x=y"}, {"c", ""}}));
}

}  // namespace
}  // namespace idleburn
