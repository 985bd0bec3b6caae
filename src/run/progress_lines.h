#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/work_unit.h"
#include "run/progress_text.h"

namespace idleburn {

// Follows the progress that a job prints, over all its lines. run/progress_text.h reads a single line.
// docs/progress-lines.md, "What is recognized", describes the rules.

// What one source says it has done, with the numbers of the first and last line that said so. Markers and logs both
// use it to tell work that follows from work that is counted twice.
struct Turn {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t done = 0;
};

// The work that all turns have done together. Turns that overlap count the same work, so the furthest counts. A turn
// that begins after all earlier ones ended adds to them. Lines 1-5 with 10 steps, 3-8 with 12 and 9-10 with 4 give 16.
std::int64_t DoneInTurns(std::vector<Turn> turns);

// One count that a job prints again and again: a bar, or the steps of a log. It rises over several passes, such as
// epochs.
//
// Example: a bar runs from 0 to 100 in each of three epochs and is at 30 in the fourth. `base` is 300, `last` is 30,
// and done() is 330.
struct ProgressTrack {
  std::optional<std::int64_t> first;  // the first number, as printed
  std::int64_t last = 0;
  std::int64_t total = 0;
  std::int64_t stride = 0;  // between the first two lines of a log; 0: not known
  std::int64_t offset = 0;  // printed, but done by an earlier job
  std::int64_t base = 0;    // done in finished passes
  std::int64_t epochs = 0;  // epochs told of when this pass began
  bool advanced = false;
  bool rounded = false;      // printed rounded
  bool from_zero = false;    // a log whose pass began with 0: the last number is one less than the count
  bool in_bits = false;      // a bar that was drawn between the start and the end of this pass
  bool was_in_bits = false;  // the same of the pass before

  // The work of all passes. A pass of 0 to 99 with total 100 counts 100.
  [[nodiscard]] std::int64_t done() const {
    return base + last - offset + (from_zero && total > 0 && last == total - 1 ? 1 : 0);
  }
  // The count starts again, in the next epoch for example.
  void NextPass(std::int64_t epochs_told);
  // Takes the next number of a log. `next_epoch`: the line itself starts an epoch. `epochs_told`: epochs so far.
  void OnLogCount(const ProgressText::Count& count, bool next_epoch, std::int64_t epochs_told);
};

// The logs of steps in one stream. Their names tell them apart: "step 10" is one log, "kmeans iteration 10" another.
// Only the steps of training count.
//
//   log                                                        its steps
//   shows a loss, or else a learning rate, an epoch, ...       are preferred to a log that shows nothing of training
//   has another name before its steps ("kmeans iteration")     come last, and only if it shows something of training
//   is as good as another, and their lines alternate           count the same work: the further one counts
//   is as good as another, and follows it                      are a later part of the same training
//   shows nothing of training, like another                    do not count, nor do those of the other
class StepLogs {
 public:
  enum class Trust : std::uint8_t { kNothing, kUnclear, kPlain, kTraining };
  struct Said {
    Trust trust = Trust::kNothing;
    std::int64_t steps = 0;
    const ProgressTrack* track = nullptr;  // the log of these steps; null: several logs
  };

  // Takes a line with a step. The other arguments are those of ProgressTrack::OnLogCount.
  void OnLine(const ProgressText& text, bool next_epoch, std::int64_t epochs_told);
  // The steps of training so far, and how far to trust them.
  [[nodiscard]] Said Steps() const;

 private:
  struct Log {
    ProgressTrack track;
    int standing = 0;  // how much it looks like training; 0 is least
    std::int64_t begin = 0;
    std::int64_t end = 0;
  };

  std::map<std::string, Log> logs_;
  std::int64_t lines_ = 0;
};

// The step numbers of the whole training, as the job prints them. `idleburn drill` finds by them what a resumed job
// did again (trial/lineage.h).
struct PrintedSteps {
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::int64_t stride = 1;  // between two lines
  friend bool operator==(const PrintedSteps&, const PrintedSteps&) = default;
};

// Finds the work done in what a job prints, in pieces of any size. It reads bars of tqdm, the Hugging Face Trainer,
// Lightning and Keras, and logs such as "step 10/100", "epoch 2 step 340", "iter 500:".
//
// A wrong count is worse than none. So:
// * A bar named after other work (download, map, validation, ...) is ignored. So is a bar whose name tells nothing,
//   unless it shows a loss.
// * A bar without a name counts steps. Two things make it doubtful: another bar begins inside it before it advances
//   (either may count epochs), or another bar follows it (either may be validation or preparation). Then neither
//   counts, also for the past. A bar that shows a loss, itself or in lines between, is training in any case.
// * A bar that advances together with a validation bar counts both, so it does not count as training.
// * A count that starts again (the next epoch's bar) continues from its last value. A late line does not.
// * The numbers with which a resumed job begins were done by an earlier job.
// * Steps from two sources are never added. The order of preference: a bar named after training (train, epoch);
//   anything that shows training (a bar without a name or a log, with a loss); a bar named after any loop (batches,
//   iter, step, fit); anything else. The first source wins a tie.
//
// Memory is bounded, whatever the job prints.
class ProgressReader {
 public:
  // Takes the next piece of output.
  void Feed(std::string_view bytes);
  // The output ended. A last line without a line end counts too.
  void Finish();
  // The work done since the job began to print.
  [[nodiscard]] const WorkCount& done() const { return done_; }
  // How likely its steps are those of training, for comparison with another reader: 0 to 4. 0: it has none.
  [[nodiscard]] int trust() const { return TrustIn(source_); }
  // The printed step numbers. Absent if the count started again, in each epoch for example, or is printed rounded: then
  // a number is no step of the whole training.
  [[nodiscard]] std::optional<PrintedSteps> printed() const;

 private:
  enum class Escape : std::uint8_t { kNone, kBegun, kControl, kText };
  enum class Source : std::uint8_t { kNone, kPlainBar, kLog, kLoopBar, kTrainingLog, kNamedBar };

  // How many bytes can be skipped without looking at each.
  std::size_t PassOver(std::string_view bytes) const;
  void TakeByte(char c);
  void EndEscape(char c);
  void EndLine();
  // Takes a whole line, a bar, a log of steps, or a line that wipes a bar out.
  void OnLine(std::string_view line);
  void OnCleared();
  void OnBar(ProgressText::Bar bar, bool epoch_in_name, bool loss);
  // Decide whether a bar counts the steps of training; see the class.
  void OnUnknownName(const ProgressText::Bar& bar, const std::string& key);
  bool OfThisEpochOfKeras(const ProgressText::Bar& bar);
  bool Renamed(const ProgressText::Bar& bar);
  bool IsThePlainBar(const std::string& key, bool loss);
  // Moves a bar's count on. `anew`: the bar certainly starts again.
  void Advance(ProgressTrack* track, const ProgressText::Bar& bar, bool anew);
  void OnValidation(const ProgressText::Bar& bar);
  void OnLog(const ProgressText& text, bool next_epoch);
  void OnEpoch(const ProgressText::Epoch& epoch);
  // How a source ranks, and whether a bar of that name shows training.
  [[nodiscard]] int TrustIn(Source source) const;
  [[nodiscard]] bool TellsTraining(const std::string& bar_name) const;
  // Makes the steps of a source count, unless a better source has them already. Disown takes them back.
  void ClaimSteps(Source source, std::int64_t steps);
  void Disown(Source source);

  std::string line_;
  bool too_long_ = false;
  Escape escape_ = Escape::kNone;

  std::optional<ProgressText> drawn_;  // the bar drawn last
  std::map<std::string, ProgressTrack> bars_;
  std::string step_bar_;               // the bar that gave steps last
  bool several_bars_ = false;          // several bars gave steps
  std::string plain_bar_;              // the bar without a name that counts steps
  bool plain_trains_ = false;          // a loss was seen with it
  bool plain_unclear_ = false;         // there are several such bars
  std::set<std::string> outer_bars_;   // bars without a name that have bars inside, which they count
  std::set<std::string> showed_loss_;  // bars whose name tells nothing but that showed a loss
  std::set<std::string> renamed_;      // names that the bar without a name got later
  bool keras_begins_ = false;          // "Epoch 2/10" was printed, and its bar has not ended
  std::int64_t keras_total_ = 0;       // total of the bar in this epoch; 0: none yet
  ProgressTrack validation_;
  bool moved_in_validation_ = false;  // a training bar advanced since the validation bar was drawn last
  bool counts_both_ = false;          // the training bar advances in validation too
  StepLogs step_logs_;
  ProgressTrack sample_log_;
  ProgressTrack token_log_;
  std::optional<std::int64_t> first_epoch_;
  std::optional<std::int64_t> epoch_;
  std::int64_t epochs_told_ = 0;  // how many new epochs were printed
  Source source_ = Source::kNone;
  WorkCount done_;
};

}  // namespace idleburn
