#include "run/progress_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

#include "text/strings.h"

namespace idleburn {

namespace {

// Endings that make a form of a stem. With "evaluat": "evaluate", "evaluating", "evaluation".
constexpr std::array<std::string_view, 10> kEndings = {"", "s", "e", "es", "ed", "ing", "ings", "ion", "ions", "ation"};

// Whether a word is the stem with an ending. A doubled last letter is allowed: "mapping" is a form of "map".
bool IsFormOf(std::string_view word, std::string_view stem) {
  if (word.substr(0, stem.size()) != stem) return false;
  const std::string_view ending = word.substr(stem.size());
  const auto ends = [](std::string_view text) {
    return std::find(kEndings.begin(), kEndings.end(), text) != kEndings.end();
  };
  const bool doubled = ending.size() > 1 && ending.front() == stem.back();  // "mapping"
  return ends(ending) || (doubled && ends(ending.substr(1)));
}

constexpr std::array<std::string_view, 5> kTraining = {"train", "trainer", "pretrain", "retrain", "finetun"};
constexpr std::array<std::string_view, 9> kOtherWork = {"eval",   "evaluat", "valid", "validat", "test",
                                                        "warmup", "predict", "infer", "inferenc"};

}  // namespace

bool SpeaksOf(std::string_view lower, std::span<const std::string_view> stems) {
  for (std::size_t at = 0; at < lower.size();) {
    std::size_t end = at;
    while (end < lower.size() && IsLower(lower[end])) ++end;
    const std::string_view word = lower.substr(at, end - at);
    const auto is_form = [word](std::string_view stem) { return IsFormOf(word, stem); };
    if (!word.empty() && std::any_of(stems.begin(), stems.end(), is_form)) return true;
    at = end + 1;
  }
  return false;
}

bool SpeaksOfTraining(std::string_view lower) { return SpeaksOf(lower, kTraining); }
bool SpeaksOfOtherWork(std::string_view lower) { return SpeaksOf(lower, kOtherWork); }

namespace {

using Counts = ProgressText::Counts;

constexpr std::size_t kMostDigits = 12;
constexpr std::string_view kHeavyLine = "\xE2\x94\x81";  // newer programs draw bars with it

bool IsNameChar(char c) { return IsLower(c) || c == '_'; }

// Whether the text contains the part, within a word or not.
bool HasWordWith(std::string_view lower, std::string_view part) { return lower.find(part) != std::string_view::npos; }

// Reads text from left to right. A function that finds nothing may have moved the cursor; callers copy it first where
// that matters.
struct Cursor {
  std::string_view text;
  std::size_t at = 0;

  [[nodiscard]] char Look() const { return at < text.size() ? text[at] : '\0'; }
  bool Take(char c) {
    if (Look() != c) return false;
    ++at;
    return true;
  }
  void SkipBlanks() {
    while (Look() == ' ') ++at;
  }
  void TakeQuote() {
    if (!Take('\'')) Take('"');
  }
  // Digits with commas between groups ("1,234"). Absent if there are none, or more than a count can have.
  std::optional<std::int64_t> Number() {
    std::string digits;
    while (IsDigit(Look()) || (Look() == ',' && !digits.empty() && at + 1 < text.size() && IsDigit(text[at + 1]))) {
      if (Look() != ',') digits += Look();
      ++at;
    }
    if (digits.empty() || digits.size() > kMostDigits) return std::nullopt;
    std::int64_t value = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return value;
  }
  // A number as tqdm prints it, plain or rounded to three digits: "12.0", "512", "1.23k", "45.6M". Sets *rounded for
  // the latter. Absent for a fraction.
  std::optional<std::int64_t> Scaled(bool* rounded) {
    const std::optional<std::int64_t> whole = Number();
    if (!whole) return std::nullopt;
    std::int64_t thousandths = *whole * 1000;
    if (Take('.')) {
      for (std::int64_t weight = 100; IsDigit(Look()); weight /= 10) thousandths += weight * (text[at++] - '0');
    }
    constexpr std::string_view kPowers = "kMG";
    const std::size_t power = Look() == '\0' ? std::string_view::npos : kPowers.find(Look());
    if (power == std::string_view::npos || *whole >= 1000) {
      return thousandths % 1000 == 0 ? std::optional(*whole) : std::nullopt;
    }
    ++at;
    *rounded = true;
    for (std::size_t i = 0; i < power; ++i) thousandths *= 1000;
    return thousandths;
  }
  // A count with or without its total: "12", "12/30", "12 / 30", "12 of 30".
  std::optional<ProgressText::Count> Count() {
    const std::optional<std::int64_t> done = Number();
    if (!done) return std::nullopt;
    ProgressText::Count count{*done, 0};
    Cursor ahead = *this;
    ahead.SkipBlanks();
    const bool of = ahead.text.substr(ahead.at, 3) == "of ";
    if (of) ahead.at += 3;
    if (of || ahead.Take('/')) {
      ahead.SkipBlanks();
      const std::optional<std::int64_t> total = ahead.Number();
      if (total && *total > 0) {
        count.total = *total;
        *this = ahead;
      }
    }
    return count;
  }
};

// Whether a count may end before `rest`. A fraction, a percentage and a number with its unit are no counts.
bool EndsACount(std::string_view rest) {
  const char c = rest.empty() ? '\0' : rest.front();
  const bool sentence_ends = c == '.' && (rest.size() == 1 || rest[1] == ' ');
  return sentence_ends || (!IsNameChar(c) && c != '.' && c != '%' && c != '-');
}

// Whether a name holds more than figures and their units. '#' stands for a figure, so "#s" is a figure with a unit.
bool HasWord(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool letter = IsNameChar(text[i]) || static_cast<unsigned char>(text[i]) >= 0x80;
    if (letter && (i == 0 || text[i - 1] != '#')) return true;
  }
  return false;
}

// The name of a bar: the text before it, in lower case, with '#' for each figure, whatever its form. "Epoch 9 loss
// 1.2e-05" and "Epoch 10 loss -0.3" are one bar, "epoch # loss #". Figures alone are no name: "1/100  2.61G  1.16".
std::string NameBefore(std::string_view text) {
  std::string name;
  for (const char c : Lower(text)) {
    const bool in_figure = !name.empty() && name.back() == '#';
    if (in_figure && (IsDigit(c) || c == '.' || c == ',')) continue;
    name += IsDigit(c) ? '#' : c;
    for (const std::string_view form : {"#e-#", "#e+#", " -#"}) {
      if (name.ends_with(form)) name.replace(name.size() - form.size(), form.size(), form[0] == '#' ? "#" : " #");
    }
  }
  while (!name.empty() && (name.back() == ' ' || name.back() == ':')) name.pop_back();
  return HasWord(name) ? name : "";
}

// A unit of a bar's rate, and what such a bar counts.
struct UnitRow {
  std::string_view word;
  Counts counts;
};
// The units of "12.3 img/s" and "1.2s/it". Any other unit counts something of its own, as "B/s" does.
constexpr std::array<UnitRow, 22> kUnits = {{
    {"it", Counts::kSteps},         {"step", Counts::kSteps},      {"steps", Counts::kSteps},
    {"batch", Counts::kSteps},      {"batches", Counts::kSteps},   {"ba", Counts::kSteps},
    {"iter", Counts::kSteps},       {"iters", Counts::kSteps},     {"update", Counts::kSteps},
    {"sample", Counts::kSamples},   {"samples", Counts::kSamples}, {"img", Counts::kSamples},
    {"image", Counts::kSamples},    {"images", Counts::kSamples},  {"example", Counts::kSamples},
    {"examples", Counts::kSamples}, {"ex", Counts::kSamples},      {"tok", Counts::kTokens},
    {"token", Counts::kTokens},     {"tokens", Counts::kTokens},   {"epoch", Counts::kEpochs},
    {"epochs", Counts::kEpochs},
}};

// The row of a unit. Null if it is not known.
const UnitRow* UnitOf(std::string_view word) {
  const auto row = std::find_if(kUnits.begin(), kUnits.end(), [&](const UnitRow& r) { return r.word == word; });
  return row == kUnits.end() ? nullptr : &*row;
}

// What a bar counts, by the unit of the rate in "[00:12<00:15, 36.1it/s, loss=2]" or "1.2s/it", also of thousands,
// "1.3ktok/s". `unseen` if there is no rate.
Counts CountsOf(std::string_view bracket, Counts unseen = Counts::kSteps) {
  for (std::size_t slash = bracket.find('/'); slash != std::string_view::npos; slash = bracket.find('/', slash + 1)) {
    std::size_t begin = slash;
    while (begin > 0 && IsNameChar(bracket[begin - 1])) --begin;
    std::size_t end = slash + 1;
    while (end < bracket.size() && IsNameChar(bracket[end])) ++end;
    const std::string_view before = bracket.substr(begin, slash - begin);
    const std::string_view after = bracket.substr(slash + 1, end - slash - 1);
    if (after != "s" && before != "s") continue;
    const std::string_view unit = after == "s" ? before : after;
    const UnitRow* row = UnitOf(unit);
    const bool scaled = !unit.empty() && HasWordWith("kmgt", unit.substr(0, 1));
    if (row == nullptr && scaled) row = UnitOf(unit.substr(1));
    return row == nullptr ? Counts::kOther : row->counts;
  }
  return unseen;
}

// A bar as tqdm draws it: NAME: 45%|####    | 450/1000 [00:12<00:15, 36.1it/s]. A rounded count without a rate may be
// bytes, so it counts as other work.
std::optional<ProgressText::Bar> TqdmBar(std::string_view line) {
  const std::size_t percent = line.find("%|");
  if (percent == std::string_view::npos || percent == 0 || !IsDigit(line[percent - 1])) return std::nullopt;
  const std::size_t close = line.find('|', percent + 2);
  if (close == std::string_view::npos) return std::nullopt;
  Cursor cursor{line, close + 1};
  cursor.SkipBlanks();
  ProgressText::Bar bar;
  const auto done = cursor.Scaled(&bar.rounded);
  if (!done || !cursor.Take('/')) return std::nullopt;
  const auto total = cursor.Scaled(&bar.rounded);
  if (!total || *total == 0 || *done > *total || !EndsACount(line.substr(cursor.at))) return std::nullopt;
  cursor.SkipBlanks();
  if (!cursor.Take('[')) return std::nullopt;
  std::size_t begin = percent;
  while (begin > 0 && (IsDigit(line[begin - 1]) || line[begin - 1] == ' ')) --begin;
  const std::string bracket = Lower(line.substr(cursor.at));
  bar.name = NameBefore(line.substr(0, begin));
  bar.done = *done;
  bar.total = *total;
  bar.counts = CountsOf(bracket, bar.rounded ? Counts::kOther : Counts::kSteps);
  bar.starts = bracket.substr(0, 6) == "00:00<";
  bar.ends = bracket.find("<00:00") != std::string::npos;
  bar.per_epoch = bar.name.substr(0, 7) == "epoch #";
  return bar;
}

// A bar of tqdm that does not know its end: NAME: 450it [00:12, 36.1it/s]. Lightning draws it so: NAME: |  | 450/?
// [00:12<?, 36.1it/s].
std::optional<ProgressText::Bar> OpenTqdmBar(std::string_view line) {
  for (std::size_t open = line.find(" ["); open != std::string_view::npos; open = line.find(" [", open + 1)) {
    const std::string bracket = Lower(line.substr(open + 2));
    if (bracket.size() < 6 || bracket[2] != ':' || !HasWordWith(bracket, ", ")) continue;
    std::size_t begin = open;
    while (begin > 0 && line[begin - 1] != ' ') --begin;
    Cursor cursor{line.substr(0, open), begin};
    ProgressText::Bar bar;
    const std::optional<std::int64_t> done = cursor.Scaled(&bar.rounded);
    const std::string_view rest = line.substr(cursor.at, open - cursor.at);
    const UnitRow* unit = UnitOf(rest);
    if (!done || (unit == nullptr && rest != "/?")) continue;
    const std::size_t drawn = rest == "/?" ? line.find('|') : begin;
    bar.name = NameBefore(line.substr(0, std::min(drawn, begin)));
    bar.done = *done;
    bar.total = std::numeric_limits<std::int64_t>::max();
    bar.counts = unit != nullptr ? unit->counts : CountsOf(bracket);
    bar.starts = bracket.substr(0, 6) == "00:00," || bracket.substr(0, 6) == "00:00<";
    return bar;
  }
  return std::nullopt;
}

// Whether there is a time such as "0:00:04" or "-:--:--".
bool ShowsATime(std::string_view text) {
  for (std::size_t at = text.find(':'); at != std::string_view::npos; at = text.find(':', at + 1)) {
    const auto part = [&](std::size_t i) { return i < text.size() && (IsDigit(text[i]) || text[i] == '-'); };
    if (at > 0 && part(at - 1) && part(at + 1) && part(at + 2) && text.substr(at + 3, 1) == ":") return true;
  }
  return false;
}

// A bar as rich draws it, and Lightning with it, with the columns that the job asks for: NAME  ━━━ 32/40 0:00:04
// 9.5it/s. A count alone is no bar; a rate or a time must follow it.
std::optional<ProgressText::Bar> RichBar(std::string_view line) {
  const std::size_t begin = line.find(kHeavyLine);
  if (begin == std::string_view::npos || begin == 0) return std::nullopt;
  Cursor cursor{line, begin};
  while (cursor.Look() == ' ' || static_cast<unsigned char>(cursor.Look()) >= 0x80) ++cursor.at;
  Cursor share = cursor;
  if (share.Number() && share.Take('%')) cursor = share;
  cursor.SkipBlanks();
  const auto count = cursor.Count();
  if (!count || count->total == 0 || count->done > count->total || cursor.Look() != ' ') return std::nullopt;
  const std::string rest = Lower(line.substr(cursor.at));
  if (!HasWordWith(rest, "/s") && !HasWordWith(rest, "s/") && !ShowsATime(rest)) return std::nullopt;
  ProgressText::Bar bar;
  bar.name = NameBefore(line.substr(0, begin));
  bar.done = count->done;
  bar.total = count->total;
  bar.counts = CountsOf(rest);
  bar.per_epoch = bar.name.substr(0, 7) == "epoch #";
  return bar;
}

// A bar as Keras draws it: 32/1875 [====>....] - ETA: 5s, or 32/1875 ━━━━━━ 5s 3ms/step. Without a known end it is
// 32/Unknown 5s 3ms/step. If only whole epochs are printed, it is 1875/1875 - 5s - 3ms/step.
std::optional<ProgressText::Bar> KerasBar(std::string_view line) {
  constexpr std::string_view kNoEnd = "/Unknown ";
  Cursor cursor{line};
  cursor.SkipBlanks();
  auto count = cursor.Count();
  const bool no_end = count && count->total == 0 && line.substr(cursor.at, kNoEnd.size()) == kNoEnd;
  if (no_end) {
    count->total = std::numeric_limits<std::int64_t>::max();
    cursor.at += kNoEnd.size();
  }
  if (!count || count->total == 0 || count->done > count->total) return std::nullopt;
  cursor.SkipBlanks();
  const std::string_view rest = line.substr(cursor.at);
  Cursor time{rest};
  const bool dash = time.Take('-');
  time.SkipBlanks();
  const bool no_bar = (dash || no_end) && time.Number() && (time.Take('s') || rest.substr(time.at, 2) == "ms");
  const bool old_bar = rest.substr(0, 2) == "[=" || rest.substr(0, 2) == "[>" || rest.substr(0, 2) == "[.";
  const bool new_bar = rest.substr(0, kHeavyLine.size()) == kHeavyLine &&
                       (rest.find("/step") != std::string_view::npos || rest.find("s/epoch") != std::string_view::npos);
  if (!old_bar && !new_bar && !no_bar) return std::nullopt;
  ProgressText::Bar bar;
  bar.name = "keras";
  bar.done = count->done;
  bar.total = count->total;
  bar.per_epoch = true;
  return bar;
}

// A word and the number after it: "step 10/100", "step: 10", "step=10", "Step [100/600]", "'epoch': '0.5'",
// "Iter(train) [10/20]". All parts are views of the line in lower case.
struct Named {
  std::string_view before;  // what stands before the word
  std::string_view word;
  ProgressText::Count count;
  std::string_view after;  // what follows the count
};

constexpr std::string_view kOfTraining = "(train)";

// Finds the next word with a number after it, from *from on, and moves *from past it. Absent at the end of the line.
std::optional<Named> NextNamed(std::string_view lower, std::size_t* from) {
  while (*from < lower.size()) {
    Cursor cursor{lower, *from};
    if (!IsNameChar(cursor.Look()) ||
        (cursor.at > 0 && (IsNameChar(lower[cursor.at - 1]) || IsDigit(lower[cursor.at - 1])))) {
      ++*from;
      continue;
    }
    const std::size_t begin = cursor.at;
    while (IsNameChar(cursor.Look())) ++cursor.at;
    const std::string_view word = lower.substr(begin, cursor.at - begin);
    *from = cursor.at;
    if (lower.substr(cursor.at, kOfTraining.size()) == kOfTraining) cursor.at += kOfTraining.size();
    cursor.TakeQuote();
    cursor.SkipBlanks();
    if (!cursor.Take(':')) cursor.Take('=');
    cursor.SkipBlanks();
    cursor.TakeQuote();
    cursor.Take('[');
    cursor.Take('#');
    cursor.SkipBlanks();
    const auto count = cursor.Count();
    if (!count) continue;
    *from = cursor.at;
    return Named{lower.substr(0, begin), word, *count, lower.substr(cursor.at)};
  }
  return std::nullopt;
}

// Words that name a count of steps.
constexpr std::array<std::string_view, 9> kStepWords = {"step",      "steps",      "global_step", "iter",       "iters",
                                                        "iteration", "iterations", "train_step",  "num_updates"};
// Before such a word they say that its number was planned or is a setting: "Total optimization steps = 750".
constexpr std::array<std::string_view, 12> kPlanWords = {
    "total", "max", "maximum", "num", "number", "every", "per", "interval", "accumulation", "logging", "save", "eval"};
// Before an epoch they say the same: "will stop when epoch 10 is done".
constexpr std::array<std::string_view, 6> kPlannedEpoch = {"until", "till", "when", "before", "if", "unless"};
// Before an epoch they say that an earlier job did it, or that the line looks back at it: "Best model from epoch 3".
constexpr std::array<std::string_view, 4> kRestored = {"load", "checkpoint", "resum", "restor"};
constexpr std::array<std::string_view, 5> kLookedBack = {"best", "stopp", "from", "as", "than"};
// Words that may stand directly before an epoch. After any other word the epoch is part of a sentence.
constexpr std::array<std::string_view, 16> kBeforeEpoch = {"info",   "debug",   "warn", "log",  "rank", "start",
                                                           "begin",  "run",     "end",  "of",   "the",  "this",
                                                           "finish", "complet", "done", "after"};
// Figures of a model.
constexpr std::array<std::string_view, 6> kMetrics = {"loss", "acc", "accuracy", "perplexity", "ppl", "error"};
// Figures besides a loss that only training has.
constexpr std::array<std::string_view, 5> kTrainingFigures = {"learning_rate", "learning rate", "grad_norm",
                                                              "grad norm", "gnorm"};
constexpr std::array<std::string_view, 6> kTrainingWords = {"lr", "acc", "accuracy", "ppl", "perplexity", "reward"};
// Words that may stand directly before "step 10" without saying whose step it is. Any other word does: "kmeans
// iteration 10".
constexpr std::array<std::string_view, 31> kNobodys = {
    "optimiz", "optim", "optimizer", "optimiser", "global", "updat",   "gradient", "at",    "the",  "after", "on",
    "in",      "of",    "from",      "and",       "this",   "current", "begin",    "start", "run",  "end",   "finish",
    "complet", "done",  "resum",     "info",      "debug",  "warn",    "log",      "rank",  "micro"};
// Names of figures that say nothing about whose iteration it is.
constexpr std::array<std::string_view, 23> kPlainFigures = {
    "time", "data", "eta", "elapsed", "took", "tak", "in",  "mem",  "memory", "gpu",  "cpu", "speed",
    "rate", "step", "it",  "batch",   "sec",  "ms",  "min", "hour", "mfu",    "size", "of"};
// Words that say that an epoch is over ("Epoch 3 finished in 10 s"), figures that only a finished epoch has, and
// words that say the opposite.
constexpr std::array<std::string_view, 4> kOver = {"finish", "complet", "done", "end"};
constexpr std::array<std::string_view, 5> kDurations = {"time", "duration", "took", "tak", "elaps"};
constexpr std::array<std::string_view, 12> kNotOver = {"not",  "start", "begin", "will", "eta",    "remain",
                                                       "left", "until", "when",  "to",   "expect", "estimat"};

// The word that ends at `end`. Empty if there is none.
std::string_view WordBefore(std::string_view lower, std::size_t end) {
  std::size_t begin = end;
  while (begin > 0 && IsNameChar(lower[begin - 1])) --begin;
  return lower.substr(begin, end - begin);
}

// The last words of a text with nothing but blanks between them: "info starting epoch" of "3: info starting epoch".
std::string_view WordsBefore(std::string_view lower) {
  std::size_t begin = lower.size();
  while (begin > 0 && (IsNameChar(lower[begin - 1]) || lower[begin - 1] == ' ')) --begin;
  return lower.substr(begin);
}

// Before a step they say that an earlier job did it and that this one continues from there: "Resumed from step 100",
// "Continuing training from global step 100", "successfully loaded checkpoint a.pt at iteration 100". Data is loaded
// as well, so loading counts only with a word for a saved state.
constexpr std::array<std::string_view, 4> kGoesOnFrom = {"resum", "restor", "continu", "restart"};
constexpr std::array<std::string_view, 2> kLoad = {"load", "reload"};
constexpr std::array<std::string_view, 5> kSavedState = {"checkpoint", "ckpt", "state", "snapshot", "weight"};

// Whether the text before a step says so. A step after "from" is a place to start from in any case.
bool IsWhereItResumes(std::string_view before) {
  const std::string_view words = WordsBefore(before);
  if (WordBefore(words, words.find_last_not_of(' ') + 1) == "from") return true;
  return SpeaksOf(before, kGoesOnFrom) || (SpeaksOf(before, kLoad) && SpeaksOf(before, kSavedState));
}

// Whether a step's number counts no steps that were done: "total optimization steps = 750", "tokens/step: 4096".
bool CountsNoSteps(const Named& named) {
  const std::size_t at = named.before.size();
  if (at > 1 && named.before[at - 1] == '/') {
    const std::string_view of = WordBefore(named.before, at - 1);
    return !of.empty() && !HasWordWith(of, "train");
  }
  return SpeaksOf(WordsBefore(named.before), kPlanWords);
}

// Whether the text shows a figure: "loss 2.1", "lr=3", "| 5", "took 0.5 s". Versions are none: "torch==2.1", "1.2.3".
bool HasReading(std::string_view lower) {
  std::size_t end = 0;
  for (std::size_t at = 0; at < lower.size(); at = std::max(end, at + 1)) {
    if (!IsDigit(lower[at])) continue;
    end = std::min(lower.find_first_not_of("0123456789.", at), lower.size());
    const std::string_view figure = lower.substr(at, end - at);
    const std::size_t dot = figure.find('.');
    const bool whole = dot == std::string_view::npos || dot + 1 == figure.size();
    const bool compared = at > 1 && lower[at - 1] == '=' && HasWordWith("=<>~!", lower.substr(at - 2, 1));
    if (compared || (!whole && HasWordWith(figure.substr(dot + 1), "."))) continue;
    std::size_t before = at;
    while (before > 0 && lower[before - 1] == ' ') --before;
    const std::string_view word = WordBefore(lower, before);
    const bool named = std::any_of(kMetrics.begin(), kMetrics.end(), [&](auto m) { return HasWordWith(word, m); });
    if (named || !whole || (before > 0 && HasWordWith("=:|[(", lower.substr(before - 1, 1)))) return true;
  }
  return false;
}

// Whether a step is one of a procedure, "Step 2: load the data". What a log says after a step of training has
// figures, or is nothing at all.
bool IsHeading(std::string_view after) {
  const auto names = [after](std::string_view metric) { return HasWordWith(after, metric); };
  if (after.substr(0, 1) == " " && std::any_of(kMetrics.begin(), kMetrics.end(), names)) return false;
  return std::any_of(after.begin(), after.end(), IsNameChar) && !HasReading(after);
}

// Whether a loss of training is shown: "loss=0.2", "'train_loss': 0.2". "val_loss 0.2" alone is none.
bool ShowsLoss(std::string_view lower) {
  constexpr std::string_view kLoss = "loss";
  for (std::size_t at = lower.find(kLoss); at != std::string_view::npos; at = lower.find(kLoss, at + 1)) {
    std::size_t end = at + kLoss.size();
    while (end < lower.size() &&
           (lower[end] == '\'' || lower[end] == '"' || lower[end] == ' ' || lower[end] == ':' || lower[end] == '=')) {
      ++end;
    }
    if (end == lower.size() || !(IsDigit(lower[end]) || lower[end] == '-')) continue;
    const std::string_view word = WordBefore(lower, at);
    const std::string_view of = word.empty() && at > 0 ? WordBefore(lower, at - 1) : word;
    if (!HasWordWith(of, "val") && !HasWordWith(of, "test")) return true;
  }
  return false;
}

// Whether a step belongs to validation: "val step 3". In "step 3: train loss 2, val loss 3" it belongs to training.
bool SpeaksOfValidation(std::string_view lower) {
  constexpr std::string_view kVal = "val";
  for (std::size_t at = lower.find(kVal); at != std::string_view::npos; at = lower.find(kVal, at + 1)) {
    std::size_t next = at + kVal.size();
    if ((at > 0 && IsNameChar(lower[at - 1])) || (next < lower.size() && IsNameChar(lower[next]))) continue;
    while (next < lower.size() && !IsNameChar(lower[next]) && !IsDigit(lower[next])) ++next;
    const std::string_view rest = lower.substr(next);
    const auto begins = [rest](std::string_view word) { return rest.substr(0, word.size()) == word; };
    if (std::any_of(kStepWords.begin(), kStepWords.end(), begins) || begins("batch") || begins("epoch")) return true;
  }
  return false;
}

// Whether "500/5005" is in the text. It says where in an epoch the job is, so the epoch is not over.
bool HasFraction(std::string_view text) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (!IsDigit(text[at])) continue;
    Cursor cursor{text, at};
    const auto count = cursor.Count();
    if (count && count->total > 0) return true;
    at = std::max(at, cursor.at);
  }
  return false;
}

// The count in brackets after the number of an epoch: "[500/5005]", "[640/60000 (1%)]".
struct InEpoch {
  std::optional<ProgressText::Count> count;
  bool percent = false;
};

// Reads that count. With a percentage it is one of samples, which is how PyTorch's examples print it.
InEpoch CountInBrackets(std::string_view after) {
  Cursor cursor{after};
  cursor.Take(']');
  cursor.SkipBlanks();
  if (!cursor.Take('[')) return {};
  cursor.SkipBlanks();
  const auto count = cursor.Count();
  if (!count || count->total == 0) return {};
  const bool percent = after.substr(cursor.at, 2) == " (";
  if (!percent && cursor.Look() != ']') return {};
  return {count, percent};
}

// Whether a named figure follows that training does not have to have: "iteration 3, inertia 2345.6".
bool ShowsAnothersFigures(std::string_view after) {
  for (std::size_t at = 0; at < after.size(); ++at) {
    if (!IsDigit(after[at])) continue;
    std::size_t end = at;
    while (end > 0 && HasWordWith(" :='\"([", after.substr(end - 1, 1))) --end;
    const std::string_view word = WordBefore(after, end);
    if (!word.empty() && !SpeaksOf(word, kPlainFigures)) return true;
    while (at < after.size() && (IsDigit(after[at]) || IsNameChar(after[at]) || after[at] == '.')) ++at;
  }
  return false;
}

// Whether the line shows something that only training has.
bool ShowsTraining(std::string_view lower) {
  const auto shown = [lower](std::string_view figure) { return HasWordWith(lower, figure); };
  const Counts rate = CountsOf(lower, Counts::kOther);
  return SpeaksOfTraining(lower) || SpeaksOf(lower, kTrainingWords) || rate == Counts::kSamples ||
         rate == Counts::kTokens || std::any_of(kTrainingFigures.begin(), kTrainingFigures.end(), shown);
}

// Takes a step. A word before it may say that it is not a step of training.
void TakeStep(const Named& named, const ProgressText::Count& count, ProgressText* text) {
  text->step = count;
  text->step_name = named.word.substr(0, named.word.find_last_not_of('s') + 1);
  const std::string_view words = WordsBefore(named.before);
  const std::string_view before = WordBefore(words, words.find_last_not_of(' ') + 1);
  const bool others = !before.empty() && !SpeaksOf(before, kNobodys) && !SpeaksOfTraining(before);
  if (others) text->step_name = std::string(before) + " " + text->step_name;
  // What solvers count they call iterations.
  const bool solver = named.word.substr(0, 4) == "iter" && ShowsAnothersFigures(named.after);
  text->step_of_another = others || (solver && !text->loss && !text->training);
}

// Whether an epoch is over, by the words before it, or between its number and the next figure: "Finished epoch 3",
// "Epoch 3 done". With `told` a figure that only a finished epoch has decides instead: "Epoch: 3, Time: 10.2".
bool IsOver(const Named& named, bool told) {
  constexpr std::string_view kDigits = "0123456789";
  const std::size_t figure = named.after.find_first_of(kDigits);
  const std::string_view between = named.after.substr(0, figure);
  const std::string_view before = WordsBefore(named.before);
  if (SpeaksOf(between, kNotOver) || SpeaksOf(before, kNotOver) || HasFraction(named.after)) return false;
  if (!told) return SpeaksOf(between, kOver) || SpeaksOf(before, kOver);
  if (figure == std::string_view::npos || !SpeaksOf(between, kDurations)) return false;
  const std::size_t end = named.after.find_first_not_of(kDigits, figure);
  return end == std::string_view::npos || !HasWordWith(":-/", named.after.substr(end, 1));  // "time: 12:00:01"
}

// Whether an epoch is only mentioned: "Loaded checkpoint 'a.pt' (epoch 12)", "early stopping at epoch 9", "epoch 3
// was better than epoch 2".
bool IsInASentence(const Named& named) {
  const std::string_view words = WordsBefore(named.before);
  const std::string_view before = WordBefore(words, words.find_last_not_of(' ') + 1);
  const bool alone = before.empty() || SpeaksOf(before, kBeforeEpoch) || SpeaksOfTraining(before);
  const bool compared = HasWordWith(named.after, " than epoch ");
  return !alone || compared || SpeaksOf(words, kLookedBack) || SpeaksOf(named.before, kRestored);
}

// Takes an epoch, unless the line only plans it or mentions it in a sentence.
void TakeEpoch(const Named& named, ProgressText* text) {
  const std::string_view before = WordsBefore(named.before);
  if (SpeaksOf(before, kPlanWords) || SpeaksOf(before, kPlannedEpoch) || IsInASentence(named)) return;
  const bool fraction = named.after.size() > 1 && named.after[0] == '.' && IsDigit(named.after[1]);
  text->training = true;
  text->epoch = {named.count.done, fraction, !fraction && IsOver(named, false)};
  // "Train Epoch: 1 [640/60000 (1%)]": samples of this epoch; "Epoch: [1][500/5005]": its steps
  const InEpoch in = CountInBrackets(named.after);
  if (in.count && named.count.total == 0) {
    if (in.percent) text->samples = in.count;
    if (!in.percent) TakeStep(named, *in.count, text);
  }
}

// Reads all named numbers of a line that has no bar, or of the name before a bar.
void ReadNamed(std::string_view lower, ProgressText* text) {
  const bool metric =
      std::any_of(kMetrics.begin(), kMetrics.end(), [&](std::string_view m) { return HasWordWith(lower, m); });
  bool told = false;  // of an epoch as a whole, unless the line tells of a part of it
  text->training = ShowsTraining(lower);
  std::size_t from = 0;
  while (const auto named = NextNamed(lower, &from)) {
    const bool step = std::find(kStepWords.begin(), kStepWords.end(), named->word) != kStepWords.end() ||
                      (named->word == "batch" && named->count.total > 0);
    if (named->word == "epoch" && !text->epoch) {
      TakeEpoch(*named, text);
      told = (metric && !HasFraction(named->after)) || IsOver(*named, true);
    } else if (named->word == "train" && !text->step) {  // of epoch 1: "Train: 1 [ 50/1251 (  4%)]"
      const auto count = CountInBrackets(named->after).count;
      if (count && named->count.total == 0 && !text->epoch) text->epoch = {named->count.done, false, false};
      if (count) TakeStep(*named, *count, text);
    } else if (step && !text->step && EndsACount(named->after) && !CountsNoSteps(*named) && !IsHeading(named->after) &&
               (text->loss || !IsWhereItResumes(named->before))) {
      TakeStep(*named, named->count, text);
    } else if ((named->word == "samples" || named->word == "tokens") && EndsACount(named->after)) {
      const bool consumed = HasWordWith(lower, "consumed " + std::string(named->word));
      if (consumed) (named->word == "samples" ? text->samples : text->tokens) = named->count;
    }
  }
  const bool in_part = text->step || text->samples;
  if (text->epoch && !text->epoch->fraction && told && !in_part) text->epoch->finished = true;
}

// What a line must hold, in any case of letters, to tell anything: parts of bars; words that are followed by counts
// (kStepWords and those that ReadNamed looks for); a loss. Keras' bars begin with a figure instead. A new word in
// ReadNamed belongs here too.
constexpr std::array<std::string_view, 12> kTelling = {"%|",    " [",    "\xE2\x94\x81", "step",   "iter",  "update",
                                                       "epoch", "batch", "train",        "sample", "token", "loss"};

// The places in kTelling by the first byte of each. There is room for three that begin alike.
struct TellingBytes {
  std::array<std::array<std::uint8_t, 3>, 256> rows{};  // places + 1; 0: no more
  constexpr TellingBytes() {
    for (std::size_t i = 0; i < kTelling.size(); ++i) {
      std::array<std::uint8_t, 3>& row = rows[static_cast<unsigned char>(kTelling[i][0])];
      std::size_t free = 0;
      while (row[free] != 0) ++free;
      row[free] = static_cast<std::uint8_t>(i + 1);
    }
  }
};
constexpr TellingBytes kTellingBytes;

constexpr char SmallLetter(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; }

// Whether a text begins with `small`, in any case. The first byte was compared already.
bool BeginsWith(std::string_view text, std::string_view small) {
  if (text.size() < small.size()) return false;
  for (std::size_t i = 1; i < small.size(); ++i) {
    if (SmallLetter(text[i]) != small[i]) return false;
  }
  return true;
}

}  // namespace

bool MayTellProgress(std::string_view line) {
  const std::size_t first = line.find_first_not_of(' ');
  if (first == std::string_view::npos || IsDigit(line[first])) return true;  // a blank line wipes a bar out
  for (std::size_t at = 0; at < line.size(); ++at) {
    const auto& row = kTellingBytes.rows[static_cast<unsigned char>(SmallLetter(line[at]))];
    for (std::size_t i = 0; i < row.size() && row[i] != 0; ++i) {
      if (BeginsWith(line.substr(at), kTelling[row[i] - 1U])) return true;
    }
  }
  return false;
}

ProgressText ParseProgress(std::string_view line) {
  ProgressText text;
  text.bar = TqdmBar(line);
  if (!text.bar) text.bar = KerasBar(line);
  if (!text.bar) text.bar = RichBar(line);
  if (!text.bar) text.bar = OpenTqdmBar(line);
  const std::string lower = Lower(line);
  text.loss = ShowsLoss(lower);
  if (text.bar) {
    // Only what names the bar speaks of epochs; figures behind it are of any kind.
    std::size_t end = lower.find('%');
    if (end == std::string::npos) end = lower.find(kHeavyLine);
    if (end == std::string::npos) end = lower.rfind(" [");
    while (end != std::string::npos && end > 0 && IsDigit(lower[end - 1])) --end;
    if (text.bar->name != "keras") ReadNamed(std::string_view(lower).substr(0, end), &text);
    text.step.reset();
    if (text.epoch) text.epoch->finished = false;
    return text;
  }
  // Counts of other work are dropped. A loss of training on such a line still counts.
  const bool other = SpeaksOfValidation(lower) || SpeaksOfOtherWork(lower);
  ProgressText named;
  named.loss = text.loss;
  ReadNamed(lower, &named);
  if (!other || SpeaksOfTraining(lower)) return named;
  // What else is done on the model, is done when an epoch is over: "end of epoch 3 | valid loss 0.4".
  if (named.epoch && named.epoch->finished) text.epoch = named.epoch;
  return text;
}

}  // namespace idleburn
