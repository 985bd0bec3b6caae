#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace idleburn {

// Reads one printed line: progress bars (tqdm, rich, Keras), "step 10/100", "Epoch 3 finished", losses. It knows
// nothing of the lines before; ProgressReader (run/progress_lines.h) decides what a line means for the job.

// Whether a word of `lower` is a form of one of the stems. "testing" and "tests" are forms of "test"; "latest",
// "contest" and "tester" are not. `lower` is in lower case. A word has letters only, so "train_loss" is two words.
//
// Matching whole words and not any part keeps "evaluation" away from "val", and "latest" away from "test".
bool SpeaksOf(std::string_view lower, std::span<const std::string_view> stems);

// Whether the text names training.
bool SpeaksOfTraining(std::string_view lower);
// Whether the text names other work on the model, such as validation or a test.
bool SpeaksOfOtherWork(std::string_view lower);

// What one line of a job's output tells about its progress. Every part may be absent. A line has either a bar or
// counts.
struct ProgressText {
  enum class Counts : std::uint8_t { kSteps, kSamples, kTokens, kEpochs, kOther };

  // "Epoch 3:  40%|####  | 12/30 [00:01<00:02, 9.9it/s]", "32/1875 [====>....] - ETA: 5s"
  struct Bar {
    std::string name;  // the text before it, in lower case, with '#' for each number
    std::int64_t done = 0;
    std::int64_t total = 0;          // INT64_MAX: not printed
    Counts counts = Counts::kSteps;  // from its unit: "img/s" counts samples, "B/s" is kOther
    bool starts = false;             // its elapsed time is 0
    bool ends = false;               // less than a second is left
    bool rounded = false;            // printed with three digits, "1.23M": good for a cost, but no step number
    bool per_epoch = false;          // this kind of bar starts again with every epoch
  };
  struct Count {
    std::int64_t done = 0;
    std::int64_t total = 0;
  };
  struct Epoch {
    std::int64_t number = 0;  // as printed, without its fraction
    bool fraction = false;    // printed as "0.5" or "1.0": a measure of progress, not an ordinal
    bool finished = false;    // the line says so, or prints a figure of the whole epoch
  };

  std::optional<Bar> bar;
  std::optional<Count> step;
  std::string step_name;         // what the line calls a step: "step", "kmeans iteration"
  bool step_of_another = false;  // the name or figures beside it suggest that the step is not one of training
  std::optional<Count> samples;  // in this epoch or in total, depending on the job
  std::optional<Count> tokens;
  std::optional<Epoch> epoch;
  bool loss = false;      // the line shows a training loss
  bool training = false;  // the line shows something only training has: an epoch, a learning rate, samples per second
};

// A quick filter for jobs that print gigabytes. It returns false only if ParseProgress would find no bar, count,
// epoch or loss. It reads each byte about once. `line` has no control characters.
bool MayTellProgress(std::string_view line);
// Parses one line without control characters. It never fails.
ProgressText ParseProgress(std::string_view line);

}  // namespace idleburn
