#include "profile/json_scan.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "support/property.h"

namespace idleburn {
namespace {

// Text with the bytes after it that a scan may read; a wrong answer from there would show.
std::string Padded(std::string_view text) { return std::string(text) + std::string(kScanPad, '"'); }

// The naive twin: byte by byte, all states spelled out. Where the value that begins the text ends; npos: it does not.
std::size_t NaiveEnd(std::string_view text) {
  if (std::string_view("\"{[").find(text[0]) == std::string_view::npos) {  // a number or a word
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (IsBlank(text[i]) || std::string_view(",}]").find(text[i]) != std::string_view::npos) return i;
    }
    return std::string_view::npos;
  }
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') {
        ++i;
      } else if (c == '"') {
        in_string = false;
        if (depth == 0) return i + 1;
      }
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if (c == '}' || c == ']') {
      if (--depth == 0) return i + 1;
    }
  }
  return std::string_view::npos;
}

std::string AnyText() {
  const auto length = *rc::gen::inRange<std::size_t>(1, 300);
  return *rc::gen::container<std::string>(length, rc::gen::weightedElement<char>({{8, 'a'},
                                                                                  {4, '"'},
                                                                                  {2, '\\'},
                                                                                  {3, '{'},
                                                                                  {3, '}'},
                                                                                  {2, '['},
                                                                                  {2, ']'},
                                                                                  {1, ','},
                                                                                  {1, ' '},
                                                                                  {1, '\0'},
                                                                                  {1, '\xff'},
                                                                                  {1, ';'},
                                                                                  {1, '\x5c'}}));
}

void SkipsAsTheTwinDoes() {
  const std::string text = AnyText();
  const std::size_t expected = NaiveEnd(text);
  const std::string padded = Padded(text);
  const char* const end = padded.data() + text.size();
  const char* const found = SkipValue(padded.data(), end);
  RC_ASSERT((found == nullptr ? std::string_view::npos : static_cast<std::size_t>(found - padded.data())) == expected);

  // In pieces, each with hostile bytes after it.
  ValueSkipper skipper;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t size = std::min(*rc::gen::inRange<std::size_t>(1, 90), text.size() - at);
    const std::string piece = Padded(text.substr(at, size));
    const char* const after = skipper.Skip(piece.data(), piece.data() + size);
    if (after != nullptr) {
      RC_ASSERT(at + static_cast<std::size_t>(after - piece.data()) == expected);
      return;
    }
    at += size;
  }
  RC_ASSERT(expected == std::string_view::npos);
}
TEST(JsonScanTest, SkipsAnyValueAsANaiveTwinDoes) { test::ExpectProperty("skips as the twin", SkipsAsTheTwinDoes); }

using Members = std::vector<std::pair<std::string, std::string>>;

Scan ReadAll(std::string_view text, Members* members = nullptr) {
  const std::string padded = Padded(text);
  const char* p = padded.data();
  const char* const end = p + text.size();
  return ReadMembers(p, end, [&](std::string_view key, const char* value) {
    std::string_view content;
    const char* const after = ReadText(value, end, content);
    if (after != nullptr && members != nullptr) members->emplace_back(key, content);
    return after;
  });
}

TEST(JsonScanTest, ReadsMembersInAnyForm) {
  Members members;
  EXPECT_EQ(ReadAll(R"({"a":1 , "b" : "x\"y","c":[1,{"d":"]"}],"e":null,"":{}})", &members), Scan::kWhole);
  EXPECT_EQ(members, (Members{{"a", "1"}, {"b", R"(x\"y)"}, {"c", R"([1,{"d":"]"}])"}, {"e", "null"}, {"", "{}"}}));
  EXPECT_EQ(ReadAll("{}"), Scan::kWhole);
  EXPECT_EQ(ReadAll("{ }"), Scan::kWhole);
}

TEST(JsonScanTest, ToleratesWhatProfilersGetWrong) {
  Members members;
  EXPECT_EQ(ReadAll("{\"a\": \"raw\n\t\x01 and \xff\xfe\", \"b\": NaN,, \"c\": , \"d\": 1 \"e\": -inf,}", &members),
            Scan::kWhole);
  EXPECT_EQ(members, (Members{{"a", "raw\n\t\x01 and \xff\xfe"}, {"b", "NaN"}, {"c", ""}, {"d", "1"}, {"e", "-inf"}}));
}

TEST(JsonScanTest, TellsCutFromBad) {
  const std::string whole = R"({"a": "x\\\"y", "b": [1, "{"], "c": -12.5e3})";
  for (std::size_t size = 1; size < whole.size(); ++size) {
    EXPECT_EQ(ReadAll(whole.substr(0, size)), Scan::kCut) << whole.substr(0, size);
  }
  EXPECT_EQ(ReadAll(whole), Scan::kWhole);
  EXPECT_EQ(ReadAll(R"({"a" 1})"), Scan::kBad);
  EXPECT_EQ(ReadAll(R"({a: 1})"), Scan::kBad);
  EXPECT_EQ(ReadAll(R"({"a": "foo "bar" baz"})"), Scan::kBad);
}

struct Pair {
  std::string_view first;
  std::string_view second;
};
constexpr auto kPair = std::to_array<JsonField<Pair>>({{"first", &Pair::first}, {"second", &Pair::second}});

TEST(JsonScanTest, ReadsNamedFieldsInAnyOrder) {
  for (const std::string text : {R"({"first": 1, "second": 2})", R"({"second": 2, "x": {"first": 9}, "first": 1})",
                                 R"({"first": 7, "first": 1, "secon": 3, "second": 2})"}) {
    const std::string padded = Padded(text);
    const char* p = padded.data();
    Pair pair;
    EXPECT_EQ(ReadFields(p, p + text.size(), kPair, pair), Scan::kWhole);
    EXPECT_EQ(pair.first, "1") << text;
    EXPECT_EQ(pair.second, "2") << text;
  }
}

TEST(JsonScanTest, ResolvesEscapes) {
  std::string scratch;
  const std::map<std::string, std::string> meanings = {
      {"plain", "plain"},
      {R"(a\"b\\c\/d\b\f\n\r\t)", "a\"b\\c/d\b\f\n\r\t"},
      {R"(\u0041\u00e9\u20AC)", "A\xC3\xA9\xE2\x82\xAC"},
      {R"(\uD83D\uDE00!)", "\xF0\x9F\x98\x80!"},
      {R"(\uD83D!)", "\xEF\xBF\xBD!"},  // half a pair
      {R"(\uDE00\uD83D)", "\xEF\xBF\xBD\xEF\xBF\xBD"},
      {R"(\uD83D\u0041)",
       "\xEF\xBF\xBD"
       "A"},
      {R"(C:\data\x\u12)", R"(C:\data\x\u12)"},  // no escapes of JSON
      {"\xff\\", "\xff\\"},
  };
  for (const auto& [text, meaning] : meanings) EXPECT_EQ(Unescape(text, scratch), meaning) << text;
}

}  // namespace
}  // namespace idleburn
