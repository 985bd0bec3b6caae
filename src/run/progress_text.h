#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace idleburn {

// Whether a word of `lower`, text in lower case, is a form of one of the stems: "testing" and "tests" are forms of
// "test"; "latest", "contest" and "tester" are not. A word is of letters only: "train_loss" holds two.
bool SpeaksOf(std::string_view lower, std::span<const std::string_view> stems);

// Of work that is a training's own.
bool SpeaksOfTraining(std::string_view lower);
// Of work beside it, on the same model: a validation, a test.
bool SpeaksOfOtherWork(std::string_view lower);

// What one line of a job's output says about its progress. Pure; every part may be absent.
struct ProgressText {
  enum class Counts : std::uint8_t { kSteps, kSamples, kTokens, kEpochs, kOther };

  // "Epoch 3:  40%|####  | 12/30 [00:01<00:02, 9.9it/s]", "32/1875 [====>....] - ETA: 5s"
  struct Bar {
    std::string name;  // what stands before it, figures as '#', lower case
    std::int64_t done = 0;
    std::int64_t total = 0;          // the largest there is: not said
    Counts counts = Counts::kSteps;  // as its unit says: "img/s" counts samples, "B/s" nothing of ours
    bool starts = false;             // no time has passed in it
    bool ends = false;               // it says that less than a second is left
    bool rounded = false;            // to three figures, "1.23M": near enough for a cost, and no number of a step
    bool per_epoch = false;          // of a kind that begins anew for every epoch
  };
  struct Count {
    std::int64_t done = 0;
    std::int64_t total = 0;
  };
  struct Epoch {
    std::int64_t number = 0;  // as printed, without its fraction
    bool fraction = false;    // "0.5", "1.0": a measure of progress, not a number of order
    bool finished = false;    // as the line says, or as it holds a figure of the whole epoch
  };

  std::optional<Bar> bar;
  std::optional<Count> step;
  std::string step_name;         // what the line calls them: "step", "kmeans iteration"
  bool step_of_another = false;  // as that name says, or figures beside it: no training's, unless it shows one
  std::optional<Count> samples;  // in this epoch or in all, as the job counts
  std::optional<Count> tokens;
  std::optional<Epoch> epoch;
  bool loss = false;      // it shows a loss, and not that of a validation: something trains
  bool training = false;  // it shows what only a training has: an epoch, a learning rate, samples a second, its name
};

// False only for a line in which ParseProgress finds nothing: no bar, count, epoch or loss. One pass over the line,
// for jobs that print gigabytes of others. `line` is free of control characters.
bool MayTellProgress(std::string_view line);
ProgressText ParseProgress(std::string_view line);

}  // namespace idleburn
