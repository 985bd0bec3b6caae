#include "import/json_input.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <nlohmann/json.hpp>

#include "text/line_reader.h"

namespace idleburn {
namespace {

TEST(JsonText, NumbersKeepTheirDecimals) {
  JsonParser parser;
  const Result<JsonNode> root =
      parser.Parse(R"({"a": 78.28, "b": 9223372036854775807, "c": "x\ny", "d": null, "e": [1, true], "f": 1.5e-7})");
  ASSERT_TRUE(root);
  EXPECT_EQ(root->GetText("a"), "78.28");
  EXPECT_EQ(root->GetText("b"), "9223372036854775807");
  EXPECT_EQ(root->GetText("c"), "x\ny");
  EXPECT_EQ(root->Get("d")->kind(), JsonNode::Kind::kNull);
  EXPECT_EQ(root->GetItems("e").size(), 2U);
  EXPECT_EQ(root->GetItems("e")[1].Text(), "true");
  EXPECT_EQ(root->GetText("f"), "1.5e-07");
  EXPECT_EQ(root->GetText("none"), "");
  EXPECT_EQ(root->Members().size(), 6U);
  EXPECT_FALSE(parser.Parse("{\"a\": "));
}

TEST(JsonText, DocumentsAreTakenOneByOne) {
  std::string_view rest = "WARNING: text\n{\"a\": \"}\\\"\"}\n[1]{\"open\": [";
  const auto expect = [&](std::string_view before, std::string_view document) {
    const JsonPart part = TakeJsonDocument(rest);
    EXPECT_EQ(part.before, before);
    EXPECT_EQ(part.document, document);
  };
  expect("WARNING: text", "{\"a\": \"}\\\"\"}");
  expect("", "[1]");
  expect("", "{\"open\": [");
  expect("", "");
  rest = " \r\n[1] , \n";
  expect("", "[1]");
  expect(",", "");
}

TEST(JsonText, WhatStandsAroundDocumentsIsCounted) {
  const auto read = [](const std::string& text, DataQuality& quality) {
    StringSource in(text);
    int documents = 0;
    EXPECT_TRUE(ForEachJsonDocument(in, quality, [&](const JsonNode&) { ++documents; }));
    return documents;
  };
  DataQuality clean;
  EXPECT_EQ(read("{\"a\": 1}\r\n [2] \n\n", clean), 2);
  EXPECT_EQ(clean.CountOf(QualityId::kBadRow) + clean.CountOf(QualityId::kTornRow), 0);
  DataQuality quality;
  EXPECT_EQ(read("An error occurred\nand was told\n{\"a\": 1}\n\"b\": 2}, [3]\ntail", quality), 2);
  EXPECT_EQ(quality.CountOf(QualityId::kBadRow), 2);
  EXPECT_EQ(quality.CountOf(QualityId::kTornRow), 1);
}

using nlohmann::json;
using Token = JsonStream::Token;

// Delivers a text in pieces of so many bytes.
class Pieces final : public ByteSource {
 public:
  Pieces(std::string text, std::size_t size) : text_(std::move(text)), size_(size) {}
  Result<std::size_t> Read(std::span<char> out) override {
    const std::size_t n = std::min({out.size(), size_, text_.size() - at_});
    text_.copy(out.data(), n, at_);
    at_ += n;
    return n;
  }
  [[nodiscard]] bool truncated() const override { return false; }
  [[nodiscard]] const std::string& name() const override { return name_; }

 private:
  std::string text_;
  std::size_t size_;
  std::size_t at_ = 0;
  std::string name_ = "answer.json";
};

json ReadValue(JsonStream& stream, Token first) {
  const std::string text(stream.text());
  if (first == Token::kString) return text;
  if (first == Token::kNumber || first == Token::kWord) return json::parse(text);
  json value = first == Token::kObject ? json::object() : json::array();
  const Result<void> read = first == Token::kObject
                                ? stream.Members([&](const std::string& key, Token token) -> Result<void> {
                                    value[key] = ReadValue(stream, token);
                                    return {};
                                  })
                                : stream.Items([&](Token token) -> Result<void> {
                                    value.push_back(ReadValue(stream, token));
                                    return {};
                                  });
  EXPECT_TRUE(read);
  return value;
}

json RandomValue(int depth) {
  const int kind = *rc::gen::inRange(0, depth > 0 ? 6 : 4);
  if (kind == 0) return *rc::gen::arbitrary<std::int64_t>();
  if (kind == 1) return *rc::gen::arbitrary<bool>();
  if (kind == 2) return nullptr;
  if (kind == 3) return *rc::gen::container<std::string>(rc::gen::inRange<char>(1, 127));
  json value = kind == 4 ? json::array() : json::object();
  const int size = *rc::gen::inRange(0, 4);
  for (int i = 0; i < size; ++i) {
    if (kind == 4) {
      value.push_back(RandomValue(depth - 1));
    } else {
      value[std::to_string(i) + "\"\\\n"] = RandomValue(depth - 1);
    }
  }
  return value;
}

RC_GTEST_PROP(JsonStream, ReadsWhatAnotherWriterWrote, ()) {
  const json first = RandomValue(4);
  const json second = RandomValue(2);
  const bool spaced = *rc::gen::arbitrary<bool>();
  const std::string text = first.dump(spaced ? 2 : -1, ' ', *rc::gen::arbitrary<bool>()) + "\n" + second.dump();
  Pieces source(text, *rc::gen::inRange<std::size_t>(1, 40));
  JsonStream stream(source);
  Token token = Token::kEnd;
  RC_ASSERT(stream.Next(&token).has_value());
  RC_ASSERT(ReadValue(stream, token) == first);
  RC_ASSERT(stream.Next(&token).has_value());
  RC_ASSERT(ReadValue(stream, token) == second);
  RC_ASSERT(stream.Next(&token).has_value());
  RC_ASSERT(token == Token::kEnd);
}

std::string ErrorOf(const std::string& text) {
  StringSource source(text, "answer.json");
  JsonStream stream(source);
  Token token = Token::kWord;
  while (token != Token::kEnd) {
    if (const Result<void> next = stream.Next(&token); !next) return next.error().message;
  }
  return "";
}

TEST(JsonStream, EveryCutInsideADocumentIsAnErrorWithItsLine) {
  const std::string text = "{\"data\":\n [[1.5, \"a\\u00e9\\n\"], {\"k\": true}]}";
  EXPECT_EQ(ErrorOf(text), "");
  for (std::size_t size = 1; size < text.size(); ++size) {
    const std::string error = ErrorOf(text.substr(0, size));
    EXPECT_NE(error, "") << text.substr(0, size);
    EXPECT_EQ(error.rfind("answer.json:", 0), 0U) << error;
  }
  EXPECT_EQ(
      ErrorOf(text.substr(0, 20)),
      "answer.json:2: the JSON ends before its last bracket, so whole GPUs may be missing; fetch the answer again");
}

TEST(JsonStream, RefusesWhatIsNoJson) {
  for (const char* text : {"{\"a\" 1}", "{a:1}", "[1 2]", "[1,,2]", "[1}", "{\"a\":}", "[nul]", "[\"\\x\"]",
                           "[\"a\nb\"]", "[\"\\ud800\"]", "[\"\\udc00\"]", "]", "[1,]x"}) {
    EXPECT_NE(ErrorOf(text).find("is not valid JSON"), std::string::npos) << text;
  }
  EXPECT_NE(ErrorOf(std::string(100, '[')).find("nested too deeply"), std::string::npos);
}

TEST(JsonStream, ReadsSurrogatePairs) {
  StringSource source("[\"\\ud83d\\ude00\"]");
  JsonStream stream(source);
  Token token = Token::kEnd;
  ASSERT_TRUE(stream.Next(&token));
  ASSERT_TRUE(stream.Next(&token));
  EXPECT_EQ(stream.text(), "\xF0\x9F\x98\x80");
}

}  // namespace

}  // namespace idleburn
