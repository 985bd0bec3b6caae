#include "text/csv.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <array>

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

constexpr std::array<std::string_view, 1> kName = {"name"};

TEST(CsvTableTest, ReadsByNameWhateverTheOrder) {
  StringSource in("price , name\r\n# note\n\n 2.5 ,\"a, \"\"b\"\"\"\n3\n", "t.csv");
  CsvTable rows(in);
  ASSERT_TRUE(rows.ReadHeader());
  EXPECT_TRUE(rows.Require(kName));
  ASSERT_TRUE(rows.Next().value());
  EXPECT_EQ(rows.Cell("price"), "2.5");
  EXPECT_EQ(rows.Cell("name"), "a, \"b\"");
  EXPECT_EQ(rows.Cell("other"), "");
  EXPECT_EQ(rows.Where(), "t.csv:4");
  ASSERT_TRUE(rows.Next().value());
  EXPECT_EQ(rows.Cell("price"), "3");
  EXPECT_EQ(rows.Cell("name"), "");
  EXPECT_FALSE(rows.Next().value());
}

// The message of the first error met in reading `text`.
std::string ErrorIn(const std::string& text) {
  StringSource in(text, "t.csv");
  CsvTable table(in);
  if (const auto header = table.ReadHeader(); !header) return header.error().message;
  if (const auto columns = table.Require(kName); !columns) return columns.error().message;
  while (true) {
    const auto more = table.Next();
    if (!more) return more.error().message;
    if (!*more) return "";
  }
}

TEST(CsvTableTest, SaysWhatIsWrongAndWhere) {
  EXPECT_EQ(ErrorIn("name\na\n"), "");
  EXPECT_EQ(ErrorIn(""), "t.csv: no header row; the first line names the columns");
  EXPECT_EQ(ErrorIn("price\n1\n"), "t.csv:1: no column 'name' in the header; add it");
  EXPECT_EQ(ErrorIn("name,b, name\n"), "t.csv:1: two columns are named 'name'; keep or rename one of them");
  EXPECT_EQ(ErrorIn("name,,\na,b,c\n"), "");  // what has no name is not read
  std::string wide = "name";
  for (int i = 0; i < 100'000; ++i) wide += "," + std::to_string(i);
  EXPECT_EQ(ErrorIn(wide + "\n"), "");
  EXPECT_EQ(ErrorIn(wide + ",7\n"), "t.csv:1: two columns are named '7'; keep or rename one of them");
  EXPECT_EQ(ErrorIn("name\n\"abc\n"), "t.csv:2: a quoted cell is not closed; end it with \" on the same line");
  EXPECT_EQ(ErrorIn("name,b\n\"a\" ,b\n1,\"40\"0\n"),
            "t.csv:3: text follows the closing quote of a cell; quote the whole cell or nothing");
  EXPECT_EQ(ErrorIn("name\n\na,b\n"), "t.csv:3: 2 cells, but the header names 1; quote cells that contain a comma");
}

}  // namespace

}  // namespace idleburn
