#include "run/progress_lines.h"

#include <algorithm>
#include <array>

namespace idleburn {
namespace {

constexpr std::size_t kLongestLine = 1024;
constexpr std::size_t kMostBars = 64;

constexpr std::array<std::string_view, 9> kTrainingNames = {"train", "epoch", "step",  "iter",   "batch",
                                                            "fit",   "optim", "learn", "finetun"};
constexpr std::array<std::string_view, 20> kOtherNames = {
    "eval",    "valid",   "test",  "sanity", "predict", "download", "upload", "load",    "map",  "filter",
    "tokeniz", "process", "fetch", "sav",    "generat", "shard",    "cach",   "extract", "warm", "cali"};

template <std::size_t kSize>
bool HasAny(std::string_view text, const std::array<std::string_view, kSize>& parts) {
  return std::any_of(parts.begin(), parts.end(),
                     [&](std::string_view part) { return text.find(part) != std::string_view::npos; });
}

void Raise(std::optional<std::int64_t>* value, std::int64_t to) {
  if (to > 0 && (!*value || **value < to)) *value = to;
}

}  // namespace

void ProgressReader::Feed(std::string_view bytes) {
  for (const char c : bytes) TakeByte(c);
}

void ProgressReader::Finish() { EndLine(); }

void ProgressReader::TakeByte(char c) {
  if (escape_ != Escape::kNone) {
    EndEscape(c);
  } else if (c == '\x1b') {
    escape_ = Escape::kBegun;
  } else if (c == '\n' || c == '\r' || c == '\b') {
    EndLine();
  } else if (static_cast<unsigned char>(c) >= 0x20) {
    if (line_.size() == kLongestLine) too_long_ = true;
    if (!too_long_) line_ += c;
  } else if (c == '\t') {
    if (!too_long_) line_ += ' ';
  }
}

// Colours vanish from a line; what moves the cursor ends it, as bars below each other are drawn so.
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

void ProgressReader::OnLine(std::string_view line) {
  const ProgressText text = ParseProgress(line);
  const bool next_epoch = text.epoch && epoch_ && text.epoch->number > *epoch_;
  const bool of_training = !text.bar || !HasAny(text.bar->name, kOtherNames) || HasAny(text.bar->name, kTrainingNames);
  epoch_turned_ = epoch_turned_ || (next_epoch && of_training);
  if (text.epoch && of_training) OnEpoch(*text.epoch);
  if (text.epoch && !text.bar) keras_begins_ = true;
  if (text.bar) {
    OnBar(*text.bar, text.epoch.has_value());
    return;
  }
  if (text.step) {
    OnLogCount(&step_log_, *text.step, next_epoch);
    if (step_log_.stride > 0) ClaimSteps(Source::kLog, step_log_.done());
  }
  if (text.samples) {
    OnLogCount(&sample_log_, *text.samples, next_epoch);
    if (sample_log_.stride > 0) Raise(&done_.samples, sample_log_.done());
  }
  if (text.tokens) {
    OnLogCount(&token_log_, *text.tokens, next_epoch);
    if (token_log_.stride > 0) Raise(&done_.tokens, token_log_.done());
  }
}

void ProgressReader::OnBar(const ProgressText::Bar& bar, bool epoch_in_name) {
  const bool keras = bar.name == "keras";
  const bool training = keras || HasAny(bar.name, kTrainingNames);
  if (bar.counts == ProgressText::Counts::kOther || HasAny(bar.name, kOtherNames)) return;
  if (!training && !bar.name.empty()) return;  // whatever it counts
  if (keras && !keras_begins_) return;         // fit() names the epoch first; evaluate() and predict() do not
  if (keras && bar.done == bar.total) keras_begins_ = false;
  const std::string key = bar.name + "\n" + std::to_string(bar.total);
  if (bars_.count(key) == 0 && bars_.size() >= kMostBars) return;
  if (bar.name.empty() && plain_bar_ != key) {
    const auto outer = bars_.find(plain_bar_);
    const bool inside = outer != bars_.end() && outer->second.last < outer->second.total;
    if (outer != bars_.end() && (!inside || !outer->second.advanced)) plain_unclear_ = true;
    if (outer != bars_.end()) return;  // inside the first one it evaluates, while the steps wait
    plain_bar_ = key;
  }
  Track& track = bars_[key];
  if (!track.first) {
    track.first = bar.done;
    track.offset = keras || bar.done <= 1 ? 0 : bar.done;
  } else if (bar.done < track.last) {
    if (!bar.starts && bar.done > 1 && !keras && !epoch_turned_) return;  // of another process that is late
    epoch_turned_ = false;
    track.base += track.last - track.offset;
    track.offset = 0;
  }
  track.advanced = track.advanced || bar.done > *track.first;
  track.last = bar.done;
  track.total = bar.total;
  const bool epochs = bar.counts == ProgressText::Counts::kEpochs || bar.name == "epoch" || bar.name == "epochs" ||
                      bar.name == "training epochs";
  if (epochs && !epoch_in_name) {
    Raise(&done_.epochs, track.done());
  } else if (bar.counts == ProgressText::Counts::kSamples) {
    Raise(&done_.samples, track.done());
  } else if (bar.counts == ProgressText::Counts::kTokens) {
    Raise(&done_.tokens, track.done());
  } else if (!bar.name.empty() || !plain_unclear_) {
    // A last batch may be small, and totals differ: all bars of one name go on from each other.
    std::int64_t sum = 0;
    for (const auto& [other, t] : bars_) {
      if (other.substr(0, other.find('\n')) == bar.name) sum += t.done();
    }
    ClaimSteps(bar.name.empty() ? Source::kPlainBar : Source::kNamedBar, sum);
    several_bars_ = several_bars_ || (!step_bar_.empty() && step_bar_ != key);
    step_bar_ = key;
  }
  if (bar.per_epoch && bar.done == bar.total && epoch_) Raise(&done_.epochs, *epoch_ - *first_epoch_ + 1);
}

void ProgressReader::OnLogCount(Track* track, const ProgressText::Count& count, bool next_epoch) {
  if (!track->first) {
    track->first = count.done;
    track->last = count.done;
    return;
  }
  if (track->stride == 0) {
    if (count.done <= track->last) return;  // said again by another process
    track->stride = count.done - *track->first;
    track->offset = *track->first <= track->stride ? 0 : *track->first;
  } else if (count.done < track->last) {
    const bool early = count.done <= track->stride;
    const bool anew = next_epoch || (early && (epoch_turned_ || track->last >= 4 * track->stride));
    if (!anew) return;
    epoch_turned_ = false;
    track->base += track->last - track->offset;
    track->offset = 0;
  }
  track->last = count.done;
}

std::optional<PrintedSteps> ProgressReader::printed() const {
  const auto bar = bars_.find(step_bar_);
  const Track* track = source_ == Source::kLog ? &step_log_ : bar != bars_.end() ? &bar->second : nullptr;
  if (track == nullptr || !track->first || track->base != 0 || (source_ != Source::kLog && several_bars_)) return {};
  return PrintedSteps{*track->first, track->last, std::max<std::int64_t>(track->stride, 1)};
}

void ProgressReader::OnEpoch(const ProgressText::Epoch& epoch) {
  if (!first_epoch_) first_epoch_ = epoch.fraction && epoch.number <= 1 ? 0 : epoch.number;
  if (epoch_ && epoch.number < *epoch_) return;
  epoch_ = epoch.number;
  Raise(&done_.epochs, epoch.number - *first_epoch_ + (epoch.finished ? 1 : 0));
}

void ProgressReader::ClaimSteps(Source source, std::int64_t steps) {
  if (source < source_ || (source != source_ && source != Source::kNamedBar && source_ != Source::kNone)) return;
  if (steps > 0) source_ = source;
  Raise(&done_.steps, steps);
}

}  // namespace idleburn
