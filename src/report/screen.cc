#include "report/screen.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/report_page.h"
#include "text/strings.h"
#include "text/table.h"

namespace idleburn {
namespace {

int WidestLine(std::string_view text) {
  int widest = 0;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    widest = std::max(widest, DisplayWidth(text.substr(0, end)));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return widest;
}

}  // namespace

Screen::Screen(const Paper& paper)
    : columns_(std::clamp(paper.columns, TextPage::kNarrowest, 100)), color_(paper.color), rows_(paper.rows) {}

std::string Screen::Styled(std::string_view text, std::string_view code) const {
  return color_ ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text);
}

void Screen::Blank() {
  if (parts_.empty() || parts_.back().rank != LineRank::kSpace) parts_.push_back({LineRank::kSpace, {""}});
}

void Screen::Add(LineRank rank, std::string_view lead, std::string_view text, std::size_t lines, bool bold) {
  if (text.empty() || lines == 0) return;
  const int indent = DisplayWidth(lead);
  const int width = std::max(columns_ - indent, 10);
  std::vector<std::string> wrapped = WrapWords(Printable(text), width);
  if (wrapped.size() > lines) {
    wrapped.resize(lines);
    wrapped.back() = Shortened(wrapped.back() + " …", width);
  }
  Part part{rank, {}};
  std::string start(lead);
  for (const std::string& line : wrapped) {
    part.lines.push_back(start + (bold ? Styled(line, "1") : line));
    start.assign(static_cast<std::size_t>(indent), ' ');
  }
  parts_.push_back(std::move(part));
}

void Screen::AddLabelled(std::string_view label, const std::vector<std::string>& lines, std::size_t most) {
  constexpr std::size_t kLabel = 6;
  std::string lead = fmt::format("{:<{}}", label, kLabel);
  LineRank rank = LineRank::kNeeded;
  for (std::size_t i = 0; i < std::min(lines.size(), most); ++i) {
    Add(rank, lead, lines[i], 2);
    lead.assign(kLabel, ' ');
    rank = LineRank::kUseful;
  }
}

void Screen::AddTable(LineRank rank, std::span<const TableColumn> columns, std::span<const TableRow> rows,
                      std::size_t most) {
  const auto shown = rows.first(std::min(rows.size(), most));
  std::string text = LayOutTable(columns, shown, columns_, 2);
  // A figure that is cut reads as another figure. So columns without room are left out whole, the last first.
  std::vector<TableColumn> fewer(columns.begin(), columns.end());
  for (std::size_t c = fewer.size(); c-- > 1 && WidestLine(text) > columns_;) {
    fewer[c].expendable = true;
    text = LayOutTable(fewer, shown, columns_, 2);
  }
  AddText(rank, text);
  if (rows.size() > most) Raw(rank, fmt::format("  and {} more", rows.size() - most));
}

void Screen::AddText(LineRank rank, std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    Raw(rank, Shortened(text.substr(0, end), columns_));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
}

void Screen::Raw(LineRank rank, std::string line) { parts_.push_back({rank, {std::move(line)}}); }

std::size_t Screen::LinesOfText() const {
  std::size_t lines = 0;
  for (const Part& part : parts_) lines += part.rank == LineRank::kSpace ? 0 : part.lines.size();
  return lines;
}

std::string Screen::Take() && {
  std::size_t total = 0;
  for (const Part& part : parts_) total += part.lines.size();
  while (total > rows_) {
    // The least important part, the last of several. What must stay is shortened instead.
    auto least = parts_.begin();
    for (auto part = parts_.begin(); part != parts_.end(); ++part) {
      if (part->rank <= least->rank) least = part;
    }
    if (least->rank == LineRank::kAlways) break;
    // A line less of a long part says more than no line of it.
    const std::size_t lost = least->lines.size() > 1 && least->rank >= LineRank::kNeeded ? 1 : least->lines.size();
    total -= lost;
    least->lines.resize(least->lines.size() - lost);
    if (least->lines.empty()) parts_.erase(least);
  }
  std::string out;
  for (const Part& part : parts_) {
    for (const std::string& line : part.lines) out += line + "\n";
  }
  parts_.clear();
  return out;
}

}  // namespace idleburn
