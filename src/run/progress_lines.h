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

// A count of somebody's, and where in the order of all lines it was heard of first and last.
struct Turn {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t done = 0;
};

// What all of them have done. Those that overlap count the same work side by side: the furthest of them says how far
// they are. One that begins when all before it have ended goes on where they were.
std::int64_t DoneInTurns(std::vector<Turn> turns);

// A count that only rises, over several passes.
struct ProgressTrack {
  std::optional<std::int64_t> first;  // as printed
  std::int64_t last = 0;
  std::int64_t total = 0;
  std::int64_t stride = 0;  // between the first two of a log; 0: not known
  std::int64_t offset = 0;  // printed, but not done by this job
  std::int64_t base = 0;    // of finished passes
  std::int64_t epochs = 0;  // told of when this pass began
  bool advanced = false;
  bool rounded = false;      // as printed
  bool from_zero = false;    // of a log: this pass began with 0, so that its last number is one less than it did
  bool in_bits = false;      // of a bar: this pass was drawn between its start and its end
  bool was_in_bits = false;  // and the pass before

  [[nodiscard]] std::int64_t done() const {
    return base + last - offset + (from_zero && total > 0 && last == total - 1 ? 1 : 0);
  }
  void NextPass(std::int64_t epochs_told);
  // The next number of a log. `next_epoch`: the line itself tells of a new one; `epochs_told`: how many were by now.
  void OnLogCount(const ProgressText::Count& count, bool next_epoch, std::int64_t epochs_told);
};

// The logs of steps that one stream holds, told apart by what they call their steps: "step 10" is a training's, "kmeans
// iteration 10" beside it is not.
//
//   what shows a loss, or else a learning rate, an epoch, ...   is believed before what shows nothing of a training
//   what another name stands before ("kmeans iteration")         is believed last, and only where it shows that much
//   two that are as good and take turns                          count the same, one further than the other
//   two that are as good, one after the other                    are parts of one training
//   two that show nothing of a training                          nobody can tell: neither
class StepLogs {
 public:
  enum class Trust : std::uint8_t { kNothing, kUnclear, kPlain, kTraining };
  struct Said {
    Trust trust = Trust::kNothing;
    std::int64_t steps = 0;
    const ProgressTrack* track = nullptr;  // the one that they are of; null: of several
  };

  // A line with a step; the rest as ProgressTrack::OnLogCount takes it.
  void OnLine(const ProgressText& text, bool next_epoch, std::int64_t epochs_told);
  [[nodiscard]] Said Steps() const;

 private:
  struct Log {
    ProgressTrack track;
    int standing = 0;  // how much it looks like a training's; from 0 on
    std::int64_t begin = 0;
    std::int64_t end = 0;
  };

  std::map<std::string, Log> logs_;
  std::int64_t lines_ = 0;
};

// The steps of the whole training as a job prints them.
struct PrintedSteps {
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::int64_t stride = 1;  // between two lines
  friend bool operator==(const PrintedSteps&, const PrintedSteps&) = default;
};

// Reads what a job prints, in pieces of any size, and finds the work it says it has done: bars of tqdm, of the
// Hugging Face Trainer, Lightning and Keras; logs such as "step 10/100", "epoch 2 step 340", "iter 500:".
//
// It rather knows nothing than something wrong:
//   a bar with the name of something else than training (download, map, validation, ...) is passed over; so is one
//   whose name tells nothing, unless it shows a loss
//   a bar without a name counts steps, unless another one begins inside it before it has advanced (then either may
//   be epochs) or comes after it (then either may validate, or prepare): then neither counts, nor did. The one that
//   shows a loss, itself or in lines between its own, is the training's whatever comes
//   a bar that goes on while the bar of a validation does counts both, and is not believed
//   a count that begins anew (the next epoch's bar) goes on from where it was; a line that comes late does not
//   numbers that a resumed job begins with were done by an earlier one
//   two sources that both count steps are not added. A bar named after training (train, epoch) wins, then what shows
//   something of a training (a bar without a name or a log with a loss), then a bar named after any loop (batches,
//   iter, step, fit), then what shows nothing; of two that are as good the first one stays
// Memory is bounded whatever is printed.
class ProgressReader {
 public:
  void Feed(std::string_view bytes);
  // The end: a last line without an end counts too.
  void Finish();
  // Since the job began to print.
  [[nodiscard]] const WorkCount& done() const { return done_; }
  // How much speaks for its steps being a training's, to be compared with another reader's; 0: it has none.
  [[nodiscard]] int trust() const { return TrustIn(source_); }
  // Absent where the count began anew, for every epoch say: then a number is no step of the whole training; and where
  // it is printed rounded.
  [[nodiscard]] std::optional<PrintedSteps> printed() const;

 private:
  enum class Escape : std::uint8_t { kNone, kBegun, kControl, kText };
  enum class Source : std::uint8_t { kNone, kPlainBar, kLog, kLoopBar, kTrainingLog, kNamedBar };

  std::size_t PassOver(std::string_view bytes) const;
  void TakeByte(char c);
  void EndEscape(char c);
  void EndLine();
  void OnLine(std::string_view line);
  void OnCleared();
  void OnBar(ProgressText::Bar bar, bool epoch_in_name, bool loss);
  void OnUnknownName(const ProgressText::Bar& bar, const std::string& key);
  bool OfThisEpochOfKeras(const ProgressText::Bar& bar);
  bool Renamed(const ProgressText::Bar& bar);
  bool IsThePlainBar(const std::string& key, bool loss);
  void Advance(ProgressTrack* track, const ProgressText::Bar& bar, bool anew);
  void OnValidation(const ProgressText::Bar& bar);
  void OnLog(const ProgressText& text, bool next_epoch);
  void OnEpoch(const ProgressText::Epoch& epoch);
  [[nodiscard]] int TrustIn(Source source) const;
  [[nodiscard]] bool TellsTraining(const std::string& bar_name) const;
  void ClaimSteps(Source source, std::int64_t steps);
  void Disown(Source source);

  std::string line_;
  bool too_long_ = false;
  Escape escape_ = Escape::kNone;

  std::optional<ProgressText> drawn_;  // the bar that was drawn last
  std::map<std::string, ProgressTrack> bars_;
  std::string step_bar_;               // the bar that steps were last taken from
  bool several_bars_ = false;          // steps were taken from more than one
  std::string plain_bar_;              // the bar without a name that counts steps
  bool plain_trains_ = false;          // a loss was seen with it
  bool plain_unclear_ = false;         // more than one, and no telling which
  std::set<std::string> outer_bars_;   // without a name, and others run inside: they count those
  std::set<std::string> showed_loss_;  // names of bars that tell too little, and that showed one
  std::set<std::string> renamed_;      // names that the bar without one took on
  bool keras_begins_ = false;          // a line "Epoch 2/10" came, and no bar of it to its end
  std::int64_t keras_total_ = 0;       // of the bar in this epoch; 0: none yet
  ProgressTrack validation_;
  bool moved_in_validation_ = false;  // a training's bar, since the validation's was drawn last
  bool counts_both_ = false;          // it goes on in validations too
  StepLogs step_logs_;
  ProgressTrack sample_log_;
  ProgressTrack token_log_;
  std::optional<std::int64_t> first_epoch_;
  std::optional<std::int64_t> epoch_;
  std::int64_t epochs_told_ = 0;  // how often a new one was told of
  Source source_ = Source::kNone;
  WorkCount done_;
};

}  // namespace idleburn
