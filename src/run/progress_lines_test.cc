#include "run/progress_lines.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "run/progress_text.h"
#include "support/property.h"

namespace idleburn {

void PrintTo(const WorkCount& w, std::ostream* out) {
  const auto shown = [](const std::optional<std::int64_t>& n) { return n ? std::to_string(*n) : "-"; };
  *out << "steps " << shown(w[WorkUnit::kStep]) << " samples " << shown(w[WorkUnit::kSample]) << " tokens "
       << shown(w[WorkUnit::kToken]) << " epochs " << shown(w[WorkUnit::kEpoch]);
}

namespace {

WorkCount DoneAfter(std::string_view text) {
  ProgressReader reader;
  reader.Feed(text);
  reader.Finish();
  return reader.done();
}

WorkCount Work(std::optional<std::int64_t> steps, std::optional<std::int64_t> epochs = {},
               std::optional<std::int64_t> samples = {}, std::optional<std::int64_t> tokens = {}) {
  return {{steps, samples, tokens, epochs}};
}

const std::string kTqdm =
    "\r  0%|          | 0/1000 [00:00<?, ?it/s]\r 45%|####5     | 450/1000 [00:12<00:15, 36.1it/s]"
    "\r100%|##########| 1000/1000 [00:27<00:00, 36.40it/s]\n";
const std::string kTrainer =
    "\r  0%|          | 0/750 [00:00<?, ?it/s]\r  1%|1         | 10/750 [00:03<04:10,  2.95it/s]"
    "{'loss': 1.9, 'grad_norm': 3.1, 'learning_rate': 4.9e-05, 'epoch': 0.04}\n"
    "\r 33%|###3      | 250/750 [01:20<02:40,  3.12it/s]"
    "\r\n  0%|          | 0/63 [00:00<?, ?it/s]\x1b[A\r\n 50%|##### | 32/63 [00:01<00:01, 30it/s]\x1b[A"
    "\r\n{'eval_loss': 0.9, 'eval_accuracy': 0.61, 'epoch': 1.0}\n"
    "{'loss': 1.2, 'grad_norm': 2.2, 'learning_rate': 3e-05, 'epoch': 1.0}\n"
    "\r100%|##########| 750/750 [04:02<00:00,  3.10it/s]"
    "{'train_runtime': 242.1, 'train_samples_per_second': 49.5, 'train_loss': 0.8, 'epoch': 3.0}\n";
const std::string kLightning =
    "\rSanity Checking DataLoader 0: 100%|##########| 2/2 [00:00<00:00, 33.2it/s]"
    "\rTraining: |          | 0/? [00:00<?, ?it/s]"
    "\rEpoch 0:   0%|          | 0/30 [00:00<?, ?it/s]\rEpoch 0: 100%|##########| 30/30 [00:03<00:00, 9.9it/s, v_num=0]"
    "\rValidation DataLoader 0: 100%|##########| 5/5 [00:00<00:00, 99.0it/s]\x1b[A"
    "\rEpoch 1:   0%|          | 0/30 [00:00<?, ?it/s, v_num=0]"
    "\rEpoch 1:  40%|####      | 12/30 [00:01<00:01, 9.9it/s, v_num=0, train_loss=0.3]";
const std::string kKeras2 =
    "Epoch 1/10\n\n   1/1875 [..............................] - ETA: 5:01 - loss: 2.4"
    "\b\b\b\b\b\b\b\b\r1875/1875 [==============================] - 5s 3ms/step - loss: 0.29\n"
    "Epoch 2/10\n\r  32/1875 [>.............................] - ETA: 4s - loss: 0.2";
const std::string kKeras3 =
    "Epoch 1/2\n\x1b[1m  1/500\x1b[0m \x1b[37m\xE2\x94\x81\xE2\x94\x81\x1b[0m \x1b[1m9s\x1b[0m 20ms/step - loss: 2.3"
    "\b\b\b\r\x1b[1m500/500\x1b[0m \x1b[32m\xE2\x94\x81\xE2\x94\x81\x1b[0m\x1b[37m\x1b[0m \x1b[1m1s\x1b[0m 2ms/step\n"
    "Epoch 2/2\n\x1b[1m250/500\x1b[0m \x1b[32m\xE2\x94\x81\x1b[0m \x1b[1m0s\x1b[0m 2ms/step - loss: 0.1\n";

TEST(ProgressLines, Tqdm) {
  EXPECT_EQ(DoneAfter(kTqdm), Work(1000));
  EXPECT_EQ(DoneAfter(kTqdm.substr(0, kTqdm.rfind('\r'))), Work(450));
  // One bar an epoch, without a name.
  EXPECT_EQ(DoneAfter(kTqdm + kTqdm + "\r  5%|5     | 50/1000 [00:01<00:25, 36it/s]"), Work(2000));
  EXPECT_EQ(DoneAfter(kTqdm + "\r  0%|      | 0/1000 [00:00<?, ?it/s]\r  5%|5     | 50/1000 [00:01<00:25, 36it/s]"),
            Work(1050));
  EXPECT_EQ(DoneAfter("train: 10%|# | 1,000/10,000 [00:10<01:30, 1.2s/it]\n"), Work(std::nullopt));
  EXPECT_EQ(DoneAfter("train: 0%| | 0/10,000 [00:00<?, ?it/s]\rtrain: 10%|# | 1,000/10,000 [00:10<01:30, 1.2s/it]\n"),
            Work(1000));
}

TEST(ProgressLines, Units) {
  EXPECT_EQ(DoneAfter("\r0%| | 0/512 [00:00<?, ?img/s]\r50%|# | 256/512 [00:01<00:01, 250img/s]\n"), Work({}, {}, 256));
  EXPECT_EQ(DoneAfter("\r0%| | 0/512 [00:00<?, ?samples/s]\r50%|# | 256/512 [00:01<00:01, 250samples/s]\n"),
            Work({}, {}, 256));
  EXPECT_EQ(DoneAfter("\r0%| | 0/5 [00:00<?, ?epoch/s]\r40%|# | 2/5 [01:00<01:30, 30.1s/epoch]\n"), Work({}, 2));
  EXPECT_EQ(DoneAfter("\r0%| | 0/512 [00:00<?, ?B/s]\r50%|# | 256/512 [00:01<00:01, 250MB/s]\n"), Work({}));
}

// With unit_scale: three figures are near enough for a cost, and no number of a step.
TEST(ProgressLines, ScaledUnits) {
  const std::string steps = "\r  0%| | 0.00/5.00k [00:00<?, ?it/s]\r 24%|# | 1.20k/5.00k [00:12<00:15, 36.1it/s]\n";
  EXPECT_EQ(DoneAfter(steps), Work(1200));
  ProgressReader reader;
  reader.Feed(steps);
  EXPECT_FALSE(reader.printed());
  EXPECT_EQ(DoneAfter("\r  0%| | 0.00/5.00M [00:00<?, ?tok/s]\r 24%|# | 1.23M/5.00M [00:12<00:15, 100ktok/s]\n"),
            Work({}, {}, {}, 1'230'000));
  EXPECT_EQ(DoneAfter("\r  0%| | 0.00/800 [00:00<?, ?img/s]\r 24%|# | 12.0/800 [00:12<00:15, 1.30kimg/s]\n"),
            Work({}, {}, 12));
  EXPECT_EQ(DoneAfter("\r0.00it [00:00, ?it/s]\r45.6kit [00:10, 4.56kit/s]\n"), Work(45'600));
  for (const std::string_view text :
       {"\r  0%| | 0.00/2.70G [00:00<?, ?B/s]\r 45%|# | 1.20G/2.70G [00:10<00:12, 120MB/s]\n",
        "\r  0%| | 0.00/2.70G [00:00<?,\r 45%|# | 1.20G/2.70G [00:10<00:12,\n",  // cut off: of bytes, perhaps
        "\r  0%| | 0/3 [00:00<?, ?it/s]\r 50%|# | 1.5/3 [00:10<00:10, 6s/it]\n"}) {
    EXPECT_EQ(DoneAfter(text), Work({})) << text;
  }
}

// A name without a word is none, and one that tells nothing is a training's once it shows a loss.
TEST(ProgressLines, BarsOfNamesThatTellNothing) {
  const std::string name = "\r      1/100      2.61G      1.163        640";
  EXPECT_EQ(DoneAfter(name + ":   0%| | 0/4 [00:00<?, ?it/s]" + name + ": 100%|# | 4/4 [00:01<00:00,  2.5it/s]\n"),
            Work(4));
  const auto bar = [](const std::string& more) {
    return "\rfrob: 0%| | 0/100 [00:00<?, ?it/s]\rfrob: 50%|# | 50/100 [00:01<00:01, 40it/s" + more + "]\n";
  };
  EXPECT_EQ(DoneAfter(bar("")), Work({}));
  EXPECT_EQ(DoneAfter(bar(", loss=0.3")), Work(50));
  EXPECT_EQ(DoneAfter(bar(", val_loss=0.3")), Work({}));
  EXPECT_EQ(DoneAfter("\r\xE9\xAA\x8C\xE8\xAF\x81: 0%| | 0/9 [00:00<?, ?it/s]"
                      "\r\xE9\xAA\x8C\xE8\xAF\x81: 50%|# | 5/9 [00:01<00:01, 4it/s]\n"),
            Work({}));
  // Of data that are prepared for a training.
  EXPECT_EQ(DoneAfter("Adding EOS to train dataset:  0%| | 0/1000 [00:00<?, ? examples/s]\n"
                      "Adding EOS to train dataset: 50%|# | 500/1000 [00:01<00:01, 400.1 examples/s]\n"
                      "Generating train split: 1000 examples [00:00, 12345.67 examples/s]\n"),
            Work({}));
}

TEST(ProgressLines, Trainer) { EXPECT_EQ(DoneAfter(kTrainer), Work(750, 3)); }
TEST(ProgressLines, Lightning) { EXPECT_EQ(DoneAfter(kLightning), Work(42, 1)); }
TEST(ProgressLines, Keras) {
  EXPECT_EQ(DoneAfter(kKeras2), Work(1907, 1));
  EXPECT_EQ(DoneAfter(kKeras3), Work(750, 1));
  const std::string evaluate = "313/313 [==============================] - 0s 1ms/step - loss: 0.2\n";
  EXPECT_EQ(DoneAfter(kKeras2.substr(0, kKeras2.find("Epoch 2")) + evaluate), Work(1875, 1));
}

TEST(ProgressLines, OtherBarsAreNoTraining) {
  EXPECT_EQ(DoneAfter("Map: 50%|##### | 500/1000 [00:01<00:01, 400.1 examples/s]\n"
                      "Downloading data: 10%|# | 10/100 [00:00<00:01, 90it/s]\n"
                      "model.safetensors: 45%|####5 | 1.2G/2.7G [00:10<00:12, 120MB/s]\n"
                      "Loading checkpoint shards: 100%|# | 4/4 [00:01<00:00, 3.1it/s]\n"
                      "frobnicating: 10%|# | 10/100 [00:00<00:01, 90it/s]\n"),
            Work({}));
}

TEST(ProgressLines, TrainingBarAgainstAnEvaluationBar) {
  EXPECT_EQ(DoneAfter("\rtrain: 0%| | 0/100 [00:00<?, ?it/s]\rtrain: 50%|# | 50/100 [00:01<00:01, 40it/s]"
                      "\reval: 0%| | 0/900 [00:00<?, ?it/s]\reval: 99%|# | 890/900 [00:01<00:01, 40it/s]\n"),
            Work(50));
}

// Epochs around steps, or steps around evaluations? Without names nobody can tell.
TEST(ProgressLines, TwoBarsWithoutNamesAreUnknown) {
  EXPECT_EQ(DoneAfter("\r0%| | 0/5 [00:00<?, ?it/s]\r0%| | 0/100 [00:00<?, ?it/s]\r90%|# | 90/100 [00:01<00:01, 40it/s]"
                      "\r20%|# | 1/5 [00:03<00:10, 3s/it]\r40%|# | 2/5 [00:03<00:10, 3s/it]\n"),
            Work({}));
  // What the first one counted may have been files that were read before the training: it is taken back.
  const std::string second = "\r0%| | 0/77 [00:00<?, ?it/s]\r90%|# | 70/77 [00:01<00:01, 40it/s]\n";
  EXPECT_EQ(DoneAfter(kTqdm + second + kTqdm), Work({}));
  EXPECT_EQ(DoneAfter("\r0%| | 0/5 [00:00<?, ?it/s]\nfrob: 90%|# | 90/100 [00:01<00:01, 40it/s]\n"
                      "\r20%|# | 1/5 [00:03<00:10, 3s/it]\r40%|# | 2/5 [00:03<00:10, 3s/it]\n"),
            Work({}));
}

// Of several bars without names the one with a loss is the training's: on the bar, or in a log while it goes on.
TEST(ProgressLines, ALossTellsWhichBarTrains) {
  const std::string files = "\r0%| | 0/77 [00:00<?, ?it/s]\r100%|# | 77/77 [00:01<00:00, 40it/s]\n";
  const std::string steps = "\r0%| | 0/100 [00:00<?, ?it/s]\r90%|# | 90/100 [00:01<00:01, 40it/s, loss=0.31]";
  EXPECT_EQ(DoneAfter(files + steps), Work(90));
  EXPECT_EQ(DoneAfter(steps + "\r100%|# | 100/100 [00:02<00:00, 40it/s, loss=0.3]\n" + files + steps), Work(190));
  EXPECT_EQ(DoneAfter("\r0%| | 0/5 [00:00<?, ?it/s]\n" + steps + "\n\r20%|# | 1/5 [00:03<00:10, 3s/it]\n"), Work(90));
  EXPECT_EQ(DoneAfter(kTrainer + files), Work(750, 3));  // evaluated once more at the end
  // Its logs may go elsewhere: what evaluated while the training waited evaluates when it is over, too.
  std::string bars;
  for (std::size_t at = 0; at < kTrainer.size(); ++at) {
    if (kTrainer[at] == '{') at = kTrainer.find('\n', at);
    bars += kTrainer[at];
  }
  EXPECT_EQ(DoneAfter(bars + "\r0%| | 0/63 [00:00<?, ?it/s]\r100%|# | 63/63 [00:01<00:00, 40it/s]\n"), Work(750));
  const std::string validation = "\r0%| | 0/9 [00:00<?, ?it/s]\r90%|# | 8/9 [00:01<00:01, 4it/s, val_loss=0.3]\n";
  EXPECT_EQ(DoneAfter(files + validation), Work({}));
}

// pbar.set_description(...) names a bar that was drawn without one.
TEST(ProgressLines, ABarThatIsNamedLaterIsTheSame) {
  const auto epoch = [](const std::string& number, const std::string& loss) {
    return "\r  0%| | 0/50 [00:00<?, ?it/s]\rEpoch " + number + " loss " + loss +
           ":  80%|# | 40/50 [00:04<00:01, 10it/s]\rEpoch " + number +
           " loss 0.1: 100%|# | 50/50 [00:05<00:00, 10it/s]\n";
  };
  std::string text;
  for (int i = 1; i <= 12; ++i) text += epoch(std::to_string(i), i % 2 == 0 ? "1.2e-05" : "10.75");
  EXPECT_EQ(DoneAfter(text), Work(600, 12));
  const std::string only_loss = "\r  0%| | 0/50 [00:00<?, ?it/s]\rloss 2.5:  80%|# | 40/50 [00:04<00:01, 10it/s]";
  EXPECT_EQ(DoneAfter(only_loss), Work(40));
}

// The tenth epoch goes on from the ninth, however many figures it has.
TEST(ProgressLines, FiguresInANameMakeNoOtherBar) {
  std::string text;
  for (int i = 0; i < 12; ++i) {
    const std::string name = "\rEpoch " + std::to_string(i);
    text += name + ": 0%| | 0/30 [00:00<?, ?it/s]" + name + ": 100%|# | 30/30 [00:03<00:00, 9.9it/s, v_num=0]\n";
  }
  EXPECT_EQ(DoneAfter(text), Work(360, 12));
}

TEST(ProgressLines, BarsOfEpochsAreNoSteps) {
  EXPECT_EQ(DoneAfter("\rTrain epochs: 0%| | 0/9 [00:00<?, ?it/s]\rTrain epochs: 22%|# | 2/9 [01:00<04:00, 30s/it]\n"),
            Work({}, 2));
  EXPECT_EQ(DoneAfter("\rTrain epoch: 0%| | 0/9 [00:00<?, ?it/s]\rTrain epoch: 22%|# | 2/9 [01:00<04:00, 30s/it]\n"),
            Work({}));
}

// Lightning before its version 2 goes on with the training's bar while it validates.
TEST(ProgressLines, ABarThatGoesOnWhileItValidatesIsNotBelieved) {
  const auto bar = [](const std::string& name, int done, int total) {
    return "\r" + name + ": 50%|# | " + std::to_string(done) + "/" + std::to_string(total) +
           " [00:03<00:03, 9.9it/s, loss=1.2, v_num=3]";
  };
  std::string text = bar("Epoch 0", 0, 40) + bar("Epoch 0", 30, 40);
  const std::string trained = text;
  for (int i = 0; i <= 10; ++i) text += "\n" + bar("Validating", i, 10) + "\x1b[A" + bar("Epoch 0", 30 + i, 40);
  EXPECT_EQ(DoneAfter(text), Work({}, 1));
  std::string apart = trained;
  for (int i = 0; i <= 10; ++i) apart += "\n" + bar("Validating", i, 10) + "\x1b[A" + bar("Epoch 0", 30, 40);
  EXPECT_EQ(DoneAfter(apart + bar("Epoch 0", 40, 40)), Work(40, 1));
}

TEST(ProgressLines, ValidationsOfAnEpochAreNoSteps) {
  EXPECT_EQ(DoneAfter("\rEpoch 1 [train]: 0%| | 0/10 [00:00<?, ?it/s]\rEpoch 1 [train]: 100%|# | 10/10 [00:01<0, 9it/s]"
                      "\rEpoch 1 [val]: 0%| | 0/50 [00:00<?, ?it/s]\rEpoch 1 [val]: 100%|# | 50/50 [00:01<0, 9it/s]\n"),
            Work(10, 1));
}

// With leave=False: each is wiped out with blanks before its end was drawn. One that was left earlier did no more.
TEST(ProgressLines, ABarThatIsWipedOutWasDone) {
  const std::string start = "\r  0%| | 0/60 [00:00<?, ?it/s]";
  const std::string wiped = start + "\r 92%|# | 55/60 [00:05<00:00, 10it/s]\r                                     \r";
  const std::string left = start + "\r 50%|# | 30/60 [00:03<00:03, 10it/s]\r                                      \r";
  EXPECT_EQ(DoneAfter(wiped + wiped + wiped), Work(180));
  EXPECT_EQ(DoneAfter(wiped + left + wiped), Work(150));
}

// The second rank draws the end of its bar when the first one has begun the next.
TEST(ProgressLines, RanksThatDrawTheSameBarCountOnce) {
  const std::string start = "\r  0%| | 0/100 [00:00<?, ?it/s]";
  const std::string middle = "\r 50%|# | 50/100 [00:05<00:05, 10it/s]";
  const std::string end = "\r100%|# | 100/100 [00:10<00:00, 10it/s]\n";
  std::string text = start + start;
  for (int epoch = 0; epoch < 3; ++epoch) {
    text += "\r  1%| | 1/100 [00:00<00:09, 10it/s]" + start + middle + middle + end + (epoch < 2 ? start : "") + end;
  }
  EXPECT_EQ(DoneAfter(text), Work(300));
  // One that draws nothing between start and end, as every pass before, is believed.
  EXPECT_EQ(DoneAfter(start + end + start + end), Work(200));
}

TEST(ProgressLines, KerasWithoutAnEndOrWithoutBars) {
  const std::string bar = " \xE2\x94\x81\xE2\x94\x81 ";
  EXPECT_EQ(DoneAfter("Epoch 1/2\n      1/Unknown 9s 20ms/step - loss: 2.3\r    100/Unknown 12s 20ms/step - loss: 2.1\n"
                      "Epoch 2/2\n  1/100" +
                      bar + "1s 20ms/step\r100/100" + bar + "2s 20ms/step - loss: 2\n" + "7/7" + bar + "0s 9ms/step\n"),
            Work(200, 2));
  EXPECT_EQ(DoneAfter("Epoch 1/3\n100/100 - 3s - 30ms/step - loss: 0.9\nEpoch 2/3\n100/100 - 2s - loss: 0.8\n"
                      "10/10 - 0s - loss: 0.8\n"),
            Work(200, 2));
  EXPECT_EQ(DoneAfter("Epoch 1/1\n    100/Unknown 12s 20ms/step - loss: 2.1\n7/7" + bar + "0s 9ms/step\n"), Work(100));
}

TEST(ProgressLines, NamedEpochsAroundIterations) {
  EXPECT_EQ(DoneAfter("\rEpoch: 0%| | 0/3 [00:00<?, ?it/s]\n\rIteration: 0%| | 0/50 [00:00<?, ?it/s]"
                      "\rIteration: 100%|# | 50/50 [00:05<00:00, 10it/s]\x1b[A\rEpoch: 33%|# | 1/3 [00:05<00:10, 5s/it]"
                      "\n\rIteration: 0%| | 0/50 [00:00<?, ?it/s]\rIteration: 20%|# | 10/50 [00:01<00:04, 10it/s]"),
            Work(60, 1));
}

TEST(ProgressLines, PlainLogs) {
  EXPECT_EQ(DoneAfter("step 10/100 loss 2.1\nstep 20/100 loss 2.0\nstep 30/100 loss 1.9\n"), Work(30));
  EXPECT_EQ(DoneAfter("iter 0: loss 4.2, time 80ms\niter 250: loss 2.2\niter 500: loss 2.0\n"), Work(500));
  EXPECT_EQ(DoneAfter("[INFO] Step: 100 | loss=2\n[INFO] Step: 200 | loss=1\n"), Work(200));
  EXPECT_EQ(DoneAfter("{\"step\": 5, \"loss\": 1.5}\n{\"step\": 10, \"loss\": 1.4}\n"), Work(10));
  EXPECT_EQ(DoneAfter("Epoch [1/3], Step [100/600], Loss: 0.2\nEpoch [1/3], Step [600/600], Loss: 0.2\n"
                      "Epoch [2/3], Step [100/600], Loss: 0.1\n"),
            Work(700, 1));
  EXPECT_EQ(DoneAfter("epoch 2 step 340\nepoch 2 step 350\n"), Work(10));
  EXPECT_EQ(DoneAfter("Epoch 1/5 - loss: 0.9 - acc: 0.7\nEpoch 2/5 - loss: 0.8 - acc: 0.8\n"), Work({}, 2));
  EXPECT_EQ(DoneAfter("Train Epoch: 1 [0/60000 (0%)]\tLoss: 2.3\nTrain Epoch: 1 [640/60000 (1%)]\tLoss: 1.9\n"
                      "Train Epoch: 1 [59520/60000 (99%)]\tLoss: 0.9\nTrain Epoch: 2 [640/60000 (1%)]\tLoss: 0.9\n"),
            Work({}, 1, 60160));
  EXPECT_EQ(
      DoneAfter(" iteration      100/  500000 | consumed samples:        25600 | elapsed time 1.0 | lm loss: 9\n"
                " iteration      200/  500000 | consumed samples:        51200 | elapsed time 1.0 | lm loss: 8\n"),
      Work(200, {}, 51200));
}

TEST(ProgressLines, LogsOfTrainingFrameworks) {
  const struct {
    std::string lines;
    WorkCount done;
  } logs[] = {
      // DeepSpeed
      {"[INFO] [logging.py:96:log_dist] [Rank 0] step=10, skipped=0, lr=[0.001], mom=[[0.9, 0.999]]\n"
       "[INFO] [timer.py:199:stop] epoch=0/micro_step=40/global_step=10, RunningAvgSamplesPerSec=30.1\n"
       "[INFO] [logging.py:96:log_dist] [Rank 0] time (ms) | fwd: 45.2 | bwd: 92.1 | step: 10.28\n"
       "[INFO] [logging.py:96:log_dist] [Rank 0] step=20, skipped=0, lr=[0.001], mom=[[0.9, 0.999]]\n",
       Work(20)},
      // torchtitan
      {"[titan] - root - INFO - Training starts at step 1, with local batch size 8, total steps 1000\n"
       "[titan] - root - INFO - step:  1  loss: 12.27  grad_norm:  1.5  memory: 30.10GiB(38.0%)  tps: 1,700\n"
       "[titan] - root - INFO - step: 10  loss: 10.91  grad_norm:  1.4  memory: 34.60GiB(43.7%)  tps: 7,001\n"
       "[titan] - root - INFO - step: 20  loss:  9.16  grad_norm:  1.2  memory: 34.60GiB(43.7%)  tps: 7,008\n",
       Work(20)},
      // fairseq
      {"2024-01-01 12:00:00 | INFO | train_inner | epoch 001:    100 / 8862 loss=10.2, ppl=1200, num_updates=100\n"
       "2024-01-01 12:01:00 | INFO | train_inner | epoch 001:    200 / 8862 loss=9.2, ppl=600, num_updates=200\n"
       "2024-01-01 12:09:00 | INFO | valid | epoch 001 | valid on 'valid' subset | loss 5.1 | num_updates 8862\n",
       Work(200)},
      // NeMo
      {"Training epoch 0, iteration 0/99 | lr: 2.9e-07 | global_batch_size: 512 | reduced_train_loss: 11.03\n"
       "Training epoch 0, iteration 10/99 | lr: 3.2e-06 | global_batch_size: 512 | global_step: 10 | loss: 10.1\n"
       "Training epoch 0, iteration 20/99 | lr: 3.2e-06 | global_batch_size: 512 | global_step: 20 | loss: 9.1\n",
       Work(20)},
      // MMEngine
      {"2024/01/01 12:00:00 - mmengine - INFO - Epoch(train)  [1][  50/7330]  lr: 1.0e-03  eta: 1 day  loss: 2.1\n"
       "2024/01/01 12:00:09 - mmengine - INFO - Epoch(train)  [1][ 100/7330]  lr: 1.0e-03  eta: 1 day  loss: 2.0\n"
       "2024/01/01 12:09:00 - mmengine - INFO - Epoch(val)  [1][ 500/5000]  eta: 0:10:00  time: 0.1\n",
       Work(100)},
      // timm and torchvision count from 0 and print the last one.
      {"Train: 0 [   0/1251 (  0%)]  Loss: 6.9\nTrain: 0 [  50/1251 (  4%)]  Loss: 6.9\n"
       "Train: 0 [1250/1251 (100%)]  Loss: 6.5\nTest: [   0/97]  Time: 1.0\n"
       "Train: 1 [   0/1251 (  0%)]  Loss: 6.4\nTrain: 1 [  50/1251 (  4%)]  Loss: 6.4\n",
       Work(1301, 1)},
      // The Hugging Face Trainer's own words before its bar, and figures as texts.
      {"  Num Epochs = 3\n  Gradient Accumulation steps = 4\n  Total optimization steps = 750\n"
       "{'loss': '1.9', 'learning_rate': '4.9e-05', 'epoch': '0.5'}\n{'loss': '1.7', 'epoch': '1.5'}\n",
       Work({}, 1)},
      // T5X, Composer
      {"I0101 10:00:00.0 train.py:500] END Train loop step 100.\nI0101 10:01:00.0 train.py:500] END Train loop step "
       "200.\n",
       Work(200)},
      {"[epoch=1][batch=10/100]:\n\t Train loss/train/total: 2.1\n[epoch=1][batch=20/100]:\n", Work(20)},
      // nanoGPT
      {"tokens per iteration will be: 491,520\nstep 0: train loss 10.98, val loss 10.97\niter 0: loss 10.9, time 1ms\n"
       "iter 10: loss 9.9, time 80.5ms, mfu 36.1%\niter 20: loss 8.9, time 80.5ms, mfu 36.1%\n",
       Work(20)},
  };
  for (const auto& log : logs) EXPECT_EQ(DoneAfter(log.lines), log.done) << log.lines;
}

// A number that no step was done of.
TEST(ProgressLines, StepsThatAreNoWorkDone) {
  for (const std::string_view text :
       {"Step 1: Load the data\nStep 2: Tokenize it\nStep 3/4: Train for 10 epochs\n",
        "Total train steps: 1000\nTotal steps: 3000\n", "Gradient accumulation steps = 4\nMax steps = 60\n",
        "loss 2.1, tokens/step: 4096\nloss 2.0, tokens/step: 4100\n", "time per step: 3 ms\ntime per step: 4 ms\n",
        "Number of training steps = 10\nnum steps: 20\n",
        "Step 1/9 : FROM ubuntu\nStep 2/9 : RUN make\nStep 3/9 : COPY . .\n",  // of an image that is built
        "Step 1/4 : RUN pip install x==1.2.3\nStep 2/4 : RUN pip install y>=2\nStep 3/4 : RUN apk add z=1.2.3\n",
        "5/10 tests passed\n6/10 tests passed\n", "Iteration 1/3: 100% of tests passed\nIteration 2/3: 50% of tests\n",
        "ETA: 10/20\nETA: 11/20\n", "version 1/2\nversion 2/2\n", "on 10/11/2024\non 10/12/2024\n",
        "Receiving objects:  45% (450/1000), 1.2 MiB | 2.0 MiB/s\n", "[10/100] Building a.o\n[20/100] Building b.o\n",
        "EarlyStopping counter: 1 out of 5\nEarlyStopping counter: 2 out of 5\n"}) {
    EXPECT_EQ(DoneAfter(text), Work({})) << text;
  }
}

TEST(ProgressLines, AnEpochInPartIsNotFinished) {
  EXPECT_EQ(DoneAfter("Epoch: [0][   0/5005]\tTime 0.3\tLoss 6.9e+00\nEpoch: [0][ 500/5005]\tTime 0.3\tLoss 6.8e+00\n"),
            Work(500));
  EXPECT_EQ(DoneAfter("Train: 0 [   0/1251 (  0%)]  Loss: 6.9\nTrain: 0 [  50/1251 (  4%)]  Loss: 6.8\n"
                      "Test: [   0/97]  Time: 1.0\nTest: [  97/97]  Time: 1.0\n"),
            Work(50));
  EXPECT_EQ(DoneAfter("[Epoch 1/3] [Batch 10/100] [D loss: 0.1]\n[Epoch 1/3] [Batch 20/100] [D loss: 0.1]\n"),
            Work(20));
  EXPECT_EQ(DoneAfter("Epoch 1/3 | 10/100 | loss 0.1\nEpoch 1/3 | 20/100 | loss 0.1\n"), Work({}));
}

// However few lines an epoch has: the number behind "Train:" says that it is another.
TEST(ProgressLines, EpochsOfFewLinesAddUp) {
  const auto epochs = [](int count, const std::vector<int>& steps, int of) {
    std::string text;
    for (int epoch = 0; epoch < count; ++epoch) {
      for (const int step : steps) {
        text += "Train: " + std::to_string(epoch) + " [" + std::to_string(step) + "/" + std::to_string(of) + " (" +
                std::to_string(100 * step / (of - 1)) + "%)]  Loss: 6.9\n";
      }
      text += "Test: [   0/10]  Time: 1.0\nTest: [  10/10]  Time: 1.0\n";
    }
    return DoneAfter(text);
  };
  EXPECT_EQ(epochs(10, {0, 50, 73}, 74), Work(740, 9));
  EXPECT_EQ(epochs(3, {0, 50, 99}, 100), Work(300, 2));
  EXPECT_EQ(epochs(4, {0, 20, 40, 60, 73}, 74), Work(296, 3));
  EXPECT_EQ(epochs(4, {0, 20, 40, 60}, 74), Work(240, 3));  // of what is not said nothing is known
}

// Where a job says from which step it goes on, that step was done before, and printing it is no progress.
TEST(ProgressLines, TheStepThatAJobGoesOnFromIsNoProgress) {
  for (const std::string resumed :
       {"resumed from step 100", "Resuming training at step 100", "  Continuing training from global step 100",
        "successfully loaded checkpoint from ckpt/ [ t 0, p 0 ] at iteration 100", "Restored model state (step 100)",
        "Starting from step 100", "restarting at iteration 100"}) {
    ProgressReader reader;
    reader.Feed(resumed + "\n");
    EXPECT_EQ(reader.done(), WorkCount()) << resumed;
    reader.Feed("step 110: loss 2.1\nstep 120: loss 2.0\n");
    reader.Finish();
    ASSERT_TRUE(reader.printed()) << resumed;
    EXPECT_EQ(*reader.printed(), (PrintedSteps{110, 120, 10})) << resumed;
  }
  // A job that says so and then begins anew has done what it printed from there on.
  EXPECT_EQ(DoneAfter("resumed from step 100\nstep 1\nstep 2\nstep 3\n"), Work(3));
  // Steps of a job that loads data or writes a checkpoint are its own.
  EXPECT_EQ(DoneAfter("data loading 0.1 s, step 1\ndata loading 0.1 s, step 2\n"), Work(2));
  EXPECT_EQ(DoneAfter("saving checkpoint at step 1\nsaving checkpoint at step 2\n"), Work(2));
  EXPECT_EQ(DoneAfter("resumed run 3: step 1 loss 2.1\nresumed run 3: step 2 loss 2.0\n"), Work(2));
}

// Looked back at, or done by the job that wrote the checkpoint.
TEST(ProgressLines, AnEpochInASentenceIsNoneThatThisJobDoes) {
  std::string ten;
  for (int epoch = 1; epoch <= 10; ++epoch) ten += "Epoch " + std::to_string(epoch) + "/10 - loss 0.4\n";
  EXPECT_EQ(DoneAfter("Loaded pretrained weights from epoch 300 (loss 0.31)\n" + ten), Work({}, 10));
  EXPECT_EQ(DoneAfter("=> loaded checkpoint 'best.pt' (epoch 300)\n" + ten), Work({}, 10));
  EXPECT_EQ(DoneAfter("Loaded checkpoint from epoch 12 (loss 0.31)\n"
                      "Epoch 13/15 - loss 0.4\nEpoch 14/15 - loss 0.4\nEpoch 15/15 - loss 0.4\n"),
            Work({}, 3));
  for (const std::string text :
       {"Best model from epoch 3 with val acc 0.91\nEarly stopping at epoch 9, best loss 0.2\n",
        "Epoch 3 was better than epoch 2.\nNow epoch 5 is better, loss 0.3\n",
        "As of epoch 5 the loss was 0.3, and at epoch 7 it was 0.1.\n"}) {
    EXPECT_EQ(DoneAfter(text), Work({})) << text;
    EXPECT_EQ(DoneAfter(text + ten), Work({}, 10)) << text;
  }
  EXPECT_EQ(DoneAfter("INFO epoch 1: loss 0.4\nTraining epoch 2, loss 0.3\nEnd of epoch 2\n"), Work({}, 2));
}

TEST(ProgressLines, StepsOfAValidationAreNone) {
  const std::string training = "step 10/20 loss 0.1\nstep 20/20 loss 0.1\n";
  EXPECT_EQ(DoneAfter(training + "val step 30/40 loss 0.1\nval step 40/40 loss 0.1\n"), Work(20));
  EXPECT_EQ(DoneAfter("step 10: train loss 2.1, val loss 2.2\nstep 20: train loss 2.0, val loss 2.1\n"), Work(20));
  EXPECT_EQ(DoneAfter("step 10 loss 2.1 val_loss 2.2\nstep 20 loss 2.1 val_loss 2.2\n"), Work(20));
}

TEST(ProgressLines, AnEpochToldOnALineOfItsOwnBeginsTheStepsAnew) {
  const std::string epoch = "Iter 10/30 loss 1\nIter 20/30 loss 1\nIter 30/30 loss 1\n";
  EXPECT_EQ(DoneAfter("Epoch 1/2\n" + epoch + "Epoch 2/2\n" + epoch), Work(60, 1));
  // A rank that is late is no new epoch.
  EXPECT_EQ(DoneAfter("Epoch 1/2\n" + epoch + "Epoch 2/2\nIter 30/30 loss 1\n" + epoch), Work(60, 1));
}

TEST(ProgressLines, BarsWithoutAnEnd) {
  EXPECT_EQ(DoneAfter("\r0it [00:00, ?it/s]\r25it [00:01, 24.9it/s]\r50it [00:02, 25.0it/s, loss=0.2]\n"), Work(50));
  EXPECT_EQ(DoneAfter("\rEpoch 1: 0it [00:00, ?it/s]\rEpoch 1: 40it [00:02, 25.0it/s]\n"
                      "\rEpoch 2: 0it [00:00, ?it/s]\rEpoch 2: 40it [00:02, 25.0it/s]\n"),
            Work(80, 1));
  EXPECT_EQ(DoneAfter("\rEpoch 0: |      | 0/? [00:00<?, ?it/s]\rEpoch 0: |      | 30/? [00:03<00:00, 9.9it/s, v_num=0]"
                      "\rEpoch 1:   0%|          | 0/30 [00:00<?, ?it/s, v_num=0]"
                      "\rEpoch 1:  40%|####      | 12/30 [00:01<00:01, 9.9it/s, v_num=0]"),
            Work(42, 1));
  EXPECT_EQ(DoneAfter("\r0B [00:00, ?B/s]\r512B [00:01, 500B/s]\rValidation: 7it [00:01, 7.0it/s]\n"), Work({}));
}

TEST(ProgressLines, BarsOfRich) {
  const std::string bar = " \xE2\x94\x81\xE2\x94\x81\xE2\x95\xB8\x1b[0m ";
  const std::string rate = " 0:00:04 \xE2\x80\xA2 0:00:00 9.5it/s v_num: 0 train_loss: 0.4";
  const auto epoch = [&](const std::string& number) {
    return "\r\x1b[2KEpoch " + number + bar + "20/40" + rate + "\r\x1b[2KEpoch " + number + bar + "40/40" + rate + "\n";
  };
  const std::string validation = "\r\x1b[2KValidation" + bar + "10/10" + rate + "\n";
  EXPECT_EQ(DoneAfter("\rEpoch 0/1" + bar + "0/40" + rate + epoch("0/1") + validation + epoch("1/1")), Work(80, 2));
  // Where nobody looks on, only the end is printed; one chooses what stands beside the bar.
  EXPECT_EQ(DoneAfter("Training" + bar + "100/100 0:00:05\n"), Work(100));
  EXPECT_EQ(DoneAfter("Training" + bar + "  0% 0/90 -:--:--\rTraining" + bar + " 50% 45/90 0:00:05\n"), Work(45));
  EXPECT_EQ(DoneAfter("Training" + bar + "100% 0:00:05\n" + bar + "10.0/61.9 MB 1.5 MB/s eta 0:00:35\n"), Work({}));
}

// A count that stands from `from` to `to`, `%` being the number.
std::string Lines(const std::string& form, int from, int to, int by) {
  std::string text;
  for (int i = from; i <= to; i += by) {
    text += form.substr(0, form.find('%')) + std::to_string(i) + form.substr(form.find('%') + 1) + "\n";
  }
  return text;
}

TEST(ProgressLines, IterationsOfASolverAreNoStepsOfATraining) {
  for (const std::string form :
       {"Kmeans iteration %", "Iteration %, inertia 2345.6", "CG iteration % residual 1e-3", "Power iteration %",
        "EM iteration %", "Sinkhorn iteration %", "L-BFGS iteration %", "BFGS iter: %",
        "Minibatch step %/300: mean batch inertia: 2345.6", "Iteration % (0.12 s, search 0.1 s): objective=1.26e+8"}) {
    EXPECT_EQ(DoneAfter(Lines(form, 10, 300, 10)), Work({})) << form;
  }
  for (const std::string form : {"step %", "iter %: 80ms", "Iteration %/500 - time: 0.3 s", "global step %",
                                 "[INFO] starting step %", "optimizer step %", "inner iteration % loss 0.3"}) {
    EXPECT_EQ(DoneAfter(Lines(form, 10, 300, 10)), Work(300)) << form;
  }
}

TEST(ProgressLines, ALogThatShowsATrainingWinsOverOneThatShowsNothing) {
  const std::string solver = Lines("Iteration %", 0, 299, 1);
  const std::string training = Lines("step % loss 2.1", 10, 100, 10);
  EXPECT_EQ(DoneAfter(solver), Work(299));  // nothing else is there, and nothing speaks against it
  EXPECT_EQ(DoneAfter(solver + training), Work(100));
  EXPECT_EQ(DoneAfter(training + solver), Work(100));
  EXPECT_EQ(DoneAfter(Lines("Kmeans iteration % loss 0.3", 0, 299, 1) + training), Work(100));
  for (const std::string shows : {"lr=1e-4", "grad_norm: 2.1", "1300.5 tokens/s", "epoch: 1", "train: 80 ms"}) {
    EXPECT_EQ(DoneAfter(solver + Lines("step % | " + shows, 10, 100, 10))[WorkUnit::kStep], 100) << shows;
  }
  EXPECT_EQ(DoneAfter(solver + Lines("step %", 10, 100, 10)), Work({}));  // of which of the two?
}

// Two names for the same steps, taking turns; and one part of a training after the other.
TEST(ProgressLines, LogsOfOneTrainingUnderTwoNames) {
  std::string text;
  for (int i = 0; i < 5; ++i) {
    text += Lines("iter % loss 1.1", 100 * i + 10, 100 * i + 100, 10);
    text += Lines("step %: train loss 1.0, val loss 2.0", 100 * i + 100, 100 * i + 100, 100);
  }
  EXPECT_EQ(DoneAfter(text), Work(500));
  EXPECT_EQ(DoneAfter(Lines("iter % loss 1.1", 10, 300, 10) + Lines("step % loss 1.0", 10, 100, 10)), Work(400));
}

TEST(ProgressLines, ABarOfAnyLoopIsATrainingsOnlyWhereNothingBetterIs) {
  const auto bar = [](const std::string& name, const std::string& more) {
    return "\r" + name + ": 0%| | 0/32 [00:00<?, ?it/s]\r" + name + ": 100%|# | 32/32 [00:01<00:00, 40it/s" + more +
           "]\n";
  };
  const std::string training = Lines("step % loss 2.1", 10, 100, 10);
  EXPECT_EQ(DoneAfter(bar("Batches", "")), Work(32));
  EXPECT_EQ(DoneAfter(bar("Batches", "") + bar("Batches", "") + training), Work(100));
  EXPECT_EQ(DoneAfter(training + bar("Batches", "") + bar("Batches", "")), Work(100));
  EXPECT_EQ(DoneAfter(bar("Batches", ", loss=0.3") + training), Work(32));
  EXPECT_EQ(DoneAfter(bar("Batches", "") + bar("Training", "")), Work(32));
  EXPECT_EQ(DoneAfter(bar("", "") + training), Work(100));  // of files, say
  for (const std::string name : {"Literature search", "Computing losses", "sklearn folds", "Timesteps", "Profit"}) {
    EXPECT_EQ(DoneAfter(bar(name, "")), Work({})) << name;
  }
  for (const std::string name : {"Training (roadmap)", "Training workload", "train latest", "Training retrieval"}) {
    EXPECT_EQ(DoneAfter(bar(name, ""))[WorkUnit::kStep], 32) << name;
  }
}

TEST(ProgressLines, AWordThatOnlyHoldsAnotherSilencesNothing) {
  for (const std::string before : {"[retrieval-model] ", "/data/latest/run.py: ", "contest: ", "[invalid-free] ",
                                   "medieval | ", "fastest: ", "[predictor] "}) {
    EXPECT_EQ(DoneAfter(Lines(before + "step % loss 2.1", 10, 100, 10)), Work(100)) << before;
  }
  for (const std::string before : {"[test] ", "evaluating: ", "Validation: ", "tests: ", "[prediction] "}) {
    EXPECT_EQ(DoneAfter(Lines(before + "step % loss 2.1", 10, 100, 10)), Work({})) << before;
  }
}

TEST(ProgressLines, AnEpochThatIsSaidToBeOverIs) {
  for (const std::string form :
       {"Epoch % finished in 10 s", "Epoch % done", "Epoch % completed (12.1s)", "Epoch % took 10 s",
        "Finished epoch %", "End of epoch %", "Epoch: %, Time: 10.2, F1: 0.9", "epoch % | time: 10.21s | valid ppl 9",
        "[info] epoch %/12 complete.", "Epoch % finished at step 300"}) {
    EXPECT_EQ(DoneAfter(Lines(form, 1, 1, 1))[WorkUnit::kEpoch], 1) << form;
    EXPECT_EQ(DoneAfter(Lines(form, 0, 1, 1))[WorkUnit::kEpoch], 2) << form;
    EXPECT_EQ(DoneAfter(Lines(form, 1, 10, 1))[WorkUnit::kEpoch], 10) << form;
    EXPECT_EQ(DoneAfter(Lines(form, 4, 6, 1))[WorkUnit::kEpoch], 3) << form;
  }
  for (const std::string form : {"Starting epoch %", "Epoch % 45% done", "Epoch % started, time: 12:00:01",
                                 "epoch %, lr 0.1", "Epoch % not done yet", "Epoch %, estimated time: 300 s",
                                 "Epoch % [time 12:00:01]", "Epoch %, batch 3/10 done, time: 3 s"}) {
    EXPECT_EQ(DoneAfter(Lines(form, 1, 3, 1))[WorkUnit::kEpoch], 2) << form;
  }
  std::string both;
  for (int i = 1; i <= 3; ++i) both += Lines("Epoch % started", i, i, 1) + Lines("Epoch % finished", i, i, 1);
  EXPECT_EQ(DoneAfter(both), Work({}, 3));
  EXPECT_EQ(DoneAfter("will stop when epoch 10 is done\nMax epoch: 10\n" + Lines("Epoch % finished", 1, 2, 1)),
            Work({}, 2));
}

TEST(ProgressLines, WhatAnEarlierJobDidIsNotCounted) {
  EXPECT_EQ(DoneAfter("step 5010 loss 1\nstep 5020 loss 1\nstep 5030 loss 1\n"), Work(20));
  EXPECT_EQ(DoneAfter("{'loss': 1.0, 'epoch': 4.5}\n{'loss': 1.0, 'epoch': 6.1}\n"), Work({}, 2));
}

// Ranks print the same lines, some of them late.
TEST(ProgressLines, SeveralRanksCountOnce) {
  std::string text;
  for (int step = 10; step <= 100; step += 10) {
    for (int rank = 0; rank < 4; ++rank) text += "step " + std::to_string(step - (rank == 3 ? 10 : 0)) + " loss 1\n";
  }
  EXPECT_EQ(DoneAfter(text)[WorkUnit::kStep], 100);
}

TEST(ProgressLines, TextThatOnlyLooksAlikeClaimsNothing) {
  for (const std::string_view text :
       {"the next step: 3 things to do\n", "step 1\n", "version 1.2.3 epoch\n", "lr step 0.1\nlr step 0.01\n", "50%|\n",
        "5%| 3/2 [x]\n", "99999999999999999999/3 [==\n", "step 10% done\nstep 20% done\n",
        "test step 10 loss\ntest step 20 loss\n", "timestep 10\ntimestep 20\n", "steps-10\nsteps-20\n"}) {
    EXPECT_EQ(DoneAfter(text), Work({})) << text;
  }
}

// However the bytes are torn, the result is the same.
TEST(ProgressLines, SplitsDoNotMatter) {
  for (const std::string& text : {kTqdm, kTrainer, kLightning, kKeras2, kKeras3}) {
    const WorkCount whole = DoneAfter(text);
    for (std::size_t cut = 0; cut <= text.size(); ++cut) {
      ProgressReader reader;
      reader.Feed(std::string_view(text).substr(0, cut));
      reader.Feed(std::string_view(text).substr(cut));
      reader.Finish();
      ASSERT_EQ(reader.done(), whole) << cut;
    }
  }
}

// Any bytes at all: nothing breaks, nothing falls, and a long line without an end costs no memory.
TEST(ProgressLines, GarbageIsSurvived) {
  test::ExpectProperty("garbage", [] {
    ProgressReader reader;
    std::int64_t last = 0;
    for (const std::string& piece : *rc::gen::arbitrary<std::vector<std::string>>()) {
      reader.Feed(piece + (piece.size() % 2 == 0 ? " step 7\n" : "\r 4%|# | 4/9 [00:01<00:01, 4it/s]"));
      RC_ASSERT(reader.done()[WorkUnit::kStep].value_or(0) >= last);
      last = reader.done()[WorkUnit::kStep].value_or(0);
    }
  });
  ProgressReader reader;
  for (int i = 0; i < 10'000; ++i) reader.Feed(std::string(1000, 'x'));
  reader.Feed("\n" + kTqdm);
  reader.Finish();
  EXPECT_EQ(reader.done(), Work(1000));
}

TEST(ProgressLines, StepsAsTheyArePrintedAreThoseOfTheWholeTraining) {
  const auto printed = [](std::string_view text) {
    ProgressReader reader;
    reader.Feed(text);
    reader.Finish();
    return reader.printed();
  };
  EXPECT_EQ(printed("step 101 loss 2\nstep 102 loss 2\nstep 103 loss 1\n"), (PrintedSteps{101, 103, 1}));
  EXPECT_EQ(printed("step 110/500\nstep 120/500\n"), (PrintedSteps{110, 120, 10}));
  EXPECT_EQ(printed("\r 10%|# | 100/1000 [00:00<?, ?it/s]\r 15%|# | 150/1000 [00:01<00:09, 50it/s]\n"),
            (PrintedSteps{100, 150, 1}));
  EXPECT_FALSE(printed("step 5\n"));  // one line tells no distance
  EXPECT_FALSE(printed("loss 2.1\n"));
  // A count that begins anew for every epoch tells no step of the whole.
  EXPECT_FALSE(printed("epoch 1 step 10\nepoch 1 step 20\nepoch 2 step 10\nepoch 2 step 20\n"));
}

bool TellsNothing(const ProgressText& text) {
  return !text.bar && !text.step && !text.samples && !text.tokens && !text.epoch && !text.loss;
}

// Lines are passed over only where a look at all of them finds nothing.
TEST(ProgressQuicklyTest, WhatIsPassedOverTellsNothing) {
  const std::vector<std::string> parts = {" ",           "  ",
                                          "1",           "12/30",
                                          "of ",         "45%|##| ",
                                          "450/1000",    " [00:12<00:15, 36.1it/s]",
                                          "[",           "]",
                                          "Step",        "ITER",
                                          "global_step", "num_updates",
                                          "Epoch",       "batch",
                                          "Train:",      "consumed samples",
                                          "tokens",      "loss",
                                          "=",           ":",
                                          "0.5",         "line ",
                                          "output",      "\xE2\x94\x81\xE2\x94\x81",
                                          "/s",          "-",
                                          "5s",          "[==>",
                                          "]{",          "val_"};
  test::ExpectProperty("passed over", [&] {
    const auto picks = *rc::gen::container<std::vector<std::size_t>>(rc::gen::inRange<std::size_t>(0, parts.size()));
    std::string line;
    for (const std::size_t pick : picks) line += parts[pick];
    if (MayTellProgress(line)) return;
    RC_ASSERT(TellsNothing(ParseProgress(line)));
  });
  const std::string plain = "line 123456 of output";
  EXPECT_FALSE(MayTellProgress(plain));
  EXPECT_TRUE(TellsNothing(ParseProgress(plain)));
  EXPECT_TRUE(MayTellProgress("  "));
}

// And what others print between makes no difference, however it is cut into pieces.
TEST(ProgressQuicklyTest, LinesBetweenChangeNothing) {
  std::string mixed;
  for (const char c : kTrainer) mixed += c == '\n' ? "\nsome line 7\n\n" : std::string(1, c);
  ProgressReader pieces;
  for (std::size_t at = 0; at < mixed.size(); at += 7) pieces.Feed(std::string_view(mixed).substr(at, 7));
  pieces.Finish();
  EXPECT_EQ(DoneAfter(mixed), DoneAfter(kTrainer));
  EXPECT_EQ(pieces.done(), DoneAfter(kTrainer));
}

}  // namespace
}  // namespace idleburn
