#include "profile/trace_reader.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include "support/property.h"
#include "text/line_reader.h"

namespace idleburn {
namespace {

constexpr std::array<std::string_view, 2> kHeaders = {"schemaVersion", "info"};

struct Read {
  std::vector<std::string> names;
  std::vector<std::string> headers;
  TraceTally tally;
};

Read ReadTrace(const std::string& text, TraceLimits limits = {}) {
  StringSource in(text);
  TraceReader reader(in, kHeaders, limits);
  Read read;
  for (auto item = reader.Next(); item && *item != TraceReader::Item::kEnd; item = reader.Next()) {
    if (*item == TraceReader::Item::kEvent) {
      read.names.emplace_back(reader.event().name);
    } else {
      read.headers.push_back(std::string(reader.header_key()) + "=" + std::string(reader.header_value()));
    }
  }
  read.tally = reader.tally();
  return read;
}

using Names = std::vector<std::string>;

TEST(TraceReaderTest, FindsEventsWhereverTheyStand) {
  const std::string events = R"("traceEvents": [{"name": "a"}, {"name": "b"}])";
  for (const std::string& text :
       {"{" + events + "}", "\n\n{ \"other\": {\"traceEvents\": [{\"name\": \"x\"}]},\n" + events + "}\n",
        "{" + events + ", \"other\": [1, \"]\"]}", "{" + events + ",}",
        std::string(R"([{"name": "a"},{"name": "b"},])")}) {
    const Read read = ReadTrace(text);
    EXPECT_EQ(read.names, (Names{"a", "b"})) << text;
    EXPECT_EQ(read.tally.events, 2);
    EXPECT_EQ(read.tally.lost_bytes, 0) << text;
    EXPECT_FALSE(read.tally.unclosed) << text;
  }
  EXPECT_FALSE(ReadTrace(R"({"metadata": {"traceEvents": [{}]}, "traceEvents": null})").tally.found_events);
  EXPECT_TRUE(ReadTrace("[]").tally.found_events);
  EXPECT_FALSE(ReadTrace("timestamp, index\n").tally.found_events);
  EXPECT_FALSE(ReadTrace("").tally.found_events);
}

TEST(TraceReaderTest, DeliversNamedHeadersBeforeAndAfter) {
  const Read read = ReadTrace(R"({"schemaVersion": 1, "user": "alice", "traceEvents": [], "info": {"a": [1]}})");
  EXPECT_EQ(read.headers, (Names{"schemaVersion=1", R"(info={"a": [1]})"}));
}

TEST(TraceReaderTest, CountsWhatIsNoEvent) {
  const Read read = ReadTrace(
      R"({"traceEvents": [{"name": "a"}, {"name": "foo "bar" baz"}, 7, {"name": "b"}, [{"name": "c"}], {x}, "s"]})");
  EXPECT_EQ(read.names, (Names{"a", "b"}));
  EXPECT_EQ(read.tally.events, 7);
  EXPECT_EQ(read.tally.malformed, 5);
  EXPECT_EQ(read.tally.lost_bytes, 0);
  const Read after = ReadTrace(R"([{"name": "a"}] ]] junk)");
  EXPECT_EQ(after.names, Names{"a"});
  EXPECT_EQ(after.tally.lost_bytes, 7);
}

// A cut at any byte leaves the events that end before it; of a last part only the bytes are counted.
TEST(TraceReaderTest, SalvagesWholeEventsOfACutTrace) {
  const std::string open = "{\"schemaVersion\": 1, \"traceEvents\": [\n  ";
  const Names events = {R"({"name": "a", "args": {"s": "}]\"", "n": [1]}})", R"({"name":"b"})", R"({ "name": "c" })"};
  std::string text = open;
  std::vector<std::pair<std::size_t, std::size_t>> places;
  for (const std::string& event : events) {
    if (!places.empty()) text += ",\n  ";
    places.emplace_back(text.size(), text.size() + event.size());
    text += event;
  }
  text += "\n]}";
  for (std::size_t size = open.size(); size <= text.size(); ++size) {
    const Read read = ReadTrace(text.substr(0, size));
    std::size_t whole = 0;
    std::size_t lost = 0;
    for (const auto& [first, end] : places) {
      whole += end <= size ? 1 : 0;
      lost += first < size && size < end ? size - first : 0;
    }
    EXPECT_EQ(read.names.size(), whole) << size;
    EXPECT_EQ(read.tally.lost_bytes, static_cast<std::int64_t>(lost)) << size;
    EXPECT_EQ(read.tally.unclosed, size < text.size()) << size;
  }
}

TEST(TraceReaderTest, GrowsForALongEventAndPassesOverOneThatIsTooLong) {
  const std::string text = R"([{"name": "a"}, {"name": "long", "args": {"stack": ")" + std::string(5000, 's') +
                           R"("}}, {"name": "b"}, {"info": [")" + std::string(20000, '{') + R"("], "name": "no"}])";
  for (const std::size_t window : {1UL, 64UL, 1000UL, 7000UL, 100000UL}) {
    const Read read = ReadTrace(text, {window, 6000});
    EXPECT_EQ(read.names, (Names{"a", "long", "b"})) << window;
    EXPECT_EQ(read.tally.events, 4) << window;
    EXPECT_EQ(read.tally.too_long, 1) << window;
    EXPECT_EQ(read.tally.lost_bytes, 0) << window;
    const Read cut = ReadTrace(text.substr(0, text.size() - 30), {window, 6000});
    EXPECT_EQ(cut.tally.too_long, 1) << window;
    EXPECT_GT(cut.tally.lost_bytes, 19000) << window;
    EXPECT_TRUE(cut.tally.unclosed) << window;
  }
}

// Any text, JSON or not, reads alike through every window.
void WindowsDoNotShow() {
  static const Names kParts = {"{",
                               "}",
                               "[",
                               "]",
                               ",",
                               ":",
                               "\"",
                               "\\",
                               " ",
                               "\n",
                               "1.5",
                               "NaN",
                               "\"name\"",
                               "\"ph\"",
                               "\"traceEvents\": [",
                               "{\"name\": \"x\"}",
                               "\"schemaVersion\": ",
                               "\xef\xbb\xbf",
                               "\"args\":"};
  std::string text = *rc::gen::element<std::string>("", "{\"traceEvents\": [", "[", "{");
  const auto parts = *rc::gen::inRange<std::size_t>(0, 60);
  for (std::size_t i = 0; i < parts; ++i) text += *rc::gen::elementOf(kParts);
  const Read whole = ReadTrace(text, {1 << 16, 100});
  for (const std::size_t window : {1UL, 2UL, 3UL, 17UL, 64UL, 65UL}) {
    const Read read = ReadTrace(text, {window, 100});
    RC_ASSERT(read.names == whole.names);
    RC_ASSERT(read.headers == whole.headers);
    RC_ASSERT(read.tally == whole.tally);
  }
}
TEST(TraceReaderTest, WindowsDoNotShow) { test::ExpectProperty("windows do not show", WindowsDoNotShow); }

std::int64_t Ns(const std::string& micros) {
  const std::optional<TraceNs> time = TraceMicrosToNs(micros);
  EXPECT_TRUE(time) << micros;
  return time.value_or(TraceNs()).ns;
}

TEST(TraceTimeTest, KeepsDigitsThatADoubleLoses) {
  const std::string micros = "1712195495519761.132";
  EXPECT_EQ(Ns(micros), 1712195495519761132);
  EXPECT_NE(static_cast<std::int64_t>(std::llround(std::strtod(micros.c_str(), nullptr) * 1000)), 1712195495519761132);
}

TEST(TraceTimeTest, ReadsEveryForm) {
  EXPECT_EQ(Ns("0"), 0);
  EXPECT_EQ(Ns("68.0"), 68000);
  EXPECT_EQ(Ns("68."), 68000);
  EXPECT_EQ(Ns("-0.25"), -250);
  EXPECT_EQ(Ns("1623143089861000"), 1623143089861000000);
  EXPECT_EQ(Ns("4458676522690.655"), 4458676522690655);
  EXPECT_EQ(Ns("1.5e2"), 150000);
  EXPECT_EQ(Ns("000000000000000000001.5"), 1500);
  for (const char* text : {"", "NaN", "null", "-", ".", "1.2.3", "12a", "Infinity", "2305843009213694", "1e30",
                           "9999999999999999", "162314262342623460016", "99999999999999999999999999999.5"}) {
    EXPECT_FALSE(TraceMicrosToNs(text)) << text;
  }
  EXPECT_EQ(Ns("2305843009213693.952"), std::int64_t{1} << 61);
  EXPECT_EQ(Ns("-2305843009213693.952"), -(std::int64_t{1} << 61));
  EXPECT_FALSE(TraceMicrosToNs("2305843009213693.953"));
  EXPECT_FALSE(TraceMicrosToNs("-2305843009213693.953"));
}

TEST(TraceTimeTest, SaysWhatItRounded) {
  EXPECT_EQ(Ns("1.0005"), 1001);
  EXPECT_EQ(Ns("1.00049999"), 1000);
  EXPECT_EQ(Ns("-1.0005"), -1001);
  EXPECT_TRUE(TraceMicrosToNs("1.0005")->rounded);
  EXPECT_TRUE(TraceMicrosToNs("1.5e2")->rounded);
  EXPECT_FALSE(TraceMicrosToNs("1.00100000")->rounded);
  EXPECT_FALSE(TraceMicrosToNs("17.125")->rounded);
}

void PrintedNanosecondsComeBack() {
  const std::int64_t limit = std::int64_t{1} << 61;
  const std::int64_t ns = *rc::gen::inRange<std::int64_t>(-limit, limit) >> *rc::gen::inRange(0, 61);
  const std::string digits = std::to_string(std::abs(ns));
  const std::string padded = std::string(digits.size() < 4 ? 4 - digits.size() : 0, '0') + digits;
  std::string text = padded.substr(0, padded.size() - 3) + "." + padded.substr(padded.size() - 3);
  if (ns < 0) text.insert(0, "-");
  text.append(*rc::gen::inRange<std::size_t>(0, 4), '0');
  const std::optional<TraceNs> time = TraceMicrosToNs(text);
  RC_ASSERT(time && time->ns == ns && !time->rounded);
}
TEST(TraceTimeTest, AnyNanosecondSurvivesPrinting) {
  test::ExpectProperty("printed nanoseconds come back", PrintedNanosecondsComeBack);
}

}  // namespace

}  // namespace idleburn
