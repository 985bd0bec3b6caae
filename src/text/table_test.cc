#include "text/table.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>

#include "support/property.h"

namespace idleburn {

namespace {

using Align = TableColumn::Align;

TEST(TableTest, CountsColumnsOfTheTerminalNotBytes) {
  EXPECT_EQ(DisplayWidth(""), 0);
  EXPECT_EQ(DisplayWidth("a±b"), 3);
  EXPECT_EQ(DisplayWidth("█▁"), 2);
  EXPECT_EQ(DisplayWidth("訓練"), 4);
  EXPECT_EQ(DisplayWidth("e\u0301"), 1);
  EXPECT_EQ(DisplayWidth("🔥"), 2);
}

TEST(TableTest, ShortensWithAnEllipsis) {
  EXPECT_EQ(Shortened("abc", 3), "abc");
  EXPECT_EQ(Shortened("abcd", 3), "ab…");
  EXPECT_EQ(Shortened("訓練中", 4), "訓…");
}

TEST(TableTest, WrapsAtSpacesAndInsideLongWords) {
  EXPECT_EQ(WrapWords("one two three", 7), (std::vector<std::string>{"one two", "three"}));
  EXPECT_EQ(WrapWords("abcdefgh ij", 4), (std::vector<std::string>{"abcd", "efgh", "ij"}));
  EXPECT_EQ(WrapWords("", 4), std::vector<std::string>{""});
  EXPECT_EQ(WrapWords("saves 19 %, or 20 %", 8), (std::vector<std::string>{"saves", "19 %, or", "20 %"}));
}

TEST(TableTest, AlignsUnderItsHeaders) {
  const std::vector<TableColumn> columns = {{"Phase"}, {"Cost", Align::kRight}, {"Bar"}};
  const std::vector<TableRow> rows = {{"idle", "$3.00", "█"}, {"compute", "$13.00"}};
  EXPECT_EQ(LayOutTable(columns, rows, 80, 2),
            "  Phase      Cost  Bar\n"
            "  idle      $3.00  █\n"
            "  compute  $13.00\n");
}

TEST(TableTest, NarrowTerminalsWrapTheWrappingColumn) {
  const std::vector<TableColumn> columns = {{"Id"}, {"Sentence", Align::kLeft, true}};
  const std::vector<TableRow> rows = {{"gap", "the driver said nothing for a while"}};
  EXPECT_EQ(LayOutTable(columns, rows, 20, 0),
            "Id   Sentence\n"
            "gap  the driver said\n"
            "     nothing for a\n"
            "     while\n");
}

TEST(TableTest, LeavesOutExpendableColumnsWhenNothingElseGivesWay) {
  std::vector<TableColumn> columns = {{"Id"}, {"Power", Align::kRight}, {"Cost", Align::kRight}};
  columns[1].expendable = true;
  const std::vector<TableRow> rows = {{"0", "612 W", "$0.63"}};
  EXPECT_EQ(LayOutTable(columns, rows, 16, 0), "Id  Power   Cost\n0   612 W  $0.63\n");
  EXPECT_EQ(LayOutTable(columns, rows, 15, 0), "Id   Cost\n0   $0.63\n");
}

TEST(TableTest, CellsCannotActOnTheTerminal) {
  const std::vector<TableColumn> columns = {{"Name"}};
  const std::vector<TableRow> rows = {{"\x1b[2Jgone\nrow"}};
  EXPECT_EQ(LayOutTable(columns, rows, 80, 0), "Name\n?[2Jgone?row\n");
}

TEST(TableTest, WrappedTablesStayInsideTheTerminal) {
  test::ExpectProperty("no line is wider than asked for", [] {
    const auto words = *rc::gen::container<std::vector<std::string>>(
        rc::gen::container<std::string>(rc::gen::elementOf(std::string("abc "))));
    std::vector<TableRow> rows;
    for (const std::string& w : words) rows.push_back({"id", w});
    const std::vector<TableColumn> columns = {{"Id"}, {"Text", Align::kLeft, true}};
    const int width = *rc::gen::inRange(20, 60);
    std::string text = LayOutTable(columns, rows, width, 2);
    while (!text.empty()) {
      const std::size_t end = text.find('\n');
      RC_ASSERT(end != std::string::npos);
      RC_ASSERT(DisplayWidth(std::string_view(text).substr(0, end)) <= width);
      text.erase(0, end + 1);
    }
  });
}

TEST(AsciiOnlyTest, DrawsWhatBlocksDraw) {
  EXPECT_EQ(AsciiOnly("GPU 0  ·▁▒▃▅█╳"), "GPU 0  ._%-=#x");
  EXPECT_EQ(AsciiOnly("41.41 %  ████████▎"), "41.41 %  ######## ");
  EXPECT_EQ(AsciiOnly("a long na…"), "a long na~");
  EXPECT_EQ(AsciiOnly("0.8 kWh ± 5 %\n"), "0.8 kWh +- 5 %\n");
}

TEST(AsciiOnlyTest, KeepsColumnsWhateverTheName) {
  for (const char* text : {"plain\x1b[0m", "knöt", "機械", "e\xcc\x81", "\xff", "a\xe2\x96", ""}) {
    const std::string ascii = AsciiOnly(text);
    for (const char c : ascii) EXPECT_LT(static_cast<unsigned char>(c), 0x80) << text;
    EXPECT_EQ(DisplayWidth(ascii), DisplayWidth(text)) << text;
  }
  EXPECT_EQ(AsciiOnly("knöt"), "kn?t");
}

}  // namespace

}  // namespace idleburn
