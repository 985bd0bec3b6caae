#include "bill/bill_value.h"

#include <gtest/gtest.h>

#include <string>

#include "text/time_zone.h"

namespace idleburn {
namespace {

TEST(BillValueTest, ReadsNumbersExactly) {
  struct Case {
    const char* text;
    std::int64_t nano;
    bool known;
    bool well;
  };
  const Case cases[] = {
      {"60.8", 60'800'000'000, true, true},
      {"-0.000000001", -1, true, true},
      {"35.2E-7", 3'520, true, true},
      {"35.2E7", 352'000'000'000'000'000, true, true},
      {"35.2E+7", 352'000'000'000'000'000, true, false},
      {"+5", 5'000'000'000, true, false},
      {"1,000.00", 1'000'000'000'000, true, false},
      {"1,00", 0, false, false},
      {"", 0, false, false},
      {"N/A", 0, false, false},
      {"1.2.3", 0, false, false},
      {"1e99", 0, false, true},
      {" 7 ", 7'000'000'000, true, false},
      {"0.1234567895", 123'456'790, true, true},
      {"-.5", 0, false, false},
      {"9223372036.854775807", INT64_MAX, true, true},
  };
  for (const Case& c : cases) {
    const BillNumber number = ParseBillNumber(c.text);
    EXPECT_EQ(number.known, c.known) << c.text;
    EXPECT_EQ(number.well, c.well) << c.text;
    EXPECT_TRUE(!c.known || number.nano == c.nano) << c.text;
  }
  EXPECT_TRUE(ParseBillNumber("0.1234567895").rounded);
  EXPECT_FALSE(ParseBillNumber("0.1234567890").rounded);
}

// Every zone means the same moment; only one form is FOCUS's.
TEST(BillValueTest, ReadsTimesOfAnyZone) {
  for (const char* text : {"2026-03-29T01:00:00Z", "2026-03-29T03:00:00+02:00", "2026-03-28T18:00:00-07:00",
                           "2026-03-29 01:00:00 UTC", "2026-03-29T01:00:00.000Z"}) {
    const BillTime time = ParseBillTime(text);
    ASSERT_TRUE(time.known) << text;
    EXPECT_EQ(FormatRfc3339(time.time), "2026-03-29T01:00:00Z") << text;
    EXPECT_EQ(time.well, std::string(text) == "2026-03-29T01:00:00Z") << text;
    EXPECT_TRUE(time.zoned) << text;
  }
  EXPECT_FALSE(ParseBillTime("2026-03-29 01:00:00").zoned);
  EXPECT_FALSE(ParseBillTime("yesterday").known);
  EXPECT_EQ(FormatRfc3339(ParseBillTime("2026-03-29").time), "2026-03-29T00:00:00Z");
}

TEST(BillValueTest, ReadsKeyValues) {
  const KeyValues tags = ParseKeyValues(R"({"team": "nlp", "n": 8, "on": true, "none": null, "u": "\u00e4\"x"})");
  EXPECT_TRUE(tags.known && tags.flat && tags.unique_keys);
  EXPECT_EQ(tags.Of("Team"), "nlp");
  EXPECT_EQ(tags.Of("n"), "8");
  EXPECT_EQ(tags.Of("none"), "");
  EXPECT_EQ(tags.Of("u"), "\xC3\xA4\"x");
  EXPECT_TRUE(ParseKeyValues("{}").known);
  EXPECT_FALSE(ParseKeyValues(R"({"a": {"b": 1}})").flat);
  EXPECT_TRUE(ParseKeyValues(R"({"a": {"b": 1}, "c": "d"})").known);
  EXPECT_FALSE(ParseKeyValues(R"({"a": 1, "a": 2})").unique_keys);
  for (const char* broken : {"", "{", "[]", "{\"a\"}", "{\"a\": }", "{\"a\": \"b}", "{\"a\": 1} x", "{\"a\": nope}"}) {
    EXPECT_FALSE(ParseKeyValues(broken).known) << broken;
  }
  EXPECT_FALSE(ParseKeyValues("{\"a\": " + std::string(100'000, '[')).known);
}

}  // namespace
}  // namespace idleburn
