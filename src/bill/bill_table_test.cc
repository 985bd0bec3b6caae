#include "bill/bill_table.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "text/line_reader.h"

namespace idleburn {
namespace {

struct ReadCsv {
  std::vector<std::string> rows;  // "line: a|b|<null>"
  std::vector<std::int64_t> malformed;
};

ReadCsv ReadAll(const std::string& text) {
  StringSource in(text);
  const auto table = OpenBillCsv(in);
  ReadCsv read;
  if (!table) {
    read.rows.push_back(table.error().message);
    return read;
  }
  (*table)->malformed = [&](std::int64_t line) { read.malformed.push_back(line); };
  while (true) {
    const auto more = (*table)->Next();
    EXPECT_TRUE(more.has_value());
    if (!more || !*more) return read;
    std::string row = std::to_string((*table)->line()) + ":";
    for (const BillCell& cell : (*table)->cells())
      row += " " + (cell.null ? "<null>" : "[" + std::string(cell.text) + "]");
    read.rows.push_back(row);
  }
}

TEST(BillTableTest, TellsNullFromEmptyText) {
  const ReadCsv read = ReadAll("a,b,c\n1,,\"\"\n\"x\"\"y\",\"a,b\",z\r\n");
  EXPECT_EQ(read.rows, (std::vector<std::string>{"2: [1] <null> []", "3: [x\"y] [a,b] [z]"}));
}

TEST(BillTableTest, CountsLinesInsideOfCells) {
  const ReadCsv read = ReadAll("a,b\n\"1\n2\",x\n\n3,y");
  EXPECT_EQ(read.rows, (std::vector<std::string>{"2: [1\n2] [x]", "5: [3] [y]"}));
}

TEST(BillTableTest, LeavesOutRowsOfOtherWidthByLine) {
  const ReadCsv read = ReadAll("a,b\n1,2\n1,2,3\n1\n3,4\n");
  EXPECT_EQ(read.rows, (std::vector<std::string>{"2: [1] [2]", "5: [3] [4]"}));
  EXPECT_EQ(read.malformed, (std::vector<std::int64_t>{3, 4}));
}

// A quote that nothing closes costs its own line and none after it.
TEST(BillTableTest, AnOpenQuoteCostsOneLine) {
  std::string text = "a,b\n1,2\n\"open,3\n";
  for (int i = 0; i < 1000; ++i) text += "4,5\n";
  const ReadCsv read = ReadAll(text);
  EXPECT_EQ(read.rows.size(), 1001U);
  EXPECT_EQ(read.rows[1], "4: [4] [5]");
  EXPECT_EQ(read.malformed, (std::vector<std::int64_t>{3}));
}

TEST(BillTableTest, TextBehindAQuoteIsMalformed) {
  const ReadCsv read = ReadAll("a,b\n\"1\"x,2\n3,4\n");
  EXPECT_EQ(read.rows, (std::vector<std::string>{"3: [3] [4]"}));
  EXPECT_EQ(read.malformed, (std::vector<std::int64_t>{2}));
}

TEST(BillTableTest, ReadsOtherSeparators) {
  EXPECT_EQ(ReadAll("a;b\n1;2,5\n").rows, (std::vector<std::string>{"2: [1] [2,5]"}));
  EXPECT_EQ(ReadAll("a\tb\n1\t2\n").rows, (std::vector<std::string>{"2: [1] [2]"}));
  EXPECT_NE(ReadAll("").rows.front().find("is empty"), std::string::npos);
}

// Blocks are of a mebibyte: rows on their edges must not differ from others.
TEST(BillTableTest, RowsOnTheEdgesOfBlocksAreWhole) {
  std::string text = "a,b\n";
  for (int i = 0; i < 60'000; ++i)
    text += std::to_string(i) + ",\"say \"\"" + std::string(static_cast<std::size_t>(i % 70), 'x') + "\"\"\"\n";
  StringSource in(text);
  const auto table = OpenBillCsv(in);
  ASSERT_TRUE(table.has_value());
  for (int i = 0; i < 60'000; ++i) {
    ASSERT_TRUE((*table)->Next().value());
    ASSERT_EQ((*table)->line(), i + 2);
    ASSERT_EQ((*table)->cells()[0].text, std::to_string(i));
    ASSERT_EQ((*table)->cells()[1].text, "say \"" + std::string(static_cast<std::size_t>(i % 70), 'x') + "\"");
  }
  EXPECT_FALSE((*table)->Next().value());
}

}  // namespace
}  // namespace idleburn
