#include "run/progress_lines.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "run/progress_text.h"

namespace idleburn {

std::int64_t DoneInTurns(std::vector<Turn> turns) {
  std::sort(turns.begin(), turns.end(), [](const Turn& a, const Turn& b) { return a.begin < b.begin; });
  std::int64_t done = 0;
  std::int64_t furthest = 0;  // of those that overlap
  std::int64_t end = 0;
  for (const Turn& turn : turns) {
    if (turn.begin > end) done += std::exchange(furthest, 0);
    furthest = std::max(furthest, turn.done);
    end = std::max(end, turn.end);
  }
  return done + furthest;
}

// Everything of the pass that ended moves into `base`. An offset concerns the first pass only.
void ProgressTrack::NextPass(std::int64_t epochs_told) {
  base = done();
  offset = 0;
  last = 0;
  epochs = epochs_told;
  from_zero = false;
  was_in_bits = std::exchange(in_bits, false);
}

// The first two numbers give the stride of the log. A first number above the stride means that an earlier job did the
// steps before it: 1010 and 1020 have stride 10 and offset 1010.
void ProgressTrack::OnLogCount(const ProgressText::Count& count, bool next_epoch, std::int64_t epochs_told) {
  if (!first) {
    first = count.done;
    last = count.done;
    from_zero = count.done == 0;
    total = count.total;
    epochs = epochs_told;
    return;
  }
  if (stride == 0) {
    // Several ranks print the same steps. The stride is the distance to the first larger number.
    if (count.done <= last) return;  // said again by another process
    stride = count.done - *first;
    offset = *first <= stride ? 0 : *first;
  } else if (count.done < last) {
    // A smaller number is a new pass if its line begins an epoch. It is one too if it is within the first stride, and
    // an epoch began since or the pass before had at least four strides. Otherwise it is a late line of another
    // process.
    const bool early = count.done <= stride;
    const bool anew = next_epoch || (early && (epochs_told > epochs || last >= 4 * stride));
    if (!anew) return;
    NextPass(epochs_told);
    from_zero = count.done == 0;
  }
  last = count.done;
  total = count.total;
}

namespace {

// Further names are ignored. A job that prints a number in the name of each step would fill memory.
constexpr std::size_t kMostLogs = 16;

// The standing of a log: how much a line looks like a step of training. Rows: no other name before the count, or
// another name. Columns: the line shows nothing of training, something that only training has, or a loss.
constexpr int kPlain = 1;
constexpr std::array<std::array<int, 3>, 2> kStandings = {{{kPlain, 4, 5}, {0, 2, 3}}};

// The standing of one line. A log has that of its best line.
int StandingOf(const ProgressText& text) {
  return kStandings[text.step_of_another ? 1 : 0][text.loss ? 2 : text.training ? 1 : 0];
}

}  // namespace

void StepLogs::OnLine(const ProgressText& text, bool next_epoch, std::int64_t epochs_told) {
  ++lines_;
  if (logs_.count(text.step_name) == 0 && logs_.size() >= kMostLogs) return;
  const auto [at, anew] = logs_.try_emplace(text.step_name);
  Log& log = at->second;
  if (anew) log.begin = lines_;
  log.end = lines_;
  log.standing = std::max(log.standing, StandingOf(text));
  log.track.OnLogCount(*text.step, next_epoch, epochs_told);
}

// Only the logs with the best standing count. Several logs that show nothing of training are unclear. `track` is set
// if one log alone gives the steps, so that its printed numbers mean something.
StepLogs::Said StepLogs::Steps() const {
  const auto counts = [](const Log& log) { return log.track.stride > 0 && log.standing > 0; };
  int best = 0;
  for (const auto& [name, log] : logs_) {
    if (counts(log)) best = std::max(best, log.standing);
  }
  if (best == 0) return {};
  std::vector<Turn> turns;
  Said said{best == kPlain ? Trust::kPlain : Trust::kTraining, 0, nullptr};
  for (const auto& [name, log] : logs_) {
    if (!counts(log) || log.standing != best) continue;
    turns.push_back({log.begin, log.end, log.track.done()});
    if (said.track == nullptr || log.track.done() > said.track->done()) said.track = &log.track;
  }
  if (best == kPlain && turns.size() > 1) return {Trust::kUnclear, 0, nullptr};
  said.steps = DoneInTurns(std::move(turns));
  if (said.steps != said.track->done()) said.track = nullptr;
  return said;
}

namespace {

// Limits of memory. A longer line is ignored as a whole, and further bars are.
constexpr std::size_t kLongestProgressLine = 1024;
constexpr std::size_t kMostBars = 64;

// Stems of words in names of bars: of training; of any loop, which is training only if no other bar is; of other
// work; of validation.
constexpr std::array<std::string_view, 4> kTrainingNames = {"epoch", "optim", "optimiz", "learn"};
constexpr std::array<std::string_view, 6> kLoopNames = {"step", "iter", "iterat", "batch", "minibatch", "fit"};
constexpr std::array<std::string_view, 20> kOtherNames = {
    "sanity", "download", "upload",  "load",  "map",  "filter",  "tokeniz", "tokenis",  "process", "preprocess",
    "fetch",  "sav",      "generat", "shard", "cach", "extract", "warm",    "calibrat", "dataset", "split"};
constexpr std::array<std::string_view, 3> kValidation = {"val", "valid", "validat"};

bool NamesValidation(std::string_view name) { return SpeaksOf(name, kValidation); }
bool NamesOther(std::string_view name) {
  return SpeaksOf(name, kOtherNames) || SpeaksOfOtherWork(name) || NamesValidation(name);
}
bool NamesTraining(std::string_view name) {
  return name == "keras" || SpeaksOfTraining(name) || SpeaksOf(name, kTrainingNames);
}
bool NamesLoop(std::string_view name) { return SpeaksOf(name, kLoopNames); }

// Whether a bar counts epochs: its unit says so, or it is named "epoch" or "training epochs". "epoch #" names one
// epoch, and its bar counts the steps within.
bool CountsEpochs(const ProgressText::Bar& bar, bool epoch_in_name) {
  if (bar.counts == ProgressText::Counts::kEpochs) return !epoch_in_name;
  return !epoch_in_name && (bar.name == "epoch" || bar.name.find("epochs") != std::string::npos);
}
// Whether it is unclear if a bar counts epochs or the steps of each: "train epoch", "epoch progress". Such a bar
// counts as neither.
bool MayCountEpochs(const ProgressText::Bar& bar, bool epoch_in_name) {
  const bool epoch = bar.counts == ProgressText::Counts::kSteps && bar.name.find("epoch") != std::string::npos;
  const bool within = NamesLoop(bar.name) || bar.name.find('#') != std::string::npos;
  return epoch && !epoch_in_name && !within && !CountsEpochs(bar, epoch_in_name);
}

// Counts of work never fall. A line that comes late has a smaller number.
void Raise(std::optional<std::int64_t>* value, std::int64_t to) {
  if (to > 0 && (!*value || **value < to)) *value = to;
}

}  // namespace

void ProgressReader::Feed(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t over = PassOver(bytes);
    bytes.remove_prefix(over);
    if (over == 0) TakeByte(bytes.front());
    if (over == 0) bytes.remove_prefix(1);
  }
}

// How many bytes from here on are whole lines that tell nothing, at most one line. 0 if that is not certain. Most
// jobs print far more than progress, and this way their output costs one pass over it.
std::size_t ProgressReader::PassOver(std::string_view bytes) const {
  if (!line_.empty() || too_long_ || escape_ != Escape::kNone) return 0;
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20; };
  const auto* const end = std::find_if(bytes.begin(), bytes.end(), is_control);
  const auto size = static_cast<std::size_t>(end - bytes.begin());
  if (end == bytes.end() || (*end != '\n' && *end != '\r') || size > kLongestProgressLine) return 0;
  return size == 0 || !MayTellProgress(bytes.substr(0, size)) ? size + 1 : 0;
}

void ProgressReader::Finish() { EndLine(); }

// A carriage return or a backspace ends a line too, because bars are drawn over each other with them.
void ProgressReader::TakeByte(char c) {
  if (escape_ != Escape::kNone) {
    EndEscape(c);
  } else if (c == '\x1b') {
    escape_ = Escape::kBegun;
  } else if (c == '\n' || c == '\r' || c == '\b') {
    EndLine();
  } else if (static_cast<unsigned char>(c) >= 0x20) {
    if (line_.size() == kLongestProgressLine) too_long_ = true;
    if (!too_long_) line_ += c;
  } else if (c == '\t') {
    if (!too_long_) line_ += ' ';
  }
}

// Takes a byte of an escape sequence. Colours vanish from a line. A sequence that moves the cursor ends the line,
// because bars below each other are drawn that way.
void ProgressReader::EndEscape(char c) {
  if (escape_ == Escape::kBegun) {
    escape_ = c == '[' ? Escape::kControl : c == ']' ? Escape::kText : Escape::kNone;
  } else if (escape_ == Escape::kControl) {
    if (c == '\n' || c == '\r') {
      escape_ = Escape::kNone;  // no sequence after all
      EndLine();
    } else if (c >= '@' && c <= '~') {
      escape_ = Escape::kNone;
      if (c >= 'A' && c <= 'H') EndLine();
    }
  } else if (c == '\a' || c == '\\' || c == '\n') {
    escape_ = Escape::kNone;
  }
}

void ProgressReader::EndLine() {
  if (!too_long_ && !line_.empty()) {
    // A dictionary that is printed while a bar stands follows it on the line.
    const std::size_t log = line_.find("]{");
    const std::size_t end = log == std::string::npos ? line_.size() : log + 1;
    OnLine(std::string_view(line_).substr(0, end));
    if (end < line_.size()) OnLine(std::string_view(line_).substr(end));
  }
  line_.clear();
  too_long_ = false;
}

// The bar drawn last was wiped out. A bar that is not kept on the screen is wiped out when it is done, and its end
// may never have been drawn. So if less than a second was left, it counts as done.
void ProgressReader::OnCleared() {
  if (!drawn_ || !drawn_->bar->ends) return;
  drawn_->bar->done = drawn_->bar->total;
  OnBar(*drawn_->bar, drawn_->epoch.has_value(), drawn_->loss);
  drawn_.reset();
}

// Takes a line without control characters. A blank line wipes out the bar drawn before it.
void ProgressReader::OnLine(std::string_view line) {
  if (line.find_first_not_of(' ') == std::string_view::npos) return OnCleared();
  const ProgressText text = ParseProgress(line);
  if (text.bar) drawn_ = text;
  // Only epochs of training count. "Validation epoch 3" tells nothing about the steps.
  const bool next_epoch = text.epoch && epoch_ && text.epoch->number > *epoch_;
  const bool of_training = !text.bar || !NamesOther(text.bar->name) || NamesTraining(text.bar->name);
  if (next_epoch && of_training) ++epochs_told_;
  if (text.epoch && of_training) OnEpoch(*text.epoch);
  if (text.bar) {
    OnBar(*text.bar, text.epoch.has_value(), text.loss);
    return;
  }
  // Keras prints "Epoch 2/10" on a line of its own before the bar of that epoch.
  if (text.epoch) {
    keras_begins_ = true;
    keras_total_ = 0;
  }
  const auto plain = bars_.find(plain_bar_);
  const bool under_way = plain != bars_.end() && plain->second.advanced && plain->second.last < plain->second.total;
  if (text.loss && under_way && outer_bars_.count(plain_bar_) == 0) {
    plain_trains_ = true;
    plain_unclear_ = false;
  }
  OnLog(text, next_epoch);
}

void ProgressReader::OnLog(const ProgressText& text, bool next_epoch) {
  if (text.step) {
    step_logs_.OnLine(text, next_epoch, epochs_told_);
    const StepLogs::Said said = step_logs_.Steps();
    const bool training = said.trust == StepLogs::Trust::kTraining;
    // Two logs may turn out to be one that was counted twice, or neither to be known.
    if (source_ == Source::kLog || source_ == Source::kTrainingLog) Disown(source_);
    ClaimSteps(training ? Source::kTrainingLog : Source::kLog, said.steps);
  }
  if (text.samples) {
    sample_log_.OnLogCount(*text.samples, next_epoch, epochs_told_);
    if (sample_log_.stride > 0) Raise(&done_[WorkUnit::kSample], sample_log_.done());
  }
  if (text.tokens) {
    token_log_.OnLogCount(*text.tokens, next_epoch, epochs_told_);
    if (token_log_.stride > 0) Raise(&done_[WorkUnit::kToken], token_log_.done());
  }
}

// Takes a bar. It returns early for bars that count something other than training.
void ProgressReader::OnBar(ProgressText::Bar bar, bool epoch_in_name, bool loss) {
  if (NamesValidation(bar.name)) OnValidation(bar);
  if (bar.counts == ProgressText::Counts::kOther || NamesOther(bar.name)) return;
  if (bar.name == "keras" && !OfThisEpochOfKeras(bar)) return;
  const bool keras_anew = bar.name == "keras" && std::exchange(keras_total_, bar.total) == 0;
  if (Renamed(bar)) {
    bar.name.clear();
    loss = true;
  }
  // A bar is known by its name and total. Bars of one name and different totals are passes of different length.
  const std::string key = bar.name + "\n" + std::to_string(bar.total);
  if (loss && !bar.name.empty() && showed_loss_.size() < kMostBars) showed_loss_.insert(bar.name);
  if (!bar.name.empty() && !TellsTraining(bar.name) && !NamesLoop(bar.name)) return OnUnknownName(bar, key);
  if (MayCountEpochs(bar, epoch_in_name)) return;
  if (bars_.count(key) == 0 && bars_.size() >= kMostBars) return;
  const bool plain_steps = bar.name.empty() && bar.counts == ProgressText::Counts::kSteps;
  if (plain_steps && !IsThePlainBar(key, loss)) return;
  ProgressTrack& track = bars_[key];
  moved_in_validation_ = moved_in_validation_ || bar.done > track.last;
  Advance(&track, bar, keras_anew);
  if (CountsEpochs(bar, epoch_in_name)) {
    Raise(&done_[WorkUnit::kEpoch], track.done());
  } else if (bar.counts == ProgressText::Counts::kSamples) {
    Raise(&done_[WorkUnit::kSample], track.done());
  } else if (bar.counts == ProgressText::Counts::kTokens) {
    Raise(&done_[WorkUnit::kToken], track.done());
  } else if (!counts_both_ && (!plain_steps || (!plain_unclear_ && outer_bars_.count(key) == 0))) {
    // A last batch may be small, and totals differ: all bars of one name go on from each other.
    std::int64_t sum = plain_steps ? track.done() : 0;
    for (const auto& [other, t] : bars_) {
      if (!plain_steps && other.substr(0, other.find('\n')) == bar.name) sum += t.done();
    }
    const Source named = TellsTraining(bar.name) ? Source::kNamedBar : Source::kLoopBar;
    ClaimSteps(plain_steps ? Source::kPlainBar : named, sum);
    several_bars_ = several_bars_ || (!step_bar_.empty() && step_bar_ != key);
    step_bar_ = key;
  }
  if (bar.per_epoch && bar.done == bar.total && epoch_) Raise(&done_[WorkUnit::kEpoch], *epoch_ - *first_epoch_ + 1);
}

// Whether a bar is training by its name, or because it showed a loss.
bool ProgressReader::TellsTraining(const std::string& bar_name) const {
  return NamesTraining(bar_name) || showed_loss_.count(bar_name) != 0;
}

// Takes a bar whose name tells nothing. It is followed, but counts nothing until it shows a loss. If a bar without a
// name waits at its start, that one is an outer loop, and this one runs inside it.
void ProgressReader::OnUnknownName(const ProgressText::Bar& bar, const std::string& key) {
  const auto plain = bars_.find(plain_bar_);
  if (plain != bars_.end() && !plain->second.advanced) outer_bars_.insert(plain_bar_);
  if (outer_bars_.count(plain_bar_) != 0) Disown(Source::kPlainBar);
  if (bars_.count(key) != 0 || bars_.size() < kMostBars / 2) Advance(&bars_[key], bar, false);
}

// Whether a bar of Keras is that of the epoch that was just named. fit() names each epoch first; evaluate() and
// predict() do not, and their bars count nothing.
bool ProgressReader::OfThisEpochOfKeras(const ProgressText::Bar& bar) {
  if (!keras_begins_ || (keras_total_ != 0 && keras_total_ != bar.total)) return false;
  keras_begins_ = bar.done != bar.total;
  return true;
}

// Whether this is the bar without a name, which was drawn at its start and was given a name since. Some programs set
// the description of a bar only after its first step.
bool ProgressReader::Renamed(const ProgressText::Bar& bar) {
  if (bar.name.empty() || bar.counts != ProgressText::Counts::kSteps) return false;
  if (renamed_.count(bar.name) != 0) return true;
  const auto plain = bars_.find(plain_bar_);
  const bool starts = plain != bars_.end() && plain->second.total == bar.total && plain->second.last == 0;
  const bool named = NamesTraining(bar.name) || NamesLoop(bar.name);
  if (!starts || (bar.done == 0 && !named) || renamed_.size() >= kMostBars) return false;
  renamed_.insert(bar.name);
  return true;
}

// Whether this is the bar without a name that counts the steps of training, or may count them. A second one makes
// both doubtful, unless a loss was seen with one of them.
bool ProgressReader::IsThePlainBar(const std::string& key, bool loss) {
  const auto first = bars_.find(plain_bar_);
  if (first != bars_.end() && plain_bar_ != key) {
    const bool inside = first->second.last < first->second.total;
    if (inside && first->second.advanced) bars_.try_emplace(key);  // it evaluates while the steps wait, later too
    if (plain_trains_ || (bars_.count(key) != 0 && bars_[key].total == 0)) return false;
    if (inside) outer_bars_.insert(plain_bar_);
    plain_unclear_ = true;
    Disown(Source::kPlainBar);
    if (outer_bars_.count(key) != 0) return false;
    plain_bar_ = key;
  }
  if (first == bars_.end()) plain_bar_ = key;
  if (loss && outer_bars_.count(key) == 0) {
    plain_trains_ = true;
    plain_unclear_ = false;
  }
  return true;
}

// Moves a bar's count on. A smaller number starts a new pass, unless another process printed it late. Wrong where a
// new pass begins with a number above 1 and shows neither a start nor an epoch: then it is taken for a late line.
void ProgressReader::Advance(ProgressTrack* track, const ProgressText::Bar& bar, bool anew) {
  if (!track->first) {
    track->first = bar.done;
    track->epochs = epochs_told_;
    const bool whole = bar.done == bar.total && !bar.starts;  // its end is all that was printed of it
    track->offset = bar.name == "keras" || bar.done <= 1 || whole ? 0 : bar.done;
  } else if (anew || bar.done < track->last) {
    // Of another process that is late, or that begins a moment after this one.
    if (!anew && !bar.starts && bar.done > 1 && bar.name != "keras" && epochs_told_ == track->epochs) return;
    if (!anew && bar.total > 1 && track->last <= 1) return;
    track->NextPass(epochs_told_);
  } else if (track->base > 0 && track->last == 0 && bar.done == bar.total && bar.total > 1 && !bar.starts &&
             track->was_in_bits) {
    return;  // the end of the pass before, by another process
  }
  track->advanced = track->advanced || bar.done > *track->first;
  track->in_bits = track->in_bits || (bar.done > 0 && bar.done < bar.total);
  track->last = bar.done;
  track->rounded = bar.rounded;
  track->total = bar.total;
}

// Takes a validation bar. If it advances, and a training bar advanced since it was drawn last, the training bar
// counts validation too.
void ProgressReader::OnValidation(const ProgressText::Bar& bar) {
  const bool goes_on = bar.done > validation_.last && validation_.last > 0 && validation_.total == bar.total;
  if (goes_on && moved_in_validation_) {
    counts_both_ = true;
    Disown(Source::kNamedBar);
  }
  moved_in_validation_ = false;
  validation_.last = bar.done;
  validation_.total = bar.total;
}

// The numbers come from the log or the bar whose steps count. Several bars, or several passes of one, have no such
// numbers.
std::optional<PrintedSteps> ProgressReader::printed() const {
  const auto bar = bars_.find(step_bar_);
  const bool log = source_ == Source::kLog || source_ == Source::kTrainingLog;
  const ProgressTrack* track = log ? step_logs_.Steps().track : bar != bars_.end() ? &bar->second : nullptr;
  if (track == nullptr || !track->first || track->base != 0 || (!log && several_bars_)) return {};
  if (track->rounded) return {};
  return PrintedSteps{*track->first, track->last, std::max<std::int64_t>(track->stride, 1)};
}

// Takes an epoch of training. The first number counts as the start: a job that begins with "epoch 3" has done no
// epoch yet.
void ProgressReader::OnEpoch(const ProgressText::Epoch& epoch) {
  if (!first_epoch_) first_epoch_ = epoch.fraction && epoch.number <= 1 ? 0 : epoch.number;
  if (epoch_ && epoch.number < *epoch_) return;
  epoch_ = epoch.number;
  Raise(&done_[WorkUnit::kEpoch], epoch.number - *first_epoch_ + (epoch.finished ? 1 : 0));
}

// How likely steps from this source are those of training. A bar named after training is the most likely.
int ProgressReader::TrustIn(Source source) const {
  switch (source) {
    case Source::kNone:
      return 0;
    case Source::kPlainBar:
      return plain_trains_ ? 3 : 1;
    case Source::kLog:
      return 1;
    case Source::kLoopBar:
      return 2;
    case Source::kTrainingLog:
      return 3;
    case Source::kNamedBar:
      break;
  }
  return 4;
}

// Lets a source's steps count. A better source replaces the count of the one before, and never adds to it.
void ProgressReader::ClaimSteps(Source source, std::int64_t steps) {
  const bool first = source_ == Source::kNone || source_ == source;
  if (steps <= 0 || (!first && TrustIn(source) <= TrustIn(source_))) return;
  if (source_ != source) Disown(source_);
  source_ = source;
  Raise(&done_[WorkUnit::kStep], steps);
}

// Takes back the steps of a source that turned out to be unclear. Any source may then claim steps again.
void ProgressReader::Disown(Source source) {
  if (source_ != source) return;
  source_ = Source::kNone;
  done_[WorkUnit::kStep].reset();
}

}  // namespace idleburn
