#include "plan/predict_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "support/predicted.h"
#include "text/line_reader.h"

namespace idleburn {
namespace {

using test::Predicted;

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

// One key may ask for several quantities: every row has its line, where it stood.
TEST(PredictTableTest, EachRowIsAnsweredInItsPlace) {
  const std::string row = std::string("a,peak_bytes,") + kConfig + "\n";
  const PredictedTable table = Predicted("key,quantity,config\nb,no,\n" + row + row);
  EXPECT_EQ(table.predicted, 2U);
  EXPECT_EQ(table.repeated_keys, 1U);
  EXPECT_EQ(table.csv.find("key,predicted,low,high\nb,,,\na,"), 0U) << table.csv;
  EXPECT_EQ(std::count(table.csv.begin(), table.csv.end(), '\n'), 4);
}

// A framework that no table has: by the usual names of its columns, in any order and writing, with its wide interval.
TEST(PredictTableTest, AFrameworkNeverSeen) {
  const PredictedTable table = Predicted(
      "quantity,key,Framework,Model Name,GPUs,GPU Type,Seq-Len (tokens),per_device_train_batch_size,"
      "gradient_accumulation_steps,method\n"
      "tokens_s_per_gpu,a,axolotl,llama-3.1-8b,2,H100-80GB-SXM,4096,2,4,lora\n"
      "peak_bytes,b,axolotl,llama-3.1-8b,2,H100-80GB-SXM,4096,2,4,lora\n");
  EXPECT_EQ(table.predicted, 2U) << (table.reasons.empty() ? "" : table.reasons.begin()->first);
  EXPECT_TRUE(table.unknown_columns.empty()) << table.unknown_columns.front();
  EXPECT_EQ(table.nearness.at(std::string(Name(Nearness::kUnknown))), 2U);
  double rate = 0, low = 0, high = 0;
  ASSERT_EQ(std::sscanf(table.csv.c_str(), "key,predicted,low,high\na,%lf,%lf,%lf", &rate, &low, &high), 3);
  EXPECT_GT(rate, 1000);   // 4 N per token at a tenth of the peak
  EXPECT_LT(rate, 30000);  // and at all of it
  EXPECT_GT(high / low, 2);
}

// A model of which only the size is known lies between a smaller and a larger one, as a model never measured.
TEST(PredictTableTest, AModelOfKnownSizeOnly) {
  const auto bytes = [](const std::string& model) {
    const PredictedTable table =
        Predicted("key,quantity,framework,model,seq_len,micro_batch\na,peak_bytes,mine," + model + ",2048,1\n");
    double predicted = 0;
    EXPECT_EQ(std::sscanf(table.csv.c_str(), "key,predicted,low,high\na,%lf", &predicted), 1) << model;
    return predicted;
  };
  EXPECT_LT(bytes("llama-2-7b"), bytes("nobody/unheard-of-13B"));
  EXPECT_LT(bytes("nobody/unheard-of-13B"), bytes("llama-2-70b"));
  EXPECT_NEAR(bytes("unheard-of-7b-instruct") / bytes("llama-2-7b"), 1, 0.25);
}

TEST(PredictTableTest, AnUnknownGpuLeavesTimesEmptyAndMemoryNot) {
  const std::string config = "framework=mine;model=llama-2-7b;seq_len=2048;micro_batch=1;gpu=Abacus 9000";
  const PredictedTable table =
      Predicted("key,quantity,config\na,tokens_s_per_gpu," + config + "\nb,peak_bytes," + config + "\n");
  EXPECT_EQ(table.predicted, 1U);
  EXPECT_NE(table.csv.find("\na,,,\nb,"), std::string::npos) << table.csv;
}

// What a table's rows always state widens the interval where it is missing.
TEST(PredictTableTest, WhatIsNotSaidWidensTheInterval) {
  const auto width = [](const std::string& config) {
    const PredictedTable table = Predicted("key,quantity,config\na,peak_bytes," + config + "\n");
    double predicted = 0, low = 0, high = 0;
    EXPECT_EQ(std::sscanf(table.csv.c_str(), "key,predicted,low,high\na,%lf,%lf,%lf", &predicted, &low, &high), 3);
    return high / low;
  };
  const std::string rest = "framework=qwen;model=qwen-7b;method=lora;seq_len=2048;gpus_per_node=1;micro_batch=1";
  EXPECT_GT(width(rest), 2 * width(rest + ";nodes=1;grad_accum=8"));
}

// Of a framework that nobody knows its defaults are not known either: they decide on memory, and where the row leaves
// checkpointing or precision out, on all.
TEST(PredictTableTest, DefaultsOfAnUnknownFrameworkWidenTheInterval) {
  const auto width = [](const std::string& quantity, const std::string& config) {
    const PredictedTable table = Predicted("key,quantity,config\na," + quantity + "," + config + "\n");
    double predicted = 0, low = 0, high = 0;
    EXPECT_EQ(std::sscanf(table.csv.c_str(), "key,predicted,low,high\na,%lf,%lf,%lf", &predicted, &low, &high), 3);
    return high / low;
  };
  const std::string all =
      "framework=mine;model=llama-2-7b;gpu=H100;seq_len=2048;micro_batch=1;precision=bf16;act_ckpt=1";
  const std::string some = "framework=mine;model=llama-2-7b;gpu=H100;seq_len=2048;micro_batch=1;precision=bf16";
  EXPECT_NEAR(width("tokens_s_per_gpu", some) / width("tokens_s_per_gpu", all), 1.5 * 1.5, 1e-3);
  EXPECT_NEAR(width("peak_bytes", some) / width("peak_bytes", all), 1, 1e-3);
  // Far wider than of a framework that was measured.
  EXPECT_GT(width("peak_bytes", all), 1.5 * width("peak_bytes", kConfig));
}

// Of a run that was on a GPU what it took to fit it is assumed where its row does not say it.
TEST(PredictTableTest, CheckpointingThatItTookIsAssumed) {
  const std::string rest =
      "framework=torchtitan;model=llama-3.1-70b;gpu=h100_96gb_500w;n_gpus=256;local_batch=16;"
      "parallelism=fsdp32_tp8;seq_len=8192;compile=1;float8=1";
  const PredictedTable table =
      Predicted("key,quantity,config\na,peak_bytes," + rest + "\nb,peak_bytes," + rest + ";act_ckpt=full\n");
  double unsaid = 0, low = 0, high = 0, said = 0;
  ASSERT_EQ(std::sscanf(table.csv.c_str(), "key,predicted,low,high\na,%lf,%lf,%lf\nb,%lf", &unsaid, &low, &high, &said),
            4);
  EXPECT_DOUBLE_EQ(unsaid, said);
}

// Whatever is missing, an answer is an interval around its likeliest value, and no cell makes a number of it.
TEST(PredictTableTest, AnythingMayBeMissing) {
  const std::vector<std::string> pairs = {"framework=torchtitan", "model=llama-3.1-8b", "gpu=h200_141gb",  "n_gpus=32",
                                          "parallelism=fsdp32",   "local_batch=2",      "seq_len=8192",    "compile=1",
                                          "act_ckpt=selective",   "float8=1",           "precision=float8"};
  for (std::size_t without = 0; without < pairs.size(); ++without) {
    for (const char* instead : {"", "n/a", "?", "-1", "1e400", "yes"}) {
      std::string config;
      for (std::size_t i = 0; i < pairs.size(); ++i) {
        config += i != without ? pairs[i] + ";" : pairs[i].substr(0, pairs[i].find('=') + 1) + instead + ";";
      }
      const PredictedTable table = Predicted("key,quantity,config\na,tokens_s_per_gpu," + config + "\n");
      double predicted = 1, low = 1, high = 1;
      std::sscanf(table.csv.c_str(), "key,predicted,low,high\na,%lf,%lf,%lf", &predicted, &low, &high);
      EXPECT_GT(low, 0) << config;
      EXPECT_LE(low, predicted) << config;
      EXPECT_LE(predicted, high) << config;
      EXPECT_LT(high, 1e9) << config;
    }
  }
}

// Rows of a table that nobody has shown us say the same in other words; what they say more goes another way.
class InOtherWords : public ::testing::Test {
 protected:
  using Config = std::map<std::string, std::string>;
  Config base_ = {{"model", "llama-3.1-8b"}, {"method", "full"},    {"gpu", "H100"},
                  {"n_gpus", "8"},           {"seq_len", "4096"},   {"micro_batch", "1"},
                  {"sharding", "fsdp"},      {"precision", "bf16"}, {"act_ckpt", "full"}};

  // The line of answers of all three quantities, with columns of `base` left out or replaced and others added.
  std::string Answers(const std::vector<std::string>& without, const Config& with) {
    Config config = base_;
    for (const std::string& column : without) config.erase(column);
    for (const auto& [column, value] : with) config[column] = value;
    std::string text;
    for (const auto& [column, value] : config) text += column + "=" + value + ";";
    std::string rows = "key,quantity,config\n";
    for (const char* quantity : {"tokens_s_per_gpu", "peak_bytes", "s_per_iter"})
      rows += std::string(quantity) + "," + quantity + ",\"" + text + "\"\n";
    const PredictedTable table = Predicted(rows);
    EXPECT_TRUE(table.unknown_columns.empty()) << table.unknown_columns.front();
    return table.csv;
  }
};

TEST_F(InOtherWords, TheSame) {
  const std::string same = Answers({}, {});
  EXPECT_EQ(same.find(",,,"), std::string::npos) << same;
  const std::pair<std::vector<std::string>, Config> said[] = {
      {{}, {{"seq_len", "4k"}}},
      {{}, {{"seq_len", "4,096 tokens"}}},
      {{"n_gpus"}, {{"gpu", "8x H100-SXM5-80GB"}}},
      {{"n_gpus"}, {{"gpu", "HGX H100 x 8"}}},
      {{"n_gpus"}, {{"dp", "8"}}},
      {{"n_gpus"}, {{"data_parallel_size", "8"}}},
      {{"sharding"}, {{"zero_stage", "3"}}},
      {{"sharding"}, {{"fsdp", "True"}}},
      {{}, {{"sharding", "ZeRO-3"}}},
      {{}, {{"sharding", "deepspeed_stage_3"}}},
      {{}, {{"sharding", "FULL_SHARD"}}},
      {{}, {{"precision", "bf16-true"}}},
      {{"precision"}, {{"torch_dtype", "torch.bfloat16"}}},
      {{"micro_batch"}, {{"global_batch_size", "8"}, {"gradient_accumulation_steps", "1"}}},
      {{"micro_batch"}, {{"global_batch_tokens", "32768"}, {"grad_accum", "1"}}},
      {{"micro_batch"}, {{"train_micro_batch_size_per_gpu", "1"}}},
      {{}, {{"method", "FFT"}}},
      {{}, {{"method", "full fine-tuning"}}},
      {{}, {{"act_ckpt", "unsloth"}}},
      {{"act_ckpt"}, {{"recompute_granularity", "full"}}},
      {{}, {{"attn_implementation", "flash_attention_2"}}},
      {{}, {{"tensor_model_parallel_size", "1"}}},
      {{}, {{"optim", "adamw_torch"}}}};
  for (const auto& [without, with] : said) {
    EXPECT_EQ(Answers(without, with), same) << with.begin()->first << "=" << with.begin()->second;
  }
}

TEST_F(InOtherWords, Otherwise) {
  const std::string same = Answers({}, {});
  for (const Config& with :
       {Config{{"tp_size", "2"}}, Config{{"tensor_parallel_degree", "2"}},
        Config{{"pipeline_model_parallel_size", "2"}}, Config{{"precision", "bf16-mixed"}},
        Config{{"precision", "fp32"}}, Config{{"attn_implementation", "eager"}}, Config{{"optim", "adamw_8bit"}},
        Config{{"sharding", "zero3-offload"}}, Config{{"cpu_offload", "1"}}, Config{{"use_liger_kernel", "true"}},
        Config{{"torch_compile", "true"}}, Config{{"global_batch_size", "64"}}, Config{{"method", "qlora"}}}) {
    EXPECT_NE(Answers({}, with), same) << with.begin()->first;
  }
  // A switch of another table's column does not make the row that table's.
  EXPECT_EQ(Answers({}, {{"method", "lora"}, {"load_in_4bit", "True"}}), Answers({}, {{"method", "qlora"}}));
  for (const Config& eight :
       {Config{{"method", "qlora"}, {"load_in_8bit", "1"}}, Config{{"method", "lora"}, {"quantization_bit", "8"}}}) {
    EXPECT_EQ(Answers({}, eight), Answers({}, {{"method", "lora"}, {"quantization", "bnb.int8"}}));
  }
  EXPECT_EQ(Answers({}, {{"method", "lora"}, {"quantization", "4bit"}}), Answers({}, {{"method", "qlora"}}));
}

TEST_F(InOtherWords, WhatContradictsItselfIsEmpty) {
  EXPECT_NE(Answers({}, {{"tp", "16"}}).find("peak_bytes,,,"), std::string::npos);
  EXPECT_NE(Answers({"micro_batch"}, {}).find("peak_bytes,,,"), std::string::npos);
}

// fp32 takes twice the memory of activations and the rate of TF32.
TEST_F(InOtherWords, WideNumbersAreSlower) {
  const auto rate = [](const std::string& csv) {
    double value = 0;
    EXPECT_EQ(std::sscanf(csv.c_str(), "key,predicted,low,high\ntokens_s_per_gpu,%lf", &value), 1) << csv;
    return value;
  };
  const double ratio = rate(Answers({}, {})) / rate(Answers({}, {{"precision", "float32"}}));
  EXPECT_GT(ratio, 1.3);
  EXPECT_LT(ratio, 2.5);
}

TEST(PredictTableTest, AModelByItsSizeInLetters) {
  const auto bytes = [](const std::string& model) {
    return Predicted("key,quantity,framework,model,seq_len,micro_batch\na,peak_bytes,mine," + model + ",2048,1\n").csv;
  };
  EXPECT_EQ(bytes("bloom-7b1"), bytes("mine-7.1B"));
  EXPECT_NE(bytes("bloom-7b1"), bytes("mine-1B"));
  EXPECT_EQ(bytes("bloom-7b1").find(",,,"), std::string::npos);
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
