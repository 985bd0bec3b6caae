#include "report/screen.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <string>

namespace idleburn {
namespace {

std::size_t LinesIn(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

TEST(ScreenTest, DropsTheLeastImportantLinesFirst) {
  Paper paper;
  paper.rows = 3;
  Screen screen(paper);
  screen.Add(LineRank::kAlways, "", "verdict");
  screen.Blank();
  screen.Add(LineRank::kDetail, "", "detail");
  screen.Add(LineRank::kNeeded, "", "cause");
  screen.Add(LineRank::kAlways, "", "more");
  EXPECT_EQ(std::move(screen).Take(), "verdict\ncause\nmore\n");
}

TEST(ScreenTest, LongTextsEndInAnEllipsis) {
  Paper paper;
  paper.columns = 40;
  Screen screen(paper);
  screen.Add(LineRank::kNeeded, "why   ", std::string(200, 'x'), 2);
  const std::string text = std::move(screen).Take();
  EXPECT_EQ(LinesIn(text), 2U);
  EXPECT_TRUE(text.starts_with("why   xxx"));
  EXPECT_TRUE(text.ends_with("…\n"));
}

TEST(ScreenTest, LeavesOutColumnsRatherThanCutTheirFigures) {
  Paper paper;
  paper.columns = 40;
  paper.rows = 24;
  const std::vector<TableColumn> columns = {{"GPU", TableColumn::Align::kLeft},
                                            {"GPU-hours", TableColumn::Align::kRight},
                                            {"cost", TableColumn::Align::kRight},
                                            {"memory of one GPU", TableColumn::Align::kRight}};
  const std::vector<TableRow> rows = {{"H100-80GB-SXM", "1,234,567", "$13.62", "79.6 GiB"}};
  Screen screen(paper);
  screen.AddTable(LineRank::kAlways, columns, rows, 8);
  EXPECT_EQ(std::move(screen).Take(), "  GPU            GPU-hours    cost\n  H100-80GB-SXM  1,234,567  $13.62\n");
}

TEST(ScreenTest, IsNeverLongerThanItsRowsNorWiderThanItsColumns) {
  EXPECT_TRUE(rc::check([] {
    Paper paper;
    paper.columns = *rc::gen::inRange(0, 200);
    paper.rows = static_cast<std::size_t>(*rc::gen::inRange(4, 30));
    Screen screen(paper);
    screen.Add(LineRank::kAlways, "", "verdict");
    const int parts = *rc::gen::inRange(0, 40);
    for (int i = 0; i < parts; ++i) {
      const auto rank = static_cast<LineRank>(*rc::gen::inRange(0, 4));
      const std::string word(static_cast<std::size_t>(*rc::gen::inRange(1, 150)), 'w');
      screen.Add(rank, *rc::gen::element<std::string>("", "why   "), word + " " + word, 2);
    }
    screen.Add(LineRank::kAlways, "", "more");
    const int columns = screen.columns();
    const std::string text = std::move(screen).Take();
    RC_ASSERT(LinesIn(text) <= paper.rows);
    std::size_t start = 0;
    for (std::size_t end = text.find('\n'); end != std::string::npos; start = end + 1, end = text.find('\n', start)) {
      RC_ASSERT(DisplayWidth(std::string_view(text).substr(start, end - start)) <= columns);
    }
    RC_ASSERT(text.starts_with("verdict\n"));
    RC_ASSERT(text.ends_with("more\n"));
  }));
}

}  // namespace
}  // namespace idleburn
