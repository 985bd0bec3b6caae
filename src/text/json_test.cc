#include "text/json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace idleburn {

namespace {

TEST(JsonDumpTest, TakesAnyBytes) {
  const nlohmann::ordered_json json = {{"b", "\xff\xfe"}, {"a", 1}};
  EXPECT_EQ(JsonLine(json), "{\"b\":\"\xEF\xBF\xBD\xEF\xBF\xBD\",\"a\":1}");
  EXPECT_EQ(JsonDocument(json), "{\n  \"b\": \"\xEF\xBF\xBD\xEF\xBF\xBD\",\n  \"a\": 1\n}\n");
}

}  // namespace

}  // namespace idleburn
