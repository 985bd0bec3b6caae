#include "report/screen.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/report_page.h"
#include "text/strings.h"
#include "text/table.h"

namespace idleburn {

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
  AddText(rank, LayOutTable(columns, rows.first(std::min(rows.size(), most)), columns_, 2));
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

std::string WrapLines(const std::string& text, const Paper& paper) {
  const int columns = std::max(paper.columns, TextPage::kNarrowest);
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = std::string_view(text).substr(at, end - at);
    at = end + 1;
    if (DisplayWidth(line) <= columns) {
      out.append(line).append("\n");
      continue;
    }
    const std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
    for (const std::string& part : WrapWords(line.substr(indent), columns - static_cast<int>(indent))) {
      out += std::string(indent, ' ') + part + "\n";
    }
  }
  return out;
}

}  // namespace idleburn
