#include "text/csv_table.h"

#include <gtest/gtest.h>

#include <array>

namespace idleburn {
namespace {

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
            "t.csv:3: text follows the closing quote of a cell; quote all of the cell or none of it");
  EXPECT_EQ(ErrorIn("name\n\na,b\n"), "t.csv:3: 2 cells, but the header names 1; quote cells that contain a comma");
}

}  // namespace
}  // namespace idleburn
