#include "text/csv_record.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "support/property.h"

namespace idleburn {
namespace {

using Record = std::vector<std::string>;

std::vector<Record> Read(const std::string& text, bool* torn = nullptr) {
  StringSource source(text);
  LineReader lines(source);
  CsvReader csv(lines);
  std::vector<Record> records;
  while (csv.Next().value()) {
    records.emplace_back(csv.cells().begin(), csv.cells().end());
    if (torn != nullptr) *torn = csv.torn();
  }
  return records;
}

TEST(CsvRecordTest, SplitsPlainLines) {
  EXPECT_EQ(Read("a,b,c\n1,,3\r\n"), (std::vector<Record>{{"a", "b", "c"}, {"1", "", "3"}}));
  EXPECT_EQ(Read("a, b\n\n , \n"), (std::vector<Record>{{"a", " b"}, {" ", " "}}));
}

TEST(CsvRecordTest, ReadsTheFormsOfRfc4180) {
  EXPECT_EQ(Read("\"aaa\",\"b\r\nbb\",\"ccc\"\r\nzzz,yyy,xxx"),
            (std::vector<Record>{{"aaa", "b\nbb", "ccc"}, {"zzz", "yyy", "xxx"}}));
  EXPECT_EQ(Read("\"a\"\"b\",\"c,d\",\"\"\n"), (std::vector<Record>{{"a\"b", "c,d", ""}}));
  EXPECT_EQ(Read("a, \"b, c\" ,d\"e\n"), (std::vector<Record>{{"a", "b, c", "d\"e"}}));
}

TEST(CsvRecordTest, FindsTheSeparatorOfTheFirstLine) {
  EXPECT_EQ(Read("time;util, %;power\n1;2,5;3\n"),
            (std::vector<Record>{{"time", "util, %", "power"}, {"1", "2,5", "3"}}));
  EXPECT_EQ(Read("\"a;b;c;d\",e,f\n"), (std::vector<Record>{{"a;b;c;d", "e", "f"}}));
  EXPECT_EQ(Read("a\tb\n"), (std::vector<Record>{{"a", "b"}}));
}

TEST(CsvRecordTest, SaysWhereTheInputEndedEarly) {
  bool torn = false;
  Read("a,b\n1,2\n", &torn);
  EXPECT_FALSE(torn);
  Read("a,b\n1,2", &torn);
  EXPECT_TRUE(torn);
  EXPECT_EQ(Read("a,b\n1,\"2\n", &torn), (std::vector<Record>{{"a", "b"}, {"1", "2"}}));
  EXPECT_TRUE(torn);
}

TEST(CsvRecordTest, SaysWhereTextFollowsAQuote) {
  const auto malformed = [](const std::string& text) {
    StringSource source(text);
    LineReader lines(source);
    CsvReader csv(lines);
    std::vector<bool> found;
    while (csv.Next().value()) found.push_back(csv.malformed());
    return found;
  };
  EXPECT_EQ(malformed("a,b\n\"40\"0,1\n1,\"4\"\"0\"\n1,\"40\"0\n1,4\"0\"\n"),
            (std::vector<bool>{false, true, false, true, false}));
  EXPECT_EQ(malformed("a,b\n\"4\n0\"0,1\n\"4\"\t ,\t\"0\"\n"), (std::vector<bool>{false, true, false}));
  EXPECT_EQ(malformed("a\tb\n\"4\"\t\"0\"\n"), (std::vector<bool>{false, false}));
}

TEST(CsvRecordTest, RefusesAQuoteThatNeverCloses) {
  std::string text = "a,b\n1,\"";
  for (int i = 0; i < 100'000; ++i) text += "2,3,4,5,6,7\n";
  StringSource source(text, "log.csv");
  LineReader lines(source);
  CsvReader csv(lines);
  ASSERT_TRUE(csv.Next().value());
  const Result<bool> next = csv.Next();
  ASSERT_FALSE(next);
  EXPECT_NE(next.error().message.find("log.csv:2: a quoted cell does not end"), std::string::npos);
}

// Whatever is written with every cell quoted comes back.
TEST(CsvRecordTest, ReadsBackWhatWasQuoted) {
  test::ExpectProperty([] {
    const auto cell = rc::gen::container<std::string>(rc::gen::elementOf(std::string("a,;\"\n |1")));
    const auto record = *rc::gen::nonEmpty(rc::gen::container<Record>(cell));
    std::string text = "h,h\n";
    for (std::size_t i = 0; i < record.size(); ++i) {
      text += i == 0 ? "\"" : ",\"";
      for (const char c : record[i]) text += c == '"' ? std::string("\"\"") : std::string(1, c);
      text += '"';
    }
    const auto records = Read(text + "\n");
    RC_ASSERT(records.size() == 2u);
    RC_ASSERT(records[1] == record);
  });
}

}  // namespace
}  // namespace idleburn
