#include "import/json_text.h"

#include <gtest/gtest.h>

#include "text/line_reader.h"

namespace idleburn {
namespace {

TEST(JsonText, NumbersKeepTheirDecimals) {
  JsonParser parser;
  const Result<JsonNode> root =
      parser.Parse(R"({"a": 78.28, "b": 9223372036854775807, "c": "x\ny", "d": null, "e": [1, true], "f": 1.5e-7})");
  ASSERT_TRUE(root);
  EXPECT_EQ(root->TextOf("a"), "78.28");
  EXPECT_EQ(root->TextOf("b"), "9223372036854775807");
  EXPECT_EQ(root->TextOf("c"), "x\ny");
  EXPECT_EQ(root->Get("d")->kind(), JsonNode::Kind::kNull);
  EXPECT_EQ(root->ItemsOf("e").size(), 2U);
  EXPECT_EQ(root->ItemsOf("e")[1].Text(), "true");
  EXPECT_EQ(root->TextOf("f"), "1.5e-07");
  EXPECT_EQ(root->TextOf("none"), "");
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

}  // namespace
}  // namespace idleburn
