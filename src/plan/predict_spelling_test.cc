// Tables of configurations as other people write them: the same row must get the same answer.
#include <gtest/gtest.h>

#include <cstdio>

#include "plan/optimizer.h"
#include "plan/predict_table.h"
#include "plan/run_row.h"
#include "support/predicted.h"
#include "text/line_reader.h"

namespace idleburn {
namespace {

using test::Predicted;

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

// It did run on that GPU: what is not said was set as far as that took.
TEST(PredictSpellingTest, WhatRanDidFit) {
  constexpr double kGiB = 1024.0 * 1024 * 1024;
  const std::string config = "framework=mine;model=llama-3.1-8b;method=full;gpu=a6000;n_gpus=1;batch=2;seq_len=2048";
  EXPECT_LT(Of("peak_bytes", config).likely, 60 * kGiB);  // of 48 usable; 18 bytes a parameter were 135
  EXPECT_GT(Of("peak_bytes", config + ";precision=fp32;optimizer=adamw;act_ckpt=1").likely, 100 * kGiB);
  const std::string large = "framework=mine;model=qwen-72b;method=lora;gpu=a100_80gb;n_gpus=4;batch=1;seq_len=512";
  EXPECT_LT(Of("peak_bytes", large).likely, 80 * kGiB);
}

TEST(PredictSpellingTest, TokensThatWereTrainedSayHowLongSamplesWere) {
  const std::string config = std::string(kStranger) + "seq_len=2048;act_ckpt=1;method=lora;grad_accum=1";
  const double padded = Of("s_per_iter", config).likely;
  const double short_ones = Of("s_per_iter", config + ";steps=1000;train_tokens=2048000").likely;  // 256 a sample
  EXPECT_LT(short_ones, padded);
  EXPECT_GT(short_ones, padded / 100);
}

TEST(PredictSpellingTest, WhatIsNotModelledIsEmptyWithItsReason) {
  const PredictedTable table = Predicted(std::string("key,quantity,config\na,peak_bytes,\"") + kStranger +
                                         "seq_len=2048;sharding=HYBRID_SHARD\"\n");
  EXPECT_EQ(table.predicted, 0U);
  EXPECT_EQ(table.reasons.begin()->first, "hybrid sharding (HSDP) is not modelled");
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
