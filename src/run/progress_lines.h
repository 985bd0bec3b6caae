#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "run/progress_text.h"

namespace idleburn {

// Work done since the job began to print; absent: not known.
struct WorkSaid {
  std::optional<std::int64_t> steps;
  std::optional<std::int64_t> samples;
  std::optional<std::int64_t> tokens;
  std::optional<std::int64_t> epochs;  // finished ones
  friend bool operator==(const WorkSaid&, const WorkSaid&) = default;
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
//   two sources that both count steps are not added: the first one stays, a bar named after training wins
// Memory is bounded whatever is printed.
class ProgressReader {
 public:
  void Feed(std::string_view bytes);
  // The end: a last line without an end counts too.
  void Finish();
  [[nodiscard]] const WorkSaid& done() const { return done_; }
  // Absent where the count began anew, for every epoch say: then a number is no step of the whole training; and where
  // it is printed rounded.
  [[nodiscard]] std::optional<PrintedSteps> printed() const;

 private:
  // A count that only rises, over several passes.
  struct Track {
    std::optional<std::int64_t> first;  // as printed
    std::int64_t last = 0;
    std::int64_t total = 0;
    std::int64_t stride = 0;  // between the first two of a log; 0: not known
    std::int64_t offset = 0;  // printed, but not done by this job
    std::int64_t base = 0;    // of finished passes
    bool advanced = false;
    bool rounded = false;      // as printed
    bool from_zero = false;    // of a log: this pass began with 0, so that its last number is one less than it did
    bool in_bits = false;      // of a bar: this pass was drawn between its start and its end
    bool was_in_bits = false;  // and the pass before
    [[nodiscard]] std::int64_t done() const {
      return base + last - offset + (from_zero && total > 0 && last == total - 1 ? 1 : 0);
    }
    void NextPass() {
      base = done();
      offset = 0;
      last = 0;
      from_zero = false;
      was_in_bits = std::exchange(in_bits, false);
    }
  };
  enum class Escape : std::uint8_t { kNone, kBegun, kControl, kText };
  enum class Source : std::uint8_t { kNone, kPlainBar, kLog, kNamedBar };

  void TakeByte(char c);
  void EndEscape(char c);
  void EndLine();
  void OnLine(std::string_view line);
  void OnCleared();
  void OnBar(ProgressText::Bar bar, bool epoch_in_name, bool loss);
  bool OfUnknownName(const ProgressText::Bar& bar, const std::string& key, bool loss);
  bool OfThisEpochOfKeras(const ProgressText::Bar& bar);
  bool Renamed(const ProgressText::Bar& bar);
  bool IsThePlainBar(const std::string& key, bool loss);
  void Advance(Track* track, const ProgressText::Bar& bar, bool anew);
  void OnValidation(const ProgressText::Bar& bar);
  void OnLogCount(Track* track, const ProgressText::Count& count, bool next_epoch);
  void OnEpoch(const ProgressText::Epoch& epoch);
  void ClaimSteps(Source source, std::int64_t steps);
  void Disown(Source source);

  std::string line_;
  bool too_long_ = false;
  Escape escape_ = Escape::kNone;

  std::optional<ProgressText> drawn_;  // the bar that was drawn last
  std::map<std::string, Track> bars_;
  std::string step_bar_;               // the bar that steps were last taken from
  bool several_bars_ = false;          // steps were taken from more than one
  std::string plain_bar_;              // the bar without a name that counts steps
  bool plain_trains_ = false;          // a loss was seen with it
  bool plain_unclear_ = false;         // more than one, and no telling which
  std::set<std::string> outer_bars_;   // without a name, and others run inside: they count those
  std::set<std::string> showed_loss_;  // names of bars that tell nothing, and that showed one
  std::set<std::string> renamed_;      // names that the bar without one took on
  bool keras_begins_ = false;          // a line "Epoch 2/10" came, and no bar of it to its end
  std::int64_t keras_total_ = 0;       // of the bar in this epoch; 0: none yet
  Track validation_;
  bool moved_in_validation_ = false;  // a training's bar, since the validation's was drawn last
  bool counts_both_ = false;          // it goes on in validations too
  Track step_log_;
  Track sample_log_;
  Track token_log_;
  std::optional<std::int64_t> first_epoch_;
  std::optional<std::int64_t> epoch_;
  bool epoch_turned_ = false;  // a new one was told of, and no count has begun anew since
  Source source_ = Source::kNone;
  WorkSaid done_;
};

}  // namespace idleburn
