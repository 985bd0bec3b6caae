#include "profile/trace_reader.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace idleburn
