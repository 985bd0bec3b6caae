#include "text/metric_line.h"

#include <algorithm>
#include <array>

#include "text/number.h"
#include "text/strings.h"

namespace idleburn {

namespace {

using Kind = PrometheusLine::Kind;

constexpr bool IsNameStart(char c) { return IsLetter(c) || c == '_' || c == ':'; }
constexpr bool IsNameChar(char c) { return IsNameStart(c) || IsDigit(c); }

// Removes a metric's or label's name from the front. Empty if the text does not begin with one.
std::string_view TakeName(std::string_view& text) {
  std::size_t n = 0;
  if (!text.empty() && IsNameStart(text[0])) {
    while (n < text.size() && IsNameChar(text[n])) ++n;
  }
  const std::string_view name = text.substr(0, n);
  text.remove_prefix(n);
  return name;
}

void SkipBlanks(std::string_view& text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
}

// Removes the next word, up to a blank, from the front.
std::string_view TakeWord(std::string_view& text) {
  SkipBlanks(text);
  std::size_t n = 0;
  while (n < text.size() && text[n] != ' ' && text[n] != '\t') ++n;
  const std::string_view word = text.substr(0, n);
  text.remove_prefix(n);
  return word;
}

// The position of the quote that ends a string. `text` starts after the opening quote.
std::size_t ClosingQuote(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') return i;
    if (text[i] == '\\') ++i;
  }
  return std::string_view::npos;
}

// The position of the brace that ends the labels. `text` starts after the opening brace.
std::size_t ClosingBrace(std::string_view text) {
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') quoted = !quoted;
    if (c == '}' && !quoted) return i;
    if (c == '\\' && quoted) ++i;
  }
  return std::string_view::npos;
}

// Parses a line that begins with '#': HELP, TYPE, UNIT, EOF, or any other comment.
PrometheusLine ParseComment(std::string_view line) {
  struct Word {
    std::string_view word;
    Kind kind;
  };
  constexpr std::array<Word, 3> kWords = {{{"HELP", Kind::kHelp}, {"TYPE", Kind::kType}, {"UNIT", Kind::kUnit}}};
  PrometheusLine out;
  out.kind = Kind::kComment;
  std::string_view rest = line.substr(1);
  const std::string_view first = TakeWord(rest);
  if (first == "EOF" && Trim(rest).empty()) out.kind = Kind::kEof;
  for (const Word& w : kWords) {
    if (first != w.word) continue;
    out.kind = w.kind;
    out.name = TakeWord(rest);
    out.text = Trim(rest);
  }
  return out;
}

// Whether the text is a number or a word such as NaN. Whole digits, the usual case, are decided without parsing.
bool IsNumber(std::string_view text) {
  const bool digits = std::all_of(text.begin(), text.end(), IsDigit);
  return digits ? !text.empty() : ParseScaled(text, 0).fault != NumberFault::kNotANumber;
}

}  // namespace

// Takes the line apart from left to right: name, braces, exemplar, value, stamp. A line stays kBad until all of it
// was understood.
PrometheusLine ParsePrometheusLine(std::string_view line) {
  PrometheusLine out;
  std::string_view rest = line;
  SkipBlanks(rest);
  if (Trim(rest).empty()) return out;
  if (rest.front() == '#') return ParseComment(rest);
  out.kind = Kind::kBad;
  const std::string_view start = rest;
  out.name = TakeName(rest);
  SkipBlanks(rest);
  if (!rest.empty() && rest.front() == '{') {
    const std::size_t brace = ClosingBrace(rest.substr(1));
    if (brace == std::string_view::npos) return out;
    out.labels = rest.substr(1, brace);
    rest.remove_prefix(brace + 2);
    out.series = start.substr(0, start.size() - rest.size());
  } else {
    if (out.name.empty() || start.size() == out.name.size() + rest.size()) return out;
    out.series = out.name;
  }
  // An exemplar has a value and a stamp of its own, so it is cut off first.
  const std::size_t exemplar = rest.find(" # ");
  if (exemplar != std::string_view::npos) {
    out.exemplar = rest.substr(exemplar + 3);
    rest = rest.substr(0, exemplar);
  }
  out.value = TakeWord(rest);
  out.stamp = TakeWord(rest);
  if (!Trim(rest).empty() || !IsNumber(out.value) || (!out.stamp.empty() && !IsNumber(out.stamp))) return out;
  if (out.name.empty() && out.labels.empty()) return out;
  out.kind = Kind::kSample;
  return out;
}

// A name without a value is a metric name, which must be quoted then.
bool TakeLabel(std::string_view& labels, PrometheusLabel* label, bool* bad) {
  const auto take_quoted = [&labels](std::string_view* out) {
    if (labels.empty() || labels.front() != '"') return false;
    const std::size_t end = ClosingQuote(labels.substr(1));
    if (end == std::string_view::npos) return false;
    *out = labels.substr(1, end);
    labels.remove_prefix(end + 2);
    return true;
  };
  SkipBlanks(labels);
  if (labels.empty()) return false;
  *bad = true;
  std::string_view name = TakeName(labels);
  const bool quoted = name.empty();
  if (quoted && !take_quoted(&name)) return false;
  SkipBlanks(labels);
  if (!labels.empty() && labels.front() == '=') {
    labels.remove_prefix(1);
    SkipBlanks(labels);
    label->name = name;
    if (!take_quoted(&label->value)) return false;
  } else {
    if (!quoted) return false;
    label->name = {};
    label->value = name;
  }
  SkipBlanks(labels);
  if (!labels.empty()) {
    if (labels.front() != ',') return false;
    labels.remove_prefix(1);
  }
  *bad = false;
  return true;
}

std::string UnescapeLabel(std::string_view value) {
  std::string out;
  out.reserve(value.size());
  for (std::size_t i = 0; i < value.size(); ++i) {
    const char next = value[i] == '\\' && i + 1 < value.size() ? value[i + 1] : '\0';
    const bool known = next == '\\' || next == '"' || next == 'n';
    out += !known ? value[i] : next == 'n' ? '\n' : next;
    i += known ? 1 : 0;
  }
  return out;
}

std::string SampleName(const PrometheusLine& sample) {
  if (!sample.name.empty()) return std::string(sample.name);
  std::string_view labels = sample.labels;
  PrometheusLabel label;
  bool bad = false;
  while (TakeLabel(labels, &label, &bad)) {
    if (label.name.empty() || label.name == "__name__") return UnescapeLabel(label.value);
  }
  return {};
}

std::optional<Instant> ParsePrometheusStamp(std::string_view stamp, bool openmetrics) {
  constexpr std::int64_t kMillisFrom = 100'000'000'000;  // later are milliseconds: as seconds they lie beyond 5138
  constexpr std::int64_t kSecondsFrom = 100'000'000;     // as milliseconds they lie in the first days of 1970
  constexpr std::int64_t kLatest = 4'000'000'000 * kNanosPerSecond;  // distances of two stay in range
  const std::optional<std::int64_t> integer = ParseInteger(stamp);
  const ScaledNumber whole = integer ? ScaledNumber{*integer, NumberFault::kNone} : ParseScaled(stamp, 0);
  if (whole.fault != NumberFault::kNone) return std::nullopt;
  const bool seconds = whole.value < kMillisFrom && (!integer || openmetrics || whole.value >= kSecondsFrom);
  const ScaledNumber nanos = ParseScaled(stamp, seconds ? 9 : 6);
  if (nanos.fault != NumberFault::kNone || nanos.value < 0 || nanos.value > kLatest) return std::nullopt;
  return Instant::FromNanos(nanos.value);
}

namespace {

// Characters that a backslash escapes in names and tags.
constexpr std::string_view kEscaped = ",= \\";

// Removes the text before the first unescaped character of `ends`, and resolves its escapes.
std::string TakeName(std::string_view& rest, std::string_view ends) {
  std::string name;
  std::size_t i = 0;
  for (; i < rest.size() && ends.find(rest[i]) == std::string_view::npos; ++i) {
    const bool escaped = rest[i] == '\\' && i + 1 < rest.size() && kEscaped.find(rest[i + 1]) != std::string_view::npos;
    if (escaped) ++i;
    name += rest[i];
  }
  rest.remove_prefix(i);
  return name;
}

// Removes the character `c` if the text begins with it.
bool TakeChar(std::string_view& rest, char c) {
  if (rest.empty() || rest.front() != c) return false;
  rest.remove_prefix(1);
  return true;
}

// Removes a field's value: "text", 12i, 12u, 1.5 or t.
bool TakeValue(std::string_view& rest, std::string* value) {
  value->clear();
  if (!TakeChar(rest, '"')) {
    *value = TakeName(rest, ", ");
    // A letter behind a digit is the type: 12i, 12u.
    const bool typed = value->size() > 1 && (value->back() == 'i' || value->back() == 'u');
    if (typed && IsDigit((*value)[value->size() - 2])) value->pop_back();
    return !value->empty();
  }
  while (!rest.empty() && rest.front() != '"') {
    if (rest.front() == '\\' && rest.size() > 1 && (rest[1] == '"' || rest[1] == '\\')) rest.remove_prefix(1);
    *value += rest.front();
    rest.remove_prefix(1);
  }
  return TakeChar(rest, '"');
}

}  // namespace

// The line's three parts are separated by single blanks; anything missing or left over makes it no such line. A line
// that begins with a brace is JSON.
bool ParseInfluxLine(std::string_view text, InfluxLine* line) {
  *line = {};
  std::string_view rest = Trim(text);
  if (rest.empty() || rest.front() == '#' || rest.front() == '{') return false;
  line->measurement = TakeName(rest, ", ");
  while (TakeChar(rest, ',')) {
    std::string tag = TakeName(rest, "=, ");
    if (tag.empty() || !TakeChar(rest, '=')) return false;
    line->tags.emplace_back(std::move(tag), TakeName(rest, ", "));
  }
  if (line->measurement.empty() || !TakeChar(rest, ' ')) return false;
  rest = Trim(rest);
  do {
    std::string field = TakeName(rest, "=, ");
    std::string value;
    if (field.empty() || !TakeChar(rest, '=') || !TakeValue(rest, &value)) return false;
    line->fields.emplace_back(std::move(field), std::move(value));
  } while (TakeChar(rest, ','));
  if (!rest.empty() && rest.front() != ' ') return false;
  line->stamp = Trim(rest);
  return std::all_of(line->stamp.begin(), line->stamp.end(), IsDigit);
}

}  // namespace idleburn
