#include "import/json_text.h"

#include <gtest/gtest.h>

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
  EXPECT_EQ(TakeJsonDocument(rest), "{\"a\": \"}\\\"\"}");
  EXPECT_EQ(TakeJsonDocument(rest), "[1]");
  EXPECT_EQ(TakeJsonDocument(rest), "{\"open\": [");
  EXPECT_EQ(TakeJsonDocument(rest), "");
}

}  // namespace
}  // namespace idleburn
