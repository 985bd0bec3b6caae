#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "import/formats.h"
#include "import/json_input.h"
#include "import/prometheus_samples.h"
#include "text/line_reader.h"
#include "text/metric_line.h"
#include "text/number.h"
#include "text/strings.h"

namespace idleburn {

// Prometheus in its two forms. Both produce lines of the text format for PrometheusSamples, so that every form of the
// same scrapes gives the same figures. JSON is read as a stream of tokens, because an answer over a range may have
// gigabytes.

// True if the first lines parse and one of them is a sample, a type or an end mark. Comments alone could be of any
// format.
bool SniffPrometheus(std::string_view head) {
  using Kind = PrometheusLine::Kind;
  constexpr int kLines = 8;
  bool sure = false;
  for (int i = 0; i < kLines && !head.empty(); ++i) {
    const std::size_t end = head.find('\n');
    if (end == std::string_view::npos && i > 0) break;  // cut off by the size of the head
    const PrometheusLine line = ParsePrometheusLine(Trim(head.substr(0, end)));
    if (line.kind == Kind::kBad) return false;
    sure = sure || line.kind == Kind::kSample || line.kind == Kind::kType || line.kind == Kind::kEof;
    head.remove_prefix(end == std::string_view::npos ? head.size() : end + 1);
  }
  return sure;
}

Result<void> ImportPrometheus(ByteSource& in, const ImportOptions& options, ImportTarget& out) {
  LineReader lines(in);
  PrometheusSamples samples(in.name(), options, out, false);
  std::string_view text;
  while (true) {
    const bool more = TRY(lines.Next(&text));
    if (!more) return samples.Finish();
    samples.OnLine(text, lines.number(), lines.terminated());
  }
}

namespace {

using Token = JsonStream::Token;

constexpr std::string_view kAskForRange = "query the metric over a range instead, such as DCGM_FI_DEV_GPU_UTIL[1h]";

// Whether all stamps of an input lie on an even grid, as query_range produces. The server has then computed a value
// for each step. Scrapes of a single target may do so too, so this is only a doubt that the report shows.
class StampGrid {
 public:
  // Begins a series.
  void Begin() { last_.reset(); }
  void See(std::string_view stamp) {
    const ScaledNumber time = ParseScaled(stamp, 9);
    if (time.fault != NumberFault::kNone) return;
    if (!first_) first_ = time.value;
    std::int64_t from_first = 0;
    std::int64_t from_last = 0;
    if (__builtin_sub_overflow(time.value, *first_, &from_first) || from_first == INT64_MIN ||
        __builtin_sub_overflow(time.value, last_.value_or(time.value), &from_last)) {
      return;  // centuries apart
    }
    // The distance from the first stamp of all: series that start at different steps share the grid.
    common_ = std::gcd(common_, from_first);
    if (from_last > 0) {
      least_ = std::min(least_, from_last);
      ++steps_;
    }
    last_ = time.value;
  }
  // True if every distance is a multiple of the smallest one, given at least three distances.
  [[nodiscard]] bool Even() const { return steps_ >= kProof && common_ == least_; }
  // True if all stamps are equal.
  [[nodiscard]] bool Instant() const { return first_ && common_ == 0; }

 private:
  static constexpr int kProof = 3;  // distances between consecutive stamps
  std::optional<std::int64_t> first_;
  std::optional<std::int64_t> last_;  // last stamp of the series
  std::int64_t common_ = 0;           // greatest common divisor of all distances
  std::int64_t least_ = INT64_MAX;    // smallest distance within a series
  std::int64_t steps_ = 0;
};

// Quotes a label or a UTF-8 name as the text format does.
std::string QuotedLabel(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '\\' || c == '"') out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
  return out + "\"";
}

// Reads answers of the HTTP API and Grafana's data frames. Each series becomes lines of the text format for
// PrometheusSamples. It reads tokens in the order of the file and holds one series' labels, so points that come
// before their labels must wait.
class PrometheusJson {
 public:
  PrometheusJson(ByteSource& in, const ImportOptions& options, ImportTarget& out)
      : json_(in), options_(options), out_(out), samples_(in.name(), options, out, true) {}

  Result<void> Run();

 private:
  // A stamp and a value as written.
  struct Point {
    std::string stamp;
    std::string value;
  };

  [[nodiscard]] Place Here() const { return {&json_.name(), json_.line()}; }
  [[nodiscard]] tl::unexpected<Error> Refuse(const std::string& why) const { return Fail(json_.Where() + ": " + why); }
  Result<void> ReadAnswer();
  Result<void> ReadMember(const std::string& key, Token value);
  Result<void> ReadList();
  Result<void> ReadSeries();
  Result<void> ReadLabels(std::string* series);
  Result<void> ReadPoint(Token first);
  Result<void> ReadSchema(Token value);
  Result<void> ReadField();
  Result<void> ReadFrame(Token value);
  Result<void> ReadColumn(std::size_t column, std::vector<std::string>& stamps);
  void Put(const std::string& series, std::string_view stamp, std::string_view value);

  static constexpr std::size_t kMaxHeld = std::size_t{1} << 20;  // points before their labels; stamps of a frame

  JsonStream json_;
  const ImportOptions& options_;
  ImportTarget& out_;
  PrometheusSamples samples_;
  StampGrid grid_;
  std::string line_;
  std::string failed_;  // the answer's "error"
  std::string kind_;    // "errorType"
  bool any_ = false;    // a series
  // The series being read: its labels as text, and points that came before the labels.
  std::string series_;
  std::vector<Point> held_;
  std::vector<std::string> columns_;  // of the frame being read: labels per column, empty for the times
};

// Reads one answer after another. Fails if one holds an error, or if none holds a series.
Result<void> PrometheusJson::Run() {
  while (true) {
    Token token = Token::kEnd;
    TRY(json_.Next(&token));
    if (token == Token::kEnd) break;
    failed_.clear();
    if (token == Token::kObject) {
      TRY(ReadAnswer());
    } else if (token == Token::kArray) {
      TRY(ReadList());
    } else {
      return Refuse("is not an answer of Prometheus; give the output of /api/v1/query or promtool query -o json");
    }
    if (!failed_.empty())
      return Refuse("Prometheus returned no data: " + failed_ + "; correct the query and ask again");
  }
  if (!any_) {
    return Refuse("the answer holds no series: the query matched nothing in that time; check its name and range");
  }
  if (grid_.Even()) out_.quality.Count(QualityId::kEvenGrid, {&json_.name(), 0});
  if (grid_.Instant()) out_.quality.Count(QualityId::kInstantQuery, {&json_.name(), 0});
  return samples_.Finish();
}

// Reads an answer, its `data`, or what a tool wraps around it. The result may be at any depth.
Result<void> PrometheusJson::ReadAnswer() {
  return json_.Members([this](const std::string& key, Token value) { return ReadMember(key, value); });
}

// Handles the members that matter wherever they are: results, frames, errors and warnings.
Result<void> PrometheusJson::ReadMember(const std::string& key, Token value) {
  if (key == "resultType" && (json_.text() == "scalar" || json_.text() == "string")) {
    return Refuse("the answer is a " + std::string(json_.text()) + ", which belongs to no GPU; " +
                  std::string(kAskForRange));
  }
  if (key == "error" && value == Token::kString) failed_ = Printable(json_.text()).substr(0, 300);
  if ((key == "warnings" || key == "infos") && value == Token::kArray) {
    return json_.Items([this](Token item) {
      if (item == Token::kString) out_.quality.CountNamed(QualityId::kQueryWarning, Printable(json_.text()), Here());
      return json_.Skip(item);
    });
  }
  if ((key == "result" || key == "frames") && value == Token::kArray) return ReadList();
  if (value == Token::kObject) return ReadAnswer();
  return json_.Skip(value);
}

// Reads series or frames. A scalar has a stamp and a value here instead, which is an error.
Result<void> PrometheusJson::ReadList() {
  return json_.Items([this](Token item) -> Result<void> {
    if (item == Token::kObject) return ReadSeries();
    return Refuse("holds a value without a series; " + std::string(kAskForRange));
  });
}

// Reads one series or one frame. Histograms are counted, since their buckets are no readings of a gauge.
Result<void> PrometheusJson::ReadSeries() {
  series_.clear();
  held_.clear();
  columns_.clear();
  grid_.Begin();
  TRY(json_.Members([this](const std::string& key, Token value) -> Result<void> {
    if (key == "metric" && value == Token::kObject) return ReadLabels(&series_);
    if (key == "value" && value == Token::kArray) return ReadPoint(Token::kArray);
    if (key == "values" && value == Token::kArray) return json_.Items([this](Token item) { return ReadPoint(item); });
    if (key == "schema") return ReadSchema(value);
    if (key == "data") return ReadFrame(value);
    if (key == "histogram" || key == "histograms") {
      out_.quality.CountNamed(QualityId::kUnknownMetric, "histograms (not gauge readings)", Here());
    }
    return json_.Skip(value);
  }));
  if (series_.empty() && !held_.empty()) return Refuse("a series has no labels, so it names no GPU");
  for (const Point& point : held_) Put(series_, point.stamp, point.value);
  return {};
}

// Converts {"__name__": "DCGM_FI_DEV_GPU_UTIL", "gpu": "0"} to the text format.
Result<void> PrometheusJson::ReadLabels(std::string* series) {
  any_ = true;
  bool named = false;
  std::string labels;
  TRY(json_.Members([&](const std::string& key, Token value) -> Result<void> {
    if (value != Token::kString) return json_.Skip(value);
    named = named || key == "__name__";
    labels += (labels.empty() ? "" : ",") + QuotedLabel(key) + "=" + QuotedLabel(json_.text());
    return {};
  }));
  if (!named && options_.metric.empty()) {
    return Refuse("a series has no name, as after rate() or avg by; name its metric with --metric NAME, such as " +
                  std::string("DCGM_FI_DEV_GPU_UTIL"));
  }
  if (!named) labels += (labels.empty() ? "" : ",") + QuotedLabel("__name__") + "=" + QuotedLabel(options_.metric);
  *series = "{" + labels + "}";
  return {};
}

// Reads [1783117320.25, "42"].
Result<void> PrometheusJson::ReadPoint(Token first) {
  Point point;
  int parts = 0;
  if (first == Token::kArray) {
    TRY(json_.Items([&](Token item) -> Result<void> {
      ++parts;
      if (parts <= 2) (parts == 1 ? point.stamp : point.value) = json_.text();
      // The stamp is a number and the value a string, since JSON numbers know neither NaN nor infinity.
      const bool right = parts == 1 ? item == Token::kNumber : parts == 2 && item == Token::kString;
      if (!right) parts = 3;
      return json_.Skip(item);
    }));
  }
  if (parts != 2) {
    out_.quality.Count(QualityId::kBadRow, Here());
    return first == Token::kArray ? Result<void>() : json_.Skip(first);
  }
  if (!series_.empty()) {
    Put(series_, point.stamp, point.value);
  } else if (held_.size() < kMaxHeld) {
    held_.push_back(std::move(point));
  } else {
    return Refuse("a series has more than a million values before its labels; write \"metric\" before \"values\"");
  }
  return {};
}

// Passes one sample on as a line of the text format.
void PrometheusJson::Put(const std::string& series, std::string_view stamp, std::string_view value) {
  // A value with blanks or a comment sign would change the line that is made of it.
  if (value.empty() || value.find_first_of(" \t\r\n#") != std::string_view::npos) {
    return out_.quality.Count(QualityId::kBadRow, Here());
  }
  grid_.See(stamp);
  line_.assign(series).append(" ").append(value).append(" ").append(stamp);
  samples_.OnLine(line_, json_.line(), true);
}

// Reads {"fields": [{"name": "Time", "type": "time"}, {"name": "Value", "labels": {"__name__": ..., "gpu": "0"}}]}.
Result<void> PrometheusJson::ReadSchema(Token value) {
  if (value != Token::kObject) return json_.Skip(value);
  return json_.Members([this](const std::string& key, Token member) {
    if (key != "fields" || member != Token::kArray) return json_.Skip(member);
    return json_.Items([this](Token item) { return item == Token::kObject ? ReadField() : json_.Skip(item); });
  });
}

// Reads one column's labels. A column of times has none, and a column without labels is counted and not read.
Result<void> PrometheusJson::ReadField() {
  std::string series;
  std::string name;
  bool time = false;
  TRY(json_.Members([&](const std::string& key, Token value) {
    if (key == "labels" && value == Token::kObject) return ReadLabels(&series);
    if (key == "name") name = json_.text();
    time = time || (key == "type" && json_.text() == "time");
    return json_.Skip(value);
  }));
  if (!time && series.empty()) out_.quality.CountNamed(QualityId::kUnknownMetric, name + " without labels", Here());
  columns_.push_back(series);
  return {};
}

// Reads {"values": [[1783117320000, ...], [42, ...]]}: milliseconds first, then a column per series.
Result<void> PrometheusJson::ReadFrame(Token value) {
  if (value != Token::kObject) return json_.Skip(value);
  return json_.Members([this](const std::string& key, Token member) {
    if (key != "values" || member != Token::kArray) return json_.Skip(member);
    if (columns_.empty()) return Result<void>(Refuse("a frame has its values before its schema; export it again"));
    std::vector<std::string> stamps;
    std::size_t column = 0;
    return json_.Items([&](Token item) -> Result<void> {
      const std::size_t place = column++;
      if (item != Token::kArray || place >= columns_.size()) return json_.Skip(item);
      return ReadColumn(place, stamps);
    });
  });
}

// Reads one column of a frame. The first holds the times, which every other column then uses by row.
Result<void> PrometheusJson::ReadColumn(std::size_t column, std::vector<std::string>& stamps) {
  std::size_t row = 0;
  grid_.Begin();
  return json_.Items([&](Token item) -> Result<void> {
    if (column == 0 && row == kMaxHeld) return Refuse("a frame has more than a million rows; export a shorter range");
    if (column == 0) stamps.emplace_back(json_.text());
    // A cell that is null has no value, and no reading.
    const bool reading = column > 0 && item == Token::kNumber && row < stamps.size() && !columns_[column].empty();
    if (reading) Put(columns_[column], stamps[row], json_.text());
    ++row;
    return json_.Skip(item);
  });
}

}  // namespace

// True for JSON with the marks of an answer, of a bare series, or of a frame. An answer that cannot be used is taken
// too, because its error can say what to ask instead.
bool SniffPrometheusJson(std::string_view head) {
  head = head.substr(std::min(head.find_first_not_of(" \t\r\n"), head.size()));
  if (head.empty() || (head.front() != '{' && head.front() != '[')) return false;
  const auto has = [head](std::string_view key) { return head.find(key) != std::string_view::npos; };
  const bool answer = has("\"resultType\"") || (has("\"status\"") && (has("\"errorType\"") || has("\"success\"")));
  const bool series = has("\"metric\"") && (has("\"values\"") || has("\"value\""));
  const bool frame = has("\"schema\"") && has("\"fields\"");
  // [1783117400, "1"] is a scalar of promtool. It is accepted here so that the error can explain it.
  const bool scalar = head.size() > 1 && head[1] >= '0' && head[1] <= '9' && has(",\"") && !has("{");
  return answer || series || frame || scalar;
}

Result<void> ImportPrometheusJson(ByteSource& in, const ImportOptions& options, ImportTarget& out) {
  return PrometheusJson(in, options, out).Run();
}

}  // namespace idleburn
