#include "plan/calibration.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <map>

#include "plan/model_facts.h"
#include "plan/model_table.h"
#include "plan/run_config.h"
#include "plan/run_row.h"
#include "support/predicted.h"
#include "text/line_reader.h"

namespace idleburn {

// The shipped coefficients, and tables predicted with them. Exact figures change with every fit, so most tests compare
// predictions with each other: the same run in other words must get the same answer, and a run that is known less must
// get a wider interval.

namespace {

TEST(CalibrationTest, TheShippedOneIsWhole) {
  const Calibration& shipped = ShippedCalibration();
  EXPECT_NE(SetFor(shipped.memory, "nobody"), nullptr);
  EXPECT_NE(SetFor(shipped.time, "nobody/x/half"), nullptr);
  EXPECT_EQ(SetFor(shipped.time, "qwen/unknown/half")->key, "qwen");
  EXPECT_GE(shipped.tables.size(), 9U);
  for (const CalibrationTable& table : shipped.tables) EXPECT_EQ(table.sha256.size(), 64U) << table.file;
  for (const auto* sets : {&shipped.memory, &shipped.time}) {
    for (const CoefficientSet& set : *sets) {
      EXPECT_TRUE(std::all_of(set.values.begin(), set.values.end(), [](double v) { return v >= 0 && v < 1000; }))
          << set.key;
    }
  }
  for (const ErrorBand& band : shipped.bands) {
    EXPECT_LE(band.low, 1) << band.framework;
    EXPECT_GE(band.high, 1) << band.framework;
  }
}

TEST(CalibrationTest, NamesBrokenLines) {
  const std::string head = "kind,set,name,value\n";
  for (const char* line :
       {"memory,*,resident,x", "memory,*,nothing,1", "band,memory,low,1", "spell,a,b,1", "band,memory/near/*,low,1"}) {
    const Result<Calibration> read = ReadCalibration(head + line + "\n", "c.csv");
    ASSERT_FALSE(read) << line;
    EXPECT_NE(read.error().message.find("c.csv:2"), std::string::npos) << read.error().message;
  }
}

// The wider interval for what is farther from what was measured.
TEST(CalibrationTest, UnknownFrameworksHaveWiderIntervals) {
  RunRow row;
  row.facts = *FindModel("qwen-7b");
  row.run.sequence = 2048;
  row.run.framework = "qwen";
  const std::optional<Prediction> near = PredictPeakBytes(ShippedCalibration(), row);
  row.run.framework = "nobody";
  const std::optional<Prediction> far = PredictPeakBytes(ShippedCalibration(), row);
  ASSERT_TRUE(near && far);
  EXPECT_EQ(near->nearness, Nearness::kModel);
  EXPECT_EQ(far->nearness, Nearness::kUnknown);
  EXPECT_GT(far->high / far->low, near->high / near->low);
}

// However its model is written, a run is as near.
TEST(CalibrationTest, AModelIsKnownByAnySpelling) {
  RunRow row;
  row.facts = *FindModel("qwen-7b");
  row.run.sequence = 2048;
  row.run.framework = "qwen";
  for (const char* name : {"Qwen/Qwen-7B", "qwen 7b", "Qwen-7B-Chat"}) {
    row.facts.name = name;
    EXPECT_EQ(PredictPeakBytes(ShippedCalibration(), row)->nearness, Nearness::kModel) << name;
  }
  row.facts.name = "qwen-70b";
  EXPECT_EQ(PredictPeakBytes(ShippedCalibration(), row)->nearness, Nearness::kFramework);
}

// Where nobody says what the framework does unless it is told otherwise, its name narrows nothing; of time it does.
TEST(CalibrationTest, UnknownDefaultsAreAsFarAsAStranger) {
  RunRow row;
  row.facts = *FindModel("qwen-7b");
  row.run.sequence = 2048;
  row.run.gpu = "a100_80gb";
  row.run.framework = "qwen";
  const Prediction known = *PredictPeakBytes(ShippedCalibration(), row);
  const Prediction fast = *PredictTokensPerSecond(ShippedCalibration(), row);
  row.defaults_unknown = true;
  const Prediction unsaid = *PredictPeakBytes(ShippedCalibration(), row);
  EXPECT_DOUBLE_EQ(unsaid.likely, known.likely);
  EXPECT_GT(unsaid.high / unsaid.low, 1.5 * known.high / known.low);
  EXPECT_DOUBLE_EQ(PredictTokensPerSecond(ShippedCalibration(), row)->high, fast.high);
  row.run.framework = "nobody";
  const Prediction stranger = *PredictPeakBytes(ShippedCalibration(), row);
  EXPECT_NEAR(stranger.high / stranger.likely, unsaid.high / unsaid.likely, 1e-9);
}

// What a framework did on one GPU says less of another, and of another number format.
TEST(CalibrationTest, OtherGpusHaveWiderIntervals) {
  RunRow row;
  row.facts = *FindModel("mpt-7b");
  row.run.sequence = 2048;
  row.run.micro_batch = 8;
  row.run.framework = "llm-foundry";
  const auto width = [&](const char* gpu, bool fp8, Nearness nearness) {
    row.run.gpu = gpu;
    row.run.fp8 = fp8;
    const std::optional<Prediction> speed = PredictTokensPerSecond(ShippedCalibration(), row);
    EXPECT_EQ(speed->nearness, nearness) << gpu;
    return speed->high / speed->low;
  };
  const double measured = width("a100_80gb", false, Nearness::kModel);
  EXPECT_GT(width("h200", false, Nearness::kGpu), 2 * measured);
  EXPECT_GT(width("l40s", true, Nearness::kGpu), 2 * measured);
  row.run.framework = "qwen";  // of which one GPU was measured
  width("a100_80gb", false, Nearness::kFramework);
  width("h100", false, Nearness::kGpu);
}

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
  // The best utilisation that was published bounds the high end.
  EXPECT_GT(width("tokens_s_per_gpu", some) / width("tokens_s_per_gpu", all), 1.5);
  EXPECT_LE(width("tokens_s_per_gpu", some) / width("tokens_s_per_gpu", all), 1.5 * 1.5 + 1e-3);
  // Weights and states bound the low end of memory.
  EXPECT_NEAR(width("peak_bytes", some) / width("peak_bytes", all), 1, 0.1);
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
      {{}, {{"act_ckpt", "every_layer"}}},
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
        Config{{"act_ckpt", "unsloth"}}, Config{{"torch_compile", "true"}}, Config{{"global_batch_size", "64"}},
        Config{{"method", "qlora"}}}) {
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

// Tables of configurations as other people write them: the same row must get the same answer.
struct Answer {
  double likely = 0;
  double low = 0;
  double high = 0;
};

Answer Of(const std::string& quantity, const std::string& config) {
  const PredictedTable table = Predicted("key,quantity,config\na," + quantity + ",\"" + config + "\"\n");
  Answer answer;
  std::sscanf(table.csv.c_str(), "key,predicted,low,high\na,%lf,%lf,%lf", &answer.likely, &answer.low, &answer.high);
  EXPECT_GT(answer.likely, 0) << config << ": " << (table.reasons.empty() ? "" : table.reasons.begin()->first);
  return answer;
}

constexpr const char* kFoundryHead =
    "model,n_params,n_layers,d_model,n_heads,d_ff,vocab,seq_len,n_gpus,gpu,precision,micro_batch,grad_accum,"
    "global_batch,sharding,act_ckpt";
constexpr const char* kFoundryRow =
    "mpt-7b,6658859008,32,4096,32,16384,50368,2048,8,a100_80gb,amp_bf16,8,4,256,FULL_SHARD,True";

TEST(PredictSpellingTest, HeadersInAnyWriting) {
  const std::string same =
      Predicted(std::string("key,quantity,") + kFoundryHead + "\na,tokens_s_per_gpu," + kFoundryRow + "\n").csv;
  for (const char* head :
       {"KEY,QUANTITY,MODEL,N_PARAMS,N_LAYERS,D_MODEL,N_HEADS,D_FF,VOCAB,SEQ_LEN,N_GPUS,GPU,PRECISION,MICRO_BATCH,"
        "GRAD_ACCUM,GLOBAL_BATCH,SHARDING,ACT_CKPT",
        "Key,Quantity,Model,N Params,N Layers,D Model,N Heads,D FF,Vocab,Seq Len,N GPUs,GPU,Precision,Micro Batch,"
        "Grad Accum,Global Batch,Sharding,Act Ckpt",
        "key,quantity,model,nParams,nLayers,dModel,nHeads,dFf,vocab,seqLen,nGpus,gpu,precision,microBatch,gradAccum,"
        "globalBatch,sharding,actCkpt"}) {
    const PredictedTable table = Predicted(std::string(head) + "\na,tokens_s_per_gpu," + kFoundryRow + "\n");
    EXPECT_EQ(table.csv, same) << head;
    EXPECT_TRUE(table.unknown_columns.empty()) << table.unknown_columns.front();
  }
}

TEST(PredictSpellingTest, OtherSeparatorsAreNamed) {
  StringSource in{"key;quantity;model\na;peak_bytes;x\n", "rows.csv"};
  const Result<PredictedTable> table = PredictTable(in, ShippedCalibration());
  ASSERT_FALSE(table);
  EXPECT_NE(table.error().message.find("separate columns by commas"), std::string::npos) << table.error().message;
}

TEST(PredictSpellingTest, CellsInAnyWriting) {
  const auto csv = [](const std::string& row) {
    return Predicted(std::string("key,quantity,") + kFoundryHead + "\na,tokens_s_per_gpu," + row + "\n").csv;
  };
  const std::string same = csv(kFoundryRow);
  for (const char* row :
       {"MPT-7B,6658859008.0,32.0,4096.0,32.0,16384.0,50368.0,2048.0,8.0,A100_80GB,AMP_BF16,8.0,4.0,256.0,full_shard,1."
        "0",
        "mosaicml/mpt_7b,6.658859008e9,32,4096,32,16_384,50_368,2_048,8,NVIDIA "
        "A100-SXM4-80GB,bf16,8,4,256,Full-Shard,t",
        "mpt 7b,\"6,658,859,008\",32,\"4,096\",32,16384,50368,2k,8,A100 80 GB,bfloat16,8,4,256,fsdp,enabled"}) {
    EXPECT_EQ(csv(row), same) << row;
  }
}

// What a program writes for a cell it has nothing for, in columns of other tables.
TEST(PredictSpellingTest, EmptyCellsInAnyWriting) {
  const auto csv = [](const std::string& empty) {
    const std::string others = ",nodes,float8,compile,packed,dora,tp,local_batch,quantization,framework";
    std::string row = std::string("a,tokens_s_per_gpu,") + kFoundryRow;
    for (int i = 0; i < 9; ++i) row += "," + empty;
    return Predicted(std::string("key,quantity,") + kFoundryHead + others + "\n" + row + "\n").csv;
  };
  const std::string same = csv("");
  EXPECT_EQ(same.find(",,,"), std::string::npos) << same;
  for (const char* empty : {"NaN", "nan", "None", "null", "NULL", "N/A", "na", "<NA>", "-", "?", "unknown"}) {
    EXPECT_EQ(csv(empty), same) << empty;
  }
}

TEST(PredictSpellingTest, FrameworksInAnyWriting) {
  const std::string config =
      "model=llama-3.1-8b;method=lora;gpu=rtx4090;n_gpus=1;batch=2;seq_len=2048;packed=1;compile=1;framework=";
  const Answer same = Of("peak_bytes", config + "torchtune");
  for (const char* name : {"TorchTune", "pytorch/torchtune", "torchtune 0.6.1", "torchtune@bd2a0fc7", "torch-tune"}) {
    EXPECT_DOUBLE_EQ(Of("peak_bytes", config + name).high, same.high) << name;
  }
  EXPECT_EQ(FrameworkNamed("LLM Foundry"), "llm-foundry");
  EXPECT_EQ(FrameworkNamed("NVIDIA-NeMo/Megatron-Bridge"), "megatron-bridge");
  EXPECT_EQ(FrameworkNamed("HF PEFT"), "peft");
  EXPECT_EQ(FrameworkNamed("FSDP+QLoRA"), "fsdp_qlora");
  EXPECT_EQ(FrameworkNamed(" axolotl "), "axolotl");
  EXPECT_EQ(FrameworkNamed("PyTorch"), "PyTorch");
  EXPECT_EQ(FrameworkNamed(""), "");
}

TEST(PredictSpellingTest, QuantitiesInAnyWriting) {
  const std::string config =
      "model=qwen-7b;method=LoRA;nodes=1;gpus_per_node=1;seq_len=2048;micro_batch=1;grad_accum=8;"
      "gpu=a100_80gb";
  EXPECT_DOUBLE_EQ(Of("Tokens/s per GPU", config).likely, Of("tokens_s_per_gpu", config).likely);
  EXPECT_DOUBLE_EQ(Of("PEAK_BYTES", config).likely, Of("peak_bytes", config).likely);
  EXPECT_DOUBLE_EQ(Of("s/iter", config).likely, Of("s_per_iter", config).likely);
  EXPECT_EQ(Predicted("key,quantity,config\na,peak,\"" + config + "\"\n").predicted, 0U);
}

TEST(PredictSpellingTest, AdapterTargetsInAnyWriting) {
  const std::string config =
      "framework=peft;model=meta-llama/Llama-3.2-3B;method=lora;rank=32;grad_ckpt=False;"
      "max_seq_len=768;batch_size=4;trainable_params=9175040;target_modules=";
  const double same = Of("peak_bytes", config + "q_proj;v_proj").likely;
  for (const char* list : {"q_proj,v_proj", "['q_proj', 'v_proj']", "Q_PROJ V_PROJ"}) {
    EXPECT_DOUBLE_EQ(Of("peak_bytes", config + list).likely, same) << list;
  }
  EXPECT_LT(Of("peak_bytes", config + "q_proj").likely, same);
}

// A GPU's memory is no rack: 80 GB is of one.
TEST(PredictSpellingTest, GigabytesAreNoRack) {
  const std::string config =
      "framework=megatron-bridge;kind=Pre-Training;model=llama-3.1-70b;n_gpus=64;precision=BF16;"
      "gbs=128;mbs=1;seq_len=8192;tp=4;pp=4;cp=2;vp=5;ep=1;system=";
  EXPECT_DOUBLE_EQ(Of("tokens_s_per_gpu", config + "DGX-H100").likely,
                   Of("tokens_s_per_gpu", config + "DGX-H100-80GB").likely);
}

// What a framework that nobody knows leaves unsaid.
constexpr const char* kStranger = "framework=mine;model=llama-2-7b;gpu=H100;n_gpus=8;precision=bf16;micro_batch=1;";

TEST(PredictSpellingTest, AStepOfADividedModelIsOfAllItsGpus) {
  const std::string config = std::string(kStranger) + "seq_len=4096;act_ckpt=1;grad_accum=4;tp=2";
  EXPECT_NEAR(Of("s_per_iter", config).likely * Of("tokens_s_per_gpu", config).likely, 4 * 4096 / 2.0, 0.1);
}

TEST(PredictSpellingTest, FourBitTrainingCheckpointsUnlessToldOtherwise) {
  const std::string config = std::string(kStranger) + "seq_len=4096;method=qlora";
  EXPECT_DOUBLE_EQ(Of("peak_bytes", config).likely, Of("peak_bytes", config + ";act_ckpt=full").likely);
  EXPECT_LT(Of("peak_bytes", config).likely, Of("peak_bytes", config + ";act_ckpt=none").likely);
}

TEST(PredictSpellingTest, TokensThatWereTrainedSayHowLongSamplesWere) {
  const std::string config = std::string(kStranger) + "seq_len=2048;act_ckpt=1;method=lora;grad_accum=1";
  const double padded = Of("s_per_iter", config).likely;
  const double short_ones = Of("s_per_iter", config + ";steps=1000;train_tokens=2048000").likely;  // 256 a sample
  EXPECT_LT(short_ones, padded);
  EXPECT_GT(short_ones, padded / 100);
}

TEST(PredictSpellingTest, WhatIsNotUnderstoodIsEmptyWithItsReason) {
  const auto reason = [](const std::string& config) {
    const PredictedTable table = Predicted("key,quantity,config\na,peak_bytes,\"" + config + "\"\n");
    return table.predicted == 0 ? table.reasons.begin()->first : "predicted";
  };
  const std::string known = std::string(kStranger) + "seq_len=2048;";
  EXPECT_NE(reason(known + "sharding=SIDEWAYS").find("'sideways' is not known"), std::string::npos);
  EXPECT_NE(reason(known + "precision=int3").find("precision 'int3' is not known"), std::string::npos);
  EXPECT_EQ(reason(known + "sharding=HYBRID_SHARD"), "predicted");
}

// A mixture is never planned as a dense model of its size.
TEST(PredictSpellingTest, AnUnknownMixtureIsRefused) {
  for (const char* model : {"mine-8x22b", "Mine-30B-A3B"}) {
    const PredictedTable table = Predicted("key,quantity,framework,model,seq_len,micro_batch\na,peak_bytes,mine," +
                                           std::string(model) + ",2048,1\n");
    EXPECT_EQ(table.predicted, 0U) << model;
  }
}

TEST(PredictSpellingTest, OptimizersByTheirClasses) {
  EXPECT_DOUBLE_EQ(OptimizerNamed("torch.optim.AdamW")->wide_bytes, 8);
  EXPECT_DOUBLE_EQ(OptimizerNamed("bitsandbytes.optim.PagedAdamW8bit")->wide_bytes, 2.03);
  EXPECT_DOUBLE_EQ(OptimizerNamed("AdamW 8-bit")->wide_bytes, 2.03);
  EXPECT_FALSE(OptimizerNamed("torch.optim.Adamw3"));
  // One that nobody knows widens the interval.
  const std::string config = std::string(kStranger) + "seq_len=2048;act_ckpt=1;optimizer=";
  const Answer known = Of("tokens_s_per_gpu", config + "adamw");
  EXPECT_GT(Of("tokens_s_per_gpu", config + "sophia").high, 1.4 * known.high);
}

}  // namespace

}  // namespace idleburn
